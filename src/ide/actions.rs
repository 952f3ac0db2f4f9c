//! What an editor offers to do about what was found.

use std::ops::Range;

use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::expr::{ExprKind, scan_name};
use playhouse_lang::program::{CallSite, Playbook};
use playhouse_lang::span::{FileId, Span};

use crate::View;
use crate::occurrences::Symbol;

/// A change of one file.
#[derive(Clone, Debug)]
pub struct Action<'v> {
    /// What it does, as an imperative.
    pub title: String,
    /// What is written in the place of what, by place.
    pub edits: Vec<(Span, String)>,
    /// What it is about.
    pub finding: &'v Diagnostic,
    /// Whether nothing else is likely to be meant.
    pub is_preferred: bool,
}

impl View {
    /// What can be done about what was found in a range of a file, in bytes.
    pub fn actions(&self, file: FileId, range: Range<usize>) -> Vec<Action<'_>> {
        let touches = |found: &&Diagnostic| found.span.file == file && found.span.touches(&range);
        let actions = |found| [self.mend(found), self.missing_playbook(found), self.declaration(found)];
        self.findings().iter().filter(touches).flat_map(actions).flatten().collect()
    }

    /// The mends of all that was found in a file, by place. Of two that change the same place the first is one of them;
    /// none that leaves words out, as those a person should look at.
    pub fn all_mends(&self, file: FileId) -> Vec<(Span, String)> {
        let sure = self.findings().iter().filter(|found| found.code != "semantic-could-be-condition");
        let fixes = sure.filter_map(|found| found.fix.as_ref()).filter(|fix| fix.span.file == file);
        let mut edits: Vec<(Span, String)> = fixes.map(|fix| (fix.span, fix.replacement.clone())).collect();
        edits.sort_by_key(|(span, _)| *span);
        let mut end = 0;
        edits.retain(|(span, _)| {
            let is_free = end <= span.start && (span.start < span.end || end < span.start);
            end = if is_free { span.end } else { end };
            is_free
        });
        edits
    }

    fn mend<'v>(&'v self, finding: &'v Diagnostic) -> Option<Action<'v>> {
        let fix = finding.fix.as_ref().filter(|fix| fix.span.file == finding.span.file)?;
        let edits = vec![(fix.span, fix.replacement.clone())];
        Some(Action { title: fix.message.clone(), edits, finding, is_preferred: true })
    }

    /// A playbook of the name that nothing is called by, below the one that calls it.
    fn missing_playbook<'v>(&'v self, finding: &'v Diagnostic) -> Option<Action<'v>> {
        let place = finding.span;
        let name = self.program().sources.text(place);
        if finding.code != "unknown-callee" || name.is_empty() || scan_name(name) != name.len() {
            return None;
        }
        let caller = self.playbook_at(place.file, place.range().start)?;
        let call = caller.steps.iter().filter_map(|line| line.call()).find(|call| call.callee_span == place)?;
        let written = format!("## {name}({})\n\n### Steps\n- Return\n", parameters(call).join(", "));
        let edits = vec![self.written_below(caller, &written)];
        Some(Action { title: format!("write a playbook `{name}`"), edits, finding, is_preferred: false })
    }

    /// What is to be written where, so that a text stands below a playbook, with an empty line between.
    pub(crate) fn written_below(&self, playbook: &Playbook, written: &str) -> (Span, String) {
        let (file, end) = (playbook.span.file, playbook.span.range().end);
        let text = self.program().sources.text(playbook.span);
        let (before, after) = match (text.ends_with("\n\n"), text.ends_with('\n')) {
            (true, _) => ("", "\n"),
            (false, true) => ("\n", ""),
            (false, false) => ("\n\n", ""),
        };
        (Span::new(file, end, end), format!("{before}{written}{after}"))
    }

    /// A declaration of the variable that nothing sets, if its agent has none yet: below its heading.
    fn declaration<'v>(&'v self, finding: &'v Diagnostic) -> Option<Action<'v>> {
        let place = finding.span;
        let playbook =
            self.playbook_at(place.file, place.range().start).filter(|_| finding.code == "read-before-written")?;
        let agent = self.program().agent(playbook.agent);
        let mut names = self.names_in(place.file, place.range()).into_iter().filter_map(|name| {
            let Symbol::Shared(_, name) = &name.symbol else { return None };
            finding.message.contains(&format!("`${name}`")).then_some(name)
        });
        let name = names.next().filter(|_| agent.variables.is_empty() && agent.title_span.file == place.file)?;
        let source = &self.program().sources.get(place.file)?.text;
        let heading = agent.title_span.range().end;
        let line = source.get(heading..)?.find('\n').map(|length| heading + length + 1)?;
        let edits = vec![(Span::new(place.file, line, line), format!("variables: {{{name}: null}}\n"))];
        (heading > 0).then(|| Action { title: format!("declare `${name}`"), edits, finding, is_preferred: false })
    }
}

/// What a playbook is called with, by names of its own.
fn parameters(call: &CallSite) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for argument in call.arguments.iter().flatten() {
        let given = match (&argument.name, &argument.value.kind) {
            (Some(name), _) => name.to_string(),
            (None, ExprKind::Reference(reference)) => reference.name.to_string(),
            (None, _) => "value".to_owned(),
        };
        let is_taken = |name: &str| names.iter().any(|known| known == name);
        let free = (2..).map(|n| format!("{given}_{n}"));
        let name = std::iter::once(given.clone()).chain(free).find(|name| !is_taken(name)).unwrap_or(given);
        names.push(name);
    }
    names.into_iter().map(|name| format!("${name}")).collect()
}
