//! Programs from disk and from journals: the texts, and which file each import meant.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::host::journal::record::text_hash;
use crate::host::journal::wire::FileWire;
use crate::lang::program::Signature;
use crate::lang::{ImportRequest, LoadOptions, Loaded, SourceText, load};

/// All texts of a program: enough to load it again without any file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramText {
    /// The names of the files that were given; the others were imported.
    pub roots: Vec<Arc<str>>,
    /// All files in load order, with what their imports meant.
    pub files: Vec<FileWire>,
}

/// A program's file that cannot be read. Files that are imported and cannot be read are diagnostics instead.
#[derive(Debug, thiserror::Error)]
#[error("{path}: cannot read the program: {cause}; check the path")]
pub struct ProgramFileError {
    /// The file.
    pub path: PathBuf,
    /// What the system said, or that it is no text.
    pub cause: std::io::Error,
}

/// Reads programs from disk, with what they import, and loads them. `tools` are all there are.
///
/// # Errors
/// A given file cannot be read.
pub fn load_files(paths: &[PathBuf], tools: &[Signature]) -> Result<(ProgramText, Loaded), ProgramFileError> {
    let mut roots = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).map_err(|cause| ProgramFileError { path: path.clone(), cause })?;
        roots.push(SourceText { name: name_of(path), text });
    }
    Ok(load_texts(roots, tools, &mut |path| std::fs::read_to_string(path).map_err(|cause| cause.to_string())))
}

/// Loads a program from texts. `read` fetches imported files by path (relative to the importing file, made
/// plain: no `.` or `..` inside).
pub fn load_texts(
    roots: Vec<SourceText>,
    tools: &[Signature],
    read: &mut dyn FnMut(&Path) -> Result<String, String>,
) -> (ProgramText, Loaded) {
    let root_names = roots.iter().map(|root| Arc::from(root.name.as_str())).collect();
    let mut imports: BTreeMap<String, BTreeMap<String, Arc<str>>> = BTreeMap::new();
    let mut fetch = |request: &ImportRequest<'_>| {
        let folder = Path::new(request.from).parent().unwrap_or(Path::new(""));
        let path = plain(&folder.join(request.path));
        let name = name_of(&path);
        let text = read(&path)?;
        imports.entry(request.from.to_owned()).or_default().insert(request.path.to_owned(), name.as_str().into());
        Ok(SourceText { name, text })
    };
    let loaded = load(roots, &mut fetch, &LoadOptions { tools, open_world: false });
    let files = loaded.program.sources.iter().map(|(_, file)| FileWire {
        name: file.name.clone(),
        text: file.text.clone(),
        imports: imports.remove(&*file.name).unwrap_or_default(),
    });
    let files = files.collect();
    (ProgramText { roots: root_names, files }, loaded)
}

impl ProgramText {
    /// A name for the texts: equal texts have equal names.
    pub fn hash(&self) -> String {
        text_hash(self.files.iter().map(|file| (&*file.name, &*file.text)))
    }

    /// Loads the program again, from these texts alone.
    pub fn load(&self, tools: &[Signature]) -> Loaded {
        let find = |name: &str| self.files.iter().find(|file| &*file.name == name);
        let source = |file: &FileWire| SourceText { name: file.name.to_string(), text: file.text.to_string() };
        let roots = self.roots.iter().filter_map(|name| find(name)).map(source).collect();
        let mut read = |request: &ImportRequest<'_>| {
            let meant = find(request.from).and_then(|from| from.imports.get(request.path));
            let file = meant.and_then(|name| find(name));
            file.map(source).ok_or_else(|| "it was not there when the session began".to_owned())
        };
        load(roots, &mut read, &LoadOptions { tools, open_world: false })
    }
}

fn name_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The path without `.` and, where the text alone tells, without `..`: a file has one name however it is imported.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            Component::ParentDir | Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                plain.push(component);
            }
        }
    }
    plain
}
