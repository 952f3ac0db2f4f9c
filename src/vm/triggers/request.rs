//! What the watcher can see of the session, and what it wants of the machine.

use std::sync::Arc;

use playhouse_lang::program::{AgentId, PlaybookId, TriggerId, TriggerKind};

use crate::calls::call::{Called, QueuedCall};
use crate::machine::frame::{Frame, PlaybookFrame};
use crate::machine::frame_core::FrameCore;
use crate::machine::stack::Stack;
use crate::protocol::{CallId, Fact, Origin, Place, Question, TimerId, Tracked, TurnId};
use crate::triggers::watch::{Match, PendingUpdate};
use crate::variables::visible::Visible;

/// What the watcher wants done.
#[derive(Clone, Debug)]
pub(crate) enum WatcherRequest {
    /// Who looks on is told.
    Tell(Fact),
    /// The top frame asks about this update as soon as it may wait for the answer.
    Hold(PendingUpdate),
    /// The classifier is asked.
    Ask(Box<Question>),
    /// The top frame calls the trigger's playbook before it does anything else.
    Call(Match),
    /// The top frame calls it now, with these arguments.
    CallNow(Match, Vec<(Arc<str>, Tracked)>),
    /// It is put into the queue, with these arguments, and asked whether the call may be made.
    Guard(TriggerId, Vec<(Arc<str>, Tracked)>, CallId),
    /// A timer starts, or starts anew.
    StartTimer { timer: TimerId, after_ms: u64 },
}

/// What the watcher can see of the session.
pub(crate) struct WatcherContext<'a> {
    pub(super) stack: &'a Stack,
    /// The reply that is being read.
    pub(super) turn: Option<TurnId>,
    /// The number of the last timer.
    pub(super) last_timer: u64,
    /// Nothing is called any more.
    pub(super) is_over: bool,
}

impl<'a> WatcherContext<'a> {
    /// What the top frame has in whatever language.
    pub(super) fn top(&self) -> Option<&'a FrameCore> {
        self.stack.frames.last().map(Frame::core)
    }

    /// The playbook that the top frame executes.
    pub(super) fn executed(&self) -> Option<PlaybookId> {
        self.stack.frames.last().and_then(Frame::playbook).map(PlaybookFrame::executed)
    }

    pub(super) fn place(&self) -> Option<Place> {
        Some(self.stack.frames.last()?.place(self.turn))
    }

    /// What a playbook of an agent could read.
    pub(super) fn visible_to(&self, agent: AgentId) -> Visible<'a> {
        self.stack.visible_to(agent, self.stack.frames.len())
    }

    /// The triggers on a call of the top frame, of the kinds that `wanted` picks.
    pub(super) fn triggers_on(&self, queued: &QueuedCall, wanted: impl Fn(&TriggerKind) -> bool) -> Vec<TriggerId> {
        let called = Called { callee: queued.callee, name: queued.name.clone() };
        let agent = self.top().map(|core| core.agent);
        agent.map(|agent| called.triggers(&self.stack.program, agent, self.executed(), wanted)).unwrap_or_default()
    }

    /// A triggered playbook has no caller who gives it arguments: each parameter gets the variable of its name that
    /// its agent can see, else its default. (A timer's agent need not be that of the top frame.)
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn bind(&self, id: TriggerId) -> Result<Vec<(Arc<str>, Tracked)>, Arc<str>> {
        if let Some(reason) = self.stack.program.unsupported(id.playbook) {
            return Err(reason.into());
        }
        let playbook = self.stack.program.playbook(id.playbook);
        let visible = self.visible_to(playbook.agent);
        let bind = |parameter: &playhouse_lang::program::Parameter| {
            let found = visible.variable(&parameter.name).map(|variable| &variable.value);
            match (found.filter(|value| parameter.ty.accepts(value.value())), &parameter.default) {
                (Some(value), _) => Ok((parameter.name.clone(), value.clone())),
                (None, Some(default)) => Ok((parameter.name.clone(), Tracked::new(default.clone(), Origin::CODE))),
                (None, None) => {
                    Err(format!("it needs ${}: {}, and no such variable is set", parameter.name, parameter.ty).into())
                }
            }
        };
        playbook.parameters.iter().map(bind).collect()
    }
}
