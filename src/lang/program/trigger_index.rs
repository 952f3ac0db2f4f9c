//! What a trigger waits for, and which triggers an update of a name concerns (spec `triggers.md`).

use std::collections::HashMap;
use std::sync::Arc;

use crate::expr::Expr;
use crate::program::ids::{PlaybookId, TriggerId};
use crate::span::Span;

/// One trigger of a playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Its id.
    pub id: TriggerId,
    /// The author's words.
    pub text: Arc<str>,
    /// Their place.
    pub span: Span,
    /// What it waits for.
    pub kind: TriggerKind,
    /// Names it mentions, without `$`, in order of mention, each once. One in words that mentions none waits for those
    /// that it is about: [`USER_MESSAGE`], or variables whose names are its words.
    pub names: Vec<Arc<str>>,
    /// One in words of which nothing tells what it is about: it waits for [`USER_MESSAGE`], and is asked about at the
    /// end of each turn in which something was updated.
    pub at_turn_end: bool,
}

/// What a trigger waits for (spec `triggers.md`, "Three kinds").
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerKind {
    /// `At the beginning`, `When the program starts`, `When the agent starts running`.
    Beginning,
    /// `At the end`, `When the conversation ends`: the program is done, or a line ends it.
    Ending,
    /// `Before calling X`.
    BeforeCall(CallName),
    /// `After calling X`.
    AfterCall(CallName),
    /// `When X fails`; none: `When any tool fails`.
    CallFails(Option<CallName>),
    /// `Every 10 minutes`.
    Every {
        /// The time between two beats, in milliseconds; never 0.
        period_ms: u64,
    },
    /// `Every day at 9:00`, `On Mondays`: in the session's time zone.
    Clock {
        /// On which days.
        days: Days,
        /// The minute of the day, from 0 to 1439.
        minute: u16,
    },
    /// `After 30 seconds of silence`.
    Silence {
        /// The time since the last utterance, in milliseconds; never 0.
        after_ms: u64,
    },
    /// `When photo_uploaded arrives`: an event from outside with this name.
    Signal(Arc<str>),
    /// Becomes true (false -> true fires).
    Condition(Expr),
    /// `When $order_id changes`: the names, any of which changing fires.
    Changes(Vec<Arc<str>>),
    /// `/pdf-forms a.pdf`: a message that begins with the name of a skill, which is called with the rest (spec `skills.md`,
    /// "Triggers").
    Command(Arc<str>),
    /// Anything else: the classifier judges it.
    Semantic,
    /// Waits for this and never fires: what a [mutant](crate::analysis::mutate) has taken out.
    Gone(Box<TriggerKind>),
}

/// The names of the days of the week, in small letters.
pub const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Days of the week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Days(u8);

impl Days {
    /// All seven.
    pub const ALL: Days = Days(0b111_1111);

    /// These: of each its number, 0 for Monday.
    pub fn of(numbers: impl IntoIterator<Item = u8>) -> Days {
        Days(numbers.into_iter().fold(0, |days, number| days | 1 << (number % 7)))
    }

    /// Both these and those.
    pub fn and(self, other: Days) -> Days {
        Days(self.0 | other.0)
    }

    /// Whether the day of this number, 0 for Monday, is one of them.
    pub fn has(self, number: u8) -> bool {
        self.0 & 1 << (number % 7) != 0
    }
}

/// A callable that a trigger watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallName {
    /// Its name: a tool's, a playbook's, or `Agent.Playbook` for another agent's.
    pub name: Arc<str>,
    /// The playbook it names; none for a tool.
    pub playbook: Option<PlaybookId>,
}

impl Trigger {
    /// Whether it waits for what the user says, and for nothing else.
    pub fn is_about_messages(&self) -> bool {
        !self.at_turn_end && matches!(&self.names[..], [name] if **name == *USER_MESSAGE)
    }

    /// Whether it may be evaluated on an update of the variable `name`.
    pub fn is_concerned(&self, name: &str) -> bool {
        self.at_turn_end || self.names.iter().any(|own| **own == *name)
    }
}

impl TriggerKind {
    /// The words after the name, if it waits for this message.
    pub fn words_of_command<'m>(&self, message: &'m str) -> Option<&'m str> {
        let TriggerKind::Command(name) = self else { return None };
        let rest = message.trim().strip_prefix('/')?.strip_prefix(&**name)?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(rest.trim())
    }

    /// Whether it is evaluated when a variable gets another value: not on beginnings, calls, time and events.
    pub fn waits_for_updates(&self) -> bool {
        matches!(
            self,
            TriggerKind::Condition(_) | TriggerKind::Changes(_) | TriggerKind::Command(_) | TriggerKind::Semantic
        )
    }

    /// Whether it waits for calls of what `is_it` says yes to.
    pub fn waits_for_call(&self, is_it: impl Fn(&CallName) -> bool) -> bool {
        match self {
            TriggerKind::BeforeCall(call) | TriggerKind::AfterCall(call) => is_it(call),
            TriggerKind::CallFails(call) => call.as_ref().is_none_or(is_it),
            TriggerKind::Gone(kind) => kind.waits_for_call(is_it),
            TriggerKind::Beginning
            | TriggerKind::Ending
            | TriggerKind::Every { .. }
            | TriggerKind::Clock { .. }
            | TriggerKind::Silence { .. }
            | TriggerKind::Signal(_)
            | TriggerKind::Condition(_)
            | TriggerKind::Changes(_)
            | TriggerKind::Command(_)
            | TriggerKind::Semantic => false,
        }
    }
}

/// The variable that holds the user's last words; each message is an update of it.
pub const USER_MESSAGE: &str = "user_message";

/// The variable that the playbook of a trigger on calls is given.
pub const CALL: &str = "call";

/// The variable that the playbook of a trigger on events from outside is given: the event's data.
pub const EVENT: &str = "event";

/// The triggers of one agent by what concerns them; every list is in program order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerIndex {
    naming: HashMap<Arc<str>, Vec<TriggerId>>,
    /// Semantic triggers of which nothing tells what they are about: candidates at the end of a turn.
    pub at_turn_end: Vec<TriggerId>,
    /// Triggers on calls: before, after, failed.
    pub calls: Vec<TriggerId>,
    /// Triggers on time: periods, times of day and silence.
    pub timers: Vec<TriggerId>,
    /// Triggers on events from outside.
    pub signals: Vec<TriggerId>,
}

impl TriggerIndex {
    /// The index of these triggers, in program order.
    pub(crate) fn new<'a>(triggers: impl Iterator<Item = &'a Trigger>) -> Self {
        let mut index = TriggerIndex::default();
        for trigger in triggers {
            match &trigger.kind {
                // What is called is called as if it still waited.
                TriggerKind::Gone(kind) if kind.waits_for_call(|_| true) => index.calls.push(trigger.id),
                TriggerKind::Beginning | TriggerKind::Ending | TriggerKind::Gone(_) => {}
                TriggerKind::BeforeCall(_) | TriggerKind::AfterCall(_) | TriggerKind::CallFails(_) => {
                    index.calls.push(trigger.id);
                }
                TriggerKind::Every { .. } | TriggerKind::Clock { .. } | TriggerKind::Silence { .. } => {
                    index.timers.push(trigger.id);
                }
                TriggerKind::Signal(_) => index.signals.push(trigger.id),
                TriggerKind::Semantic
                | TriggerKind::Condition(_)
                | TriggerKind::Changes(_)
                | TriggerKind::Command(_) => {
                    index.at_turn_end.extend(trigger.at_turn_end.then_some(trigger.id));
                    for name in &trigger.names {
                        index.naming.entry(name.clone()).or_default().push(trigger.id);
                    }
                }
            }
        }
        index
    }

    /// The `Condition`, `Changes` and `Semantic` triggers that name the variable `name` (without `$`).
    pub fn naming(&self, name: &str) -> &[TriggerId] {
        self.naming.get(name).map_or(&[], Vec::as_slice)
    }
}
