//! Which programs there are: each text that is open belongs to the programs that reach it, or is one itself.

use std::path::{Path, PathBuf};

use playhouse_ide::View;

use crate::host::program::{KnownTools, load_files_by};
use crate::serve::lsp::documents::{Documents, Text};
use crate::span::FileId;

/// A program, loaded.
pub(super) struct Loaded {
    /// The file that it begins with.
    root: String,
    pub(super) view: View,
    /// The texts of its files, in their order.
    pub(super) texts: Vec<Text>,
}

/// All programs.
#[derive(Default)]
pub(super) struct Programs(Vec<Loaded>);

impl Loaded {
    /// The texts that are open stand in the place of those in files; none: its first file cannot be read.
    fn load(root: &str, documents: &Documents) -> Option<Loaded> {
        // Which tools there are is known when they are opened; so an unknown name is no finding here.
        let tools = KnownTools { are_more: true, ..KnownTools::default() };
        let mut read = |path: &Path| match documents.get(&path.to_string_lossy()) {
            Some(document) => Ok(document.text.as_str().to_owned()),
            None => std::fs::read_to_string(path),
        };
        let (_, loaded) = load_files_by(&[PathBuf::from(root)], tools, &mut read).ok()?;
        let texts = loaded.program.sources.iter().map(|(_, file)| Text::new(&*file.text)).collect();
        Some(Loaded { root: root.to_owned(), view: View::new(loaded), texts })
    }

    /// The names of its files.
    pub(super) fn files(&self) -> impl Iterator<Item = (FileId, &str)> {
        self.view.program().sources.iter().map(|(id, file)| (id, &*file.name))
    }

    /// The text of one of its files.
    pub(super) fn text(&self, file: FileId) -> Option<&Text> {
        self.texts.get(file.0 as usize)
    }
}

impl Programs {
    /// A text was opened, edited or closed, or a file has changed: programs with it are loaded anew.
    pub(super) fn changed(&mut self, name: &str, documents: &Documents) {
        let is_open = documents.get(name).is_some();
        for program in &mut self.0 {
            if program.view.file(name).is_some()
                && let Some(loaded) = Loaded::load(&program.root, documents)
            {
                *program = loaded;
            }
        }
        let is_reached = |programs: &[Loaded]| programs.iter().any(|program| program.view.file(name).is_some());
        if is_open && !is_reached(&self.0) {
            self.0.extend(Loaded::load(name, documents));
        }
        // One that another one reaches is judged there; one that nobody looks at is not judged.
        let roots: Vec<String> = self.0.iter().map(|program| program.root.clone()).collect();
        let is_inner = |root: &String, all: &[Loaded]| {
            all.iter().any(|other| other.root != *root && other.view.file(root).is_some())
        };
        let gone: Vec<String> =
            roots.into_iter().filter(|root| is_inner(root, &self.0) || !self.is_looked_at(root, documents)).collect();
        self.0.retain(|program| !gone.contains(&program.root));
    }

    fn is_looked_at(&self, root: &str, documents: &Documents) -> bool {
        let program = self.0.iter().find(|program| program.root == *root);
        program.is_some_and(|program| program.files().any(|(_, name)| documents.get(name).is_some()))
    }

    /// Those that reach a file, with its number there.
    pub(super) fn of<'p, 'n>(&'p self, name: &'n str) -> impl Iterator<Item = (&'p Loaded, FileId)> + use<'p, 'n> {
        self.0.iter().filter_map(move |program| Some((program, program.view.file(name)?)))
    }

    /// The files of all programs, each once.
    pub(super) fn files(&self) -> Vec<String> {
        let mut files: Vec<String> =
            self.0.iter().flat_map(|program| program.files().map(|(_, name)| name.to_owned())).collect();
        files.sort();
        files.dedup();
        files
    }
}
