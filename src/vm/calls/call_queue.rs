//! The calls of one frame that have not been taken, in the order in which they are worked off.

use std::collections::VecDeque;

use playhouse_lang::program::TriggerId;

use crate::calls::call::{CallState, QueuedCall};
use crate::protocol::CallId;
use playhouse_lang::expr::LAST_CALL_FAILED;

/// A frame's queue of calls. A guard stands before the call that it guards.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallQueue {
    calls: VecDeque<QueuedCall>,
}

impl CallQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &QueuedCall> {
        self.calls.iter()
    }

    /// All calls, to be changed one by one; their order stays.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut QueuedCall> {
        self.calls.iter_mut()
    }

    /// The call that is worked off next.
    pub(crate) fn first(&self) -> Option<&QueuedCall> {
        self.calls.front()
    }

    /// The call that was queued last.
    pub(crate) fn last(&self) -> Option<&QueuedCall> {
        self.calls.back()
    }

    pub(crate) fn get(&self, call: CallId) -> Option<&QueuedCall> {
        self.calls.iter().find(|queued| queued.id == call)
    }

    pub(crate) fn get_mut(&mut self, call: CallId) -> Option<&mut QueuedCall> {
        self.calls.iter_mut().find(|queued| queued.id == call)
    }

    /// The call whose result will set `name`, if one is on its way.
    pub(crate) fn pending(&self, name: &str) -> Option<&QueuedCall> {
        // Any call may be the one that is asked about.
        let is_last = name == LAST_CALL_FAILED;
        self.calls.iter().rev().find(|queued| is_last || queued.result_name.as_deref() == Some(name))
    }

    /// The call that must be over before another one is queued; `None` if there is room.
    pub(crate) fn in_the_way(&self, limit: usize) -> Option<CallId> {
        self.first().filter(|_| self.calls.len() >= limit.max(1)).map(|call| call.id)
    }

    pub(crate) fn push(&mut self, call: QueuedCall) {
        self.calls.push_back(call);
    }

    /// A guard is asked before the call it guards.
    pub(crate) fn push_guard(&mut self, guard: QueuedCall, call: CallId) {
        let at = self.calls.iter().position(|queued| queued.id == call).unwrap_or(self.calls.len());
        self.calls.insert(at, guard);
    }

    /// Takes a call out.
    pub(crate) fn take(&mut self, call: CallId) -> Option<QueuedCall> {
        let index = self.calls.iter().position(|queued| queued.id == call)?;
        self.calls.remove(index)
    }

    /// Takes a call out whose result is there, with the result.
    pub(crate) fn take_done(
        &mut self,
        call: CallId,
    ) -> Option<(QueuedCall, Result<crate::protocol::Tracked, std::sync::Arc<str>>)> {
        let CallState::Done(result) = self.get(call)?.state().clone() else { return None };
        Some((self.take(call)?, result))
    }

    /// What has not begun is not wanted any more. Playbooks that were to be asked first go with the frame.
    pub(crate) fn drop_waiting(&mut self) {
        self.calls.retain(|queued| !queued.is_waiting() || queued.guards.is_some());
    }

    /// Whether a playbook in the queue must be asked before this call is made.
    pub(crate) fn is_guarded(&self, call: CallId) -> bool {
        self.calls.iter().any(|queued| queued.guards_call(call))
    }

    /// The guards of a call need not be asked any more; whose they were.
    pub(crate) fn drop_guards(&mut self, call: CallId) -> Vec<TriggerId> {
        let mut dropped = Vec::new();
        self.calls.retain(|queued| match queued.guards.filter(|guard| guard.call == call) {
            Some(guard) => {
                dropped.push(guard.trigger);
                false
            }
            None => true,
        });
        dropped
    }

    /// The guard of a trigger that stands on the stack.
    pub(crate) fn running_guard(&mut self, trigger: TriggerId) -> Option<&mut QueuedCall> {
        let is_it = |queued: &&mut QueuedCall| {
            queued.is_running() && queued.guards.is_some_and(|guard| guard.trigger == trigger)
        };
        self.calls.iter_mut().find(is_it)
    }

    /// The triggers whose playbooks wait in the queue.
    pub(crate) fn waiting_guards(&self) -> impl Iterator<Item = TriggerId> {
        let waiting = self.calls.iter().filter(|queued| queued.is_waiting());
        waiting.filter_map(|queued| Some(queued.guards?.trigger))
    }

    /// Every call as another one, or as none.
    pub(crate) fn filter_map(&mut self, change: impl FnMut(QueuedCall) -> Option<QueuedCall>) {
        self.calls = std::mem::take(&mut self.calls).into_iter().filter_map(change).collect();
    }
}
