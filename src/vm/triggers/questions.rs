//! Questions to the classifier and their answers (spec `triggers.md`, "The classifier").

use std::sync::Arc;

use playhouse_lang::program::{Program, TriggerId};

use crate::protocol::{Candidate, FrameId, Judge, Question, Ruling, Update, Verdict};
use crate::triggers::watch::PendingUpdate;

/// The place among all updates of one that has not taken effect.
pub(super) const AHEAD: u64 = u64::MAX;

/// A question that has no answer yet.
#[derive(Clone, Debug)]
pub(super) struct OpenQuestion {
    pub(super) question: Question,
    /// The frame that made the updates.
    pub(super) frame: FrameId,
    /// What it is about; those that have not taken effect stand last.
    pub(super) updates: Vec<PendingUpdate>,
    /// It is judged together with the frame's next turn: nothing but the user's message is asked about.
    pub(super) with_turn: bool,
}

impl OpenQuestion {
    /// How many of its updates have taken effect.
    pub(super) fn n_taken(&self) -> usize {
        self.updates.iter().take_while(|pending| pending.seq != AHEAD).count()
    }

    /// Its updates that concern a trigger, and which of all is the first of them.
    pub(super) fn concerning(&self, id: TriggerId) -> (Option<usize>, Arc<[Update]>) {
        let is_it = |pending: &PendingUpdate| pending.candidates.contains(&id);
        let own = self.updates.iter().filter(|pending| is_it(pending));
        (self.updates.iter().position(is_it), own.map(|pending| pending.update.clone()).collect())
    }
}

/// A trigger as the classifier is told of it.
pub(super) fn candidate(program: &Program, id: TriggerId) -> Candidate {
    let is_skill = program.playbook(id.playbook).skill.is_some();
    Candidate { trigger: id, name: program.trigger_name(id).into(), text: program.trigger(id).text.clone(), is_skill }
}

/// What an answer says of a trigger that was asked about, and who says so.
pub(super) fn ruling_of(verdict: &Verdict, id: TriggerId) -> (Judge, Ruling) {
    match verdict {
        Verdict::Judged { by, matched, .. } if matched.contains(&id) => (*by, Ruling::Match),
        Verdict::Judged { by, abstained, .. } if abstained.contains(&id) => (*by, Ruling::Abstained),
        Verdict::Judged { by, .. } => (*by, Ruling::NoMatch),
        Verdict::TimedOut => (Judge::Model, Ruling::TimedOut),
        Verdict::Failed { reason } => (Judge::Model, Ruling::Failed(reason.clone())),
    }
}

/// What a question and its answer have cost, as far as a server counted.
pub(super) fn tokens_of(verdict: &Verdict) -> u64 {
    match verdict {
        Verdict::Judged { usage: Some(usage), .. } => usage.prompt_tokens + usage.completion_tokens,
        Verdict::Judged { usage: None, .. } | Verdict::TimedOut | Verdict::Failed { .. } => 0,
    }
}
