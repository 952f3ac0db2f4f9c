//! The form of replies that are written by hand, and how lines are named in what is said of them.

use std::sync::Arc;

use crate::host::llm::TurnAsData;
use crate::lang::program::Step;
use crate::value::{Map, Value};

/// What one line gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Bullet {
    /// The line.
    pub line: LineName,
    /// What is done there.
    pub what: What,
}

/// How a line is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineName {
    /// By its id: `02`, `04.01`, `04>02`; of whichever playbook is asked about.
    Id(String),
    /// By its text, or an unmistakable beginning of it.
    Text(String),
    /// A playbook without lines, by its name.
    Goal(String),
}

/// What a line gets.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Variables get values.
    Sets(Map),
    /// The condition holds.
    Yes,
    /// It does not.
    No,
    /// This is told to the user. A question waits for the answer then.
    Says(Arc<str>),
    /// Something is called, with these arguments by name. What comes of it is there before the next bullet.
    Calls {
        /// What.
        name: Arc<str>,
        /// By parameter name.
        arguments: Map,
    },
    /// There is nothing more to do.
    Done,
    /// The user is waited for, where the interpreter does not know a question.
    Waits,
    /// The line is left out, for this reason.
    Skips(Arc<str>),
    /// The playbook is left.
    Returns(Value),
}

/// A name of a bullet that means no line, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// No playbook has a line with this id.
    NoId,
    /// No line begins so.
    NoText {
        /// The line whose beginning is most like it, as `Playbook:02 words`.
        nearest: Option<String>,
    },
    /// These lines begin so, as `Playbook:02`.
    Several(Vec<String>),
    /// There is no playbook of this name.
    NoPlaybook {
        /// The one that was probably meant.
        nearest: Option<Arc<str>>,
    },
    /// The playbook has lines, and one of them must be named.
    HasLines,
}

pub(super) fn place(turn: &TurnAsData, line: Option<&Step>) -> String {
    let name = &turn.program.playbook(turn.data.playbook).name;
    line.map_or_else(|| name.to_string(), |line| format!("{name}:{}", label(turn, line)))
}

/// The id of a line as the turn's reply names it: `02`, or `04>02` of a playbook inside line 04.
pub(super) fn label(turn: &TurnAsData, line: &Step) -> String {
    let inside = turn.data.inside.map(|(caller, outer)| &turn.program.playbook(caller).step(outer).label);
    inside.map_or_else(|| line.label.to_string(), |outer| format!("{outer}>{}", line.label))
}
