//! What a person wants to stop at: lines, playbooks, variables, faults and triggers, with conditions, hit counts and
//! messages.

use std::str::FromStr;
use std::sync::Arc;

use playhouse_lang::expr::{self, Expr};
use playhouse_lang::span::FileId;
use playhouse_vm::Machine;
use playhouse_vm::protocol::{FrameId, Location};

/// One breakpoint; counted from 1 in a debugging session, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BreakpointId(pub u64);

/// A breakpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakpoint {
    /// Its number.
    pub id: BreakpointId,
    /// What it stands at.
    pub target: Target,
    /// It counts only where this holds.
    pub condition: Option<Expr>,
    /// It counts only at some of the times it is come to.
    pub hits: Option<HitCondition>,
    /// Written instead of stopping: a log point.
    pub log: Option<LogMessage>,
}

/// What a breakpoint stands at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A line, or a node of a plan, before it is executed.
    Line(Location),
    /// The beginning of a playbook or plan, by its name or as `Agent.Playbook`.
    Function(Arc<str>),
    /// A variable that gets another value.
    Data {
        /// Its name, without `$`.
        name: Arc<str>,
        /// Where it is kept.
        scope: DataScope,
    },
}

/// Where a watched variable is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataScope {
    /// In this frame.
    Frame(FrameId),
    /// Among the others of this agent.
    Others(Arc<str>),
    /// Anywhere.
    Anywhere,
}

/// At which of the times that it is come to a breakpoint counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitCondition {
    /// The n-th time only.
    Exactly(u64),
    /// From the n-th time on.
    From(u64),
    /// The first n times.
    UpTo(u64),
    /// Every n-th time.
    Every(u64),
}

impl HitCondition {
    /// Whether the `n`-th time counts, from 1.
    pub fn holds(self, n: u64) -> bool {
        match self {
            HitCondition::Exactly(at) => n == at,
            HitCondition::From(first) => n >= first,
            HitCondition::UpTo(last) => n <= last,
            HitCondition::Every(step) => step > 0 && n.is_multiple_of(step),
        }
    }
}

impl FromStr for HitCondition {
    type Err = String;

    /// `3` and `= 3`: the third time; `>= 3`, `> 3`, `<= 3`, `< 3`; `% 3`: every third.
    fn from_str(text: &str) -> Result<HitCondition, String> {
        let text = text.trim();
        let digits = text.trim_start_matches(|character: char| !character.is_ascii_digit());
        let operator = text[..text.len() - digits.len()].trim();
        let wrong = || {
            format!(
                "`{text}` is not a hit count; write a number for that time only, or `>= 3`, `<= 3`, `% 3` (every third)"
            )
        };
        let n: u64 = digits.parse().map_err(|_| wrong())?;
        match operator {
            "" | "=" | "==" => Ok(HitCondition::Exactly(n)),
            ">=" => Ok(HitCondition::From(n)),
            ">" => Ok(HitCondition::From(n.saturating_add(1))),
            "<=" => Ok(HitCondition::UpTo(n)),
            "<" => Ok(HitCondition::UpTo(n.saturating_sub(1))),
            "%" if n > 0 => Ok(HitCondition::Every(n)),
            _ => Err(wrong()),
        }
    }
}

/// A message with expressions in braces: `now at {$n} of {$total}`; `{{` and `}}` are braces.
#[derive(Clone, Debug, PartialEq)]
pub struct LogMessage {
    parts: Vec<LogPart>,
}

#[derive(Clone, Debug, PartialEq)]
enum LogPart {
    Text(String),
    Value(Expr),
}

impl LogMessage {
    /// Reads the message.
    ///
    /// # Errors
    /// A brace without its partner, or what stands in braces is no expression.
    pub fn parse(text: &str) -> Result<LogMessage, String> {
        let mut parts = Vec::new();
        let mut words = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            words.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            if rest[at + 1..].starts_with(brace) {
                words.push_str(brace);
                rest = &rest[at + 2..];
                continue;
            }
            let end = if brace == "{" { rest[at..].find('}') } else { None };
            let Some(end) = end else {
                return Err(format!("`{text}`: a `{brace}` without its partner; write `{brace}{brace}` for the brace"));
            };
            if !words.is_empty() {
                parts.push(LogPart::Text(std::mem::take(&mut words)));
            }
            parts.push(LogPart::Value(expression(&rest[at + 1..at + end])?));
            rest = &rest[at + end + 1..];
        }
        words.push_str(rest);
        if !words.is_empty() {
            parts.push(LogPart::Text(words));
        }
        Ok(LogMessage { parts })
    }

    /// The message as the frame sees its values; what has none is told in its place.
    pub fn render(&self, machine: &Machine, frame: Option<FrameId>) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                LogPart::Text(words) => text.push_str(words),
                LogPart::Value(expr) => match machine.evaluate(frame, expr) {
                    Ok(value) => text.push_str(&value.shown().to_text()),
                    Err(fault) => text.push_str(&format!("({fault})")),
                },
            }
        }
        text
    }
}

/// Reads an expression of the language of lines (spec `language.md`, "Expressions"): `$order.total > 10`. A name alone
/// is the variable of that name.
///
/// # Errors
/// What does not fit, with its column.
pub fn expression(text: &str) -> Result<Expr, String> {
    let text = text.trim();
    // What an editor has under its cursor comes without the sign.
    let is_name = !text.is_empty() && expr::scan_name(text) == text.len();
    let is_word = ["true", "false", "null", "none"].contains(&&*text.to_lowercase());
    let with_sign = if is_name && !is_word { format!("${text}") } else { text.to_owned() };
    expr::parse(&with_sign, FileId(0), 0).map_err(|error| format!("`{text}` is not an expression: {}", error.message))
}

/// What to stop at beside breakpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// The session fails, or an instruction of a plan.
    pub faults: bool,
    /// A call ends with an error, which the program is told.
    pub failed_calls: bool,
    /// A trigger has matched.
    pub matches: bool,
    /// A trigger was evaluated, whatever came of it.
    pub evaluations: bool,
    /// The session ends, however: the last moment to go back.
    pub end: bool,
}
