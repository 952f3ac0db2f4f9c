//! A call that was queued, and the states it goes through.

use std::sync::Arc;

use playhouse_lang::plan::PlanId;
use playhouse_lang::program::{AgentId, CallName, CallSite, PlaybookId, Program, TriggerId, TriggerKind};
use playhouse_lang::value::Value;

use crate::protocol::{CallId, CallKind, Effect, EffectClass, Fact, Place, StartCall, Timestamp, Tracked};

/// What a queued call has called, by whatever name: `Agent.Playbook` and `Playbook` may be the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Called {
    pub(crate) callee: Callee,
    pub(crate) name: Arc<str>,
}

impl Called {
    /// Whether this is what the line calls.
    pub(crate) fn is_of(&self, site: &CallSite) -> bool {
        self.is_named(&site.callee, site.playbook)
    }

    /// Whether a name means this; `playbook` is the one that it names.
    fn is_named(&self, name: &str, playbook: Option<PlaybookId>) -> bool {
        match self.callee {
            Callee::Playbook(called) => playbook == Some(called),
            Callee::Tool(_) | Callee::Plan(_) => playbook.is_none() && *self.name == *name,
            Callee::Model | Callee::Gone(_) => false,
        }
    }

    /// The triggers of an agent on this call, of the kinds that `wanted` picks, in program order. Those of the
    /// playbook that makes the call do not hold.
    pub(crate) fn triggers(
        &self,
        program: &Program,
        agent: AgentId,
        caller: Option<PlaybookId>,
        wanted: impl Fn(&TriggerKind) -> bool,
    ) -> Vec<TriggerId> {
        let is_it = |id: &&TriggerId| {
            let kind = &program.trigger(**id).kind;
            let is_named = |call: &CallName| self.is_named(&call.name, call.playbook);
            let watches = self.callee != Callee::Model && kind.waits_for_call(is_named);
            watches && wanted(kind) && Some(id.playbook) != caller
        };
        program.agent(agent).triggers.calls.iter().filter(is_it).copied().collect()
    }
}

/// What a queued call will run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    Tool(EffectClass),
    Playbook(PlaybookId),
    Plan(PlanId),
    /// What was a playbook or plan until the program was changed under the session.
    Gone(CallKind),
    /// A question of the machine's own to the session's model.
    Model,
}

impl Callee {
    pub(crate) fn kind(self) -> CallKind {
        match self {
            Callee::Tool(_) => CallKind::Tool,
            Callee::Playbook(_) => CallKind::Playbook,
            Callee::Plan(_) => CallKind::Plan,
            Callee::Model => CallKind::Model,
            Callee::Gone(kind) => kind,
        }
    }

    /// What starting it does to the world; none: it runs on our own stack.
    pub(crate) fn effect(self) -> Option<EffectClass> {
        match self {
            Callee::Tool(effect) => Some(effect),
            Callee::Model => Some(EffectClass::ReadOnly),
            Callee::Playbook(_) | Callee::Plan(_) | Callee::Gone(_) => None,
        }
    }
}

/// A playbook in the queue that is asked before a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) trigger: TriggerId,
    /// The call it may refuse.
    pub(crate) call: CallId,
}

/// A call that was queued and whose result has not been taken.
#[derive(Clone, Debug)]
pub(crate) struct QueuedCall {
    pub(crate) id: CallId,
    pub(crate) name: Arc<str>,
    pub(crate) callee: Callee,
    pub(crate) arguments: Vec<(Arc<str>, Tracked)>,
    /// The variable that gets the result.
    pub(crate) result_name: Option<Arc<str>>,
    /// It is one of several calls that one line has made, which give a list.
    pub(crate) one_of: Option<OneOf>,
    /// Whether that variable is declared secret.
    pub(crate) is_result_secret: bool,
    /// Whether it has ended because the user interrupted it.
    pub(crate) is_interrupted: bool,
    /// It is the playbook of a `Before calling …`, and may refuse another call.
    pub(crate) guards: Option<Guard>,
    /// Where it was queued.
    pub(crate) place: Place,
    state: CallState,
    started: Option<Timestamp>,
    /// What the tool has asked, and what a person answered, in order.
    answers: Vec<(Arc<str>, Value)>,
}

/// How far a queued call is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallState {
    /// Not begun: a playbook waits for the end of the turn, and so does a tool without early start.
    Queued,
    /// The world was told to start this attempt of a tool; a playbook's frame is on the stack.
    Running {
        /// From 1.
        attempt: u32,
        /// The world has said that it is about to.
        confirmed: bool,
    },
    /// A person must answer first.
    Asking { attempt: u32, question: Arc<str>, asked_by: AskedBy },
    /// Over.
    Done(Result<Tracked, Arc<str>>),
}

/// On whose behalf a person is asked about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedBy {
    /// The tool's approval: the call has not been made.
    Policy,
    /// The tool itself, which is told the answer; "no" too, if it takes it.
    Tool { takes_no: bool },
}

impl QueuedCall {
    /// A call that has not begun.
    pub(crate) fn new(
        id: CallId,
        name: Arc<str>,
        callee: Callee,
        arguments: Vec<(Arc<str>, Tracked)>,
        result_name: Option<Arc<str>>,
        place: Place,
    ) -> QueuedCall {
        QueuedCall {
            id,
            name,
            callee,
            arguments,
            result_name,
            one_of: None,
            is_result_secret: false,
            is_interrupted: false,
            guards: None,
            place,
            state: CallState::Queued,
            started: None,
            answers: Vec::new(),
        }
    }

    /// How far it is.
    pub(crate) fn state(&self) -> &CallState {
        &self.state
    }

    /// Whether it has not begun.
    pub(crate) fn is_waiting(&self) -> bool {
        self.state == CallState::Queued
    }

    /// Whether somebody works on it.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, CallState::Running { .. })
    }

    /// Whether somebody works on it, or is asked about it.
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self.state, CallState::Running { .. } | CallState::Asking { .. })
    }

    /// Whether it was ever begun; one that was refused was not.
    pub(crate) fn was_started(&self) -> bool {
        self.started.is_some()
    }

    /// Whether it says if this call may be made.
    pub(crate) fn guards_call(&self, call: CallId) -> bool {
        self.guards.is_some_and(|guard| guard.call == call)
    }

    /// The world is to begin this attempt.
    pub(crate) fn request(&mut self, program: &Program, effect: EffectClass, attempt: u32) -> Effect {
        self.state = CallState::Running { attempt, confirmed: false };
        Effect::StartCall(Box::new(StartCall {
            call: self.id,
            attempt,
            kind: self.callee.kind(),
            name: self.name.clone(),
            arguments: self.arguments.clone(),
            effect,
            answers: self.answers.clone(),
            result_name: self.result_name.clone(),
            is_result_secret: self.is_result_secret,
            place: self.place,
            skill: program.skill_of(self.place.agent).map(|skill| program.file_of(skill)),
        }))
    }

    /// The world has begun this attempt, or a frame that performs it stands on the stack.
    pub(crate) fn begin(&mut self, attempt: u32, now: Timestamp) -> Fact {
        self.state = CallState::Running { attempt, confirmed: true };
        self.started = Some(now);
        Fact::CallStarted { call: self.id, name: self.name.clone(), kind: self.callee.kind(), attempt }
    }

    /// The playbook of a guard stands on the stack. It is no call of the program's: nobody is told.
    pub(crate) fn begin_guard(&mut self) {
        self.state = CallState::Running { attempt: 1, confirmed: true };
    }

    /// A person must answer before it goes on.
    pub(crate) fn ask(&mut self, attempt: u32, question: Arc<str>, asked_by: AskedBy) -> Fact {
        self.state = CallState::Asking { attempt, question: question.clone(), asked_by };
        Fact::ApprovalAsked { call: self.id, question, by_tool: matches!(asked_by, AskedBy::Tool { .. }) }
    }

    /// What a person has answered to a question of the tool's own, which is told it with the next attempt.
    pub(crate) fn answer(&mut self, question: Arc<str>, answer: Value) {
        self.answers.push((question, answer));
    }

    /// It is over; what watchers are told of that.
    pub(crate) fn finish(&mut self, now: Timestamp, result: Result<Tracked, Arc<str>>) -> Fact {
        let ms = self.started.map_or(0, |started| u64::try_from(now.0.saturating_sub(started.0)).unwrap_or(0));
        let result = result.map(|value| value.secret_if(self.is_result_secret));
        self.state = CallState::Done(result.clone());
        Fact::CallFinished { call: self.id, name: self.name.clone(), kind: self.callee.kind(), result, ms }
    }

    /// The playbook of a guard has said what it says.
    pub(crate) fn finish_guard(&mut self, value: Tracked) {
        self.state = CallState::Done(Ok(value));
    }

    /// What was to perform it is gone: it waits for its turn again.
    pub(crate) fn put_back(&mut self) {
        self.state = CallState::Queued;
        self.started = None;
    }
}

/// Which of several calls of one line a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OneOf {
    /// The first of them stands for all.
    pub(super) first: CallId,
    pub(super) index: usize,
    pub(crate) n_all: usize,
}

/// Results of such calls, until the last has come: which call, and what it gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected(pub(super) Vec<(OneOf, Tracked)>);
