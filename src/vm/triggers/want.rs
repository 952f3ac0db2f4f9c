//! What the watcher can see of the session, and what it wants of the machine.

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::program::{AgentId, PlaybookId, Program, TriggerId, TriggerKind};

use crate::calls::call::{Called, QueuedCall};
use crate::machine::frame::{Frame, PlaybookFrame, place_of};
use crate::machine::frame_core::FrameCore;
use crate::protocol::settings::Settings;
use crate::protocol::view::Utterance;
use crate::protocol::{CallId, Fact, Origin, Place, Question, TimerId, Timestamp, Tracked, TurnId};
use crate::triggers::watch::{Match, PendingUpdate};
use crate::variables::scope::Scope;
use crate::variables::visible::Visible;

/// What the watcher wants done.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// Who looks on is told.
    Tell(Fact),
    /// The top frame asks about this update as soon as it may wait for the answer.
    Hold(PendingUpdate),
    /// The classifier is asked.
    Ask(Box<Question>),
    /// The next question may also be about what the reply in progress will set, as far as it has been read.
    LookAhead,
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
pub(crate) struct Sight<'a> {
    pub(super) program: &'a Program,
    pub(super) settings: &'a Settings,
    pub(super) frames: &'a [Frame],
    pub(super) others: &'a [Scope],
    pub(super) utterances: &'a VecDeque<Utterance>,
    pub(super) now: Timestamp,
    /// The reply that is being read.
    pub(super) turn: Option<TurnId>,
    /// The number of the last timer.
    pub(super) last_timer: u64,
    /// Nothing is called any more.
    pub(super) is_over: bool,
}

impl<'a> Sight<'a> {
    /// What the top frame has in whatever language.
    pub(super) fn top(&self) -> Option<&'a FrameCore> {
        self.frames.last().map(Frame::core)
    }

    /// The playbook that the top frame executes.
    pub(super) fn executed(&self) -> Option<PlaybookId> {
        self.frames.last().and_then(Frame::playbook).map(PlaybookFrame::executed)
    }

    pub(super) fn place(&self) -> Option<Place> {
        Some(place_of(self.frames, self.frames.len().checked_sub(1)?, self.turn))
    }

    /// What a playbook of an agent could read.
    pub(super) fn visible_to(&self, agent: AgentId) -> Visible<'a> {
        Visible::to_agent(self.frames, self.others, self.settings.bounds(), agent)
    }

    /// The triggers on a call of the top frame, of the kinds that `wanted` picks.
    pub(super) fn triggers_on(&self, queued: &QueuedCall, wanted: impl Fn(&TriggerKind) -> bool) -> Vec<TriggerId> {
        let called = Called { callee: queued.callee, name: queued.name.clone() };
        let agent = self.top().map(|core| core.agent);
        agent.map(|agent| called.triggers(self.program, agent, self.executed(), wanted)).unwrap_or_default()
    }

    /// A triggered playbook has no caller who gives it arguments: each parameter gets the variable of its name that
    /// its agent can see, else its default. (A timer's agent need not be that of the top frame.)
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn bind(&self, id: TriggerId) -> Result<Vec<(Arc<str>, Tracked)>, Arc<str>> {
        if let Some(reason) = self.program.unsupported(id.playbook) {
            return Err(reason.into());
        }
        let playbook = self.program.playbook(id.playbook);
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
