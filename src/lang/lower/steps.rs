//! List items to the lines of a playbook: texts, line ids, nesting, kinds, names.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::english::calls::find_due_call;
use crate::english::items::{read_item, strip_always};
use crate::english::loops::names_of_items;
use crate::english::phrase::{Mention, Phrase, without_emphasis};
use crate::english::questions::choices_in;
use crate::english::reading::{Action, End, Near, Reading, Surroundings};
use crate::expr::too_deep_message;
use crate::lower::heading::unknown_type;
use crate::program::{Arm, CallSite, Loop, Mode, Parameter, Returned, Step, StepId, StepKind, Target, Type};
use crate::source::ast::ItemTree;
use crate::source::line_start;
use crate::source::markdown::MAX_NESTING;
use crate::span::Span;
use crate::value::Value;

/// An item that becomes a line, or a branch and its action.
struct Draft<'a> {
    item: &'a ItemTree,
    /// Its own text, and what it takes of items that are no lines.
    pieces: Vec<Span>,
    /// The draft that it is nested in.
    parent: Option<usize>,
    has_children: bool,
    /// From the first item that is nested in it to the last.
    nested: Span,
    /// Whether no draft follows it on its level.
    is_last: bool,
}

impl Draft<'_> {
    /// Whether `!` stands behind the bullet; it is no word of the line.
    fn take_mark(&mut self, source: &str) -> bool {
        let Some(first) = self.pieces.first_mut() else { return false };
        let words = Phrase::new(source, *first);
        let is_mark = |rest: &str| rest.starts_with(char::is_whitespace);
        let marked = words.strip_mark('!').filter(|_| words.text.strip_prefix('!').is_some_and(is_mark));
        marked.inspect(|words| *first = words.span()).is_some()
    }
}

/// Makes lines of `items`. In goal mode only numbered items are lines (what is nested in one without a number
/// is part of its text) and none is read: the model is free there.
pub(crate) fn lower_steps(
    items: &[&ItemTree],
    mode: Mode,
    source: &str,
    around: Surroundings<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Step> {
    let drafts = draft_lines(items, mode, source, diagnostics);
    let first_words = drafts.iter().filter_map(|draft| Some(Phrase::new(source, *draft.pieces.first()?)));
    let held = around.held.clone().with_lines(first_words);
    let mut lines = Lines { source, around, steps: Vec::new(), n_roots: 0, is_marked: false };
    // The line that each draft has become.
    let mut ids: Vec<StepId> = Vec::with_capacity(drafts.len());
    for mut draft in drafts {
        lines.is_marked = draft.take_mark(source);
        let parent = draft.parent.and_then(|parent| ids.get(parent)).copied();
        let span = draft.pieces.first().copied().unwrap_or(draft.item.bullet);
        if mode == Mode::Goal {
            ids.push(lines.add(parent, span, &draft.pieces, Reading::free()));
            continue;
        }
        let too_deep = Cell::new(None);
        let plain = without_emphasis(source.get(span.range()).unwrap_or(""));
        let words = Phrase::at(&plain, span).noting(&too_deep);
        let rounds = lines.rounds(parent);
        let nested = Phrase::new(source, draft.nested);
        let (has_children, is_last) = (draft.has_children, draft.is_last);
        let around = Surroundings { has_children, nested, is_last, held: &held, rounds: &rounds, ..around };
        let mut item = read_item(words, around);
        for reading in item.readings() {
            if matches!(reading.kind, StepKind::Break | StepKind::Continue) && !lines.is_in_loop(parent) {
                diagnostics.push(no_loop(span));
                *reading = Reading::free();
            }
            diagnostics.extend(reading.near.take().map(|near| nearly_understood(*near, source)));
        }
        if let Some(span) = too_deep.get() {
            diagnostics.push(Diagnostic::warning("expression-too-deep", span, too_deep_message()));
        }
        // Nested lines belong to branches and loops; under any other line they say more about it than was read.
        let says_more = |reading: &Reading| {
            !draft.item.plain
                || (draft.has_children && !matches!(reading.kind, StepKind::Branch { .. } | StepKind::Loop(_)))
        };
        let needs_lines = matches!(item.line.kind, StepKind::Branch { .. } | StepKind::Loop(_));
        if needs_lines && item.action.is_none() && !draft.has_children {
            diagnostics.push(nothing_nested(span));
        }
        match item.action {
            None => {
                let is_more = says_more(&item.line);
                let words = item.end.as_ref().map_or(span, |end| end.before.span());
                let pieces: Vec<Span> = std::iter::once(words).chain(draft.pieces.iter().skip(1).copied()).collect();
                ids.push(lines.add(parent, words, &pieces, limited(item.line, is_more)));
                lines.add_end(parent, item.end, &draft);
            }
            Some(Action { condition, words, reading, end }) => {
                let branch = lines.add(parent, condition.span(), &[condition.span()], item.line);
                let further = draft.pieces.iter().skip(1).copied();
                let pieces: Vec<Span> = std::iter::once(words.span()).chain(further).collect();
                // Nested items are lines after the action; only what is returned may be said by them.
                let is_more = !draft.item.plain || (draft.has_children && matches!(reading.kind, StepKind::Return(_)));
                lines.add(Some(branch), words.span(), &pieces, limited(reading, is_more));
                lines.add_end(Some(branch), end, &draft);
                ids.push(branch);
                if let Some(Action { condition, words, reading, end }) = item.otherwise {
                    let arm = Reading::new(StepKind::Branch { arm: Arm::Else, condition: None }, true);
                    let arm = lines.add(parent, condition.span(), &[condition.span()], arm);
                    lines.add(Some(arm), words.span(), &[words.span()], limited(reading, !draft.item.plain));
                    lines.add_end(Some(arm), end, &draft);
                }
            }
        }
    }
    let mut steps = lines.steps;
    if mode == Mode::Steps {
        resolve_else_arms(&mut steps, diagnostics);
    }
    steps
}

/// The items that are lines, in order, each with the one it is nested in.
fn draft_lines<'a>(
    items: &[&'a ItemTree],
    mode: Mode,
    source: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Draft<'a>> {
    let mut drafts: Vec<Draft<'a>> = Vec::new();
    // By parent, the last draft.
    let mut last: HashMap<Option<usize>, usize> = HashMap::new();
    let column = |at: u32| at as usize - line_start(source, at as usize);
    // The last line of each level that is open.
    let mut before: Vec<Span> = Vec::new();
    // The lines above the present item, outermost first, with their levels.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for &item in items {
        while open.last().is_some_and(|(level, _)| *level >= item.level) {
            open.pop();
        }
        if mode == Mode::Goal && !item.ordered {
            if let (Some((_, owner)), Some(last)) = (open.last(), item.text.last()) {
                drafts[*owner].pieces.push(item.bullet.to(*last));
            }
            continue;
        }
        if item.lifted {
            diagnostics.push(too_deep(item));
        }
        // A bullet without words says nothing; what is nested in it counts as if it stood there.
        if item.text.is_empty() {
            continue;
        }
        before.truncate(open.len() + 1);
        match before.get_mut(open.len()) {
            None => before.push(item.bullet),
            Some(last) => {
                if !item.ordered && !item.lifted && column(last.start) != column(item.bullet.start) {
                    diagnostics.push(odd_indentation(item.bullet, *last));
                }
                *last = item.bullet;
            }
        }
        let whole = item.text.iter().fold(item.bullet, |whole, piece| whole.to(*piece));
        for (_, above) in &open {
            let above = &mut drafts[*above];
            above.nested = if above.has_children { above.nested.to(whole) } else { whole };
            above.has_children = true;
        }
        let parent = open.last().map(|(_, parent)| *parent);
        if let Some(before) = last.insert(parent, drafts.len()) {
            drafts[before].is_last = false;
        }
        open.push((item.level, drafts.len()));
        let nested = Span { start: whole.end, ..whole };
        drafts.push(Draft { item, pieces: item.text.clone(), parent, has_children: false, nested, is_last: true });
    }
    drafts
}

/// Lines as they are made, in the order of their ids.
struct Lines<'a> {
    source: &'a str,
    around: Surroundings<'a>,
    steps: Vec<Step>,
    n_roots: usize,
    /// The item in hand has the mark of lines that must be done.
    is_marked: bool,
}

impl Lines<'_> {
    /// Whether a loop stands around what is nested under `parent`.
    fn is_in_loop(&self, parent: Option<StepId>) -> bool {
        let mut around = std::iter::successors(parent, |id| self.steps[id.0 as usize].parent);
        around.any(|id| matches!(self.steps[id.0 as usize].kind, StepKind::Loop(_)))
    }

    /// What a round of the innermost loop around what is nested under `parent` is called.
    fn rounds(&self, parent: Option<StepId>) -> Vec<String> {
        let mut around = std::iter::successors(parent, |id| self.steps[id.0 as usize].parent);
        let header = around.find_map(|id| {
            if let StepKind::Loop(header) = &self.steps[id.0 as usize].kind { Some(header) } else { None }
        });
        let Some(Loop::ForEach { variable, list }) = header else { return Vec::new() };
        let of_list = list.as_ref().map_or_else(Vec::new, names_of_items);
        std::iter::once(variable.name.to_string()).chain(of_list).collect()
    }

    /// The end that comes after the line of a draft.
    fn add_end(&mut self, parent: Option<StepId>, end: Option<End<'_>>, draft: &Draft<'_>) {
        if let Some(End { words, reading, .. }) = end {
            self.add(parent, words.span(), &[words.span()], limited(reading, !draft.item.plain));
        }
    }

    fn add(&mut self, parent: Option<StepId>, span: Span, pieces: &[Span], reading: Reading) -> StepId {
        let id = StepId(u32::try_from(self.steps.len()).unwrap_or(u32::MAX));
        let label = match parent {
            Some(parent) => {
                let parent = &mut self.steps[parent.0 as usize];
                parent.children.push(id);
                format!("{}.{:02}", parent.label, parent.children.len())
            }
            None => {
                self.n_roots += 1;
                format!("{:02}", self.n_roots)
            }
        };
        let Reading { kind, explicit, near: _ } = reading;
        let words = Phrase::new(self.source, span);
        let decides = matches!(kind, StepKind::Branch { .. } | StepKind::Loop(_));
        let compulsory = !decides && (self.is_marked || strip_always(words.plain()).is_some());
        let due_call = find_due_call(words, &kind, self.around);
        let mut step = Step {
            id,
            label: label.into(),
            parent,
            children: Vec::new(),
            text: join_pieces(self.source, pieces).into(),
            span,
            kind,
            explicit,
            compulsory,
            due_call,
            reads: Vec::new(),
            writes: Vec::new(),
        };
        fill_names(&mut step, self.source, pieces);
        self.steps.push(step);
        id
    }
}

/// A reading, given whether more than its words say what the line is.
fn limited(mut reading: Reading, is_more: bool) -> Reading {
    if is_more {
        reading.explicit = false;
        // `Return:` with more under it gives that back, not nothing.
        if matches!(reading.kind, StepKind::Return(Returned::Nothing)) {
            reading.kind = StepKind::Return(Returned::Words);
        }
    }
    reading
}

fn nothing_nested(line: Span) -> Diagnostic {
    let message = "nothing is nested under this line, so nothing is done when it holds";
    Diagnostic::warning("nothing-nested", line, message)
        .with_note("nest the lines that belong to it: indent them by two more spaces")
}

/// A line that stands a little more to the left or right than the line before it on the same level.
fn odd_indentation(line: Span, before: Span) -> Diagnostic {
    let message = "this line is on the same level as the one before it, but indented differently";
    Diagnostic::warning("odd-indentation", line, message)
        .with_place(before, "before it")
        .with_note("lines of one level begin in the same column, those of the next level two spaces further in")
}

fn no_loop(line: Span) -> Diagnostic {
    let message = "this line leaves a loop, but it is not inside one; it is left to the model";
    Diagnostic::warning("no-loop-around", line, message)
        .with_note("nest it under the loop, or write `Stop` to end the playbook")
}

fn nearly_understood(near: Near, source: &str) -> Diagnostic {
    let warning = Diagnostic::warning("nearly-understood", near.place, near.message);
    let warning = warning.with_note(format!("it is left to the model; a line that is understood: `{}`", near.wording));
    // In a line with emphasis places are not as exact.
    match near.repair.filter(|(old, _)| source.get(near.place.range()) == Some(old)) {
        Some((old, new)) if new.trim().is_empty() => warning.with_fix(format!("remove `{old}`"), near.place, new),
        Some((_, new)) => warning.with_fix(format!("write `{}`", new.trim()), near.place, new),
        None => warning,
    }
}

fn too_deep(item: &ItemTree) -> Diagnostic {
    let message = format!("this line is nested deeper than {MAX_NESTING} levels and is read as one level higher");
    Diagnostic::warning("nested-too-deep", item.bullet, message).with_note("move it into a playbook of its own")
}

/// Decides for each else arm whether it is explicit, and finds those without an `If`.
fn resolve_else_arms(steps: &mut [Step], diagnostics: &mut Vec<Diagnostic>) {
    // Per parent (none: outermost): whether a chain is open there, and whether all its conditions were read.
    let mut chains: HashMap<Option<StepId>, bool> = HashMap::new();
    for step in steps {
        let StepKind::Branch { arm, condition, .. } = &step.kind else {
            chains.remove(&step.parent);
            continue;
        };
        let chain = chains.get(&step.parent).copied();
        match (arm, chain) {
            (Arm::If, _) => {
                chains.insert(step.parent, condition.is_some());
            }
            (Arm::ElseIf | Arm::Else, None) => {
                step.explicit = false;
                let message = "there is no `If` directly before this line; it is left to the model";
                diagnostics.push(Diagnostic::warning("else-without-if", step.span, message));
            }
            (Arm::ElseIf, Some(all_read)) => {
                chains.insert(step.parent, all_read && condition.is_some());
            }
            (Arm::Else, Some(all_read)) => {
                step.explicit &= all_read;
                chains.remove(&step.parent);
            }
        }
    }
}

/// Fills `reads` and `writes`: what a line is certain to write is no read; free words may do either.
fn fill_names(step: &mut Step, source: &str, pieces: &[Span]) {
    let places: BTreeSet<Span> = step.kind.targets().iter().map(|target| target.span).collect();
    let mut reads: Vec<Arc<str>> = Vec::new();
    let mut seen: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut add = |name: &str| {
        if !seen.contains(name) {
            let name: Arc<str> = name.into();
            reads.push(name.clone());
            seen.insert(name);
        }
    };
    let named: Vec<Arc<str>> = step.call().map_or_else(Vec::new, |call| {
        call.arguments.iter().flatten().filter_map(|argument| argument.name.clone()).collect()
    });
    // `Name($id=7)` names a parameter of the callee, it reads nothing.
    let is_argument_name = |mention: &Mention<'_>| {
        let behind = source[mention.span.end as usize..].trim_start();
        named.iter().any(|name| **name == *mention.name) && behind.starts_with('=') && !behind.starts_with("==")
    };
    for mention in pieces.iter().flat_map(|piece| Phrase::new(source, *piece).mentions()) {
        if !places.contains(&mention.span) && !is_argument_name(&mention) {
            add(mention.name);
        }
    }
    // A built-in that was read as an assignment names its variable without a `$`, and so does `the last call failed`.
    if let StepKind::Assign { value: Some(expr), .. }
    | StepKind::Branch { condition: Some(expr), .. }
    | StepKind::Loop(Loop::While { condition: Some(expr) } | Loop::Until { condition: Some(expr), .. }) = &step.kind
    {
        expr.for_each_reference(&mut |reference| add(&reference.name));
    }
    let mut seen = BTreeSet::new();
    let targets = step.kind.targets().iter().map(|target| &target.name).filter(|name| seen.insert(*name));
    // A free line has no targets, and its reads are distinct.
    let writes = if step.is_free() { reads.clone() } else { targets.cloned().collect() };
    step.reads = reads;
    step.writes = writes;
}

/// Gives every target without a type the one written beside the name elsewhere in the playbook. A type that only a
/// question's words say holds where every line that sets the name agrees: `Ask whether they need more, as $request`
/// says nothing of what another line puts there.
pub(crate) fn spread_types(
    steps: &mut [Step],
    parameters: &[Parameter],
    source: &str,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut types: HashMap<Arc<str>, Type> = HashMap::new();
    for parameter in parameters {
        types.entry(parameter.name.clone()).or_insert(parameter.ty);
    }
    for step in &*steps {
        let words = Phrase::new(source, step.span);
        // Most lines declare nothing: a type stands after a colon.
        for mention in words.text.contains(':').then(|| words.mentions()).into_iter().flatten() {
            // A line with an action is looked at twice.
            let unknown = mention.unknown_type.filter(|place| diagnostics.iter().all(|known| known.span != *place));
            diagnostics.extend(unknown.map(|place| unknown_type(&source[place.range()], place)));
            if let Some(ty) = mention.ty {
                types.entry(mention.name.into()).or_insert(ty);
            }
        }
    }
    let mut agreed: HashMap<&Arc<str>, Type> = HashMap::new();
    for target in steps.iter().flat_map(|step| step.kind.targets()) {
        let ty = agreed.entry(&target.name).or_insert(target.ty);
        if *ty != target.ty {
            *ty = Type::ANY;
        }
    }
    for (name, ty) in agreed {
        types.entry(name.clone()).or_insert(ty);
    }
    for step in steps {
        for_each_target(&mut step.kind, &mut |target| {
            target.ty = types.get(&target.name).copied().unwrap_or(target.ty)
        });
    }
}

/// The types of all targets that have one, by name.
pub(crate) fn types_of(steps: &[Step]) -> BTreeMap<Arc<str>, Type> {
    let mut types = BTreeMap::new();
    for target in steps.iter().flat_map(|step| step.kind.targets()).filter(|target| target.ty != Type::ANY) {
        types.entry(target.name.clone()).or_insert(target.ty);
    }
    types
}

/// The values that questions allow, by name. Two questions that list others allow what one of them does.
pub(crate) fn choices_of(steps: &[Step], source: &str) -> BTreeMap<Arc<str>, Vec<Value>> {
    let mut choices: BTreeMap<Arc<str>, Vec<Value>> = BTreeMap::new();
    let questions = steps.iter().filter(|step| matches!(step.kind, StepKind::Ask { .. }));
    for (name, values) in questions.filter_map(|step| choices_in(Phrase::new(source, step.span))) {
        choices.entry(name).or_default().extend(values);
    }
    choices
}

fn for_each_target(kind: &mut StepKind, visit: &mut dyn FnMut(&mut Target)) {
    if let StepKind::Ask { targets } = kind {
        targets.iter_mut().for_each(visit);
    } else if let StepKind::Assign { target, .. }
    | StepKind::Loop(Loop::ForEach { variable: target, .. })
    | StepKind::Call(CallSite { result: Some(target), .. }) = kind
    {
        visit(target);
    }
}

/// Pieces of text as one, each without the indentation it has in the file.
pub(crate) fn join_pieces(source: &str, pieces: &[Span]) -> String {
    let mut text = String::new();
    for piece in pieces {
        if !text.is_empty() {
            text.push('\n');
        }
        let raw = source.get(piece.range()).unwrap_or("");
        if !raw.contains('\n') {
            text.push_str(raw);
            continue;
        }
        let column = piece.start as usize - line_start(source, piece.start as usize);
        for (index, line) in raw.split('\n').enumerate() {
            let line = line.trim_end_matches('\r');
            if index > 0 {
                text.push('\n');
                let indent = line.bytes().take(column).take_while(|b| matches!(b, b' ' | b'\t')).count();
                text.push_str(&line[indent..]);
            } else {
                text.push_str(line);
            }
        }
    }
    text
}

/// Pieces of free text as one, as they stand: a description is cut where something was taken out of it.
pub(crate) fn join_paragraphs(source: &str, pieces: &[Span]) -> String {
    let pieces = pieces.iter().map(|piece| source.get(piece.range()).unwrap_or("").replace("\r\n", "\n"));
    pieces.collect::<Vec<_>>().join("\n\n")
}
