//! A table's scores as a report.

use super::score::{CaseScore, CaseVerdict, TriggerScores};
use crate::lang::files::trigger_table::{TriggerCase, TriggerTable, label};
use crate::lang::program::{Program, TriggerId};
use crate::serve::cli::machinery::scores::score_lines;
use crate::serve::report::scored::Scored;
use crate::serve::report::{Case, CaseReport, TestVerdict};

impl TriggerScores {
    /// The report: a line for each trigger, then each case with its place in `file`, what is under the threshold.
    pub fn report(&self, file: &str, table: &TriggerTable, program: &Program) -> Scored {
        let cases = table.cases.iter().zip(&self.cases);
        let rows = cases.map(|(case, score)| row(file, case, program, score)).collect();
        let under = self.threshold_line(table, program);
        Scored::counted((file, &table.title), &self.trigger_lines(program), rows, "cases", under)
    }

    fn trigger_lines(&self, program: &Program) -> String {
        let names: Vec<String> = self.triggers.iter().map(|score| label(program, score.id)).collect();
        let counts = self.triggers.iter().map(|score| score.counts).chain([self.total]);
        score_lines("trigger", names.iter().map(String::as_str).chain(["all"]).zip(counts))
    }

    fn threshold_line(&self, table: &TriggerTable, program: &Program) -> Option<String> {
        let under = self.under(table.required());
        let names: Vec<String> = under.iter().map(|score| label(program, score.id)).collect();
        (!names.is_empty()).then(|| format!("under the threshold of {}: {}", table.required(), names.join(", ")))
    }
}

fn row(file: &str, case: &TriggerCase, program: &Program, score: &CaseScore) -> CaseReport {
    let verdict = match score.verdict {
        CaseVerdict::Right => TestVerdict::Passed,
        CaseVerdict::Wrong => TestVerdict::Failed,
        CaseVerdict::Open => TestVerdict::Undecided,
    };
    let named = |ids: &[TriggerId]| {
        let names = ids.iter().map(|&id| format!("{} ({})", label(program, id), program.trigger(id).text));
        names.collect::<Vec<_>>().join(", ")
    };
    let told = [("did not fire", &score.missed), ("fired", &score.wrong), ("was not judged", &score.open)];
    let told = told.into_iter().filter(|(_, ids)| !ids.is_empty()).map(|(word, ids)| format!("{word}: {}", named(ids)));
    CaseReport::of_row(file, Case::at(case.line, case.name()), verdict, told.collect::<Vec<_>>().join("\n"))
}
