//! Tests and trigger tables in an editor: their outline, and what the names in them mean in their program.

use playhouse_lang::files::case_file::lines::{Line, Section, split};
use playhouse_lang::files::case_file::mention::{LineName, MentionKind};
use playhouse_lang::files::test_file::{FoundLine, find_line};
use playhouse_lang::files::trigger_table::{TriggerTable, find_trigger};
use playhouse_lang::program::{EntryId, Mode, PlaybookId, StepId};
use playhouse_lang::span::{FileId, Span};

use crate::View;
use crate::occurrences::{Occurrence, Role};
use crate::outline::{Entry, EntryKind};

/// The outline of a test: its sections, each with the first line that stands in it.
pub fn test_outline(file: FileId, text: &str) -> Vec<Entry> {
    outline(file, text, |_| Vec::new())
}

/// The outline of a trigger table: its sections, with their rows.
pub fn table_outline(file: FileId, text: &str) -> Vec<Entry> {
    let cases = TriggerTable::read(file, text).file.cases;
    outline(file, text, |whole| {
        let rows = cases.iter().filter(|case| whole.contains(case.span.range().start));
        let row = |case: &playhouse_lang::files::trigger_table::TriggerCase| {
            let fires: Vec<&str> = case.fires.iter().map(|fired| &*fired.name).collect();
            let detail = if fires.is_empty() { "nothing fires".to_owned() } else { fires.join(", ") };
            let (kind, name) = (EntryKind::Case, case.text());
            Entry { kind, name, detail, span: case.span, title: case.span, children: Vec::new() }
        };
        rows.map(row).collect()
    })
}

fn outline(file: FileId, text: &str, children: impl Fn(Span) -> Vec<Entry>) -> Vec<Entry> {
    let (top, sections) = split(text);
    let entry = |section: &Section<'_>| {
        let title = section.heading.span(file);
        let last = section.lines.iter().rev().find(|line| !line.text().is_empty());
        let span = last.map_or(title, |last| title.to(last.span(file)));
        let first = section.lines.iter().find(|line| !line.text().is_empty());
        let children = children(span);
        let detail =
            if children.is_empty() { first.map_or_else(String::new, |line| detail(*line)) } else { String::new() };
        Entry { kind: EntryKind::Section, name: heading(section.heading), detail, span, title, children }
    };
    let inner: Vec<Entry> = sections.iter().map(entry).collect();
    let Some(title) = top.iter().find(|line| line.text().starts_with("# ")) else { return inner };
    let span = inner.last().map_or(title.span(file), |last| title.span(file).to(last.span));
    let (kind, name, title) = (EntryKind::Test, heading(*title), title.span(file));
    vec![Entry { kind, name, detail: String::new(), span, title, children: inner }]
}

/// The words of a heading. Never empty, as editors want names.
fn heading(line: Line<'_>) -> String {
    let words = line.text().trim_start_matches('#').trim();
    if words.is_empty() { line.text().to_owned() } else { words.to_owned() }
}

/// What is said of a section: a line of it, without its mark.
fn detail(line: Line<'_>) -> String {
    line.text().trim_start_matches(['>', '-', ' ']).to_owned()
}

impl View {
    /// Where the program has what a name of a test or table means; none: it has no such thing, or it is no matter of the
    /// program's text.
    pub fn mentioned(&self, kind: &MentionKind) -> Vec<Span> {
        let program = self.program();
        let playbook = |id: PlaybookId| program.playbook(id).title_span;
        let line = |playbook: PlaybookId, step: StepId| program.playbook(playbook).step(step).span;
        match kind {
            MentionKind::Program(_) | MentionKind::Tools(_) => Vec::new(),
            MentionKind::Entry(name) => match program.find_entry(name) {
                Some(EntryId::Playbook(id)) => vec![playbook(id)],
                Some(EntryId::Plan(_)) | None => Vec::new(),
            },
            MentionKind::Playbook(name) | MentionKind::Callable(name) => {
                program.playbooks_named(name).filter(|found| !found.implicit).map(|found| found.title_span).collect()
            }
            MentionKind::Trigger(name) => {
                find_trigger(program, name).map(|id| program.trigger(id).span).into_iter().collect()
            }
            MentionKind::Line(name) => match (find_line(program, name), name) {
                (Ok(FoundLine::Line(id, step)), _) => vec![line(id, step)],
                (Ok(FoundLine::Goal(id)), _) => vec![playbook(id)],
                // Of a line in another one, `04>02`, the inner one.
                (Ok(FoundLine::AnyWithId), LineName::Id(id)) => {
                    let id = id.rsplit('>').next().unwrap_or(id);
                    let with_lines = program.playbooks.iter().filter(|playbook| playbook.mode == Mode::Steps);
                    with_lines.filter_map(|playbook| Some(line(playbook.id, playbook.find_step(id)?))).collect()
                }
                (Ok(FoundLine::AnyWithId) | Err(_), _) => Vec::new(),
            },
            MentionKind::Variable { name, of } => {
                let symbols = self.variables_named(name, of);
                let all: Vec<&Occurrence> = symbols.iter().flat_map(|symbol| self.places(symbol)).collect();
                let with = |role| all.iter().filter(move |place| place.role == role).map(|place| place.span);
                let defined: Vec<Span> = with(Role::Definition).collect();
                if defined.is_empty() { with(Role::Write).collect() } else { defined }
            }
        }
    }

    /// What is told of such a name, as Markdown; none: there is nothing to tell.
    pub fn mention_text(&self, kind: &MentionKind) -> Option<String> {
        let places = self.mentioned(kind);
        if places.is_empty() {
            let MentionKind::Callable(name) = kind else { return None };
            return Some(self.callable_text(name));
        }
        let told = places.iter().filter_map(|place| self.hover(place.file, place.range().start));
        let mut told: Vec<String> = told.map(|hover| hover.text).collect();
        told.dedup();
        Some(told.join("\n\n"))
    }
}
