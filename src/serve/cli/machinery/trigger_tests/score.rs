//! What fired against what should have: precision, recall, abstentions.

use crate::lang::files::trigger_table::ResolvedTable;
use crate::lang::program::TriggerId;
use crate::serve::cli::machinery::scores::{Counts, Noted, Said};

/// What came of one case. Ids that are none of [`ResolvedTable::triggers`] are left out of the scores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// The triggers that fired on any of its updates.
    pub fired: Vec<TriggerId>,
    /// The triggers about which the classifier would not say anything.
    pub abstained: Vec<TriggerId>,
}

/// One trigger over all cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerScore {
    /// The trigger.
    pub id: TriggerId,
    /// How often.
    pub counts: Counts,
}

/// How one case went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseVerdict {
    /// What should fire did, and nothing else.
    Right,
    /// Something was missed, or fired and should not have.
    Wrong,
    /// Neither, but a trigger that should have fired was not judged.
    Open,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseScore {
    /// How it went.
    pub verdict: CaseVerdict,
    /// What should have fired and did not.
    pub missed: Vec<TriggerId>,
    /// What fired and should not have.
    pub wrong: Vec<TriggerId>,
    /// What should have fired and was not judged.
    pub open: Vec<TriggerId>,
}

/// A whole table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerScores {
    /// Trigger by trigger, in program order.
    pub triggers: Vec<TriggerScore>,
    /// Case by case.
    pub cases: Vec<CaseScore>,
    /// All triggers together.
    pub total: Counts,
}

impl TriggerScores {
    /// Compares what came of the cases, in their order, with what was expected. A case without a judgement counts
    /// as one in which nothing fired. `strict`: a trigger that was not judged has not fired.
    pub fn count(table: &ResolvedTable, judged: &[Judged], strict: bool) -> TriggerScores {
        let silence = Judged::default();
        let mut scores = TriggerScores {
            triggers: table.triggers.iter().map(|&id| TriggerScore { id, counts: Counts::default() }).collect(),
            cases: Vec::with_capacity(table.expected.len()),
            total: Counts::default(),
        };
        for (index, expected) in table.expected.iter().enumerate() {
            let judged = judged.get(index).unwrap_or(&silence);
            let mut case =
                CaseScore { verdict: CaseVerdict::Right, missed: Vec::new(), wrong: Vec::new(), open: Vec::new() };
            for score in &mut scores.triggers {
                let said = if judged.fired.contains(&score.id) {
                    Said::Yes
                } else if judged.abstained.contains(&score.id) {
                    Said::Nothing
                } else {
                    Said::No
                };
                match score.counts.note(expected.contains(&score.id), said, strict) {
                    Noted::Right => {}
                    Noted::Wrong => case.wrong.push(score.id),
                    Noted::Missed => case.missed.push(score.id),
                    Noted::Open => case.open.push(score.id),
                }
            }
            if !case.missed.is_empty() || !case.wrong.is_empty() {
                case.verdict = CaseVerdict::Wrong;
            } else if !case.open.is_empty() {
                case.verdict = CaseVerdict::Open;
            }
            scores.cases.push(case);
        }
        for score in &scores.triggers {
            scores.total.add(score.counts);
        }
        scores
    }

    /// The triggers whose precision or recall is under `threshold`. What is not defined is not under it.
    pub fn under(&self, threshold: f64) -> Vec<TriggerScore> {
        self.triggers.iter().filter(|score| score.counts.is_under(threshold)).copied().collect()
    }
}
