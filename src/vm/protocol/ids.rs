//! Ids and places: what ties events, effects and facts together.

use playhouse_lang::plan::{NodeId, PlanId};
use playhouse_lang::program::{AgentId, PlaybookId, StepId, TriggerId};

pub use playhouse_lang::program::USER_MESSAGE;

/// Why a reply or a call has ended that the user has interrupted.
pub const INTERRUPTED: &str = "interrupted by the user";

/// What the program is told of a call that a person did not want; words of that person may follow.
pub const REFUSED: &str = "the person who was asked refused this call";

/// The argument that holds a question to the session's model.
pub const PROMPT: &str = "prompt";

/// Milliseconds since the Unix epoch. The machine reads no clock: every event brings its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

/// One request to the model and its reply; counted from 1 in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub u64);

/// One call of a tool, playbook or plan; counted from 1 in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// One frame; counted from 1 in a session, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub u64);

/// One timer; counted from 1 in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimerId(pub u64);

/// One utterance of the program; counted from 1 in a session. A sentence that a broken stream cut and the
/// model went on with is one utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UtteranceId(pub u64);

/// One question to the trigger classifier; counted from 1 in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuestionId(pub u64);

/// A place in a program of any of our languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// A line of a playbook; no step: its heading (goal mode, or before the first line).
    Line {
        /// The playbook.
        playbook: PlaybookId,
        /// The line.
        step: Option<StepId>,
    },
    /// A place in a plan of either language; no node: before the first, or after the last.
    Plan {
        /// The plan.
        plan: PlanId,
        /// The instruction, alias or domain.
        node: Option<NodeId>,
    },
}

impl Location {
    /// The line of a playbook; none: a heading, or a place in a plan.
    pub fn step(self) -> Option<StepId> {
        match self {
            Location::Line { step, .. } => step,
            Location::Plan { .. } => None,
        }
    }
}

/// Where the machine is: what public events, debuggers and faults name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The frame.
    pub frame: FrameId,
    /// Its agent.
    pub agent: AgentId,
    /// Its location.
    pub location: Location,
    /// How many frames lie below it.
    pub depth: usize,
    /// The turn in progress, if one is.
    pub turn: Option<TurnId>,
}

/// What kind of thing was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CallKind {
    /// A tool.
    Tool,
    /// A playbook.
    Playbook,
    /// A plan.
    Plan,
    /// A question of a plan to the session's model: a condition, or what to do about a failure.
    Model,
}

/// Why a frame exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum FrameOrigin {
    /// The session began with it.
    Begin,
    /// A call.
    Call {
        /// The call.
        call: CallId,
        /// The caller's line.
        from: Location,
    },
    /// A trigger matched.
    Trigger {
        /// The trigger.
        trigger: TriggerId,
        /// The line that was interrupted.
        from: Location,
    },
}

/// How a turn ended, as seen by the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TurnEnd {
    /// `wait`.
    Wait,
    /// `return`, or the end of the playbook.
    Return,
    /// `end`.
    End,
    /// The machine stopped reading.
    Cut,
    /// The reply ended without a yield.
    Ended,
    /// The stream broke, or the reply could not be read.
    Error,
}

/// What the machine waits for.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Wait {
    /// The reply of this turn.
    Reply(TurnId),
    /// The result of this call.
    Call(CallId),
    /// A person's answer to this call's question.
    Approval(CallId),
    /// The user's next message.
    User,
    /// A timer.
    Timer(TimerId),
    /// The classifier's answer to this question.
    Verdict(QuestionId),
    /// Many directives were executed without a pause: handle what has arrived, else [`crate::protocol::Event::GoOn`].
    Budget,
}

impl Wait {
    /// Whether it is for a person.
    pub fn is_for_person(&self) -> bool {
        matches!(self, Wait::User | Wait::Approval(_))
    }
}

/// Which of the three model calls it is (spec `execution.md`, "The three model calls").
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TurnKind {
    /// A fresh chat session.
    Start,
    /// Another playbook ran above this frame.
    Resume,
    /// Results, an answer, a repair.
    Continue,
}

/// Tokens of a reply, or of several, as the server counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request.
    pub prompt_tokens: u64,
    /// Of these, tokens that came from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens of the reply.
    pub completion_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}

/// Tokens of so many bytes: about four bytes each in English and JSON.
pub(crate) fn estimate_tokens(n_bytes: u64) -> u64 {
    n_bytes.div_ceil(4)
}
