//! A table's scores as text for people.

use std::fmt::Write as _;

use super::resolve::label;
use super::score::{CaseVerdict, Counts, Ratio, TriggerScores};
use super::table::{TriggerCase, TriggerTable};
use crate::lang::program::{Program, TriggerId};

/// What stands above the columns of the first table.
const HEAD: [&str; 7] = ["due", "right", "wrong", "missed", "abstained", "precision", "recall"];

impl TriggerScores {
    /// The report: a line for each trigger, the cases that went wrong with their places in `file`, what is under
    /// the threshold, totals. Ends with a line break.
    pub fn report(&self, file: &str, table: &TriggerTable, program: &Program) -> String {
        let mut text = self.trigger_lines(program);
        for (case, score) in table.cases.iter().zip(&self.cases) {
            match score.verdict {
                CaseVerdict::Wrong => text.push_str(&case_lines(file, case, program, &score.missed, &score.wrong)),
                CaseVerdict::Right | CaseVerdict::Open => {}
            }
        }
        text.push_str(&self.threshold_line(table, program));
        let _ = writeln!(
            text,
            "{} cases: {} right, {} wrong, {} open",
            self.cases.len(),
            self.n_cases(CaseVerdict::Right),
            self.n_cases(CaseVerdict::Wrong),
            self.n_cases(CaseVerdict::Open)
        );
        text
    }

    fn trigger_lines(&self, program: &Program) -> String {
        let names: Vec<String> = self.triggers.iter().map(|score| label(program, score.id)).collect();
        let names = names.iter().map(String::as_str).chain(["all"]);
        let width = names.clone().chain(["trigger"]).map(|name| name.chars().count()).max().unwrap_or(0);
        let mut text = format!("{:width$}  {}\n", "trigger", HEAD.join("  "));
        let counts = self.triggers.iter().map(|score| score.counts).chain([self.total]);
        for (name, counts) in names.zip(counts) {
            let cells = cells(counts);
            let _ = write!(text, "{name:width$}");
            for (cell, head) in cells.iter().zip(HEAD) {
                let _ = write!(text, "  {cell:>width$}", width = head.len());
            }
            text.push('\n');
        }
        text
    }

    fn threshold_line(&self, table: &TriggerTable, program: &Program) -> String {
        let under = self.under(table.required());
        if under.is_empty() {
            return String::new();
        }
        let names: Vec<String> = under.iter().map(|score| label(program, score.id)).collect();
        format!("under the threshold of {}: {}\n", table.required(), names.join(", "))
    }
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

fn case_lines(file: &str, case: &TriggerCase, program: &Program, missed: &[TriggerId], wrong: &[TriggerId]) -> String {
    let mut text = format!("{file}:{}: {}\n", case.line, case.text());
    for (word, ids) in [("did not fire", missed), ("fired", wrong)] {
        if !ids.is_empty() {
            let names = ids.iter().map(|&id| format!("{} ({})", label(program, id), program.trigger(id).text));
            let _ = writeln!(text, "  {word}: {}", names.collect::<Vec<_>>().join(", "));
        }
    }
    text
}
