//! Lines of a playbook made a playbook of their own, and the proof that they and all other lines are read as before.

use std::collections::HashSet;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use playhouse_lang::diagnostic::{Diagnostic, Severity};
use playhouse_lang::expr::LAST_CALL_FAILED;
use playhouse_lang::format::{has_carriage_returns, with_line_breaks};
use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Arm, Playbook, PlaybookId, Program, Step, StepId, StepKind, ToolList};
use playhouse_lang::span::{FileId, Span};

use crate::View;

/// What the new playbook is called, if nothing else is.
const NAME: &str = "Extracted";

/// What is written where, so that lines stand in a playbook of their own. To be made only if [`View::prove_extraction`]
/// agrees.
#[derive(Clone, Debug)]
pub struct Extraction {
    /// What is written in the place of what, by place.
    pub edits: Vec<(Span, String)>,
    /// The new playbook.
    name: String,
    /// Where the lines stood.
    from: PlaybookId,
    lines: Range<usize>,
    /// Whether the new playbook has a line more, which returns a value.
    returns: bool,
}

/// Lines of a playbook, with all that are nested under them.
struct Lines<'v> {
    playbook: &'v Playbook,
    range: Range<usize>,
}

impl<'v> Lines<'v> {
    fn all(&self) -> &'v [Step] {
        &self.playbook.steps[self.range.clone()]
    }

    fn has(&self, node: Node) -> bool {
        node.step().is_some_and(|id| self.range.contains(&(id.0 as usize)))
    }

    /// Where they lead, one end of the playbook by a `Return` not among them.
    fn exits(&self) -> Vec<Node> {
        let goes_on = |line: &&Step| !matches!(line.kind, StepKind::Return(_) | StepKind::End);
        let next = |line: &Step| self.playbook.flow.successors(line.id).iter().map(|edge| edge.to);
        let mut exits: Vec<Node> = self.all().iter().filter(goes_on).flat_map(next).collect();
        exits.retain(|node| !self.has(*node));
        exits.sort();
        exits.dedup();
        exits
    }

    /// Whether one of them leaves or goes on with a loop around all of them.
    fn leave_a_loop(&self) -> bool {
        let is_inside = |line: &Step| {
            let around = std::iter::successors(line.parent, |id| self.playbook.step(*id).parent);
            let mut inner = around.take_while(|id| self.has(Node::Step(*id)));
            inner.any(|id| matches!(self.playbook.step(id).kind, StepKind::Loop(_)))
        };
        let leaves = |line: &&Step| matches!(line.kind, StepKind::Break | StepKind::Continue);
        self.all().iter().filter(leaves).any(|line| !is_inside(line))
    }
}

impl View {
    /// What makes a playbook of the lines in a range of a file, in bytes; none: there are no whole lines that stand beside
    /// each other, and nothing else.
    ///
    /// # Errors
    /// Why it cannot be one.
    pub fn extraction(&self, file: FileId, range: Range<usize>) -> Option<Result<Extraction, String>> {
        let lines = self.lines_in(file, range)?;
        let source = &self.program().sources.get(file)?.text;
        let (first, last) = (lines.all().first()?, lines.all().last()?);
        let start = source.get(..first.span.range().start)?.rfind('\n').map_or(0, |at| at + 1);
        let end = source.get(last.span.range().end..)?.find('\n');
        let end = end.map_or(source.len(), |length| last.span.range().end + length + 1);
        // What a branch does may stand on its own line.
        let is_beside = |line: &Step| line.span.range().end > start && line.span.range().start < end;
        let others = lines.playbook.steps.iter().filter(|line| !lines.has(Node::Step(line.id)));
        if others.into_iter().any(is_beside) {
            return None;
        }
        Some(self.extract(&lines, Span::new(file, start, end)))
    }

    /// The whole lines in a range.
    fn lines_in(&self, file: FileId, range: Range<usize>) -> Option<Lines<'_>> {
        let playbook = self.playbook_at(file, range.start)?;
        let touched = |line: &&Step| line.span.range().start < range.end && range.start < line.span.range().end;
        let inside: Vec<&Step> = playbook.steps.iter().filter(touched).collect();
        let (first, last) = (inside.first()?, inside.last()?);
        let indices = first.id.0 as usize..last.id.0 as usize + 1;
        let lines = Lines { playbook, range: indices };
        let is_within = |id: Option<StepId>| id.is_some_and(|id| lines.has(Node::Step(id)));
        let are_siblings = inside.iter().all(|line| line.parent == first.parent || is_within(line.parent));
        let is_cut = playbook.steps.get(lines.range.end).is_some_and(|next| is_within(next.parent));
        let text = self.program().sources.text(Span::new(file, range.start, range.end));
        let trimmed = range.start + (text.len() - text.trim_start().len())..range.start + text.trim_end().len();
        // A bullet, a number, an old line number.
        let before = self.program().sources.text(Span::new(file, trimmed.start, first.span.range().start));
        let is_whole = trimmed.start <= first.span.range().start
            && !before.contains('\n')
            && last.span.range().end <= trimmed.end
            && trimmed.end <= playbook.span.range().end;
        let after = self.program().sources.text(Span::new(file, last.span.range().end, trimmed.end));
        (are_siblings && !is_cut && is_whole && !after.contains('\n')).then_some(lines)
    }

    fn extract(&self, lines: &Lines<'_>, place: Span) -> Result<Extraction, String> {
        let (playbook, all) = (lines.playbook, lines.all());
        let first = all.first().ok_or("there is no line here")?;
        if matches!(first.kind, StepKind::Branch { arm: Arm::ElseIf | Arm::Else, .. }) {
            return Err("these lines begin with an `Otherwise` without its `If`".to_owned());
        }
        if lines.leave_a_loop() {
            return Err("one of these lines leaves or continues a loop that is not among them".to_owned());
        }
        if playbook.tools != ToolList::default() || !playbook.strict {
            return Err("`tools` or `strict` of this playbook would not hold for these lines".to_owned());
        }
        let exits = lines.exits();
        let returns = all.iter().any(|line| matches!(line.kind, StepKind::Return(_)));
        match exits.as_slice() {
            [_, _, ..] => return Err("these lines lead to several places".to_owned()),
            [_] if returns => return Err("only some paths through these lines reach a `Return`".to_owned()),
            [_] | [] => {}
        }
        let (given, result) = self.passed(lines, &exits)?;
        Ok(self.write(lines, place, &given.join(", "), result.as_deref(), returns))
    }

    /// What the lines, which lead to `exits`, must be given, each with its `$`, and what must come back of them.
    fn passed(&self, lines: &Lines<'_>, exits: &[Node]) -> Result<(Vec<String>, Option<Arc<str>>), String> {
        let (playbook, all) = (lines.playbook, lines.all());
        let own = |name: &&Arc<str>| playbook.own.contains(*name);
        let is_read_after = |name: &str| self.is_read(playbook, exits, name, &|_| None);
        let mut set = once(all.iter().flat_map(may_set).filter(own));
        set.retain(|name| is_read_after(name));
        if set.len() > 1 {
            let names = set.iter().map(|name| format!("`${name}`")).collect::<Vec<_>>().join(", ");
            return Err(format!("{names} are set here and read later, and a playbook returns one value"));
        }
        let result = set.pop();
        let is_read_here = |name: &str| {
            let outside = |node: Node| (!lines.has(node)).then(|| result.as_deref() == Some(name));
            let first = all.first().map(|line| Node::Step(line.id));
            self.is_read(playbook, first.as_slice(), name, &outside)
        };
        if is_read_here(LAST_CALL_FAILED) || is_read_after(LAST_CALL_FAILED) {
            return Err("whether the last call has failed is asked on the other side of these lines".to_owned());
        }
        let mut given = once(all.iter().flat_map(|line| line.reads.iter().chain(&line.writes)).filter(own));
        given.retain(|name| is_read_here(name));
        let triggers = || self.program().playbooks.iter().flat_map(|playbook| &playbook.triggers);
        let is_watched = |name: &&Arc<str>| triggers().any(|trigger| trigger.names.contains(*name));
        if let Some(name) = given.iter().chain(&result).find(is_watched) {
            return Err(format!("a trigger waits for `${name}`, which would be set once more"));
        }
        Ok((given.iter().map(|name| format!("${name}")).collect(), result))
    }

    fn write(&self, lines: &Lines<'_>, place: Span, given: &str, result: Option<&str>, returns: bool) -> Extraction {
        let (playbook, sources) = (lines.playbook, &self.program().sources);
        let text = sources.text(place);
        let indent = &text[..text.len() - text.trim_start().len()];
        let bullet = text.split_whitespace().next().unwrap_or("-");
        let name = self.free_name();
        let given_back = result.map_or_else(String::new, |name| format!("${name} = "));
        let before = if returns { "Return " } else { &given_back };
        let end = &text[text.trim_end().len()..];
        let call = format!("{indent}{bullet} {before}{name}({given}){end}");
        let moved = text.trim_end().lines().map(|line| line.strip_prefix(indent).unwrap_or(line));
        let mut body: String = moved.flat_map(|line| [line, "\n"]).collect();
        result.into_iter().for_each(|name| body.push_str(&format!("{bullet} Return ${name}\n")));
        let (at, written) = self.written_below(playbook, &format!("## {name}({given})\n\n### Steps\n\n{body}"));
        let has_returns = sources.get(place.file).is_some_and(|source| has_carriage_returns(&source.text));
        Extraction {
            edits: vec![(place, call), (at, with_line_breaks(written, has_returns))],
            name,
            from: playbook.id,
            lines: lines.range.clone(),
            returns: result.is_some(),
        }
    }

    /// A name that nothing has yet.
    fn free_name(&self) -> String {
        let program = self.program();
        let is_taken = |name: &String| {
            let is_playbook = program.playbooks.iter().any(|playbook| *playbook.name == **name);
            is_playbook || program.find_plan(name).is_some() || self.tool(name).is_some()
        };
        let numbered = (2..).map(|number| format!("{NAME}{number}"));
        std::iter::once(NAME.to_owned()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
    }

    /// Whether a name can be read from some lines on before it is surely set. `known` tells of a place whether it is, or
    /// that its line is to be looked at.
    fn is_read(&self, playbook: &Playbook, from: &[Node], name: &str, known: &dyn Fn(Node) -> Option<bool>) -> bool {
        // What is called may look its names up here.
        let others = self.program().playbooks.iter().filter(|other| other.id != playbook.id);
        let is_read_by_others = others.into_iter().any(|other| other.outer.contains(name));
        let (mut pending, mut seen) = (from.to_vec(), HashSet::new());
        while let Some(node) = pending.pop() {
            match (known(node), node) {
                (Some(true), _) => return true,
                (Some(false), _) | (None, Node::End) => {}
                (None, Node::Step(id)) if seen.insert(id) => {
                    let line = playbook.step(id);
                    let calls = line.call().is_some_and(|call| call.playbook.is_some());
                    if line.reads.iter().any(|read| **read == *name) || (calls && is_read_by_others) {
                        return true;
                    }
                    // A loop without items sets nothing.
                    let sets = || line.kind.targets().iter().any(|target| *target.name == *name);
                    let is_set = if name == LAST_CALL_FAILED { line.call().is_some() } else { sets() };
                    if !is_set || matches!(line.kind, StepKind::Loop(_)) {
                        pending.extend(playbook.flow.successors(id).iter().map(|edge| edge.to));
                    }
                }
                (None, Node::Step(_)) => {}
            }
        }
        false
    }

    /// Whether the program with these edits is this one with lines in a playbook of their own: no error more, the same
    /// variables, and all lines read as before.
    ///
    /// # Errors
    /// What would be otherwise, and where.
    pub fn prove_extraction(&self, extraction: &Extraction, after: &View) -> Result<(), String> {
        let (old, new) = (self.program(), after.program());
        let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
        let mut known: Vec<&str> = self.findings().iter().filter(is_error).map(|found| &*found.message).collect();
        for found in after.findings().iter().filter(is_error) {
            match known.iter().position(|message| *message == found.message) {
                Some(index) => known.swap_remove(index),
                None => return Err(format!("{}: {}", new.sources.place(found.span), found.message)),
            };
        }
        if written(old, &old.entry) != written(new, &new.entry) {
            return Err(
                "the program would not begin as it does; say where, with a trigger `At the beginning`".to_owned()
            );
        }
        let otherwise = |what: &str| Err(format!("{what} would be read differently"));
        let is_new = |playbook: &&Playbook| *playbook.name == *extraction.name;
        let Some(made) = new.playbooks.iter().find(is_new) else { return otherwise("the playbooks") };
        let others: Vec<&Playbook> = new.playbooks.iter().filter(|playbook| !is_new(playbook)).collect();
        if others.len() != old.playbooks.len() {
            return otherwise("the playbooks");
        }
        for (before, now) in old.playbooks.iter().zip(others) {
            let same_names = before.own == now.own && before.outer == now.outer;
            let heads = [(old, before), (new, now)].map(|(program, playbook)| {
                written(program, &(&playbook.title, &playbook.triggers, &playbook.description, &playbook.notes))
            });
            if heads[0] != heads[1] || !(same_names || before.id == extraction.from) {
                return otherwise(&format!("`{}`", before.name));
            }
            let (here, there) = (lines(old, before), lines(new, now));
            let is_same = if before.id == extraction.from {
                let Range { start, end } = extraction.lines;
                let depth = here.get(start).map_or(0, |(depth, _)| *depth);
                let taken = here.get(start..end).unwrap_or_default();
                let moved = taken.iter().map(|(line_depth, line)| (line_depth - depth, line.clone()));
                let mut body = lines(new, made);
                body.truncate(body.len() - usize::from(extraction.returns));
                let rest =
                    [here.get(..start), there.get(start..=start), here.get(end..)].map(Option::unwrap_or_default);
                body == moved.collect::<Vec<_>>() && there == rest.concat()
            } else {
                here == there
            };
            if !is_same {
                return otherwise(&format!("`{}`", before.name));
            }
        }
        // What is looked up elsewhere must not become a variable of one of the two, nor the other way round.
        let before = old.playbook(extraction.from);
        let mixed = |playbook: &Playbook| {
            let elsewhere = playbook.own.intersection(&before.outer).chain(playbook.outer.intersection(&before.own));
            elsewhere.map(|name| format!("`${name}` would be another variable")).next()
        };
        let both = new.playbooks.iter().filter(|playbook| *playbook.name == *before.name || is_new(playbook));
        both.filter(|playbook| playbook.agent == before.agent).find_map(mixed).map_or(Ok(()), Err)
    }
}

/// What a line may set: a model that is asked to do one in words can set whatever it mentions.
fn may_set(line: &Step) -> impl Iterator<Item = &Arc<str>> {
    line.writes.iter().chain(line.reads.iter().filter(|_| line.is_free()))
}

/// Each once, in order.
fn once<'n>(names: impl Iterator<Item = &'n Arc<str>>) -> Vec<Arc<str>> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).cloned().collect()
}

/// The lines of a playbook, each with how deep it stands, as they were read, but for their numbers.
fn lines(program: &Program, playbook: &Playbook) -> Vec<(usize, String)> {
    let alone =
        |line: &Step| Step { id: StepId(0), label: "".into(), parent: None, children: Vec::new(), ..line.clone() };
    let line = |line: &Step| (playbook.nesting(line.id), written(program, &alone(line)));
    playbook.steps.iter().map(line).collect()
}

/// A part of a program without places, with the names of playbooks in the place of their numbers.
fn written(program: &Program, part: &dyn Debug) -> String {
    const NUMBER: &str = "PlaybookId(";
    let text = format!("{part:-?}");
    let mut pieces = text.split(NUMBER);
    let mut named = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (number, rest) = piece.split_once(')').unwrap_or((piece, ""));
        let playbook = number.parse::<usize>().ok().and_then(|number| program.playbooks.get(number));
        named.push_str(playbook.map_or(number, |playbook| &*playbook.name));
        named.push_str(rest);
    }
    named
}
