//! What can be written at an offset.

use std::collections::BTreeSet;
use std::sync::Arc;

use playhouse_lang::analysis::explain::signature;
use playhouse_lang::program::{Playbook, Signature};
use playhouse_lang::source::{Part, SectionKind, part_at};
use playhouse_lang::span::{FileId, Span};
use playhouse_lang::value::Value;
use playhouse_lang::{trigger_examples, wordings};

use crate::occurrences::{Occurrence, Role, Symbol};
use crate::{View, keys};

/// What a proposal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalKind {
    /// A variable.
    Variable,
    /// A part of a variable's value.
    Member,
    /// A playbook or plan.
    Playbook,
    /// A tool.
    Tool,
    /// A line or trigger that is read, as an example.
    Wording,
    /// A heading, or a line that begins with a sign.
    Heading,
    /// A key of front matter or metadata.
    Key,
    /// One of its values.
    Value,
    /// A line of a playbook, or a trigger, by its id.
    Line,
    /// A file or folder.
    File,
}

/// Something that can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What it is.
    pub kind: ProposalKind,
    /// What is written in the place of [`Proposal::span`].
    pub text: String,
    /// What there is to know of it.
    pub detail: String,
    /// What has been typed of it.
    pub span: Span,
}

impl View {
    /// What can be written at an offset of a file whose text is now `text`. After a `$` the variables of the playbook, its
    /// own first; after a variable's dot the parts of its first value; at the beginning of a line of `### Steps` or
    /// `### Triggers` the wordings that are read; in both, after the beginning of a word, playbooks, tools and plans; after
    /// the signs of a heading the sections that are not there yet; in front matter and metadata keys and their values.
    pub fn complete(&self, file: FileId, text: &str, offset: usize) -> Vec<Proposal> {
        let Some(Typed { before, line, head, start }) = Typed::at(text, offset) else { return Vec::new() };
        let span = Span::new(file, start, offset);
        if head.ends_with('$') {
            return self.variables(file, Span::new(file, start - 1, offset));
        }
        if let Some(name) = head.strip_suffix('.').and_then(variable_before) {
            return self.members(file, name, span);
        }
        let part = part_at(text, offset);
        let signs = line.trim_end_matches(' ');
        if signs.starts_with('#') && signs.trim_end_matches('#').is_empty() {
            return self.headings(part, Span::new(file, offset - line.len(), offset));
        }
        if line == "!" {
            let text = "!import ".to_owned();
            let span = Span::new(file, offset - 1, offset);
            return vec![Proposal { kind: ProposalKind::Heading, text, detail: "another file".to_owned(), span }];
        }
        let wordings = match part {
            Part::Section(SectionKind::Steps) => line_wordings(span),
            Part::Section(SectionKind::Triggers) => trigger_wordings(span),
            Part::Section(SectionKind::Notes) => return Vec::new(),
            Part::Agent | Part::Playbook => return keys::proposals(file, text, offset),
        };
        let is_after_bullet = matches!(head.trim_start(), "- " | "* " | "+ ");
        let mut proposals = if is_after_bullet { wordings } else { Vec::new() };
        // Where nothing has been typed everything would be proposed, in the middle of prose.
        if is_after_bullet || start < before.len() {
            proposals.extend(self.callables(file, span));
        }
        proposals
    }

    fn variables(&self, file: FileId, span: Span) -> Vec<Proposal> {
        let here = self.playbook_at(file, span.range().start);
        let program = self.program();
        // The one that is being typed is none yet.
        let is_typed = |place: &Occurrence| place.span.start == span.start && place.role != Role::Definition;
        let inside = here.map_or(0..0, |here| here.span.range());
        let places = self.names_in(file, inside).into_iter().filter(|place| !is_typed(place));
        let mut names: BTreeSet<(bool, Arc<str>)> = BTreeSet::new();
        names.extend(places.filter_map(|place| match &place.symbol {
            Symbol::Own(id, name) if here.is_some_and(|here| here.id == *id) => Some((false, name.clone())),
            Symbol::Shared(_, name) => Some((true, name.clone())),
            Symbol::Own(..) | Symbol::Agent(_) | Symbol::Playbook(_) | Symbol::Callable(_) => None,
        }));
        let agents = program.agents.iter().filter(|agent| here.is_none_or(|here| here.agent == agent.id));
        for agent in agents {
            let others = agent.playbooks.iter().filter(|id| here.is_none_or(|here| here.id != **id));
            let shared = others.flat_map(|id| &program.playbook(*id).outer);
            let declared = agent.variables.iter().map(|variable| &variable.name);
            names.extend(shared.chain(declared).map(|name| (true, name.clone())));
        }
        // An agent's variable of the same name cannot be meant here.
        let is_hidden = |name: &Arc<str>| names.contains(&(false, name.clone()));
        let visible = names.iter().filter(|(is_shared, name)| !is_shared || !is_hidden(name));
        // Own ones come first.
        let proposal = |(is_shared, name): &(bool, Arc<str>)| {
            let detail = self.variable_detail(here, *is_shared, name);
            Proposal { kind: ProposalKind::Variable, text: format!("${name}"), detail, span }
        };
        visible.map(proposal).collect()
    }

    fn variable_detail(&self, here: Option<&Playbook>, is_shared: bool, name: &str) -> String {
        let ty = here.and_then(|here| here.type_of(self.program().agent(here.agent), name));
        let ty = ty.map_or_else(String::new, |ty| ty.to_string());
        match (is_shared, ty.is_empty()) {
            (true, true) => "of the agent".to_owned(),
            (true, false) => format!("{ty}, of the agent"),
            (false, _) => ty,
        }
    }

    /// The keys of the value with which a variable begins.
    fn members(&self, file: FileId, name: &str, span: Span) -> Vec<Proposal> {
        let Some(here) = self.playbook_at(file, span.range().start) else { return Vec::new() };
        let declared = &self.program().agent(here.agent).variables;
        let value =
            declared.iter().find(|declared| *declared.name == *name).and_then(|declared| declared.value.as_ref());
        let Some(Value::Map(map)) = value else { return Vec::new() };
        let kind = ProposalKind::Member;
        let proposal = |key: &str| Proposal { kind, text: key.to_owned(), detail: format!("of ${name}"), span };
        map.keys().map(|key| proposal(key)).collect()
    }

    fn headings(&self, part: Part, span: Span) -> Vec<Proposal> {
        let here = self.playbook_at(span.file, span.range().start);
        let text = here.map_or("", |here| self.program().sources.text(here.span));
        let is_there = |heading: &str| text.lines().any(|line| line.trim_end() == heading);
        let sections = [
            ("### Triggers", "when it is called, besides by name"),
            ("### Steps", "its lines"),
            ("### Notes", "what holds for all lines"),
        ];
        let is_in_playbook = here.is_some() && part != Part::Agent;
        let missing = sections.into_iter().filter(|(heading, _)| is_in_playbook && !is_there(heading));
        let kind = ProposalKind::Heading;
        let proposal = |(text, detail): (&str, &str)| Proposal { kind, text: text.into(), detail: detail.into(), span };
        missing.map(proposal).chain([proposal(("## ", "a playbook"))]).collect()
    }

    fn callables(&self, file: FileId, span: Span) -> Vec<Proposal> {
        let program = self.program();
        let here = self.playbook_at(file, span.range().start);
        let is_near = |playbook: &Playbook| here.is_none_or(|here| here.agent == playbook.agent);
        let visible = program.playbooks.iter().filter(|it| !it.implicit && (is_near(it) || it.public));
        let playbooks = visible.map(|playbook| {
            let name = here.map_or_else(|| playbook.name.to_string(), |here| program.name_for(here.agent, playbook));
            call(ProposalKind::Playbook, &name, &playbook.signature(), span)
        });
        let plans = program.plans.iter().map(|plan| call(ProposalKind::Playbook, &plan.name, &plan.signature(), span));
        let tools = self.tools.signatures.iter().map(|tool| call(ProposalKind::Tool, &tool.name, tool, span));
        playbooks.chain(plans).chain(tools).collect()
    }
}

/// What has been typed in a line.
pub(crate) struct Typed<'t> {
    /// The text before the cursor.
    before: &'t str,
    /// Its last line.
    pub(crate) line: &'t str,
    /// The same without the beginning of a word at its end.
    pub(crate) head: &'t str,
    /// Where that word begins.
    pub(crate) start: usize,
}

impl Typed<'_> {
    /// None: the offset is no place of the text.
    pub(crate) fn at(text: &str, offset: usize) -> Option<Typed<'_>> {
        let before = text.get(..offset)?;
        let begun = before.len() - before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let line = before.rsplit('\n').next().unwrap_or_default();
        Some(Typed { before, line, head: &line[..line.len() - begun], start: offset - begun })
    }
}

/// A call with all arguments that it needs.
fn call(kind: ProposalKind, name: &str, called: &Signature, span: Span) -> Proposal {
    let needed = called.parameters.iter().filter(|parameter| parameter.default.is_none());
    let arguments: Vec<String> = needed.map(|parameter| format!("${}", parameter.name)).collect();
    let text = format!("{name}({})", arguments.join(", "));
    Proposal { kind, text, detail: signature(called), span }
}

/// What a line can mean, by an example of each.
fn line_wordings(span: Span) -> Vec<Proposal> {
    let mut seen = Vec::new();
    let rows = wordings().filter(|wording| {
        let is_new = !seen.contains(&wording.means);
        seen.push(wording.means);
        is_new
    });
    let examples = rows.filter_map(|row| Some((*row.examples.first()?, row.means)));
    examples.map(|(text, detail)| wording(text, detail, span)).collect()
}

fn trigger_wordings(span: Span) -> Vec<Proposal> {
    trigger_examples().map(|text| wording(text, "needs no model", span)).collect()
}

fn wording(text: &str, detail: &str, span: Span) -> Proposal {
    Proposal { kind: ProposalKind::Wording, text: text.to_owned(), detail: detail.to_owned(), span }
}

/// The variable that a text ends with, without its `$`.
fn variable_before(text: &str) -> Option<&str> {
    let name = &text[text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len()..];
    (!name.is_empty() && text[..text.len() - name.len()].ends_with('$')).then_some(name)
}
