//! The form of replies that are written by hand.

use std::sync::Arc;

use crate::files::case_file::mention::LineName;
use crate::value::{Map, Value};

/// What one line gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Bullet {
    /// The line.
    pub line: LineName,
    /// What is done there.
    pub what: What,
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
