//! A file's outline, and what is written beside its lines.

use playhouse_lang::analysis::explain::lines_by_who;
use playhouse_lang::program::{Agent, Playbook, Step};
use playhouse_lang::span::{FileId, Span};

use crate::View;

/// What an entry of an outline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// An agent.
    Agent,
    /// A playbook.
    Playbook,
    /// A trigger.
    Trigger,
    /// A line.
    Line,
    /// A test or trigger table.
    Test,
    /// A section of one.
    Section,
    /// A row of a trigger table.
    Case,
}

/// An entry of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Its name.
    pub name: String,
    /// What there is to know besides.
    pub detail: String,
    /// All of it.
    pub span: Span,
    /// What is selected of it: its title or words.
    pub title: Span,
    /// What stands in it.
    pub children: Vec<Entry>,
}

impl View {
    /// The agents of a file, with their playbooks; playbooks of agents of other files stand by themselves.
    pub fn outline(&self, file: FileId) -> Vec<Entry> {
        let program = self.program();
        let of_agent = |agent: &Agent| -> Vec<Entry> {
            let own = agent.playbooks.iter().map(|id| program.playbook(*id));
            own.filter(|playbook| playbook.span.file == file).map(playbook_entry).collect()
        };
        let mut outline = Vec::new();
        for agent in &program.agents {
            let children = of_agent(agent);
            if agent.title_span.file != file || agent.title.is_empty() {
                outline.extend(children);
                continue;
            }
            let span = children.last().map_or(agent.title_span, |last| agent.title_span.to(last.span));
            let name = agent.title.to_string();
            let (kind, detail, title) = (EntryKind::Agent, String::new(), agent.title_span);
            outline.push(Entry { kind, name, detail, span, title, children });
        }
        outline
    }

    /// What stands around an offset, from the outside to the inside: an agent, a playbook, a line, a name; each lies in the one
    /// before it.
    pub fn around(&self, file: FileId, offset: usize) -> Vec<Span> {
        let holds = |span: Span| span.touches(&(offset..offset));
        let mut around: Vec<Span> = Vec::new();
        let mut entries = self.outline(file);
        while let Some(entry) = entries.into_iter().find(|entry| holds(entry.span)) {
            around.extend([entry.span, entry.title]);
            entries = entry.children;
        }
        around.extend(self.name_at(file, offset).map(|name| name.span));
        around.retain(|span| holds(*span));
        around.dedup();
        around
    }

    /// The playbooks of a file.
    pub fn playbooks(&self, file: FileId) -> impl Iterator<Item = &Playbook> {
        self.program().playbooks.iter().filter(move |playbook| !playbook.implicit && playbook.span.file == file)
    }

    /// What can be folded in a file: playbooks, and lines with those below them.
    pub fn folds(&self, file: FileId) -> Vec<Span> {
        let mut folds = Vec::new();
        for playbook in self.playbooks(file) {
            folds.push(playbook.span);
            for line in playbook.steps.iter().filter(|line| !line.children.is_empty() && line.span.file == file) {
                let is_below = |other: &&Step| playbook.is_nested(other.id, line.id);
                let last = playbook.steps.iter().rev().find(is_below);
                folds.extend(last.map(|last| line.span.to(last.span)));
            }
        }
        folds
    }
}

fn playbook_entry(playbook: &Playbook) -> Entry {
    let detail = lines_by_who(playbook);
    let entry = |kind, name: &str, words: &str, span| {
        let words = words.lines().next().unwrap_or_default().to_owned();
        Entry { kind, name: name.to_owned(), detail: words, span, title: span, children: Vec::new() }
    };
    let triggers = playbook.triggers.iter().map(|trigger| {
        let name = format!("T{}", trigger.id.index + 1);
        entry(EntryKind::Trigger, &name, &trigger.text, trigger.span)
    });
    let lines = playbook.steps.iter().map(|line| entry(EntryKind::Line, &line.label, &line.text, line.span));
    Entry {
        kind: EntryKind::Playbook,
        name: playbook.name.to_string(),
        detail,
        span: playbook.span,
        title: playbook.title_span,
        children: triggers.chain(lines).collect(),
    }
}
