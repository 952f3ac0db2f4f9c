//! What was said against what should have been: precision, recall, abstentions; of triggers and of judges.

use std::fmt::Write as _;

/// What stands above the columns of a table.
const HEAD: [&str; 7] = ["due", "right", "wrong", "missed", "abstained", "precision", "recall"];

/// How a file of labelled cases is run.
#[derive(Clone, Copy, Debug)]
pub struct ScoreOptions {
    /// What was due and not judged is not missed, whatever the file says.
    pub lenient: bool,
    /// How often the cases are judged, at least once.
    pub repeat: u32,
    /// Findings are coloured.
    pub color: bool,
}

/// How often something was said and should have been: that a trigger fires, that a statement is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cases in which it should be said.
    pub due: usize,
    /// Cases in which it should be and was.
    pub right: usize,
    /// Cases in which it was said and should not have been.
    pub wrong: usize,
    /// Cases in which it should have been and was not.
    pub missed: usize,
    /// Cases in which whoever judges would not say, whatever was right. They are not among the missed ones, except
    /// where abstentions count as silence.
    pub abstained: usize,
}

/// What was said of one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It.
    Yes,
    /// The contrary.
    No,
    /// Neither.
    Nothing,
}

/// How one case went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// As it should.
    Right,
    /// It was said and should not have been.
    Wrong,
    /// It should have been said and was not.
    Missed,
    /// It should have been, and neither it nor the contrary was.
    Open,
}

impl Counts {
    /// Counts one case. `strict`: who says nothing says no.
    pub(crate) fn note(&mut self, is_due: bool, said: Said, strict: bool) -> Noted {
        self.due += usize::from(is_due);
        self.abstained += usize::from(said == Said::Nothing);
        match (is_due, said) {
            (true, Said::Yes) => {
                self.right += 1;
                Noted::Right
            }
            (false, Said::Yes) => {
                self.wrong += 1;
                Noted::Wrong
            }
            (true, Said::Nothing) if !strict => Noted::Open,
            (true, Said::No | Said::Nothing) => {
                self.missed += 1;
                Noted::Missed
            }
            (false, Said::No | Said::Nothing) => Noted::Right,
        }
    }

    /// Whether precision or recall is under `threshold`. What is not defined is not under it.
    pub(crate) fn is_under(&self, threshold: f64) -> bool {
        let ratios = [self.precision(), self.recall()];
        ratios.into_iter().flatten().any(|ratio| ratio.value() < threshold)
    }

    /// Of the cases in which it was said, how many were right; none if it never was.
    pub fn precision(&self) -> Option<Ratio> {
        Ratio::new(self.right, self.right + self.wrong)
    }

    /// Of the cases in which it should have been said and something was, in how many it was; none if there are none.
    pub fn recall(&self) -> Option<Ratio> {
        Ratio::new(self.right, self.right + self.missed)
    }

    pub(crate) fn add(&mut self, other: Counts) {
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

/// A line for each of them below a head; `what` they are.
pub(crate) fn score_lines<'n>(what: &str, scores: impl Iterator<Item = (&'n str, Counts)> + Clone) -> String {
    let names = scores.clone().map(|(name, _)| name);
    let width = names.chain([what]).map(|name| name.chars().count()).max().unwrap_or(0);
    let mut text = format!("{what:width$}  {}\n", HEAD.join("  "));
    for (name, counts) in scores {
        let _ = write!(text, "{name:width$}");
        for (cell, head) in cells(counts).iter().zip(HEAD) {
            let _ = write!(text, "  {cell:>width$}", width = head.len());
        }
        text.push('\n');
    }
    text
}

fn cells(counts: Counts) -> [String; 7] {
    let ratio = |ratio: Option<Ratio>| ratio.map_or("n/a".to_owned(), |ratio| ratio.to_string());
    [
        counts.due.to_string(),
        counts.right.to_string(),
        counts.wrong.to_string(),
        counts.missed.to_string(),
        counts.abstained.to_string(),
        ratio(counts.precision()),
        ratio(counts.recall()),
    ]
}
