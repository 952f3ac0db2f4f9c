//! What tests and trigger tables name of their program: all places of a name, and another name for it there.

use std::collections::BTreeSet;
use std::fmt::Debug;

use playhouse_lang::files::case::Case;
use playhouse_lang::files::case_file::lines::Read;
use playhouse_lang::files::case_file::mention::{LineName, Mention, MentionKind, Owner};
use playhouse_lang::files::test_file::{FoundLine, find_line};
use playhouse_lang::files::trigger_table::find_trigger;
use playhouse_lang::program::{EntryId, Playbook, PlaybookId, Step};
use playhouse_lang::span::{FileId, SourceFile, Span};

use crate::View;
use crate::hover::count;
use crate::occurrences::{Symbol, variable, whole_words};
use crate::rename::Renaming;

/// A test or trigger table, as it was read. Its spans lie in the file 0.
#[derive(Debug)]
pub struct CaseText {
    source: SourceFile,
    read: Read<Case>,
}

/// A name in one. As the same name can be that of a variable of several playbooks, it may mean several things.
struct Name {
    span: Span,
    means: Vec<Symbol>,
}

impl CaseText {
    /// Reads a file; none: it is neither a test nor a table.
    pub fn read(name: &str, text: &str) -> Option<CaseText> {
        let read = Case::of(name, FileId(0), text)?;
        Some(CaseText { source: SourceFile::new(name, text), read })
    }

    /// Its name and text.
    pub fn source(&self) -> &SourceFile {
        &self.source
    }

    /// The path of its program, relative to its folder.
    pub fn program(&self) -> &str {
        self.read.file.source().0
    }

    fn written(&self, span: Span) -> &str {
        self.source.text.get(span.range()).unwrap_or_default()
    }
}

impl View {
    /// What a test or table of this program names at an offset; none: nothing, or what may be one of several.
    pub fn symbol_in_case(&self, case: &CaseText, offset: usize) -> Option<Symbol> {
        let name = self.name_in_case(case, offset)?;
        if let [symbol] = &name.means[..] { Some(symbol.clone()) } else { None }
    }

    /// Where the name stands that a test or table has at an offset.
    pub fn span_in_case(&self, case: &CaseText, offset: usize) -> Option<Span> {
        Some(self.name_in_case(case, offset)?.span)
    }

    fn name_in_case(&self, case: &CaseText, offset: usize) -> Option<Name> {
        self.names_in_case(case).find(|name| name.span.touches(&(offset..offset)))
    }

    /// Where a test or table of this program names what is meant, or may do so, by place.
    pub fn places_in_case(&self, symbol: &Symbol, case: &CaseText) -> Vec<Span> {
        let means = |name: &Name| name.means.contains(symbol);
        self.names_in_case(case).filter(means).map(|name| name.span).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// How many of these tests and tables of this program name a playbook: `2 tests`; none: not one.
    pub fn counted_tests(&self, id: PlaybookId, cases: &[CaseText]) -> Option<String> {
        let names = |case: &&CaseText| !self.places_in_case(&Symbol::Playbook(id), case).is_empty();
        let n_tests = cases.iter().filter(names).count();
        (n_tests > 0).then(|| count(n_tests, "test"))
    }

    /// What is written in the place of what, by place, so that a test or table of this program goes with a renaming.
    /// What may mean something else stays. To be made only if [`View::prove_case`] agrees.
    pub fn rename_in_case(&self, renaming: &Renaming, case: &CaseText) -> Vec<(Span, String)> {
        let means = |name: &Name| name.means == [renaming.symbol().clone()];
        let places: BTreeSet<Span> = self.names_in_case(case).filter(means).map(|name| name.span).collect();
        places.into_iter().map(|span| (span, renaming.instead(case.written(span), false))).collect()
    }

    /// Whether a test or table is the one that it was, but for the name, and means the same in the program with the new one.
    ///
    /// # Errors
    /// What would read differently, and where.
    pub fn prove_case(
        &self,
        renaming: &Renaming,
        case: &CaseText,
        (view, written): (&View, &CaseText),
    ) -> Result<(), String> {
        let is_same = |old: &dyn Debug, new: &dyn Debug| renaming.without_names(old) == renaming.without_names(new);
        let (old, new) = (&case.read, &written.read);
        if old.mentions.len() != new.mentions.len() || !is_same(&old.file, &new.file) {
            return Err(format!("{}: this file would read differently", case.source.name));
        }
        for (old, new) in old.mentions.iter().zip(&new.mentions) {
            let before = self.meaning(renaming, case, old);
            let after = view.meaning(renaming, written, new);
            // What may have meant the one or the other means the other now.
            let is_less = after.is_subset(&before) && (before.is_empty() || !after.is_empty());
            if !is_less || !is_same(&old.kind, &new.kind) {
                let (line, column) = written.source.lines.line_column(new.span.range().start);
                let (name, text) = (&written.source.name, written.written(new.span));
                return Err(format!("{name}:{line}:{column}: this would read differently: {text}"));
            }
        }
        Ok(())
    }

    /// All that a mention can mean, as far as it does not depend on the name.
    fn meaning(&self, renaming: &Renaming, case: &CaseText, mention: &Mention) -> BTreeSet<String> {
        let names = self.names_of(case, mention).into_iter().flat_map(|name| name.means);
        let mut meaning: BTreeSet<String> = names.map(|symbol| renaming.without_names(&symbol)).collect();
        match &mention.kind {
            MentionKind::Line(line) => meaning.extend(find_line(self.program(), line).map(|line| format!("{line:?}"))),
            MentionKind::Trigger(name) => {
                meaning.extend(find_trigger(self.program(), name).map(|trigger| format!("{trigger:?}")));
            }
            MentionKind::Program(_)
            | MentionKind::Tools(_)
            | MentionKind::Entry(_)
            | MentionKind::Playbook(_)
            | MentionKind::Callable(_)
            | MentionKind::Variable { .. } => {}
        }
        meaning
    }

    fn names_in_case(&self, case: &CaseText) -> impl Iterator<Item = Name> {
        case.read.mentions.iter().flat_map(|mention| self.names_of(case, mention))
    }

    /// The names in a mention: of a line that is named by its text those of the line.
    fn names_of(&self, case: &CaseText, mention: &Mention) -> Vec<Name> {
        let (program, span) = (self.program(), mention.span);
        match &mention.kind {
            MentionKind::Program(_) | MentionKind::Tools(_) | MentionKind::Line(LineName::Id(_)) => Vec::new(),
            MentionKind::Entry(name) => {
                let found = program.find_entry(name).and_then(|entry| match entry {
                    EntryId::Playbook(id) => Some(program.playbook(id)),
                    EntryId::Plan(_) => None,
                });
                self.path(case, span, found.into_iter().collect())
            }
            MentionKind::Playbook(name) | MentionKind::Callable(name) | MentionKind::Line(LineName::Goal(name)) => {
                self.path(case, span, program.playbooks_named(name).collect())
            }
            MentionKind::Trigger(name) => {
                let path = name.split(':').next().unwrap_or_default();
                self.path(case, span.part(0..path.len()), program.playbooks_named(path).collect())
            }
            MentionKind::Variable { name, of } => vec![Name { span, means: self.variables_named(name, of) }],
            MentionKind::Line(name @ LineName::Text(_)) => match find_line(program, name) {
                Ok(FoundLine::Line(id, step)) => self.names_of_line(case, span, program.playbook(id).step(step).span),
                Ok(FoundLine::AnyWithId | FoundLine::Goal(_)) | Err(_) => Vec::new(),
            },
        }
    }

    /// `[Agent.]Playbook`, where these playbooks can be meant; none: it is a tool, a plan, or nothing.
    fn path(&self, case: &CaseText, span: Span, playbooks: Vec<&Playbook>) -> Vec<Name> {
        let written = case.written(span);
        let Some(first) = playbooks.first() else {
            return vec![Name { span, means: vec![Symbol::Callable(written.into())] }];
        };
        let point = written.find('.');
        let name = span.part(point.map_or(0, |point| point + 1)..written.len());
        let agent = point.map(|point| Name { span: span.part(0..point), means: vec![Symbol::Agent(first.agent)] });
        let means = playbooks.iter().map(|playbook| Symbol::Playbook(playbook.id)).collect();
        agent.into_iter().chain([Name { span: name, means }]).collect()
    }

    /// The names of a line of the program, as far as they stand in a text of the case.
    fn names_of_line(&self, case: &CaseText, span: Span, line: Span) -> Vec<Name> {
        let inside = self.names_in(line.file, line.range()).into_iter();
        let inside: Vec<_> = inside.filter(|name| line.contains(name.span.range().start)).collect();
        let written = |name: Span| self.program().sources.text(name);
        let words: BTreeSet<&str> = inside.iter().map(|name| written(name.span)).collect();
        let text = case.written(span);
        let places = |word: &'_ str| {
            let same = inside.iter().filter(|name| written(name.span) == word);
            let mut means: Vec<Symbol> = Vec::new();
            same.for_each(|name| add(&mut means, name.symbol.clone()));
            let is_name = |at: &usize| word.starts_with('$') || !text[..*at].ends_with('$');
            let places = whole_words(text, word).filter(is_name);
            let name = |at| Name { span: span.part(at..at + word.len()), means: means.clone() };
            places.map(name).collect::<Vec<Name>>()
        };
        words.into_iter().flat_map(places).collect()
    }

    /// The variables that a name in a test or table can mean.
    pub(crate) fn variables_named(&self, name: &str, of: &Owner) -> Vec<Symbol> {
        let program = self.program();
        let knows = |playbook: &&Playbook| playbook.own.contains(name) || playbook.outer.contains(name);
        let written = || program.playbooks.iter().filter(|playbook| !playbook.implicit).filter(knows);
        let playbooks: Vec<&Playbook> = match of {
            Owner::Any => written().collect(),
            Owner::Playbook(path) => program.playbooks_named(path).filter(knows).collect(),
            Owner::Line(line) | Owner::SetBy(line) => match (find_line(program, line), line) {
                (Ok(FoundLine::Line(id, _) | FoundLine::Goal(id)), _) => vec![program.playbook(id)],
                (Ok(FoundLine::AnyWithId), LineName::Id(id)) => {
                    let id = id.rsplit('>').next().unwrap_or(id);
                    let has = |playbook: &Playbook, is_meant: &dyn Fn(&Step) -> bool| {
                        playbook.find_step(id).is_some_and(|line| is_meant(playbook.step(line)))
                    };
                    let sets = |line: &Step| line.writes.iter().any(|known| **known == *name);
                    let names = |line: &Step| sets(line) || line.reads.iter().any(|known| **known == *name);
                    let is_set = matches!(of, Owner::SetBy(_)) && written().any(|playbook| has(playbook, &sets));
                    written()
                        .filter(|playbook| if is_set { has(playbook, &sets) } else { has(playbook, &names) })
                        .collect()
                }
                (Ok(FoundLine::AnyWithId) | Err(_), _) => Vec::new(),
            },
        };
        let mut found = Vec::new();
        playbooks.iter().for_each(|playbook| add(&mut found, variable(playbook, name)));
        // A model can set what its line does not name.
        match of {
            Owner::Line(_) | Owner::SetBy(_) if found.is_empty() => return self.variables_named(name, &Owner::Any),
            Owner::Any => {
                let declares =
                    program.agents.iter().filter(|agent| agent.variables.iter().any(|one| *one.name == *name));
                declares.for_each(|agent| add(&mut found, Symbol::Shared(agent.id, name.into())));
            }
            Owner::Line(_) | Owner::SetBy(_) | Owner::Playbook(_) => {}
        }
        found
    }
}

fn add(symbols: &mut Vec<Symbol>, symbol: Symbol) {
    if !symbols.contains(&symbol) {
        symbols.push(symbol);
    }
}
