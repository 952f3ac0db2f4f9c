//! The names in a test and what they mean in its program.

use super::form::TestFile;
use super::line_name::{NotFound, find_line};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::diagnostic::wording::meant_or;
use crate::files::case_file::mention::{LineName, Mention, MentionKind};
use crate::lower::LoadOptions;
use crate::program::Program;

impl TestFile {
    /// What the test names that its program does not have, for which it cannot be played: with these `mentions`, and
    /// what `world` says of tools. By place; the first note of each says what to do.
    pub fn unknown_names(&self, mentions: &[Mention], program: &Program, world: &LoadOptions<'_>) -> Vec<Diagnostic> {
        let unknown = |mention: &Mention| {
            let (code, (message, next)) = match &mention.kind {
                MentionKind::Line(name) => ("unknown-line", find_line(program, name).err()?.told(name)),
                MentionKind::Entry(name) if program.find_entry(name).is_none() => {
                    ("unknown-playbook", no_playbook(program, name))
                }
                MentionKind::Playbook(name) if !program.playbooks.iter().any(|playbook| *playbook.name == **name) => {
                    ("unknown-playbook", no_playbook(program, name))
                }
                MentionKind::Program(_)
                | MentionKind::Tools(_)
                | MentionKind::Entry(_)
                | MentionKind::Playbook(_)
                | MentionKind::Callable(_)
                | MentionKind::Trigger(_)
                | MentionKind::Variable { .. } => return None,
            };
            Some(Diagnostic::error(code, mention.span, message).with_note(next))
        };
        let mut findings: Vec<Diagnostic> = mentions.iter().filter_map(unknown).collect();
        findings.extend(self.checks().flat_map(|written| written.check.clone().resolve(program, world)));
        findings.sort_by_key(|finding| finding.span.start);
        findings
    }
}

fn no_playbook(program: &Program, name: &str) -> (String, String) {
    let known: Vec<String> = program.entry_names().map(ToString::to_string).collect();
    let next = meant_or(nearest(name, known.iter()), format!("there are {}", known.join(", ")));
    (format!("there is no playbook `{name}`"), next)
}

impl NotFound {
    /// What is wrong with a name, and what to do.
    pub fn told(&self, name: &LineName) -> (String, String) {
        let (LineName::Id(line) | LineName::Text(line) | LineName::Goal(line)) = name;
        let listed = "`playhouse check --explain` shows the lines";
        let meant =
            |near: Option<String>| near.map_or_else(|| listed.to_owned(), |near| format!("did you mean {near}?"));
        match self {
            NotFound::NoId => (format!("no playbook has a line {line}"), listed.to_owned()),
            NotFound::NoText { nearest } => (format!("no line begins with `{line}`"), meant(nearest.clone())),
            NotFound::Several(lines) => (
                format!("{} lines begin with `{line}`: {}", lines.len(), lines.join(", ")),
                "write more of it, or the line's id".to_owned(),
            ),
            NotFound::NoPlaybook { nearest } => {
                (format!("there is no playbook `{line}`"), meant(nearest.as_ref().map(|near| format!("`{near}`"))))
            }
            NotFound::HasLines => (format!("{line} has lines"), "name one of them by its id or its text".to_owned()),
        }
    }
}
