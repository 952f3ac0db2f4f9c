//! The files of a folder, as a project has them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ignore::overrides::OverrideBuilder;
use ignore::{Error, WalkBuilder};

/// All files anywhere below a folder, by their names' order. What is hidden, and what a `.gitignore` names, is left out;
/// links to folders are not followed, they may lead in circles. An error is a folder that cannot be read.
pub fn files_below(folder: &Path) -> impl Iterator<Item = Result<PathBuf, Error>> {
    let mut walk = WalkBuilder::new(folder);
    // The settings of one person's Git are no matter of a project.
    walk.git_global(false).git_exclude(false).ignore(false).require_git(false);
    let entries = walk.sort_by_file_name(OsStr::cmp).build();
    let files = entries
        .filter(|entry| entry.as_ref().map_or(true, |entry| !entry.file_type().is_none_or(|kind| kind.is_dir())));
    files.map(|entry| entry.map(ignore::DirEntry::into_path))
}

/// Which files below a folder patterns mean, as in a `.gitignore`; without patterns all.
///
/// # Errors
/// The pattern that cannot be read, and why.
pub(crate) fn chosen(folder: &Path, patterns: &[String]) -> Result<impl Fn(&Path) -> bool + use<>, (String, Error)> {
    let mut builder = OverrideBuilder::new(folder);
    for pattern in patterns {
        builder.add(pattern).map_err(|cause| (pattern.clone(), cause))?;
    }
    let chosen = builder.build().map_err(|cause| (patterns.join(" "), cause))?;
    let are_all = patterns.is_empty();
    Ok(move |file: &Path| are_all || chosen.matched(file, false).is_whitelist())
}
