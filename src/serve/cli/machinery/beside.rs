//! Files that people name, and the program that a file beside it names: tables and rules are about one.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Severity, render};
use crate::host::launch::{Choices, Launch, Workshop, surveyed};
use crate::host::program::ToolInventory;
use crate::lang::program::Program;
use crate::span::{FileId, Sources};

/// The text of a file. The error is text for people.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|cause| {
        let next = if cause.kind() == ErrorKind::InvalidData { "save it as UTF-8" } else { "check the path" };
        format!("{}: cannot read: {cause}; {next}", path.display())
    })
}

/// What is read of a file, and the text in which findings stand. The error is text for people.
pub(crate) fn read_by<T>(
    path: &Path,
    color: bool,
    parse: impl FnOnce(FileId, &str) -> Result<T, Vec<Diagnostic>>,
) -> Result<(T, Sources), String> {
    let text = read(path)?;
    let mut sources = Sources::default();
    let file = sources.add(path.display().to_string(), text.as_str());
    let read = parse(file, &text).map_err(|findings| render(&findings, &sources, color))?;
    Ok((read, sources))
}

/// The program that the file at `path` names, read without starting anything, and the tools that are known of it then.
/// The error is text for people.
pub(crate) fn load_beside(
    path: &Path,
    program: &str,
    tools: Option<&str>,
    color: bool,
) -> Result<(Program, ToolInventory), String> {
    load_files_beside(path, &[path.with_file_name(program)], tools, color)
}

/// The same of a program that the file at `path` is about, in these files.
pub(crate) fn load_files_beside(
    path: &Path,
    files: &[PathBuf],
    tools: Option<&str>,
    color: bool,
) -> Result<(Program, ToolInventory), String> {
    let launch = Launch::new(Workshop::default(), Choices::beside(path, tools));
    let (equipment, loaded) = launch.survey(files).map_err(|error| error.to_string())?;
    if loaded.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        return Err(render(&loaded.diagnostics, &loaded.program.sources, color));
    }
    Ok((loaded.program, surveyed(&equipment)))
}
