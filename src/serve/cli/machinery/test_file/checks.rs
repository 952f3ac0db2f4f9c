//! Bullets that are checks: `## Expect` of a test, the sections of rules.

use super::lines::{Line, Reader};
use crate::host::checks::Written;
use crate::lang::evaluation::checks::Check;

impl Reader {
    /// The check of a line `- …`; none: it is no such line, or no check, which is a finding.
    pub(crate) fn read_check(&mut self, line: Line<'_>, label: &str) -> Option<Written> {
        let item = line.raw.strip_prefix("- ")?;
        let offset = line.offset + (line.raw.len() - item.len());
        match Check::parse(item, self.file, offset) {
            Ok(check) => Some(Written { label: label.into(), line: line.number, check }),
            Err(finding) => {
                self.findings.push(*finding);
                None
            }
        }
    }

    /// A section of checks, one a line.
    pub(super) fn read_checks(&mut self, heading: Line<'_>, lines: &[Line<'_>]) -> Option<Vec<Written>> {
        let n_findings = self.findings.len();
        let mut checks = Vec::new();
        for &line in lines.iter().filter(|line| !line.text().is_empty()) {
            if line.raw.starts_with("- ") {
                checks.extend(self.read_check(line, "Expect"));
            } else {
                self.unexpected(line, "`## Expect`", "begin every check with `- `, on one line");
            }
        }
        if checks.is_empty() && self.findings.len() == n_findings {
            self.empty(heading, "write a check a line, as in `- never Refund`");
        }
        (self.findings.len() == n_findings).then_some(checks)
    }
}
