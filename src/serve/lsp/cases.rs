//! Tests and trigger tables that are open: read, and held against their programs as `test` would.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use playhouse_ide::cases::{table_outline, test_outline};
use playhouse_ide::outline::Entry;

use crate::diagnostic::{Diagnostic, Severity};
use crate::host::launch::Choices;
use crate::host::program::plain;
use crate::lang::files::case_file::mention::{Mention, MentionKind};
use crate::lang::files::test_file::TestFile;
use crate::lang::files::trigger_table::TriggerTable;
use crate::lang::kind::Kind;
use crate::serve::lsp::documents::Documents;
use crate::serve::lsp::programs::{Loaded, Survey};
use crate::span::{FileId, Span};

/// A test or table as it was read.
enum Read {
    Test(TestFile),
    Table(TriggerTable),
}

/// A test or table that is open. The spans of its own text lie in the file 0.
pub(super) struct Case {
    read: Read,
    /// What is wrong with its text.
    faults: Vec<Diagnostic>,
    /// What it names.
    mentions: Vec<Mention>,
    /// Its program, with the tools that it says; none: it names none, or that cannot be read.
    program: Option<Loaded>,
}

/// All that are open, by name.
#[derive(Default)]
pub(super) struct Cases(BTreeMap<String, Case>);

impl Cases {
    /// Reads anew what has changed, and loads the programs of which something has.
    pub(super) fn refresh(&mut self, changed: &BTreeSet<String>, is_disk_changed: bool, documents: &Documents) {
        for name in changed {
            let before = self.0.remove(name);
            let Some(document) = documents.get(name) else { continue };
            let Some(mut case) = Case::read(document.kind(), document.text.as_str()) else { continue };
            let is_same = before.as_ref().is_some_and(|before| before.source() == case.source());
            case.program = match before.filter(|_| is_same && !is_disk_changed) {
                Some(before) => before.program,
                None => case.load(name, None, documents),
            };
            self.0.insert(name.clone(), case);
        }
        for (name, case) in &mut self.0 {
            let is_changed = |program: &Loaded| changed.iter().any(|name| program.view.file(name).is_some());
            if is_disk_changed || case.program.as_ref().is_some_and(is_changed) {
                let known = case.program.take().filter(|_| !is_disk_changed).map(Loaded::into_survey);
                case.program = case.load(name, known, documents);
            }
        }
    }

    /// The one of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Case> {
        self.0.get(name)
    }
}

impl Case {
    /// None: it is neither a test nor a table.
    fn read(kind: Option<Kind>, text: &str) -> Option<Case> {
        let (read, faults, mentions) = match kind? {
            Kind::Test => {
                let read = TestFile::read(FileId(0), text);
                (Read::Test(read.file), read.findings, read.mentions)
            }
            Kind::Triggers => {
                let read = TriggerTable::read(FileId(0), text);
                (Read::Table(read.file), read.findings, read.mentions)
            }
            Kind::Playbook | Kind::JsonPlan | Kind::YamlPlan => return None,
        };
        Some(Case { read, faults, mentions, program: None })
    }

    /// Its program and its file of canned tools, as it names them.
    fn source(&self) -> (&str, Option<&str>) {
        match &self.read {
            Read::Test(test) => (&test.program, test.tools.as_deref()),
            Read::Table(table) => (&table.program, table.tools.as_deref()),
        }
    }

    /// The program of the case called `name`; `known` is what is known of its tools already.
    fn load(&self, name: &str, known: Option<Survey>, documents: &Documents) -> Option<Loaded> {
        let (program, tools) = self.source();
        if program.is_empty() {
            return None;
        }
        let root = beside(name, program).to_string_lossy().into_owned();
        let survey = known.unwrap_or_else(|| Survey::with(&root, Choices::beside(Path::new(name), tools)));
        Loaded::load(&root, survey, documents)
    }

    /// Its program, if it is known.
    pub(super) fn program(&self) -> Option<&Loaded> {
        self.program.as_ref()
    }

    /// What it names at an offset.
    pub(super) fn mention_at(&self, offset: usize) -> Option<&Mention> {
        let holds = |mention: &&Mention| {
            let range = mention.span.range();
            range.start <= offset && offset <= range.end
        };
        self.mentions.iter().find(holds)
    }

    /// Its outline.
    pub(super) fn outline(&self, text: &str) -> Vec<Entry> {
        match &self.read {
            Read::Test(_) => test_outline(FileId(0), text),
            Read::Table(_) => table_outline(FileId(0), text),
        }
    }

    /// What is wrong with it: with its text, and with what it names.
    pub(super) fn findings(&self) -> Vec<Diagnostic> {
        let mut findings = self.faults.clone();
        findings.extend(self.faults_of_names());
        findings.sort_by_key(|found| found.span.start);
        findings
    }

    fn faults_of_names(&self) -> Vec<Diagnostic> {
        let (source, _) = self.source();
        let named = |mention: &&Mention| matches!(mention.kind, MentionKind::Program(_));
        let Some(named) = self.mentions.iter().find(named).map(|mention| mention.span) else { return Vec::new() };
        let Some(loaded) = &self.program else {
            let found = Diagnostic::error("program", named, format!("the program `{source}` cannot be read"));
            return vec![found.with_note("check the path; it is relative to this file's folder")];
        };
        let (program, findings) = (loaded.view.program(), loaded.view.findings());
        let mut errors = findings.iter().filter(|found| found.severity == Severity::Error);
        if let Some(first) = errors.next() {
            // Of a program that is none no name means anything.
            let place =
                if first.span == Span::default() { String::new() } else { program.sources.place(first.span) + ": " };
            let found =
                Diagnostic::error("program", named, format!("the program has an error: {place}{}", first.message));
            let expects_it = matches!(&self.read, Read::Test(test) if test.expects_refusal());
            return if expects_it { Vec::new() } else { vec![found.with_note("mend the program first")] };
        }
        match &self.read {
            Read::Test(test) => test.unknown_names(&self.mentions, program, &loaded.world()),
            // Of a table with faults there are fewer cases, and each is as it would be.
            Read::Table(table) => table.resolve(program).err().unwrap_or_default(),
        }
    }
}

/// A file that the case called `name` names, by its path.
pub(super) fn beside(name: &str, path: &str) -> PathBuf {
    plain(&Path::new(name).with_file_name(path))
}
