//! A table's scores as text for people.

use std::fmt::Write as _;

use super::score::{CaseVerdict, TriggerScores};
use crate::lang::files::trigger_table::{TriggerCase, TriggerTable, label};
use crate::lang::program::{Program, TriggerId};
use crate::serve::cli::machinery::scores::score_lines;

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
        let counts = self.triggers.iter().map(|score| score.counts).chain([self.total]);
        score_lines("trigger", names.iter().map(String::as_str).chain(["all"]).zip(counts))
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
