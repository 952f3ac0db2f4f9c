//! What fired against what should have: precision, recall, abstentions.

use super::resolve::ResolvedTable;
use super::table::Judged;
use crate::lang::program::TriggerId;

/// How often a trigger (or all of them) fired and should have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cases in which it should fire.
    pub due: usize,
    /// Cases in which it should and did.
    pub right: usize,
    /// Cases in which it fired and should not have.
    pub wrong: usize,
    /// Cases in which it should have and did not.
    pub missed: usize,
    /// Cases in which the classifier would not say, whatever was right. They are not among the missed ones, except
    /// where abstentions count as silence.
    pub abstained: usize,
}

impl Counts {
    /// Of the cases in which it fired, how many were right; none if it never fired.
    pub fn precision(&self) -> Option<Ratio> {
        Ratio::new(self.right, self.right + self.wrong)
    }

    /// Of the cases in which it should have fired and something was said, in how many it did; none if there are
    /// none.
    pub fn recall(&self) -> Option<Ratio> {
        Ratio::new(self.right, self.right + self.missed)
    }

    fn add(&mut self, other: Counts) {
        self.due += other.due;
        self.right += other.right;
        self.wrong += other.wrong;
        self.missed += other.missed;
        self.abstained += other.abstained;
    }
}

/// A part of a number of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    part: usize,
    whole: usize,
}

impl Ratio {
    fn new(part: usize, whole: usize) -> Option<Ratio> {
        (whole > 0).then_some(Ratio { part, whole })
    }

    /// From 0 to 1.
    pub fn value(self) -> f64 {
        self.part as f64 / self.whole as f64
    }
}

impl std::fmt::Display for Ratio {
    /// Two decimals, rounded down: what is under a threshold does not look like it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = self.part.saturating_mul(100) / self.whole;
        write!(formatter, "{}.{:02}", hundredths / 100, hundredths % 100)
    }
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
            let mut case = CaseScore { verdict: CaseVerdict::Right, missed: Vec::new(), wrong: Vec::new() };
            for score in &mut scores.triggers {
                let is_due = expected.contains(&score.id);
                let has_fired = judged.fired.contains(&score.id);
                // A trigger may have fired on one update and not been judged on the next.
                let has_abstained = !has_fired && judged.abstained.contains(&score.id);
                score.counts.due += usize::from(is_due);
                score.counts.abstained += usize::from(has_abstained);
                match (is_due, has_fired) {
                    (true, true) => score.counts.right += 1,
                    (false, true) => {
                        score.counts.wrong += 1;
                        case.wrong.push(score.id);
                    }
                    (true, false) if has_abstained && !strict => case.verdict = CaseVerdict::Open,
                    (true, false) => {
                        score.counts.missed += 1;
                        case.missed.push(score.id);
                    }
                    (false, false) => {}
                }
            }
            if !case.missed.is_empty() || !case.wrong.is_empty() {
                case.verdict = CaseVerdict::Wrong;
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
        let is_under = |ratio: Option<Ratio>| ratio.is_some_and(|ratio| ratio.value() < threshold);
        let is_under = |score: &&TriggerScore| is_under(score.counts.precision()) || is_under(score.counts.recall());
        self.triggers.iter().filter(is_under).copied().collect()
    }

    /// How many cases went so.
    pub fn n_cases(&self, verdict: CaseVerdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }
}
