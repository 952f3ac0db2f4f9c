//! What can come of lines and triggers.

use playhouse_lang::program::flow_graph::Edge;

/// What can come of a line or a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
pub enum Way {
    /// The condition of a branch held.
    #[strum(to_string = "then")]
    Then,
    /// It did not.
    #[strum(to_string = "else")]
    Else,
    /// A loop was over without a round.
    #[strum(to_string = "no round")]
    NoRound,
    /// After one round.
    #[strum(to_string = "one round")]
    OneRound,
    /// After more.
    #[strum(to_string = "more rounds")]
    MoreRounds,
    /// A call gave a result.
    #[strum(to_string = "returned")]
    Returned,
    /// A call failed, or was refused.
    #[strum(to_string = "failed")]
    Failed,
    /// A trigger fired.
    #[strum(to_string = "fired")]
    Fired,
    /// A trigger was judged, and did not hold.
    #[strum(to_string = "did not fire")]
    NotFired,
}

impl Way {
    /// Whether it comes of a call.
    pub fn is_of_call(self) -> bool {
        matches!(self, Way::Returned | Way::Failed)
    }
}

/// What came of a line while a run was followed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Took {
    Way(Way),
    /// The way to the next line.
    Edge(Edge),
}
