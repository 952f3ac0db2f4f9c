//! One file of labelled transcripts: read, judged, scored.

use std::fmt::Write as _;
use std::path::Path;

use crate::diagnostic::render;
use crate::host::judge::transcript::Transcript;
use crate::host::judge::{Grounds, Judge, Opinion};
use crate::lang::files::judge_file::JudgeFile;
use crate::serve::cli::machinery::beside::read;
use crate::serve::cli::machinery::scores::{Counts, Noted, Said, score_lines};
use crate::span::Sources;

/// How a file is run.
#[derive(Clone, Copy, Debug)]
pub struct JudgeOptions {
    /// A statement that is not decided is not missed.
    pub lenient: bool,
    /// How often the statements are judged, at least once.
    pub repeat: u32,
    /// Findings are coloured.
    pub color: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeOutcome {
    /// Whether nothing is under the threshold and all rounds were the same.
    pub passed: bool,
    /// The report, or why there is none; for people.
    pub text: String,
}

/// Runs the file at `path`. `judge` gives a judge that has said nothing yet, or says why there is none.
pub async fn run_judge_file(
    path: &Path,
    options: JudgeOptions,
    judge: impl AsyncFn() -> Result<Judge, String>,
) -> JudgeOutcome {
    match try_run(path, options, judge).await {
        Ok(outcome) => outcome,
        Err(text) => JudgeOutcome { passed: false, text },
    }
}

async fn try_run(
    path: &Path,
    options: JudgeOptions,
    judge: impl AsyncFn() -> Result<Judge, String>,
) -> Result<JudgeOutcome, String> {
    let name = path.display().to_string();
    let text = read(path)?;
    let mut sources = Sources::default();
    let file = sources.add(name.as_str(), text.as_str());
    let file = JudgeFile::parse(file, &text).map_err(|found| render(&found, &sources, options.color))?;
    let judged = judge_all(&file, &judge().await?).await;
    let (report, passed) = report(&name, &file, &judged, options.lenient);
    for round in 2..=options.repeat {
        // What was said before is no new measurement.
        let again = judge_all(&file, &judge().await?).await;
        let differs = judged.iter().zip(&again).position(|(first, again)| said(first) != said(again));
        if let Some(label) = differs.and_then(|index| file.labels().nth(index)) {
            let text = format!("{report}{name}:{}: run {round} differs from run 1: {}\n", label.line, label.statement);
            return Ok(JudgeOutcome { passed: false, text });
        }
    }
    Ok(JudgeOutcome { passed, text: report })
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
/// whether nothing is under it.
fn report(name: &str, file: &JudgeFile, judged: &[Opinion], lenient: bool) -> (String, bool) {
    let (mut pass, mut fail) = (Counts::default(), Counts::default());
    let (mut n_right, mut n_wrong, mut n_open) = (0, 0, 0);
    let mut wrong = String::new();
    for (label, opinion) in file.labels().zip(judged) {
        let said = said(opinion);
        // Of the two answers one is due.
        let noted = [pass.note(label.pass, said, !lenient), fail.note(!label.pass, opposite(said), !lenient)];
        if noted.contains(&Noted::Wrong) || noted.contains(&Noted::Missed) {
            n_wrong += 1;
            let due = if label.pass { "pass" } else { "fail" };
            let _ = writeln!(wrong, "{name}:{}: {due}: {}\n  {}", label.line, label.statement, told(opinion));
        } else if noted.contains(&Noted::Open) {
            n_open += 1;
        } else {
            n_right += 1;
        }
    }
    let scores = [("pass", pass), ("fail", fail)];
    let threshold = file.threshold.unwrap_or(1.0);
    let under: Vec<&str> =
        scores.iter().filter(|(_, counts)| counts.is_under(threshold)).map(|(name, _)| *name).collect();
    let mut text = score_lines("answer", scores.into_iter()) + &wrong;
    if !under.is_empty() {
        let _ = writeln!(text, "under the threshold of {threshold}: {}", under.join(", "));
    }
    let _ = writeln!(text, "{} statements: {n_right} right, {n_wrong} wrong, {n_open} open", judged.len());
    (text, under.is_empty())
}

fn told(opinion: &Opinion) -> String {
    let because = |Grounds { quote, why }: &Grounds| format!("{why} ({quote:?})");
    match opinion {
        Opinion::Yes(grounds) => format!("the judge says yes: {}", because(grounds)),
        Opinion::No(grounds) => format!("the judge says no: {}", because(grounds)),
        Opinion::Undecided { why } => format!("undecided: {why}"),
    }
}
