//! Coverage as people read it.

use std::fmt::Write as _;

use crate::host::coverage::{Line, Part, Totals, Tried};
use crate::serve::cli::machinery::output::table;
use crate::serve::report::coverage::Reported;

/// A table of the parts, what was never reached, what never came of what was, and the totals.
pub(crate) fn text(reported: Reported<'_>) -> String {
    let parts = reported.tests.parts();
    let head = ["PLAYBOOK", "LINES", "WAYS", "TRIGGERS", "CALLS"].map(str::to_owned);
    let row = |part: &&Part| {
        let totals = part.totals();
        let [lines, ways, triggers, calls] = [totals.lines, totals.ways, totals.triggers, totals.calls].map(cell);
        [format!("{}:{} {}", part.file, part.at, part.name), lines, ways, triggers, calls]
    };
    let mut text = table(std::iter::once(head).chain(parts.iter().map(row)));
    let mut tell = |title: &str, told: Vec<String>| {
        if !told.is_empty() {
            let _ = write!(text, "\n{title}\n{}", told.concat());
        }
    };
    tell("never entered", parts.iter().filter(|part| part.n == 0).map(|part| entered(part)).collect());
    let lines = parts.iter().flat_map(|part| part.lines.iter().map(move |line| (*part, line)));
    tell("never reached", lines.clone().filter_map(|(part, line)| missed(reported, part, line)).collect());
    tell(
        "never taken, from lines that are reached",
        lines.filter_map(|(part, line)| never(part, line, line.n > 0)).collect(),
    );
    let triggers = parts.iter().flat_map(|part| part.triggers.iter().map(move |trigger| (*part, trigger)));
    tell("triggers that never fired", triggers.filter_map(|(part, trigger)| never(part, trigger, true)).collect());
    let _ = write!(text, "\n{}", summary(&reported.tests.totals()));
    text
}

/// The totals in a line.
pub(crate) fn summary(totals: &Totals) -> String {
    let told = |what: &str, tried: Tried| match tried.all {
        0 => None,
        _ => Some(format!("{} of {what} ({})", percent_text(tried), cell(tried))),
    };
    let all = [
        told("lines", totals.lines),
        told("ways", totals.ways),
        told("triggers", totals.triggers),
        told("calls", totals.calls),
        told("playbooks", totals.parts),
    ];
    let told: Vec<String> = all.into_iter().flatten().collect();
    format!(
        "reached: {}\n",
        if told.is_empty() { "nothing, because no test could run".to_owned() } else { told.join(", ") }
    )
}

/// With one decimal, rounded down: what is not all does not look like it.
pub(crate) fn percent_text(tried: Tried) -> String {
    let tenths = (tried.percent() * 10.0).floor() / 10.0;
    format!("{tenths} %")
}

fn cell(Tried { reached, all }: Tried) -> String {
    if all == 0 { String::new() } else { format!("{reached}/{all}") }
}

fn entered(part: &Part) -> String {
    format!("  {}:{}  {} {}\n", part.file, part.at, part.kind, part.name)
}

/// `file:line  02.01 words`
fn place(part: &Part, line: &Line) -> String {
    format!("  {}:{}  {} {}", part.file, line.at, line.label, line.words)
}

fn missed(reported: Reported<'_>, part: &Part, line: &Line) -> Option<String> {
    let n_sessions = reported.n_sessions(part, line).unwrap_or(0);
    let in_sessions = match n_sessions {
        0 => String::new(),
        1 => " (reached in 1 session, by no test)".to_owned(),
        n => format!(" (reached in {n} sessions, by no test)"),
    };
    (line.n == 0).then(|| format!("{}{in_sessions}\n", place(part, line)))
}

fn never(part: &Part, line: &Line, is_reached: bool) -> Option<String> {
    let never: Vec<String> = line.ways.iter().filter(|(_, n)| *n == 0).map(|(way, _)| way.to_string()).collect();
    (is_reached && !never.is_empty()).then(|| format!("{}: {}\n", place(part, line), never.join(", ")))
}
