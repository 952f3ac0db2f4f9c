//! What is kept with a frame about triggers.

use playhouse_lang::program::TriggerId;

use crate::protocol::{Tracked, Update};

/// An update that the classifier is to be asked about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingUpdate {
    /// Its place among all updates of the session.
    pub(super) seq: u64,
    pub(super) update: Update,
    /// The semantic triggers it concerns, in program order.
    pub(super) candidates: Vec<TriggerId>,
    /// Those that are known to match as soon as it takes effect.
    pub(super) matched: Vec<TriggerId>,
}

impl PendingUpdate {
    /// Takes it over to other triggers; answers whether it concerns any.
    pub(super) fn map(&mut self, trigger: impl Fn(TriggerId) -> Option<TriggerId>) -> bool {
        self.candidates = self.candidates.iter().copied().filter_map(trigger).collect();
        self.candidates.sort_unstable();
        !self.candidates.is_empty()
    }
}

/// A trigger that has matched and whose playbook has not been called.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    /// The update, among all of the session.
    pub(super) seq: u64,
    pub(super) trigger: TriggerId,
    /// The variable that its playbook is given, `$call` or `$event`.
    pub(super) given: Option<(&'static str, Tracked)>,
    /// It is a timer's: a reply in progress is not worth throwing away for the clock.
    pub(super) is_timed: bool,
}

impl Match {
    pub(super) fn new(seq: u64, trigger: TriggerId, given: Option<(&'static str, Tracked)>) -> Match {
        Match { seq, trigger, given, is_timed: false }
    }
}

/// What a frame is to do for triggers before it does anything else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Updates that the classifier has not been asked about.
    updates: Vec<PendingUpdate>,
    /// Triggers whose playbooks are to be called, in order.
    matches: Vec<Match>,
    /// Matches of timers, which cut no reply.
    later: Vec<Match>,
}

impl Watch {
    /// Whether nothing has to be asked or called before the frame goes.
    pub(crate) fn is_settled(&self) -> bool {
        self.updates.is_empty() && self.matches.is_empty()
    }

    /// The trigger for which a reply is cut.
    pub(crate) fn first_match(&self) -> Option<TriggerId> {
        self.matches.first().map(|found| found.trigger)
    }

    pub(super) fn hold(&mut self, pending: PendingUpdate) {
        self.updates.push(pending);
    }

    pub(super) fn take_updates(&mut self) -> Vec<PendingUpdate> {
        std::mem::take(&mut self.updates)
    }

    /// Updates that have been asked about will be asked about again, before the others.
    pub(crate) fn put_back(&mut self, mut asked: Vec<PendingUpdate>) {
        asked.append(&mut self.updates);
        self.updates = asked;
    }

    /// Updates after the first `n_updates` have been taken back, and are not asked about.
    pub(crate) fn roll_back(&mut self, n_updates: u64) {
        self.updates.retain(|pending| pending.seq <= n_updates);
    }

    pub(super) fn call(&mut self, found: Match) {
        if found.is_timed {
            return self.later.push(found);
        }
        self.matches.push(found);
        self.matches.sort_by_key(|found| (found.seq, found.trigger));
    }

    /// The match whose playbook is called next.
    pub(super) fn next_match(&mut self) -> Option<Match> {
        self.matches.append(&mut self.later);
        if self.matches.is_empty() { None } else { Some(self.matches.remove(0)) }
    }

    /// What another frame can do in place of this one.
    pub(crate) fn split_later(&mut self) -> Watch {
        Watch { later: std::mem::take(&mut self.later), ..Watch::default() }
    }

    /// The frame goes: the triggers whose playbooks are not called.
    pub(crate) fn dropped(self) -> impl Iterator<Item = TriggerId> {
        self.matches.into_iter().chain(self.later).map(|found| found.trigger)
    }

    /// Takes it over to other triggers; what is about triggers that are gone is forgotten.
    pub(crate) fn map(&mut self, trigger: impl Fn(TriggerId) -> Option<TriggerId>) {
        self.updates.retain_mut(|pending| pending.map(&trigger));
        for matches in [&mut self.matches, &mut self.later] {
            matches.retain_mut(|found| trigger(found.trigger).map(|id| found.trigger = id).is_some());
        }
    }
}
