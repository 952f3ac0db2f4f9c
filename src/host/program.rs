//! Programs from disk and from journals: the texts, and which file each import meant.

use std::sync::Arc;

use crate::host::journal::record::text_hash;
use crate::host::journal::wire::FileWire;

/// All texts of a program: enough to load it again without any file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramText {
    /// The names of the files that were given; the others were imported.
    pub roots: Vec<Arc<str>>,
    /// All files in load order, with what their imports meant.
    pub files: Vec<FileWire>,
}

impl ProgramText {
    /// A name for the texts: equal texts have equal names.
    pub fn hash(&self) -> String {
        text_hash(self.files.iter().map(|file| (&*file.name, &*file.text)))
    }
}

/// A stand-in until `lang::load` is here.
pub(crate) struct Loaded {
    pub(crate) program: crate::lang::program::Program,
    pub(crate) diagnostics: Vec<crate::diagnostic::Diagnostic>,
}

impl ProgramText {
    pub(crate) fn load(&self, _tools: &[crate::lang::program::Signature]) -> Loaded {
        let program = crate::lang::program::Program {
            sources: Default::default(),
            agents: vec![],
            playbooks: vec![],
            settings: Default::default(),
            entry: crate::lang::program::Entry::None,
        };
        Loaded { program, diagnostics: vec![] }
    }
}
