//! A file to what is kept of it: its title, its chunks, its facts.

use playhouse_lang::kind::is_markdown;
use serde::Deserialize;

use crate::documents::chunk::{Chunk, chunks, paragraphs};
use crate::documents::facts::{self, Triple};
use crate::documents::{html, markdown};

/// What is kept of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Extract {
    /// What it is called: its first heading of the first level, the title of a page, else its name.
    pub(super) title: String,
    /// Its chunks, each with the title of the record that it is a part of, if the file has several.
    pub(super) chunks: Vec<(Option<String>, Chunk)>,
    /// What it says as facts.
    pub(super) triples: Vec<Triple>,
}

/// A record of a file of JSON lines, as collections for measurements have it (BEIR).
#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    title: Option<String>,
    text: String,
}

/// Reads a file of this path. The lines of a page in HTML are those of its text in Markdown.
///
/// # Errors
/// It is not what its name says, and where.
pub(super) fn extract(path: &str, text: &str) -> Result<Extract, String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    let has_ending = |endings: &[&str]| endings.iter().any(|ending| lower.ends_with(ending));
    let plain = |triples| {
        let chunks = paragraphs(text).into_iter().map(|chunk| (None, chunk)).collect();
        Extract { title: name.to_owned(), chunks, triples }
    };
    Ok(if has_ending(&[".facts.jsonl"]) {
        plain(facts::of_json_lines(text)?)
    } else if has_ending(&[".facts.csv"]) {
        plain(facts::of_csv(text)?)
    } else if has_ending(&[".jsonl"]) && is_records(text) {
        Extract { chunks: records(text)?, ..plain(Vec::new()) }
    } else if has_ending(&[".html", ".htm"]) {
        let (title, text) = html::to_markdown(text);
        of_markdown(path, name, title, &text)
    } else if is_markdown(name) || has_ending(&[".mdx"]) {
        of_markdown(path, name, None, text)
    } else {
        plain(Vec::new())
    })
}

fn of_markdown(path: &str, name: &str, title: Option<String>, text: &str) -> Extract {
    let outline = markdown::read(text);
    let first = outline.blocks.iter().find_map(|block| block.heading.as_ref().filter(|(level, _)| *level == 1));
    let title = title.or_else(|| first.map(|(_, heading)| heading.clone())).filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| name.to_owned());
    let triples = facts::of_markdown(path, &title, text, &outline);
    let chunks = chunks(text, outline.blocks).into_iter().map(|chunk| (None, chunk)).collect();
    Extract { title, chunks, triples }
}

/// Whether its first line is a record; else it is a file of something else.
fn is_records(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|line| serde_json::from_str::<Record>(line).is_ok())
}

/// Each line is a record, and all its chunks stand in this line.
fn records(text: &str) -> Result<Vec<(Option<String>, Chunk)>, String> {
    let mut chunks = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let record: Record = serde_json::from_str(line).map_err(|cause| {
            format!("line {} is not a record: {cause}; write {{\"id\", \"title\", \"text\"}} in each line", index + 1)
        })?;
        let line = index + 1;
        chunks.extend(
            paragraphs(&record.text).into_iter().map(|chunk| {
                (Some(record.title.clone().unwrap_or_default()), Chunk { first: line, last: line, ..chunk })
            }),
        );
    }
    Ok(chunks)
}
