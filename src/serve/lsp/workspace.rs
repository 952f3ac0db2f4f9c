//! Which files of the folders that an editor has open name which others: a file is judged inside the programs that import
//! it, and what names a file goes with it when it moves (spec `editors.md`, sections 1 and 4).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::host::library::is_library;
use crate::host::program::{beside, plain, skill_in};
use crate::host::walk::files_below;
use crate::lang::files::case::Case;
use crate::lang::files::case_file::mention::{Mention, MentionKind};
use crate::lang::imports;
use crate::lang::kind::{self, Kind, case_of, is_markdown};
use crate::serve::lsp::documents::{Documents, MAX_BYTES};
use crate::span::{FileId, SourceFile, Span};

/// So many files of a folder are looked at: somebody may open all that they have.
const MAX_FILES: usize = 5_000;

/// What is known of the files of the folders.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    /// Those that name others, with these.
    naming: BTreeMap<String, BTreeSet<String>>,
    /// Those that are playbooks by their own text.
    playbooks: BTreeSet<String>,
}

/// A place where a file names another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Where the path stands.
    pub(super) span: Span,
    /// The path as it is written.
    path: String,
    /// The file that is meant.
    pub(super) file: PathBuf,
}

/// What a text names: of a playbook its imports, of a test or table its program and tools. Addresses are left out.
pub(super) fn links(name: &str, text: &str) -> Vec<Link> {
    let written: Vec<(Span, String)> = if case_of(name).is_some() {
        let read = Case::of(name, FileId::default(), text);
        let mentions = read.map(|read| read.mentions).unwrap_or_default().into_iter();
        let path = |mention: Mention| {
            let (MentionKind::Program(path) | MentionKind::Tools(path)) = mention.kind else { return None };
            Some((mention.span, path))
        };
        mentions.filter_map(path).collect()
    } else {
        imports(text).into_iter().map(|import| (import.span, import.path)).collect()
    };
    let files = written.into_iter().filter(|(_, path)| !path.is_empty() && !path.contains("://"));
    let file = |path: &str| if is_library(path) { PathBuf::from(path) } else { beside(name, path) };
    files.map(|(span, path)| Link { span, file: file(&path), path }).collect()
}

impl Link {
    /// The file that is opened: of a skill that is named by its folder its text.
    pub(super) fn target(&self) -> PathBuf {
        if self.file.is_dir() { skill_in(&self.file) } else { self.file.clone() }
    }
}

impl Workspace {
    /// Looks at all files of the folders. What cannot be read is passed over.
    pub(super) fn survey(folders: &[PathBuf]) -> Workspace {
        let mut workspace = Workspace::default();
        let nothing_open = Documents::default();
        let files = folders.iter().flat_map(|folder| files_below(folder)).filter_map(Result::ok).take(MAX_FILES);
        files.for_each(|file| workspace.look(&file.to_string_lossy(), &nothing_open));
        workspace
    }

    /// Looks at a file again: it may be another one now, or gone.
    pub(super) fn look(&mut self, name: &str, documents: &Documents) {
        if !is_markdown(name) {
            return;
        }
        self.playbooks.remove(name);
        self.naming.remove(name);
        let Some(text) = text_of(name, documents) else { return };
        if kind::of(name, &text) == Some(Kind::Playbook) {
            self.playbooks.insert(name.to_owned());
        }
        let named = links(name, &text).into_iter().map(|link| link.target().to_string_lossy().into_owned());
        let named: BTreeSet<String> = named.collect();
        if !named.is_empty() {
            self.naming.insert(name.to_owned(), named);
        }
    }

    /// The files that are playbooks by their own text.
    pub(super) fn playbooks(&self) -> impl Iterator<Item = &str> {
        self.playbooks.iter().map(String::as_str)
    }

    /// The programs that import a file, by the files that they begin with: those that nobody imports.
    pub(super) fn programs_of(&self, name: &str) -> Vec<String> {
        let (mut seen, mut found) = (BTreeSet::from([name]), Vec::new());
        let mut pending = vec![name];
        while let Some(inner) = pending.pop() {
            let outer: Vec<&str> = self.naming(inner).filter(|outer| case_of(outer).is_none()).collect();
            if outer.is_empty() && inner != name {
                found.push(inner.to_owned());
            }
            pending.extend(outer.into_iter().filter(|outer| seen.insert(outer)));
        }
        found
    }

    /// Those that name a file.
    pub(super) fn naming<'w>(&'w self, file: &'w str) -> impl Iterator<Item = &'w str> {
        self.naming.iter().filter(move |(_, named)| named.contains(file)).map(|(name, _)| &**name)
    }

    /// What is to be written so that all that is named is still named when files or folders have moved, each from a path to
    /// another one. The places are those before the move.
    pub(super) fn moved(&self, moves: &[(PathBuf, PathBuf)], documents: &Documents) -> Vec<(SourceFile, Span, String)> {
        let place = |path: &Path| {
            let mut places = moves.iter().filter_map(|(from, to)| Some(to.join(path.strip_prefix(from).ok()?)));
            places.next().map_or_else(|| path.to_owned(), |place| plain(&place))
        };
        let mut edits = Vec::new();
        for name in self.naming.keys() {
            let Some(text) = text_of(name, documents) else { continue };
            let after = place(Path::new(name));
            let links = links(name, &text);
            let source = SourceFile::new(name.as_str(), text);
            for link in links.into_iter().filter(|link| !is_library(&link.path)) {
                let file = place(&link.file);
                // Two that move together name each other as they did.
                let is_still_meant = beside(&after.to_string_lossy(), &link.path) == file;
                let written = after.parent().and_then(|folder| path_between(folder, &file));
                edits.extend(written.filter(|_| !is_still_meant).map(|path| (source.clone(), link.span, path)));
            }
        }
        edits
    }
}

/// The text of a file, open or not; none: it cannot be read, or is longer than any text that is.
fn text_of(name: &str, documents: &Documents) -> Option<String> {
    let is_read = |n_bytes: usize| n_bytes <= MAX_BYTES;
    // What is on the disk may be of any length.
    let length = || std::fs::metadata(name).ok().filter(std::fs::Metadata::is_file)?.len().try_into().ok();
    if documents.get(name).is_none() && !length().is_some_and(is_read) {
        return None;
    }
    documents.read(Path::new(name)).ok().filter(|text| is_read(text.len()))
}

/// A file's path, as it is written in a file of this folder; none: no path leads there, or it is no text.
fn path_between(folder: &Path, file: &Path) -> Option<String> {
    let is_same = |(one, other): &(Component<'_>, Component<'_>)| one == other;
    let n_same = folder.components().zip(file.components()).take_while(is_same).count();
    if n_same == 0 {
        return None;
    }
    let up = folder.components().skip(n_same).map(|_| Some(".."));
    let down = file.components().skip(n_same).map(|component| component.as_os_str().to_str());
    Some(up.chain(down).collect::<Option<Vec<&str>>>()?.join("/"))
}
