//! Reading a file of labelled transcripts: line by line, strict. Every finding says what to do next.

use super::form::{JudgeFile, Label, Labelled, TranscriptLine};
use crate::diagnostic::Diagnostic;
use crate::files::case_file::item::{Wrong, wrong};
use crate::files::case_file::lines::{Line, Reader, Section, split};
use crate::span::FileId;

/// What can stand in the list at the top.
const KEYS: &str = "`threshold`";

impl JudgeFile {
    /// Reads a file's text. The spans of the findings lie in `file`.
    ///
    /// # Errors
    /// All findings, in the order of their lines; the first note of each says what to do.
    pub fn parse(file: FileId, text: &str) -> Result<JudgeFile, Vec<Diagnostic>> {
        read(file, text)
    }
}

/// Reads the text.
fn read(file: FileId, text: &str) -> Result<JudgeFile, Vec<Diagnostic>> {
    let mut reader = Reader::new(file);
    let (top, sections) = split(text);
    let head = reader.head(&top, KEYS);
    for &line in &head.headings {
        let message = format!("`{}` is not a section", line.text());
        reader.report(line, "unknown-heading", message, "begin every conversation with `## ` and what it is");
    }
    let mut threshold = None;
    for item in &head.items {
        match item.key {
            "threshold" => threshold = reader.threshold(item),
            _ => reader.unknown_key(item, KEYS),
        }
    }
    let conversations: Vec<Labelled> = sections.iter().map(|section| read_section(&mut reader, section)).collect();
    if conversations.is_empty() && reader.findings.is_empty() {
        let next = "add a conversation: `## …`, its lines as a block quote (`> program: …`), and labels (`- pass: …`)";
        reader.report(head.first, "no-cases", "the file has no conversation", next);
    }
    reader.finish(JudgeFile { title: head.title, threshold, conversations }).whole()
}

/// A block quote, then labels.
fn read_section(reader: &mut Reader, section: &Section<'_>) -> Labelled {
    let n_findings = reader.findings.len();
    let mut lines: Vec<TranscriptLine> = Vec::new();
    let mut labels: Vec<Label> = Vec::new();
    for &line in section.lines.iter().filter(|line| !line.text().is_empty()) {
        let text = line.text();
        if let Some(quoted) = text.strip_prefix('>') {
            let quoted = quoted.strip_prefix(' ').unwrap_or(quoted);
            match (quoted.strip_prefix("  "), lines.last_mut()) {
                _ if quoted.trim().is_empty() => {}
                (Some(more), Some(last)) => last.go_on(more),
                (_, _) => lines.extend(reader.accept(line, TranscriptLine::read(quoted.trim()))),
            }
        } else if let Some(label) = text.strip_prefix("- ") {
            let label = reader.accept(line, read_label(line, label));
            if let Some(same) =
                label.as_ref().filter(|label| labels.iter().any(|other| other.statement == label.statement))
            {
                let message = format!("`{}` appears twice", same.statement);
                reader.report(line, "duplicate-case", message, "remove one of them");
            }
            labels.extend(label);
        } else {
            let next = "write the conversation as a block quote (`> program: …`), and labels as items (`- pass: …`)";
            reader.report(line, "unexpected-text", "this line does not belong in a conversation", next);
        }
    }
    if lines.is_empty() && reader.findings.len() == n_findings {
        let next = "write its lines as a block quote (`> program: …`)";
        reader.report(section.heading, "no-transcript", "nobody says anything here", next);
    }
    if labels.is_empty() && reader.findings.len() == n_findings {
        let next = "add what is true of it as `- pass: …`, and what is not as `- fail: …`";
        reader.report(section.heading, "no-labels", "this conversation has no labels", next);
    }
    Labelled { lines, labels }
}

fn read_label(line: Line<'_>, label: &str) -> Result<Label, Wrong> {
    let (word, statement) = label.split_once(':').map_or((label, ""), |(word, statement)| (word, statement.trim()));
    let pass = match word.trim() {
        _ if statement.is_empty() => None,
        "pass" => Some(true),
        "fail" => Some(false),
        _ => None,
    };
    let pass = pass.ok_or_else(|| {
        let next = "write `- pass: …` for a statement that is true, `- fail: …` for one that is not";
        wrong("bad-label", format!("`{label}` is not a label"), next)
    })?;
    Ok(Label { line: line.number, statement: statement.into(), pass })
}
