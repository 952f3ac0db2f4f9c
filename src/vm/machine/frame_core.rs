//! What a frame has in whatever language it is written.

use std::sync::Arc;

use playhouse_lang::program::{AgentId, Step, TriggerId};
use playhouse_lang::value::Value;

use crate::calls::call_queue::CallQueue;
use crate::protocol::{CallId, FrameId, FrameOrigin, Origin, TimerId, Tracked};
use crate::triggers::watch::Watch;
use crate::variables::scope::Scope;

/// What a frame has in whatever language.
#[derive(Clone, Debug)]
pub(crate) struct FrameCore {
    pub(crate) id: FrameId,
    /// Of a plan: the agent of the playbook that called it, whose names it can call.
    pub(crate) agent: AgentId,
    pub(crate) origin: FrameOrigin,
    /// How many frames stand below it; what runs inside of frames counts as a frame.
    pub(crate) depth: usize,
    pub(crate) scope: Scope,
    pub(crate) queue: CallQueue,
    /// Whether the last call whose result came has failed.
    pub(crate) last_call_failed: Tracked,
    /// Variables that a call was to set and did not, as it failed: their values are from before. With what was called.
    pub(crate) outdated: Vec<(Arc<str>, Arc<str>)>,
    pub(crate) phase: Phase,
    pub(crate) spent: Spent,
    /// What triggers want of the frame.
    pub(crate) watch: Watch,
    /// The trigger that is active as long as this frame lives.
    pub(crate) trigger: Option<TriggerId>,
}

impl FrameCore {
    pub(crate) fn new(id: FrameId, agent: AgentId, origin: FrameOrigin, depth: usize) -> FrameCore {
        FrameCore {
            id,
            agent,
            origin,
            depth,
            scope: Scope::default(),
            queue: CallQueue::default(),
            last_call_failed: Tracked::new(Value::Bool(false), Origin::CODE),
            outdated: Vec::new(),
            phase: Phase::Ready,
            spent: Spent::default(),
            watch: Watch::default(),
            trigger: None,
        }
    }

    /// A variable that a line reads whose value a call that failed was to replace, and what was called: nothing is said
    /// or done as if it had not failed. A line that sets it again (`$page = Next($page)`) may read it.
    pub(crate) fn outdated_value(&self, line: &Step) -> Option<(Arc<str>, Arc<str>)> {
        let reads = |(name, _): &&(Arc<str>, Arc<str>)| line.reads.contains(name) && !line.writes.contains(name);
        self.outdated.iter().find(reads).cloned()
    }
}

/// What a frame is doing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// It can move: explicit lines, then the model.
    Ready,
    /// The model is being read.
    Turn,
    /// Its queue is worked off; then it goes on.
    Draining(Then),
    /// The user is to speak.
    WaitingUser,
    /// A timer is to run out.
    WaitingTimer(TimerId),
}

/// What follows when a frame's queue is empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Then {
    GoOn,
    WaitUser,
    WaitTimer { after_ms: u64, text: Arc<str> },
    Return { value: ReturnValue, failed: bool },
    End { reason: Option<Arc<str>> },
}

/// What a frame returns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ReturnValue {
    /// A value.
    Value(Tracked),
    /// What the model wrote, with references to results that are still on their way.
    Pending(Value),
    /// The result of this call.
    OfCall(CallId),
}

/// What a frame and all frames above it have used up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) turns: u64,
    pub(crate) turns_since_user: u64,
    pub(crate) tokens: u64,
    /// Milliseconds, without those spent waiting for the user.
    pub(crate) active_ms: u64,
}
