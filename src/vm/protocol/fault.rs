//! Faults: why a session failed. Kind, place and wording; nothing else ends a session.

use std::sync::Arc;

use crate::protocol::ids::Place;

/// Why a session failed, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// Where; none if it has no place in the program.
    pub place: Option<Place>,
    /// For people: what happened and what can be done, in lower case without a full stop.
    pub message: Arc<str>,
}

/// The kinds of faults; the names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum FaultKind {
    /// A limit of the session was reached (depth, turns, tokens, queue, size of a value).
    Limit,
    /// A playbook's own limit was reached and says `fail`.
    FrameLimit,
    /// The model did not keep to the turn protocol and the session is told to stop then.
    Protocol,
    /// The model could not be reached, or refuses.
    Model,
    /// A plan that nobody called failed.
    Plan,
    /// The program asks for something that is recognised but not supported.
    Unsupported,
    /// The program cannot be begun as asked (no such playbook, wrong arguments).
    Begin,
    /// A bug of ours.
    Internal,
}

impl FaultKind {
    /// Whether a session that failed so can go on: a model may answer another time, or another one may. Every other failure
    /// is the end, if the program's text stays as it is.
    pub fn can_go_on(self) -> bool {
        self == FaultKind::Model
    }
}
