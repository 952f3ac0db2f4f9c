//! Tables of prompts (`*.jsonl`) on disk: which files are such tables, and which skills they are about.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::host::launch::folder_of;
use crate::host::skills::folder::skills_below;
use crate::lang::files::trigger_table::{PROMPTS, TriggerTable};
use crate::lang::source::skill::FILE_NAME;
use crate::span::FileId;

/// Bytes of a first line that are looked at, at most.
const MAX_FIRST_LINE: u64 = 64 * 1024;

/// Reads the text of the table at `path`, of either form.
///
/// # Errors
/// As for [`TriggerTable::parse`].
pub(crate) fn parse(path: &Path, file: FileId, text: &str) -> Result<TriggerTable, Vec<Diagnostic>> {
    if is_named_so(path) { TriggerTable::parse_prompts(file, text) } else { TriggerTable::parse(file, text) }
}

/// Whether a file has the ending of tables of prompts.
pub(super) fn is_named_so(path: &Path) -> bool {
    path.to_string_lossy().ends_with(PROMPTS)
}

/// Whether a file that nobody has named is a table of prompts: it has their ending, its first line says so, and there are
/// skills that it can be about.
pub(crate) fn is_of_prompts(path: &Path) -> bool {
    is_named_so(path)
        && first_line(path).is_ok_and(|line| TriggerTable::is_of_prompts(&line))
        && skills_of(path).is_ok_and(|skills| !skills.is_empty())
}

/// The first line that is not empty.
fn first_line(path: &Path) -> std::io::Result<String> {
    let mut lines = BufReader::new(File::open(path)?.take(MAX_FIRST_LINE)).lines();
    let is_written = |line: &std::io::Result<String>| line.as_ref().map_or(true, |line| !line.trim().is_empty());
    lines.find(is_written).unwrap_or_else(|| Ok(String::new()))
}

/// The skills that a table is about: the one beside it, else those in all folders below its own.
fn skills_of(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let beside = path.with_file_name(FILE_NAME);
    if beside.is_file() { Ok(vec![beside]) } else { skills_below(folder_of(path)) }
}

/// The files of the program that a table of prompts is about. The error is for people.
pub(super) fn program_of(path: &Path) -> Result<Vec<PathBuf>, String> {
    let (name, folder) = (path.display(), folder_of(path));
    let skills = skills_of(path).map_err(|cause| format!("{name}: cannot look for its skills: {cause}"))?;
    if skills.is_empty() {
        return Err(format!(
            "{name}: there is no skill in {} or below it; put the table beside a {FILE_NAME}, or into a folder of \
             skills",
            folder.display()
        ));
    }
    // As they are called from where the table is.
    Ok(skills.into_iter().map(|file| file.strip_prefix(".").map(Path::to_owned).unwrap_or(file)).collect())
}
