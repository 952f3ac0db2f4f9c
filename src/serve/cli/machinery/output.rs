//! What commands write in the same way: JSON, columns, how many findings there are; and questions
//! to a person on the terminal.

use std::fmt::Display;
use std::io;
use std::path::Path;

use clap::ValueEnum;
use diffy::{DiffOptions, PatchFormatter};

use crate::diagnostic::{Diagnostic, Severity};
use crate::host::cassette::file;
use crate::serve::cli::machinery::console::{Console, Failure, count};

/// For whom output is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text, for people.
    #[default]
    Text,
    /// JSON, for programs.
    Json,
}

/// One array, an item per line; each is JSON already.
pub(crate) fn json_array(items: impl IntoIterator<Item: Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", items.join(",\n")) }
}

/// The hunks of a unified diff, with so many lines before and after each.
pub(crate) fn differences(before: &str, after: &str, n_context: usize) -> String {
    let patch = DiffOptions::new().set_context_len(n_context).create_patch(before, after);
    // As GNU diff has it: an empty line stands after a space, too.
    let shown = PatchFormatter::new().suppress_blank_empty(false).fmt_patch(&patch).to_string();
    // The first two lines are names of the texts.
    shown.split_inclusive('\n').skip(2).collect()
}

/// Columns as wide as they need to be.
pub(crate) fn table<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().enumerate().map(|(column, cell)| format!("{cell:width$}", width = width(column)));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Writes a file that is read whole: nobody sees a part of it, and one that is there stays if this fails.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    file::write_whole(path, text)
        .map_err(|cause| Failure::failed(format!("{}: cannot write: {cause}; name another file", path.display())))
}

/// How many of the findings are of this severity.
pub(crate) fn n_of(findings: &[Diagnostic], severity: Severity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity).count()
}

/// `1 error, 2 warnings`.
pub(crate) fn counted(findings: &[Diagnostic]) -> String {
    let n = |severity, what| count(n_of(findings, severity), what);
    format!("{}, {}", n(Severity::Error, "error"), n(Severity::Warning, "warning"))
}

/// Asks a person on the terminal, who must say yes; `option` is what agrees without a question.
pub(crate) fn agree(console: &Console, question: &str, option: &str, otherwise: &str) -> Result<(), Failure> {
    let given = answer(console, &format!("{question} [y/N]"), option)?.unwrap_or_default();
    let agrees = ["y", "yes"].contains(&given.to_lowercase().as_str());
    if agrees { Ok(()) } else { Err(Failure::failed(otherwise)) }
}

/// What a person on the terminal answers, without the spaces around it; none: the input has ended. `option` is what
/// answers without a question.
pub(crate) fn answer(console: &Console, question: &str, option: &str) -> Result<Option<String>, Failure> {
    console.tell(&format!("{question} "));
    let mut given = String::new();
    let read = io::stdin().read_line(&mut given);
    let read = read.map_err(|cause| Failure::failed(format!("standard input: {cause}; add {option}")))?;
    Ok((read > 0).then(|| given.trim().to_owned()))
}
