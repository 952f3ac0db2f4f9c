//! What is reported of coverage.

use crate::host::coverage::{Coverage, Line, Part};

/// What is reported.
#[derive(Clone, Copy, Debug)]
pub struct Reported<'c> {
    /// What tests have reached.
    pub tests: &'c Coverage,
    /// How many sessions have reached what, if any were looked at.
    pub sessions: Option<&'c Coverage>,
}

impl Reported<'_> {
    /// In how many sessions a line was reached; none: no sessions were looked at.
    pub fn n_sessions(&self, part: &Part, line: &Line) -> Option<u64> {
        let found = self.sessions?.find(part);
        let same = found.and_then(|part| part.lines.iter().find(|other| other.label == line.label));
        Some(same.map_or(0, |line| line.n))
    }
}
