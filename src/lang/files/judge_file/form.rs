//! The form of labelled transcripts.

use std::sync::Arc;

use crate::value::Value;

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
    /// As it goes, line by line.
    pub lines: Vec<TranscriptLine>,
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

impl Label {
    /// What people call it: `pass: the program says what it costs`.
    pub fn name(&self) -> String {
        format!("{}: {}", if self.pass { "pass" } else { "fail" }, self.statement)
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub enum TranscriptLine {
    /// The program says something.
    Program(Arc<str>),
    /// A tool's call, or the tool, asks the user for a yes or a no.
    Asks(Arc<str>),
    /// The user says something.
    User(Arc<str>),
    /// A tool is called: `Name(argument: JSON)`.
    Call(String),
    /// What a tool gave.
    Result {
        /// Which.
        tool: Arc<str>,
        /// What.
        value: Value,
    },
    /// Why a tool gave nothing.
    Error {
        /// Which.
        tool: Arc<str>,
        /// Why.
        error: Arc<str>,
    },
}

impl JudgeFile {
    /// All labels, in order.
    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        self.conversations.iter().flat_map(|conversation| &conversation.labels)
    }
}

impl TranscriptLine {
    /// What was said, asked or given.
    pub fn text(&self) -> String {
        match self {
            TranscriptLine::Program(text) | TranscriptLine::Asks(text) | TranscriptLine::User(text) => text.to_string(),
            TranscriptLine::Call(call) => call.clone(),
            TranscriptLine::Result { value, .. } => value.to_text(),
            TranscriptLine::Error { error, .. } => error.to_string(),
        }
    }
}
