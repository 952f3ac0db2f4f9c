//! The form of labelled transcripts.

use std::sync::Arc;

use crate::host::judge::transcript::Transcript;

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
    /// All labels, in the order written.
    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        self.conversations.iter().flat_map(|conversation| &conversation.labels)
    }
}

impl Label {
    /// What people call it: `pass: the program says what it costs`.
    pub fn name(&self) -> String {
        format!("{}: {}", if self.pass { "pass" } else { "fail" }, self.statement)
    }
}
