//! Tests and trigger tables that are open: read, and held against their programs as `test` would.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use playhouse_ide::case_names::CaseText;
use playhouse_ide::cases::{table_outline, test_outline};
use playhouse_ide::outline::Entry;

use crate::diagnostic::Diagnostic;
use crate::host::launch::Choices;
use crate::host::program::beside;
use crate::lang::LoadOptions;
use crate::lang::files::case;
use crate::lang::files::case_file::lines::Read;
use crate::lang::files::case_file::mention::Mention;
use crate::lang::kind::{Kind, case_of};
use crate::serve::lsp::documents::{Document, Documents, name_of};
use crate::serve::lsp::programs::{Changes, Loaded, Survey};
use crate::serve::lsp::workspace::Workspace;
use crate::span::FileId;

/// A test or table that is open. The spans of its own text lie in the file 0.
pub(super) struct Case {
    read: Read<case::Case>,
    /// Its program, with the tools that it says; none: it names none, or that cannot be read.
    program: Option<Loaded>,
}

/// All that are open, by name.
#[derive(Default)]
pub(super) struct Cases(BTreeMap<String, Case>);

impl Cases {
    /// Reads anew what has changed, and loads the programs of which something has.
    pub(super) fn refresh(&mut self, changes: &Changes, documents: &Documents) {
        let Changes { names, is_disk_changed } = changes;
        for name in names {
            let before = self.0.remove(name);
            let Some(mut case) = documents.get(name).and_then(Case::read) else { continue };
            let before = before.filter(|before| before.read.file.source() == case.read.file.source());
            case.program = match before.filter(|_| !is_disk_changed) {
                Some(before) => before.program,
                None => case.load(name, documents),
            };
            self.0.insert(name.clone(), case);
        }
        for (name, case) in &mut self.0 {
            let is_changed = |program: &Loaded| names.iter().any(|name| program.view.file(name).is_some());
            if *is_disk_changed || case.program.as_ref().is_none_or(is_changed) {
                case.program = match case.program.take().filter(|_| !is_disk_changed) {
                    Some(program) => program.again(None, documents),
                    None => case.load(name, documents),
                };
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
    fn read(document: &Document) -> Option<Case> {
        // By its name: what else it is takes as long as loading it.
        case_of(&name_of(&document.uri))?;
        let read = case::Case::read(document.kind()?, FileId(0), document.text().as_str())?;
        Some(Case { read, program: None })
    }

    /// The program of the case called `name`.
    fn load(&self, name: &str, documents: &Documents) -> Option<Loaded> {
        let (program, tools) = self.read.file.source();
        if program.is_empty() {
            return None;
        }
        let root = beside(name, program).to_string_lossy().into_owned();
        Loaded::load(&root, Survey::with(&root, Choices::beside(Path::new(name), tools)), documents)
    }

    /// What it is.
    pub(super) fn kind(&self) -> Kind {
        match self.read.file {
            case::Case::Test(_) => Kind::Test,
            case::Case::Table(_) => Kind::Triggers,
        }
    }

    /// Its program, if it is known.
    pub(super) fn program(&self) -> Option<&Loaded> {
        self.program.as_ref()
    }

    /// What it names at an offset.
    pub(super) fn mention_at(&self, offset: usize) -> Option<&Mention> {
        self.read.mentions.iter().find(|mention| mention.span.touches(&(offset..offset)))
    }

    /// Its outline.
    pub(super) fn outline(&self, text: &str) -> Vec<Entry> {
        match &self.read.file {
            case::Case::Test(_) => test_outline(FileId(0), text),
            case::Case::Table(_) => table_outline(FileId(0), text),
        }
    }

    /// What is wrong with it: with its text, and with what it names.
    pub(super) fn findings(&self) -> Vec<Diagnostic> {
        match &self.program {
            Some(loaded) => {
                self.read.held_against(Ok((loaded.view.program(), loaded.view.findings())), &loaded.world())
            }
            None => self.read.held_against(Err("check the path"), &LoadOptions::default()),
        }
    }
}

/// The tests and trigger tables of a program: of those that are open, that lie beside its files, or in a folder that is open,
/// all that name one of these as theirs.
pub(super) fn cases_of(program: &Loaded, documents: &Documents, workspace: &Workspace) -> Vec<CaseText> {
    let folders: BTreeSet<&Path> = program.files().filter_map(|(_, name)| Path::new(name).parent()).collect();
    let entries = folders.into_iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let names = entries.map(|entry| entry.path().to_string_lossy().into_owned()).chain(documents.names().cloned());
    let named = program.files().flat_map(|(_, name)| workspace.naming(name)).map(str::to_owned);
    let names: BTreeSet<String> = names.chain(named).filter(|name| case_of(name).is_some()).collect();
    let case = |name: &String| {
        let case = CaseText::read(name, &documents.read(Path::new(name)).ok()?)?;
        program.view.file(&beside(name, case.program()).to_string_lossy()).map(|_| case)
    };
    names.iter().filter_map(case).collect()
}
