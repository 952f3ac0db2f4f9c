//! A conversation as a model is shown it: line by line, what was said and given in quotation marks, so that none of it can
//! look like a line of ours.

use std::collections::HashMap;
use std::sync::Arc;

use playhouse_lang::files::case_file::call::ExpectedCall;
use playhouse_lang::files::judge_file::TranscriptLine;
use playhouse_lang::value::Value;
use playhouse_vm::protocol::CallKind;

use crate::events::{PublicBody, PublicEvent};
use crate::text::{one_line, shorten};

/// So many characters are shown of a line, its beginning and its end.
const SHOWN_CHARACTERS: usize = 4_000;

/// A conversation, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    lines: Vec<TranscriptLine>,
    /// The tools that are being called, by the calls' ids.
    running: HashMap<u64, Arc<str>>,
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

    /// Made of these lines.
    pub fn of_lines(lines: &[TranscriptLine]) -> Transcript {
        Transcript { lines: lines.to_vec(), running: HashMap::new() }
    }

    /// Goes on with a line.
    pub fn push(&mut self, line: TranscriptLine) {
        self.lines.push(line);
    }

    /// Its lines, in order.
    pub fn lines(&self) -> &[TranscriptLine] {
        &self.lines
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
        self.lines.iter().enumerate().map(|(index, line)| format!("{} {}", index + 1, shown(line))).collect()
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
        !quote.is_empty() && self.lines.iter().any(|line| has(&line.text()) || has(&shown(line)))
    }
}

/// A line as one of ours.
fn shown(line: &TranscriptLine) -> String {
    match line {
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

/// Cut first and quoted then: a cut in the middle of `\"` would end the quotation.
fn quoted(text: &str) -> String {
    Value::str(&*shorten(text, SHOWN_CHARACTERS)).to_json()
}

/// Text that has its own quotations, as it is unless it must be cut.
fn whole_or_quoted(text: &str) -> String {
    if text.chars().count() > SHOWN_CHARACTERS { quoted(text) } else { text.to_owned() }
}
