//! A conversation as a model is shown it: line by line, what was said and given in quotation marks, so that none of it can
//! look like a line of ours.

use std::collections::HashMap;
use std::sync::Arc;

use crate::host::case_file::call::ExpectedCall;
use crate::host::case_file::item::{Wrong, json_or_text, wrong};
use crate::host::events::{PublicBody, PublicEvent};
use crate::host::text::{one_line, shorten};
use crate::lang::spelling::nearest;
use crate::value::Value;
use crate::vm::protocol::CallKind;

/// So many characters are shown of a line, its beginning and its end.
const SHOWN_CHARACTERS: usize = 4_000;

/// What is said of a line that is none.
fn no_line(line: &str, who: &str) -> Wrong {
    let next = match nearest(who, FORMS.into_iter()) {
        Some(near) => format!("did you mean `{near}: …`?"),
        None => {
            let forms = FORMS.map(|form| format!("`{form}: …`")).join(", ");
            format!("lines are {forms}; what goes on is indented by two spaces")
        }
    };
    wrong("bad-line", format!("`{line}` is no line of a transcript"), next)
}

/// A conversation, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    lines: Vec<TranscriptLine>,
    /// The tools that are being called, by the calls' ids.
    running: HashMap<u64, Arc<str>>,
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

impl Transcript {
    /// What was said in a session, and what its tools were asked and gave.
    pub fn of(events: &[PublicEvent]) -> Transcript {
        let mut transcript = Transcript::default();
        events.iter().for_each(|event| transcript.note(event));
        transcript
    }

    /// Goes on with what happens in a session.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is not told")]
    pub fn note(&mut self, event: &PublicEvent) {
        match &event.body {
            PublicBody::Said { text } => self.push(TranscriptLine::Program(text.clone())),
            PublicBody::UserMessage { text } => self.push(TranscriptLine::User(text.clone())),
            PublicBody::ApprovalAsked { question, .. } => self.push(TranscriptLine::Asks(question.clone())),
            PublicBody::CallQueued { call, callable, kind: CallKind::Tool, args, .. } => {
                self.running.insert(*call, callable.clone());
                let arguments = args.as_map().cloned().unwrap_or_default();
                let called = ExpectedCall { name: callable.to_string(), arguments, result: None };
                self.push(TranscriptLine::Call(called.text()));
            }
            PublicBody::CallFinished { call, result, error, .. } => {
                let Some(tool) = self.running.remove(call) else { return };
                if let Some(value) = result.clone() {
                    self.push(TranscriptLine::Result { tool, value });
                } else if let Some(error) = error.clone() {
                    self.push(TranscriptLine::Error { tool, error });
                }
            }
            _ => {}
        }
    }

    /// Goes on with a line.
    pub fn push(&mut self, line: TranscriptLine) {
        self.lines.push(line);
    }

    /// What the user has heard and said.
    #[must_use]
    pub fn spoken(&self) -> Transcript {
        let is_spoken = |line: &&TranscriptLine| match line {
            TranscriptLine::Program(_) | TranscriptLine::Asks(_) | TranscriptLine::User(_) => true,
            TranscriptLine::Call(_) | TranscriptLine::Result { .. } | TranscriptLine::Error { .. } => false,
        };
        let lines = self.lines.iter().filter(is_spoken).cloned().collect();
        Transcript { lines, running: HashMap::new() }
    }

    /// What the user was told and asked since they last said something, one utterance a line.
    pub fn unanswered(&self) -> String {
        let since = self.lines.iter().rev().take_while(|line| !matches!(line, TranscriptLine::User(_)));
        let mut heard: Vec<String> = since
            .filter(|line| matches!(line, TranscriptLine::Program(_) | TranscriptLine::Asks(_)))
            .map(TranscriptLine::text)
            .collect();
        heard.reverse();
        heard.join("\n")
    }

    /// What a model is shown: each line with its number.
    pub fn shown(&self) -> Vec<String> {
        self.lines.iter().enumerate().map(|(index, line)| format!("{} {}", index + 1, line.shown())).collect()
    }

    /// All of it as it is, one line after the other.
    pub fn text(&self) -> String {
        self.lines.iter().map(TranscriptLine::text).collect::<Vec<_>>().join("\n")
    }

    /// Whether these words stand in one of its lines, as they were said or as they are shown. Spaces and line breaks are
    /// all alike.
    pub fn has(&self, quote: &str) -> bool {
        let quote = one_line(quote);
        let has = |text: &str| one_line(text).contains(&quote);
        !quote.is_empty() && self.lines.iter().any(|line| has(&line.text()) || has(&line.shown()))
    }
}

/// How lines of a transcript begin that somebody writes.
const FORMS: [&str; 6] = ["program", "program asks", "user", "call", "result of TOOL", "error of TOOL"];

impl TranscriptLine {
    /// A line that somebody has written: `program: Hello`, `result of GetOrder: {"state":"sent"}`.
    pub(crate) fn read(line: &str) -> Result<TranscriptLine, Wrong> {
        let (who, text) = line.split_once(':').unwrap_or((line, ""));
        let (who, text) = (who.trim(), text.trim());
        let tool = |beginning: &str| who.strip_prefix(beginning).map(|tool| Arc::from(tool.trim()));
        match who {
            _ if text.is_empty() => Err(no_line(line, "")),
            "program" => Ok(TranscriptLine::Program(text.into())),
            "program asks" => Ok(TranscriptLine::Asks(text.into())),
            "user" => Ok(TranscriptLine::User(text.into())),
            "call" => Ok(TranscriptLine::Call(text.to_owned())),
            _ => match (tool("result of "), tool("error of ")) {
                (Some(tool), _) => Ok(TranscriptLine::Result { tool, value: json_or_text(text) }),
                (None, Some(tool)) => Ok(TranscriptLine::Error { tool, error: text.into() }),
                (None, None) => Err(no_line(line, who)),
            },
        }
    }

    /// Goes on with another line of the same text.
    pub(crate) fn go_on(&mut self, more: &str) {
        let join = |text: &str| format!("{text}\n{more}");
        match self {
            TranscriptLine::Program(text)
            | TranscriptLine::Asks(text)
            | TranscriptLine::User(text)
            | TranscriptLine::Error { error: text, .. } => *text = join(text).into(),
            TranscriptLine::Call(text) => *text = join(text),
            TranscriptLine::Result { value, .. } => *value = json_or_text(&join(&value.to_text())),
        }
    }

    /// What was said, asked or given.
    fn text(&self) -> String {
        match self {
            TranscriptLine::Program(text) | TranscriptLine::Asks(text) | TranscriptLine::User(text) => text.to_string(),
            TranscriptLine::Call(call) => call.clone(),
            TranscriptLine::Result { value, .. } => value.to_text(),
            TranscriptLine::Error { error, .. } => error.to_string(),
        }
    }

    /// The same as a line of ours.
    fn shown(&self) -> String {
        match self {
            TranscriptLine::Program(text) => format!("program: {}", quoted(text)),
            TranscriptLine::Asks(text) => format!("program asks: {}", quoted(text)),
            TranscriptLine::User(text) => format!("user: {}", quoted(text)),
            TranscriptLine::Call(call) => format!("call: {}", whole_or_quoted(call)),
            TranscriptLine::Result { tool, value } => {
                format!("result of {tool}: {}", whole_or_quoted(&value.to_json()))
            }
            TranscriptLine::Error { tool, error } => format!("error of {tool}: {}", quoted(error)),
        }
    }
}

/// Cut first and quoted then: a cut in the middle of `\"` would end the quotation.
fn quoted(text: &str) -> String {
    Value::str(&*shorten(text, SHOWN_CHARACTERS)).to_json()
}

/// Text that has its own quotations, as it is unless it must be cut.
fn whole_or_quoted(text: &str) -> String {
    if text.chars().count() > SHOWN_CHARACTERS { quoted(text) } else { text.to_owned() }
}
