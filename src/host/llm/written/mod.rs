//! Replies that an author writes by hand, in the program's terms: what each line gets, line by line.
//!
//! The rules are those of the turn protocol, seen from the program. A bullet answers when the machine asks about its line,
//! in the order written, and each line is a reply of its own: so nothing of it is lost when a trigger cuts in. What
//! follows from the program is not written: where a line leads, and that a question waits for the user. Pure.

mod lines;
mod reply;

use std::sync::Arc;

use crate::host::llm::TurnAsData;
use crate::lang::program::{Program, Step};
use crate::value::{Map, Value};

pub use reply::{Unanswered, Why, reply};

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

impl Bullet {
    /// Whether a program has the line.
    ///
    /// # Errors
    /// It has none, or several.
    pub fn check(&self, program: &Program) -> Result<(), NotFound> {
        lines::find(program, &self.line).map(|_| ())
    }
}

/// What a turn is asked about: `OrderStatus:02`; of a playbook without lines its name.
pub fn asked_about(turn: &TurnAsData) -> String {
    let playbook = turn.program.playbook(turn.data.playbook);
    place(turn, turn.data.pointer.map(|pointer| playbook.step(pointer)))
}

fn place(turn: &TurnAsData, line: Option<&Step>) -> String {
    let name = &turn.program.playbook(turn.data.playbook).name;
    line.map_or_else(|| name.to_string(), |line| format!("{name}:{}", label(turn, line)))
}

/// The id of a line as the turn's reply names it: `02`, or `04>02` of a playbook inside line 04.
fn label(turn: &TurnAsData, line: &Step) -> String {
    let inside = turn.data.inside.map(|(caller, outer)| &turn.program.playbook(caller).step(outer).label);
    inside.map_or_else(|| line.label.to_string(), |outer| format!("{outer}>{}", line.label))
}
