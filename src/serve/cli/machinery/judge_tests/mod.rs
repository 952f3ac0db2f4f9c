//! Labelled transcripts (`*.judge.md`): what a careful person says of statements about conversations, and how often a
//! judge says the same. The format is `docs/users.md`, "How far to trust a judge".

mod read;

mod run;

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::host::judge::transcript::Transcript;
use crate::span::FileId;

pub use self::run::{JudgeOptions, JudgeOutcome, run_judge_file};

/// How the names of such files end.
pub(crate) const ENDING: &str = ".judge.md";

/// One file.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeFile {
    /// The first heading's text.
    pub title: String,
    /// What precision and recall of each answer must reach, from 0 to 1; none: 1.
    pub threshold: Option<f64>,
    /// The conversations, each with at least one label.
    pub conversations: Vec<Labelled>,
}

/// A conversation, and what is true of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    /// As it goes.
    pub transcript: Transcript,
    /// What is said of it.
    pub labels: Vec<Label>,
}

/// A statement and whether it is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its line, from 1.
    pub line: usize,
    /// The statement.
    pub statement: Arc<str>,
    /// Whether it is true.
    pub pass: bool,
}

impl JudgeFile {
    /// Reads a file's text. The spans of the findings lie in `file`.
    ///
    /// # Errors
    /// All findings, in the order of their lines; the first note of each says what to do.
    pub fn parse(file: FileId, text: &str) -> Result<JudgeFile, Vec<Diagnostic>> {
        read::read(file, text)
    }
}
