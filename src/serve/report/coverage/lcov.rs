//! LCOV's trace format (`man geninfo`): a playbook is a function, what can come of a branch, loop or call a branch.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::host::coverage::{Line, Part};
use crate::serve::report::coverage::reported::Reported;

/// What tests have reached; a line of the file with several lines of a playbook counts as often as the one of them that was
/// reached most.
pub fn lcov(reported: Reported<'_>) -> String {
    let mut text = String::new();
    for (file, _, parts) in reported.tests.files() {
        let _ = writeln!(text, "TN:\nSF:{file}");
        for part in &parts {
            let _ = writeln!(text, "FN:{},{}", part.at, part.name);
        }
        for part in &parts {
            let _ = writeln!(text, "FNDA:{},{}", part.n, part.name);
        }
        let n_hit = parts.iter().filter(|part| part.n > 0).count();
        let _ = writeln!(text, "FNF:{}\nFNH:{n_hit}", parts.len());
        write_branches(&mut text, &parts);
        write_lines(&mut text, &parts);
        text.push_str("end_of_record\n");
    }
    text
}

/// `BRDA:LINE,BLOCK,BRANCH,TAKEN`; `-` where the line was not reached.
fn write_branches(text: &mut String, parts: &[&Part]) {
    let (mut n_found, mut n_hit) = (0, 0);
    let mut blocks: BTreeMap<usize, usize> = BTreeMap::new();
    for line in parts.iter().flat_map(|part| &part.lines) {
        let (calls, ways): (Vec<_>, Vec<_>) = line.ways.iter().partition(|(way, _)| way.is_of_call());
        for outcomes in [ways, calls].into_iter().filter(|outcomes| !outcomes.is_empty()) {
            let block = blocks.entry(line.at).or_default();
            for (branch, (_, n)) in outcomes.iter().enumerate() {
                let taken = if line.n == 0 { "-".to_owned() } else { n.to_string() };
                let _ = writeln!(text, "BRDA:{},{block},{branch},{taken}", line.at);
                n_found += 1;
                n_hit += usize::from(line.n > 0 && *n > 0);
            }
            *block += 1;
        }
    }
    let _ = writeln!(text, "BRF:{n_found}\nBRH:{n_hit}");
}

fn write_lines(text: &mut String, parts: &[&Part]) {
    let mut lines: BTreeMap<usize, u64> = BTreeMap::new();
    for Line { at, n, .. } in parts.iter().flat_map(|part| &part.lines) {
        let counted = lines.entry(*at).or_default();
        *counted = (*counted).max(*n);
    }
    for (at, n) in &lines {
        let _ = writeln!(text, "DA:{at},{n}");
    }
    let n_hit = lines.values().filter(|n| **n > 0).count();
    let _ = writeln!(text, "LF:{}\nLH:{n_hit}", lines.len());
}
