//! Tests and trigger tables alike: read, and held against their program as `playhouse test` would.

use crate::diagnostic::{Diagnostic, Severity};
use crate::files::case_file::lines::Read;
use crate::files::case_file::mention::MentionKind;
use crate::files::kind::{self, Kind};
use crate::files::test_file::TestFile;
use crate::files::trigger_table::TriggerTable;
use crate::lower::LoadOptions;
use crate::program::Program;
use crate::span::{FileId, Span};

/// A test or trigger table.
#[derive(Clone, Debug)]
pub enum Case {
    /// A scripted conversation.
    Test(TestFile),
    /// A trigger table.
    Table(TriggerTable),
}

impl Case {
    /// Reads a file's text; none: a file of this kind is neither. The spans of the findings lie in `file`.
    pub fn read(kind: Kind, file: FileId, text: &str) -> Option<Read<Case>> {
        match kind {
            Kind::Test => Some(TestFile::read(file, text).map(Case::Test)),
            Kind::Triggers => Some(TriggerTable::read(file, text).map(Case::Table)),
            Kind::Playbook | Kind::JsonPlan | Kind::YamlPlan => None,
        }
    }

    /// The same of a file that is what its name and text tell.
    pub fn of(name: &str, file: FileId, text: &str) -> Option<Read<Case>> {
        Case::read(kind::of(name, text)?, file, text)
    }

    /// The paths of its program and of its file of canned tools, relative to its folder.
    pub fn source(&self) -> (&str, Option<&str>) {
        match self {
            Case::Test(test) => (&test.program, test.tools.as_deref()),
            Case::Table(table) => (&table.program, table.tools.as_deref()),
        }
    }
}

impl Read<Case> {
    /// What is wrong with the file: with its text, and with what it names in its program. Of that this is what was loaded,
    /// with what was found in it, or why it cannot be; `world` says which tools there are.
    pub fn held_against(
        &self,
        loaded: Result<(&Program, &[Diagnostic]), &str>,
        world: &LoadOptions<'_>,
    ) -> Vec<Diagnostic> {
        let mut findings = self.findings.clone();
        findings.extend(self.names_held_against(loaded, world));
        findings.sort_by_key(|found| found.span.start);
        findings
    }

    fn names_held_against(
        &self,
        loaded: Result<(&Program, &[Diagnostic]), &str>,
        world: &LoadOptions<'_>,
    ) -> Vec<Diagnostic> {
        let named = self.mentions.iter().find(|mention| matches!(mention.kind, MentionKind::Program(_)));
        let Some(named) = named.map(|mention| mention.span) else { return Vec::new() };
        let wrong = |message: String, next: &str| vec![Diagnostic::error("program", named, message).with_note(next)];
        let (program, found) = match loaded {
            Ok(loaded) => loaded,
            Err(why) => {
                return wrong(format!("the program cannot be read: {why}"), "its path is relative to this file");
            }
        };
        if let Some(first) = found.iter().find(|found| found.severity == Severity::Error) {
            if matches!(&self.file, Case::Test(test) if test.expects_refusal()) {
                return Vec::new();
            }
            let is_placed = first.span != Span::default();
            let place = if is_placed { program.sources.place(first.span) + ": " } else { String::new() };
            return wrong(format!("the program has an error: {place}{}", first.message), "fix the program first");
        }
        match &self.file {
            Case::Test(test) => test.unknown_names(&self.mentions, program, world),
            // A table that says nothing yet says nothing of its program, either.
            Case::Table(table) if table.cases.is_empty() => Vec::new(),
            Case::Table(table) => table.resolve(program).err().unwrap_or_default(),
        }
    }
}
