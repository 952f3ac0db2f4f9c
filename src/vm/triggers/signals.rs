//! Events from outside: they wait until nothing else is in hand, then the playbooks of their triggers are called
//! (spec `triggers.md`).

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use playhouse_lang::program::{Program, TriggerId, TriggerKind};
use playhouse_lang::value::Bounds;

use crate::protocol::{Origin, Signal, SignalFate, Tracked};

/// Events that have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    /// Those that no playbook has been called for yet, the oldest first.
    waiting: VecDeque<Signal>,
    /// The ids of all that have come.
    known: BTreeSet<Arc<str>>,
    /// How many have come.
    pub(super) n: u64,
}

impl Signals {
    /// One has come. It is kept if a trigger waits for it.
    pub(super) fn arrive(&mut self, program: &Program, bounds: Bounds, signal: Signal) -> SignalFate {
        self.n += 1;
        if signal.id.as_ref().is_some_and(|id| !self.known.insert(id.clone())) {
            return SignalFate::Repeated;
        }
        if waiting_for(program, &signal.name).next().is_none() {
            return SignalFate::PassedOver;
        }
        // Nobody outside can bring a session to its limits.
        if signal.data.check_bounds(bounds).is_err() {
            return SignalFate::TooLarge;
        }
        self.waiting.push_back(signal);
        SignalFate::Taken
    }

    /// Takes the first one out none of whose triggers is active, as of several events each has its call: those
    /// triggers, and what their playbooks are given.
    pub(super) fn take(
        &mut self,
        program: &Program,
        is_active: impl Fn(TriggerId) -> bool,
    ) -> Vec<(TriggerId, Tracked)> {
        let is_free = |signal: &Signal| !waiting_for(program, &signal.name).any(&is_active);
        let next = self.waiting.iter().position(is_free).and_then(|index| self.waiting.remove(index));
        let Some(Signal { name, data, .. }) = next else { return Vec::new() };
        let data = Tracked::new(data, Origin::EVENT);
        waiting_for(program, &name).map(|trigger| (trigger, data.clone())).collect()
    }

    /// Those that no playbook has been called for yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Signal> {
        self.waiting.iter()
    }
}

/// The triggers that wait for an event with this name, whosever they are: events come to the session.
fn waiting_for(program: &Program, name: &str) -> impl Iterator<Item = TriggerId> {
    let all = program.agents.iter().flat_map(|agent| agent.triggers.signals.iter().copied());
    all.filter(move |id| matches!(&program.trigger(*id).kind, TriggerKind::Signal(own) if **own == *name))
}
