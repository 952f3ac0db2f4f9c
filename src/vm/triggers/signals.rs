//! Events from outside: they wait until nothing else is in hand, then the playbooks of their triggers are called
//! (spec `triggers.md`).

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use playhouse_lang::program::{EVENT, Program, TriggerId, TriggerKind};

use crate::protocol::{Fact, Origin, Ruling, Signal, SignalFate, Tracked};
use crate::triggers::request::{WatcherContext, WatcherRequest};
use crate::triggers::watcher::Watcher;

/// Events that have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    /// Those that no playbook has been called for yet, the oldest first.
    waiting: VecDeque<Signal>,
    /// The ids of all that have come.
    known: BTreeSet<Arc<str>>,
}

impl Watcher {
    /// An event has come. It is kept if a trigger waits for it.
    pub(crate) fn signal_arrived(&mut self, context: &WatcherContext<'_>, signal: Signal) {
        let is_new = signal.id.as_ref().is_none_or(|id| self.signals.known.insert(id.clone()));
        let fate = if !is_new {
            SignalFate::Repeated
        } else if waiting_for(&context.stack.program, &signal.name).next().is_none() {
            SignalFate::PassedOver
        } else {
            SignalFate::Taken
        };
        let Signal { name, data, id } = signal.clone();
        self.requests.push(WatcherRequest::Tell(Fact::SignalArrived { name, data, id, fate }));
        if fate == SignalFate::Taken {
            self.signals.waiting.push_back(signal);
        }
    }

    /// Whether an event is there whose time has come.
    pub(crate) fn has_signal(&self, program: &Program) -> bool {
        self.next_signal(program).is_some()
    }

    /// The first event none of whose triggers is active: of several events each has its call.
    fn next_signal(&self, program: &Program) -> Option<usize> {
        let is_free = |signal: &Signal| !waiting_for(program, &signal.name).any(|id| self.is_active(id));
        self.signals.waiting.iter().position(is_free)
    }

    /// The top frame does nothing else: the playbooks of the next event are called.
    pub(crate) fn take_signal(&mut self, context: &WatcherContext<'_>) {
        let program = &context.stack.program;
        let next = self.next_signal(program).and_then(|index| self.signals.waiting.remove(index));
        let Some(signal) = next.filter(|_| !context.is_over) else { return };
        let data = Tracked::new(signal.data, Origin::EVENT);
        for trigger in waiting_for(program, &signal.name) {
            let found = self.match_now(trigger, Some((EVENT, data.clone())));
            self.rule(context, found, Ruling::Match, &[].into());
        }
    }

    /// The events that wait.
    pub(crate) fn waiting_signals(&self) -> impl Iterator<Item = &Signal> {
        self.signals.waiting.iter()
    }
}

/// The triggers that wait for an event with this name, whosever they are: events come to the session.
fn waiting_for<'p>(program: &'p Program, name: &str) -> impl Iterator<Item = TriggerId> {
    let all = program.agents.iter().flat_map(|agent| agent.triggers.signals.iter().copied());
    all.filter(move |id| matches!(&program.trigger(*id).kind, TriggerKind::Signal(own) if **own == *name))
}
