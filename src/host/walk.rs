//! The files of a folder, as a project has them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ignore::{Error, WalkBuilder};

/// All files anywhere below a folder, by their names' order. What is hidden, and what a `.gitignore` names, is left out;
/// links to folders are not followed, they may lead in circles. An error is a folder that cannot be read.
pub(crate) fn files_below(folder: &Path) -> impl Iterator<Item = Result<PathBuf, Error>> {
    let mut walk = WalkBuilder::new(folder);
    // The settings of one person's Git are no matter of a project.
    walk.git_global(false).git_exclude(false).ignore(false).require_git(false);
    let entries = walk.sort_by_file_name(OsStr::cmp).build();
    let files = entries
        .filter(|entry| entry.as_ref().map_or(true, |entry| !entry.file_type().is_none_or(|kind| kind.is_dir())));
    files.map(|entry| entry.map(ignore::DirEntry::into_path))
}
