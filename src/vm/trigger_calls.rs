//! Triggers on calls: before one (its playbook may refuse it), after one, when one fails (spec `triggers.md`,
//! "While something else goes on").

use std::sync::Arc;

use playhouse_lang::program::{CallName, TriggerId, TriggerKind};
use playhouse_lang::value::{Map, Tracked, Value};

use crate::Machine;
use crate::calls::Resolved;
use crate::frame::{CallState, Called, Callee, QueuedCall};
use crate::protocol::{CallId, Fact, FrameOrigin, Ruling, Update};
use crate::watcher::Match;

impl Machine {
    /// The triggers on a call, of the kinds that `wanted` picks, in program order. Those of the frame's own playbook
    /// do not hold.
    fn watching(&self, depth: usize, called: &Called, wanted: impl Fn(&TriggerKind) -> bool) -> Vec<TriggerId> {
        let frame = &self.frames[depth];
        let playbook = frame.playbook().map(|frame| frame.playbook);
        let index = &self.program.agent(frame.core().agent).triggers;
        let is_it = |id: &&TriggerId| {
            let kind = &self.program.trigger(**id).kind;
            let watches = kind.call().is_some_and(|name| called.is_named(name));
            watches && wanted(kind) && Some(id.playbook) != playbook
        };
        index.calls.iter().filter(is_it).copied().collect()
    }

    /// Whether a playbook may refuse a call of the frame at a depth.
    pub(crate) fn has_guards(&self, depth: usize, resolved: &Resolved) -> bool {
        let called = Called { callee: resolved.callee, name: resolved.signature.name.clone() };
        !self.watching(depth, &called, |kind| matches!(kind, TriggerKind::BeforeCall(_))).is_empty()
    }

    /// Puts the playbooks of `Before calling …` into the queue, in front of the call that has just been queued.
    /// Each call has its own; only in frames above such a playbook there are none, or it would guard itself.
    pub(crate) fn queue_guards(&mut self, call: CallId) {
        let Some(queued) = self.core_mut().call_mut(call).cloned() else { return };
        let called = Called { callee: queued.callee, name: queued.name.clone() };
        let guards = self.watching(self.frames.len() - 1, &called, |kind| matches!(kind, TriggerKind::BeforeCall(_)));
        for id in guards {
            let nothing: Arc<[Update]> = [].into();
            if self.frames.iter().any(|frame| frame.core().trigger == Some(id)) {
                self.evaluated(id, Ruling::Active, &nothing);
                continue;
            }
            let bound = match self.bind_triggered(id) {
                Ok(bound) => bound,
                Err(missing) => {
                    self.evaluated(id, Ruling::NotCallable(missing.into()), &nothing);
                    continue;
                }
            };
            self.evaluated(id, Ruling::Match, &nothing);
            self.activate(id, &nothing);
            self.next.call += 1;
            let guard = QueuedCall {
                id: CallId(self.next.call),
                name: self.program.playbook(id.playbook).name.clone(),
                callee: Callee::Playbook(id.playbook),
                arguments: bound,
                result_name: None,
                guards: Some(Guard { trigger: id, call }),
                state: CallState::Queued,
                started: None,
                answers: Vec::new(),
                place: queued.place,
            };
            let queue = &mut self.core_mut().queue;
            let at = queue.iter().position(|queued| queued.id == call).unwrap_or(queue.len());
            queue.insert(at, guard);
        }
    }

    /// Whether a playbook in the queue must be asked before this call is made.
    pub(crate) fn is_guarded(&self, call: CallId) -> bool {
        self.core().queue.iter().any(|queued| queued.guards.is_some_and(|guard| guard.call == call))
    }

    /// A guard's turn in the queue has come.
    pub(crate) fn run_guard(&mut self, id: CallId, guard: Guard) {
        let Some(queued) = self.core_mut().call_mut(id) else { return };
        queued.state = CallState::Running { attempt: 1, confirmed: true };
        let (bound, from) = (queued.arguments.clone(), queued.place.location);
        let call = self.core_mut().call_mut(guard.call).map(|queued| describe(queued, None));
        self.push_frame(guard.trigger.playbook, bound, FrameOrigin::Trigger { trigger: guard.trigger, from });
        self.dress_triggered(guard.trigger, call);
    }

    /// A guard has returned: `false` refuses the call.
    pub(crate) fn take_guard(&mut self, id: CallId, guard: Guard) {
        let frame = self.core_mut();
        let Some(index) = frame.queue.iter().position(|queued| queued.id == id) else { return };
        let Some(queued) = frame.queue.remove(index) else { return };
        let refuses = matches!(&queued.state, CallState::Done(Ok(value)) if value.value == Value::Bool(false));
        if !refuses {
            return;
        }
        // The others need not be asked any more.
        let is_other = |queued: &QueuedCall| queued.guards.is_some_and(|other| other.call == guard.call);
        let others: Vec<TriggerId> = frame
            .queue
            .iter()
            .filter(|queued| is_other(queued))
            .filter_map(|queued| Some(queued.guards?.trigger))
            .collect();
        frame.queue.retain(|queued| !is_other(queued));
        let error: Arc<str> = format!("refused by {}", queued.name).into();
        let Some(refused) = frame.call_mut(guard.call) else { return };
        refused.state = CallState::Done(Err(error.clone()));
        let (name, kind) = (refused.name.clone(), refused.callee.kind());
        for trigger in others {
            self.deactivate(trigger);
            self.evaluated(trigger, Ruling::Dropped, &[].into());
        }
        self.report(Fact::CallFinished { call: guard.call, name, kind, result: Err(error), ms: 0 });
    }

    /// A call's result has been taken: triggers behind it fire.
    pub(crate) fn call_taken(&mut self, queued: &QueuedCall, result: &Result<Tracked, Arc<str>>) {
        let called = Called { callee: queued.callee, name: queued.name.clone() };
        // A call that was refused has not been made.
        let was_made = queued.started.is_some();
        let watching = self.watching(self.frames.len() - 1, &called, |kind| match kind {
            TriggerKind::AfterCall(_) => was_made,
            TriggerKind::CallFails(_) => result.is_err(),
            TriggerKind::Beginning
            | TriggerKind::BeforeCall(_)
            | TriggerKind::Every { .. }
            | TriggerKind::Silence { .. }
            | TriggerKind::Condition(_)
            | TriggerKind::Changes(_)
            | TriggerKind::Semantic => false,
        });
        let nothing: Arc<[Update]> = [].into();
        let seq = self.counters.updates;
        for trigger in watching {
            self.rule(Match::new(seq, trigger, Some(describe(queued, Some(result)))), Ruling::Match, &nothing);
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

impl Called {
    fn is_named(&self, name: &CallName) -> bool {
        match (self.callee, name.playbook) {
            (Callee::Playbook(called), Some(playbook)) => called == playbook,
            (Callee::Tool(_) | Callee::Plan(_), None) => self.name == name.name,
            (Callee::Playbook(_), None) | (Callee::Tool(_) | Callee::Plan(_), Some(_)) | (Callee::Model, _) => false,
        }
    }
}

/// `$call`: what a trigger's playbook knows of the call.
fn describe(queued: &QueuedCall, result: Option<&Result<Tracked, Arc<str>>>) -> Tracked {
    let mut is_secret = false;
    let mut take = |value: &Tracked| {
        is_secret |= value.secret;
        value.value.clone()
    };
    let arguments: Map = queued.arguments.iter().map(|(name, value)| (name.clone(), take(value))).collect();
    let mut call = Map::new();
    call.insert("name".into(), Value::Str(queued.name.clone()));
    call.insert("args".into(), Value::map(arguments));
    // Both keys are there, so that a line can ask about either.
    if let Some(result) = result {
        call.insert("result".into(), result.as_ref().map_or(Value::Null, take));
        call.insert("error".into(), result.as_ref().err().map_or(Value::Null, |error| Value::Str(error.clone())));
    }
    Tracked { value: Value::map(call), origin: playhouse_lang::value::Origin::CODE, secret: is_secret }
}
