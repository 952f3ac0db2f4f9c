//! Replies that an author writes by hand, in the program's terms: what each line gets, line by line.
//!
//! The rules are those of the turn protocol, seen from the program. A bullet answers when the machine asks about its line,
//! in the order written, and each line is a reply of its own: so nothing of it is lost when a trigger cuts in. What
//! follows from the program is not written: where a line leads, and that a question waits for the user. Pure.

mod lines;
mod reply;

use crate::llm::TurnAsData;

use reply::place;

pub use reply::{Unanswered, Why, reply};

/// What a turn is asked about: `OrderStatus:02`; of a playbook without lines its name.
pub fn asked_about(turn: &TurnAsData) -> String {
    let playbook = turn.program.playbook(turn.data.playbook);
    place(turn, turn.data.pointer.map(|pointer| playbook.step(pointer)))
}
