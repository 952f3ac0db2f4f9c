//! What is kept about triggers: of the session, and of a frame.

use std::collections::BTreeMap;

use playhouse_lang::program::TriggerId;

use crate::protocol::{FrameId, Question, TimerId, Timestamp, Tracked, Update};
use crate::triggers::truths::Truths;
use crate::triggers::verdicts::Verdicts;

/// What the machine keeps about triggers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watcher {
    /// The question that is open.
    pub(crate) question: Option<OpenQuestion>,
    /// The conditions that hold.
    pub(crate) truths: Truths,
    /// How often a trigger has matched whose frame has not returned; more than once only before calls.
    pub(crate) active: BTreeMap<TriggerId, u32>,
    pub(crate) verdicts: Verdicts,
    pub(crate) timers: Vec<TriggerTimer>,
    pub(crate) n_questions: u64,
}

impl Watcher {
    /// Takes what is known of triggers over to others; what is about triggers that are gone is forgotten.
    pub(crate) fn map(&mut self, trigger: impl Fn(TriggerId) -> Option<TriggerId>) {
        self.truths.map(&trigger);
        self.verdicts.map(&trigger);
        let active = std::mem::take(&mut self.active);
        self.active = active.into_iter().filter_map(|(id, n)| Some((trigger(id)?, n))).collect();
        let timers = std::mem::take(&mut self.timers);
        let same = |timer: TriggerTimer| Some(TriggerTimer { trigger: trigger(timer.trigger)?, ..timer });
        self.timers = timers.into_iter().filter_map(same).collect();
    }
}

/// A question that has no answer yet.
#[derive(Clone, Debug)]
pub(crate) struct OpenQuestion {
    pub(crate) question: Question,
    /// The frame that made the updates.
    pub(crate) frame: FrameId,
    /// What it is about; the last `n_ahead` have not taken effect yet.
    pub(crate) updates: Vec<PendingUpdate>,
    pub(crate) n_ahead: usize,
    /// It is judged together with the frame's next turn: nothing but the user's message is asked about.
    pub(crate) with_turn: bool,
}

/// An update that the classifier has not been asked about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingUpdate {
    /// Its place among all updates of the session.
    pub(crate) seq: u64,
    pub(crate) update: Update,
    /// The semantic triggers it concerns, in program order.
    pub(crate) candidates: Vec<TriggerId>,
}

/// A held update that a question was already about.
#[derive(Clone, Debug)]
pub(crate) struct Prejudged {
    pub(crate) update: Update,
    pub(crate) candidates: Vec<TriggerId>,
    pub(crate) matched: Vec<TriggerId>,
}

/// What a frame is to do for triggers before it does anything else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Updates that the classifier has not been asked about.
    pub(crate) updates: Vec<PendingUpdate>,
    /// Triggers whose playbooks are to be called, in order.
    pub(crate) matches: Vec<Match>,
    /// Matches of timers, which cut no reply.
    pub(crate) later: Vec<Match>,
}

impl Watch {
    /// Whether nothing has to be asked or called before the frame goes.
    pub(crate) fn is_settled(&self) -> bool {
        self.updates.is_empty() && self.matches.is_empty()
    }
}

/// A trigger that has matched and whose playbook has not been called.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    /// The update, among all of the session.
    pub(crate) seq: u64,
    pub(crate) trigger: TriggerId,
    /// `$call`, for triggers on calls.
    pub(crate) call: Option<Tracked>,
}

impl Match {
    pub(crate) fn new(seq: u64, trigger: TriggerId, call: Option<Tracked>) -> Match {
        Match { seq, trigger, call }
    }
}

/// A trigger's timer.
#[derive(Clone, Debug)]
pub(crate) struct TriggerTimer {
    pub(crate) timer: TimerId,
    pub(crate) trigger: TriggerId,
    /// When it runs out; none: it does not run (somebody must speak first).
    pub(crate) due: Option<Timestamp>,
    pub(crate) beat: Beat,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Beat {
    /// Counted from the session's beginning.
    Every(u64),
    /// Counted from the last utterance.
    Silence(u64),
}
