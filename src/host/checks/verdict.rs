//! What comes of a check.

use crate::travel::Point;

/// Whether a check holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does not.
    Broken(Breach),
    /// The session is not over: what is missing may still come.
    Open {
        /// What is missing.
        why: String,
    },
    /// That cannot be told. It is never taken for a yes.
    Undecided {
        /// Why not.
        why: String,
    },
}

impl Verdict {
    /// Whether it does not hold when the session is over: what is missing does not come any more.
    pub fn is_no_at_end(&self) -> bool {
        matches!(self, Verdict::Broken(_) | Verdict::Open { .. })
    }

    /// What is said of it when the session is over and nothing that is missing comes any more; none: it holds.
    pub fn told_at_end(&self) -> Option<String> {
        match self {
            Verdict::Holds => None,
            Verdict::Broken(Breach { place, sentence, .. }) => {
                let place = place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
                Some(format!("broken: {place}{sentence}"))
            }
            Verdict::Open { why } => Some(format!("open at the end: {why}")),
            Verdict::Undecided { why } => Some(format!("undecided: {why}")),
        }
    }
}

/// Where and how a check was broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Breach {
    /// The index of the event with which it was.
    pub event: usize,
    /// The point after it, in a session that is stored.
    pub point: Option<Point>,
    /// The line, `Pay:03`, or the playbook or plan; none where nothing was executed.
    pub place: Option<String>,
    /// What happened, without a full stop.
    pub sentence: String,
}
