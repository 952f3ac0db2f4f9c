//! Lines of transcripts that somebody has written.

use std::sync::Arc;

use super::form::TranscriptLine;
use crate::diagnostic::spelling::nearest;
use crate::diagnostic::wording::{in_ticks, meant_or};
use crate::files::case_file::item::{Wrong, json_or_text, wrong};

/// How lines of a transcript begin that somebody writes.
const FORMS: [&str; 6] = ["program", "program asks", "user", "call", "result of TOOL", "error of TOOL"];

/// What is said of a line that is none.
fn no_line(line: &str, who: &str) -> Wrong {
    let form = |who: &str| format!("{who}: …");
    let otherwise = format!("lines are {}; indent the rest of a longer one by two spaces", in_ticks(FORMS.map(form)));
    let next = meant_or(nearest(who, FORMS.into_iter()).map(form), otherwise);
    wrong("bad-line", format!("`{line}` is not a line of a transcript"), next)
}

impl TranscriptLine {
    /// A line that somebody has written: `program: Hello`, `result of GetOrder: {"state":"sent"}`.
    pub(super) fn read(line: &str) -> Result<TranscriptLine, Wrong> {
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
    pub(super) fn go_on(&mut self, more: &str) {
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
}
