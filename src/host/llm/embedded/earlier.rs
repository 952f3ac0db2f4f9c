//! What the executor has written in this chat session: its only memory. The prompt itself is never read.

use playhouse_vm::protocol::{ChatMessage, Role};

/// How the mark of a loop's round begins.
pub(super) const ROUND: &str = "round ";

/// Own trace lines, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Earlier {
    lines: Vec<OwnLine>,
}

/// One trace line.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnLine {
    pub(super) at: String,
    pub(super) say: Option<String>,
    /// Why the line is left out.
    pub(super) skip: Option<String>,
    pub(super) wait: Option<String>,
    /// The variables it sets.
    pub(super) sets: Vec<String>,
    /// It marks a round of a loop.
    pub(super) is_round: bool,
}

impl OwnLine {
    pub(super) fn read(line: &serde_json::Value) -> OwnLine {
        let text = |key: &str| line.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
        OwnLine {
            at: text("at").unwrap_or_default(),
            say: text("say"),
            skip: text("skip"),
            wait: text("wait"),
            sets: line
                .get("set")
                .and_then(|set| set.as_object())
                .map_or(Vec::new(), |set| set.keys().cloned().collect()),
            is_round: text("think").is_some_and(|think| think.starts_with(ROUND)),
        }
    }
}

impl Earlier {
    /// The assistant's messages of a chat session.
    pub(super) fn of(messages: &[ChatMessage]) -> Earlier {
        let own = messages.iter().filter(|message| message.role == Role::Assistant);
        let lines = own.flat_map(|message| message.text.lines());
        Earlier {
            lines: lines.filter_map(|line| serde_json::from_str(line).ok()).map(|line| OwnLine::read(&line)).collect(),
        }
    }

    pub(super) fn add(&mut self, line: OwnLine) {
        self.lines.push(line);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether a line was left out before for this reason.
    pub(super) fn has_skipped(&self, at: &str, reason: &str) -> bool {
        self.lines.iter().any(|line| line.at == at && line.skip.as_deref() == Some(reason))
    }

    /// The last thing that was said at a line.
    pub(super) fn last_said(&self, at: &str) -> Option<&str> {
        self.lines.iter().rev().filter(|line| line.at == at).find_map(|line| line.say.as_deref())
    }

    /// Whether a variable has been set.
    pub(super) fn has_set(&self, name: &str) -> bool {
        self.lines.iter().any(|line| line.sets.iter().any(|set| set == name))
    }

    /// Whether the last thing that was done is to wait at a line.
    pub(super) fn waits_at(&self, at: &str) -> bool {
        self.lines.last().is_some_and(|line| line.at == at && line.wait.is_some())
    }

    /// How many rounds of a loop have been begun since it was entered.
    pub(super) fn rounds(&self, header: &str) -> usize {
        let inside = self.lines.iter().rev().take_while(|line| line.at == header || is_inside(&line.at, header));
        inside.filter(|line| line.at == header && line.is_round).count()
    }

    /// Whether the last line that was named is inside a loop.
    pub(super) fn was_inside(&self, header: &str) -> bool {
        self.lines.iter().rev().find(|line| line.at != header).is_some_and(|line| is_inside(&line.at, header))
    }
}

/// Whether a line id is nested under another, or shown inside it.
fn is_inside(at: &str, header: &str) -> bool {
    at.strip_prefix(header).is_some_and(|rest| rest.starts_with(['.', '>']))
}
