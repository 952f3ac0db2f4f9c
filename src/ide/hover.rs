//! What is told of what stands at an offset, as Markdown, in the words of `check --explain`.

use std::fmt::Write as _;

use playhouse_lang::analysis::explain::{line, lines_by_who, signature, trigger_kind};
use playhouse_lang::program::{Playbook, PlaybookId, Program, Step};
use playhouse_lang::span::{FileId, Span};
use playhouse_lang::value::markup::markdown_code as code;

use crate::occurrences::{Occurrence, Role, Symbol};
use crate::{At, View, keys};

/// What is told, and of which place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// Markdown.
    pub text: String,
    /// What it is about.
    pub span: Span,
}

impl View {
    /// What is told of what stands at an offset; none: there is nothing to tell.
    pub fn hover(&self, file: FileId, offset: usize) -> Option<Hover> {
        let Some(at) = self.at(file, offset) else {
            return keys::hover(file, &self.program().sources.get(file)?.text, offset);
        };
        match at {
            At::Name(place) => Some(Hover { text: self.name_text(place), span: place.span }),
            At::Line(playbook, step) => Some(Hover { text: self.line_text(playbook, step), span: step.span }),
            At::Trigger(trigger) => {
                let name = self.program().trigger_name(trigger.id);
                Some(Hover { text: format!("**{name}**: {}", code(&trigger_kind(trigger))), span: trigger.span })
            }
        }
    }

    fn line_text(&self, playbook: &Playbook, step: &Step) -> String {
        let whose = match (step.explicit, step.must_be_done()) {
            (true, _) => "explicit: no model call",
            (false, true) => "the model's, and it must be done",
            (false, false) => "the model's",
        };
        let read = line(&self.analysis, &|name| self.about(name), playbook, step);
        format!("**{}:{}** {whose}\n\n{}", playbook.name, step.label, code(&read))
    }

    fn name_text(&self, place: &Occurrence) -> String {
        let program = self.program();
        match &place.symbol {
            Symbol::Agent(id) => {
                let agent = program.agent(*id);
                format!("agent **{}**, {}", agent.name, count(agent.playbooks.len(), "playbook"))
            }
            Symbol::Playbook(id) => self.playbook_text(*id),
            Symbol::Callable(name) => self.callable_text(name),
            Symbol::Own(id, name) => {
                let playbook = program.playbook(*id);
                let parameter = playbook.parameters.iter().find(|parameter| parameter.name == *name);
                let (what, ty) = match parameter {
                    Some(parameter) => ("parameter", Some(&parameter.ty)),
                    None => ("variable", playbook.types.get(name)),
                };
                let ty = ty.map_or_else(String::new, |ty| format!(": {ty}"));
                format!("{what} {} of {}{}", code(&format!("${name}{ty}")), playbook.name, self.set_where(place))
            }
            Symbol::Shared(id, name) => {
                let agent = program.agent(*id);
                let declared = agent.variables.iter().find(|declared| declared.name == *name);
                let ty = declared.map_or_else(String::new, |declared| format!(": {}", declared.ty));
                // A secret's value is never shown, nor any other: it changes.
                let secret = if agent.declares_secret(name) { ", secret" } else { "" };
                let shown = code(&format!("${name}{ty}"));
                format!("variable {shown} of the agent {}{secret}{}", agent.name, self.set_where(place))
            }
        }
    }

    /// What is told of a plan or tool.
    pub(crate) fn callable_text(&self, name: &str) -> String {
        let plan = self.program().find_plan(name).map(|id| self.program().plan(id));
        match plan {
            Some(plan) => format!("plan {}", plan.map_or_else(String::new, |plan| code(&signature(&plan.signature())))),
            None => self.tool_text(name),
        }
    }

    fn tool_text(&self, name: &str) -> String {
        let Some(tool) = self.tool(name) else { return format!("tool **{name}**, which is not known here") };
        let about = std::iter::once(tool.summary.to_string()).chain(self.about(name)).filter(|text| !text.is_empty());
        // A tool's own words are data, too, and never read as Markdown.
        let about: Vec<String> = about.map(|text| format!("\n\n{}", escaped(&text))).collect();
        format!("tool {}{}", code(&signature(tool)), about.concat())
    }

    fn playbook_text(&self, id: PlaybookId) -> String {
        let playbook = self.program().playbook(id);
        let mut text = code(&signature(&playbook.signature()));
        if let Some(first) = playbook.description.lines().find(|line| !line.trim().is_empty()) {
            let _ = write!(text, "\n\n{}", escaped(first.trim()));
        }
        let _ = write!(text, "\n\n{}, {}", lines_by_who(playbook), self.counted_callers(id));
        text
    }

    /// Where a variable is set, by lines.
    fn set_where(&self, place: &Occurrence) -> String {
        let program = self.program();
        let written = self.places(&place.symbol).filter(|place| place.role == Role::Write);
        let lines: Vec<String> = written.filter_map(|place| line_name(program, place.span)).collect();
        if lines.is_empty() { String::new() } else { format!("; set at {}", lines.join(", ")) }
    }
}

/// `Pay:03`: the line that holds a place.
fn line_name(program: &Program, span: Span) -> Option<String> {
    let offset = span.range().start;
    program.playbooks.iter().find_map(|playbook| {
        let holds = |step: &&Step| step.span.file == span.file && step.span.contains(offset);
        let step = playbook.steps.iter().find(holds)?;
        Some(format!("{}:{}", playbook.name, step.label))
    })
}

/// Text of the program as running text of Markdown: signs that Markdown or HTML would read are escaped.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push(' '),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '$' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A number of things: `1 caller`, `2 callers`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
