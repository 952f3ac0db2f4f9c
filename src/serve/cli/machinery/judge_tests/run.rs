//! One file of labelled transcripts: read, judged, scored.

use std::path::Path;

use crate::host::judge::transcript::Transcript;
use crate::host::judge::{Grounds, Judge, Opinion};
use crate::lang::files::judge_file::JudgeFile;
use crate::serve::cli::machinery::beside::read_by;
use crate::serve::cli::machinery::scores::{Counts, Noted, Said, ScoreOptions, score_lines};
use crate::serve::report::scored::Scored;
use crate::serve::report::{Case, CaseReport, TestVerdict};

/// Runs the file at `path`. `judge` gives a judge that has said nothing yet, or says why there is none.
pub async fn run_judge_file(
    path: &Path,
    options: ScoreOptions,
    judge: impl AsyncFn() -> Result<Judge, String>,
) -> Scored {
    let name = path.display().to_string();
    try_run(path, &name, options, judge).await.unwrap_or_else(|why| Scored::none(&name, why))
}

async fn try_run(
    path: &Path,
    name: &str,
    options: ScoreOptions,
    judge: impl AsyncFn() -> Result<Judge, String>,
) -> Result<Scored, String> {
    let (file, _) = read_by(path, options.color, JudgeFile::parse)?;
    let judged = judge_all(&file, &judge().await?).await;
    let scored = report(name, &file, &judged, options.lenient);
    for round in 2..=options.repeat {
        // What was said before is no new measurement.
        let again = judge_all(&file, &judge().await?).await;
        let differs = judged.iter().zip(&again).position(|(first, again)| said(first) != said(again));
        if let Some(label) = differs.and_then(|index| file.labels().nth(index)) {
            return Ok(scored.differs(name, label.line, round, &label.statement));
        }
    }
    Ok(scored)
}

async fn judge_all(file: &JudgeFile, judge: &Judge) -> Vec<Opinion> {
    let mut opinions = Vec::new();
    for conversation in &file.conversations {
        let transcript = Transcript::of_lines(&conversation.lines);
        for label in &conversation.labels {
            opinions.push(judge.judge(&transcript, &label.statement).await.opinion);
        }
    }
    opinions
}

/// Whether a judge says that a statement is true.
fn said(opinion: &Opinion) -> Said {
    match opinion {
        Opinion::Yes(_) => Said::Yes,
        Opinion::No(_) => Said::No,
        Opinion::Undecided { .. } => Said::Nothing,
    }
}

fn opposite(said: Said) -> Said {
    match said {
        Said::Yes => Said::No,
        Said::No => Said::Yes,
        Said::Nothing => Said::Nothing,
    }
}

/// A line for each answer, the statements that went wrong with their places, what is under the threshold, totals; and
/// whether something is under it.
fn report(name: &str, file: &JudgeFile, judged: &[Opinion], lenient: bool) -> Scored {
    let (mut pass, mut fail) = (Counts::default(), Counts::default());
    let mut rows = Vec::new();
    for (label, opinion) in file.labels().zip(judged) {
        let said = said(opinion);
        // Of the two answers one is due.
        let noted = [pass.note(label.pass, said, !lenient), fail.note(!label.pass, opposite(said), !lenient)];
        let verdict = if noted.contains(&Noted::Wrong) || noted.contains(&Noted::Missed) {
            TestVerdict::Failed
        } else if noted.contains(&Noted::Open) {
            TestVerdict::Undecided
        } else {
            TestVerdict::Passed
        };
        rows.push(CaseReport::of_row(name, Case::at(label.line, label.name()), verdict, told(opinion)));
    }
    let scores = [("pass", pass), ("fail", fail)];
    let threshold = file.threshold.unwrap_or(1.0);
    let under: Vec<&str> =
        scores.iter().filter(|(_, counts)| counts.is_under(threshold)).map(|(name, _)| *name).collect();
    let why = (!under.is_empty()).then(|| format!("under the threshold of {threshold}: {}", under.join(", ")));
    Scored::counted((name, &file.title), &score_lines("answer", scores.into_iter()), rows, "statements", why)
}

fn told(opinion: &Opinion) -> String {
    let because = |Grounds { quote, why }: &Grounds| format!("{why} ({quote:?})");
    match opinion {
        Opinion::Yes(grounds) => format!("the judge says yes: {}", because(grounds)),
        Opinion::No(grounds) => format!("the judge says no: {}", because(grounds)),
        Opinion::Undecided { why } => format!("undecided: {why}"),
    }
}
