//! Triggers on calls: before one (its playbook may refuse it), after one, when one fails (spec `triggers.md`,
//! "While something else goes on").

use std::sync::Arc;

use playhouse_lang::program::{CALL, TriggerKind};
use playhouse_lang::value::{Map, Value};

use crate::calls::call::QueuedCall;
use crate::protocol::{CallId, Origin, Provenance, Ruling, Tracked};
use crate::triggers::request::{WatcherContext, WatcherRequest};
use crate::triggers::watcher::Watcher;

impl Watcher {
    /// The top frame has queued a call: the playbooks of `Before calling …` are to be asked before it is made. Each
    /// call has its own; only in frames above such a playbook there are none, or it would guard itself.
    pub(crate) fn call_queued(&mut self, context: &WatcherContext<'_>, call: CallId) {
        let Some(queued) = context.top().and_then(|core| core.queue.get(call)) else { return };
        for id in context.triggers_on(queued, |kind| matches!(kind, TriggerKind::BeforeCall(_))) {
            if context.stack.frames.iter().any(|frame| frame.core().trigger == Some(id)) {
                self.evaluated(id, Ruling::Active, &[].into());
                continue;
            }
            match context.bind(id) {
                Ok(bound) => {
                    self.evaluated(id, Ruling::Match, &[].into());
                    self.activate(id, &[].into());
                    self.requests.push(WatcherRequest::Guard(id, bound, call));
                }
                Err(missing) => self.evaluated(id, Ruling::NotCallable(missing), &[].into()),
            }
        }
    }

    /// The top frame has taken a call's result: triggers on that fire.
    pub(crate) fn call_taken(
        &mut self,
        context: &WatcherContext<'_>,
        queued: &QueuedCall,
        result: &Result<Tracked, Arc<str>>,
    ) {
        // A call that was refused has not been made.
        let was_made = queued.was_started();
        let is_after = |kind: &TriggerKind| was_made && matches!(kind, TriggerKind::AfterCall(_));
        let is_failure = |kind: &TriggerKind| result.is_err() && matches!(kind, TriggerKind::CallFails(_));
        for trigger in context.triggers_on(queued, |kind| is_after(kind) || is_failure(kind)) {
            let found = self.match_now(trigger, Some((CALL, describe(queued, Some(result)))));
            self.rule(context, found, Ruling::Match, &[].into());
        }
    }
}

/// `$call`: what a trigger's playbook knows of the call. It comes from where the arguments and the result come from.
pub(super) fn describe(queued: &QueuedCall, result: Option<&Result<Tracked, Arc<str>>>) -> Tracked {
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
