//! The whole vocabulary between the machine and the world: what enters ([`Event`]), what leaves
//! ([`Progress`], [`Effect`], [`Fact`]), and the ids that tie them together.
//!
//! Nothing here derives `Serialize`: journal, `--events` and HTTP have wire types of their own
//! (spec `architecture.md`, invariant 9).

pub mod fault;
pub mod settings;
pub mod view;

mod effect;
mod event;
mod fact;
mod ids;
mod tool;
mod tracked;
mod trigger;

pub use crate::protocol::effect::{
    ChatMessage, Close, Effect, Outcome, Progress, Role, StartCall, StartTurn, TurnData,
};
pub use crate::protocol::event::{CallOutcome, EndedCall, Event, Finish, NewProgram, ReplyEnd, Signal};
pub use crate::protocol::fact::{Fact, LeftLine, PlanFault, PlanFaultKind, ProgramChange, Report, SignalFate};
pub(crate) use crate::protocol::ids::estimate_tokens;
pub use crate::protocol::ids::{
    CallId, CallKind, FrameId, FrameOrigin, INTERRUPTED, Location, PROMPT, Place, QuestionId, REFUSED, TimerId,
    Timestamp, TurnEnd, TurnId, TurnKind, USER_MESSAGE, Usage, UtteranceId, Wait,
};
pub use crate::protocol::tool::{Approval, EffectClass, ParameterRule, ToolSignature};
pub use crate::protocol::tracked::{Origin, Provenance, Tracked};
pub use crate::protocol::trigger::{Candidate, Evaluation, Judge, Question, Ruling, Update, Verdict};
