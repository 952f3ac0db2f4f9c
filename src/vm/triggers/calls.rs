//! Triggers on calls: before one (its playbook may refuse it), after one, when one fails (spec `triggers.md`,
//! "While something else goes on").

use crate::calls::call::Guard;
use std::sync::Arc;

use crate::protocol::{Origin, Provenance, Tracked};
use playhouse_lang::program::{TriggerId, TriggerKind};
use playhouse_lang::value::{Map, Value};

use crate::calls::arguments::Resolved;
use crate::calls::call::{Called, Callee, QueuedCall};
use crate::machine::frame::PlaybookFrame;
use crate::machine::state::Machine;
use crate::protocol::{CallId, FrameOrigin, Ruling, Update};
use crate::triggers::watch::Match;

impl Machine {
    /// The triggers on a call, of the kinds that `wanted` picks, in program order. Those of the frame's own playbook
    /// do not hold.
    fn watching(&self, depth: usize, called: &Called, wanted: impl Fn(&TriggerKind) -> bool) -> Vec<TriggerId> {
        let frame = &self.frames[depth];
        let playbook = frame.playbook().map(PlaybookFrame::executed);
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
        let Some(queued) = self.core_mut().queue.get_mut(call).cloned() else { return };
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
            let (number, name) = (CallId(self.next.call), self.program.playbook(id.playbook).name.clone());
            let playbook = Callee::Playbook(id.playbook);
            let mut guard = QueuedCall::new(number, name, playbook, bound, None, queued.place);
            guard.guards = Some(Guard { trigger: id, call });
            self.core_mut().queue.push_guard(guard, call);
        }
    }

    /// Whether a playbook in the queue must be asked before this call is made.
    pub(crate) fn is_guarded(&self, call: CallId) -> bool {
        self.core().queue.is_guarded(call)
    }

    /// A guard's turn in the queue has come.
    pub(crate) fn run_guard(&mut self, id: CallId, guard: Guard) {
        let Some(queued) = self.core_mut().queue.get_mut(id) else { return };
        queued.begin_guard();
        let (bound, from) = (queued.arguments.clone(), queued.place.location);
        let call = self.core_mut().queue.get_mut(guard.call).map(|queued| describe(queued, None));
        self.push_frame(guard.trigger.playbook, bound, FrameOrigin::Trigger { trigger: guard.trigger, from });
        self.dress_triggered(guard.trigger, call);
    }

    /// A guard has returned: `false` refuses the call.
    pub(crate) fn take_guard(&mut self, id: CallId, guard: Guard) {
        let now = self.now;
        let frame = self.core_mut();
        let Some((queued, result)) = frame.queue.take_done(id) else { return };
        let refuses = matches!(&result, Ok(value) if *value.value() == Value::Bool(false));
        if !refuses {
            return;
        }
        // The others need not be asked any more.
        let others = frame.queue.drop_guards(guard.call);
        let Some(refused) = frame.queue.get_mut(guard.call) else { return };
        let finished = refused.finish(now, Err(format!("refused by {}", queued.name).into()));
        for trigger in others {
            self.deactivate(trigger);
            self.evaluated(trigger, Ruling::Dropped, &[].into());
        }
        self.report(finished);
    }

    /// A call's result has been taken: triggers behind it fire.
    pub(crate) fn call_taken(&mut self, queued: &QueuedCall, result: &Result<Tracked, Arc<str>>) {
        let called = Called { callee: queued.callee, name: queued.name.clone() };
        // A call that was refused has not been made.
        let was_made = queued.was_started();
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

/// `$call`: what a trigger's playbook knows of the call. It comes from where the arguments and the result come from.
fn describe(queued: &QueuedCall, result: Option<&Result<Tracked, Arc<str>>>) -> Tracked {
    let mut provenance = Provenance::of(Origin::CODE);
    let mut take = |value: &Tracked| provenance.absorb(value.clone());
    let arguments: Map = queued.arguments.iter().map(|(name, value)| (name.clone(), take(value))).collect();
    let mut call = Map::new();
    call.insert("name".into(), Value::Str(queued.name.clone()));
    call.insert("args".into(), Value::map(arguments));
    // Both keys are there, so that a line can ask about either.
    if let Some(result) = result {
        call.insert("result".into(), result.as_ref().map_or(Value::Null, take));
        call.insert("error".into(), result.as_ref().err().map_or(Value::Null, |error| Value::Str(error.clone())));
    }
    provenance.track(Value::map(call))
}
