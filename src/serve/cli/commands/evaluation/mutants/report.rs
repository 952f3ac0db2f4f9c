//! What became of mutants, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::gather::Suspect;
use super::judge::Fate;
use crate::host::config::SkippedMutant;
use crate::host::mutants::Mutant;
use crate::host::stats::MIN_TO_DECIDE;
use crate::serve::cli::machinery::console::count;
use crate::serve::cli::machinery::output::table;
use crate::serve::show::one_line;

/// A mutant, what became of it, and why that does not matter.
pub(super) struct Judged<'s> {
    pub(super) suspect: &'s Suspect,
    pub(super) fate: Fate,
    pub(super) skipped: Option<&'s SkippedMutant>,
}

impl Judged<'_> {
    /// Whether something is to be done about it.
    pub(super) fn is_missed(&self) -> bool {
        matches!(self.fate, Fate::Missed(_) | Fate::AsGood(_)) && self.skipped.is_none()
    }

    /// What it is counted as.
    fn word(&self) -> &'static str {
        match (&self.fate, self.skipped) {
            (Fate::Missed(_) | Fate::AsGood(_) | Fate::NotReached, Some(_)) => "skipped",
            (Fate::Caught(_), _) => "caught",
            (Fate::Missed(_) | Fate::AsGood(_), None) => "missed",
            (Fate::Undecided(_), _) => "undecided",
            (Fate::NotReached, None) => "not reached",
            (Fate::NeedsModel, _) => "needs a model",
            (Fate::TimedOut(_), _) => "timed out",
        }
    }

    /// What there is to know besides.
    fn detail(&self) -> String {
        match (&self.fate, self.skipped) {
            (Fate::Missed(_) | Fate::AsGood(_) | Fate::NotReached, Some(skipped)) => skipped.reason.clone(),
            (Fate::Missed(n_tests), None) => format!("{} to it, and none fails", come(*n_tests)),
            (Fate::AsGood(n_cases), None) => format!("{}, and without it they pass as often", count(*n_cases, "case")),
            (Fate::Undecided(n_cases), _) => {
                let n_cases = count(*n_cases, "case");
                format!("{n_cases}; fewer than {MIN_TO_DECIDE} decide nothing, nor do too few runs")
            }
            (Fate::Caught(test) | Fate::TimedOut(test), _) => test.display().to_string(),
            (Fate::NotReached | Fate::NeedsModel, _) => String::new(),
        }
    }
}

fn come(n_tests: usize) -> String {
    format!("{} come{}", count(n_tests, "test"), if n_tests == 1 { "s" } else { "" })
}

/// In the order in which they are told.
const WORDS: [&str; 7] = ["caught", "missed", "undecided", "not reached", "needs a model", "timed out", "skipped"];

/// Those that something can be learnt of, then how many there are of each.
pub(super) fn text(judged: &[Judged<'_>]) -> String {
    let mut text = String::new();
    let of = |word: &'static str| judged.iter().filter(move |judged| judged.word() == word);
    for word in WORDS.into_iter().filter(|word| *word != "caught") {
        let rows: Vec<[String; 3]> = of(word).map(|judged| row(judged.suspect.shown(), &judged.detail())).collect();
        if !rows.is_empty() {
            let _ = write!(text, "{word}\n{}\n", table(rows));
        }
    }
    let counts = WORDS.into_iter().map(|word| (of(word).count(), word)).filter(|(n, _)| *n > 0);
    let counts: Vec<String> = counts.map(|(n, word)| format!("{n} {word}")).collect();
    let _ = writeln!(text, "{}: {}", count(judged.len(), "mutant"), counts.join(", "));
    text
}

fn row(mutant: &Mutant, detail: &str) -> [String; 3] {
    let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
    let place = format!("  {}:{}", mutant.file, mutant.lines.start());
    [place, mutant.name.clone(), format!("{}{detail}", one_line(&mutant.words))]
}

/// All there are, without playing any.
pub(super) fn list(suspects: &[&Suspect]) -> String {
    table(suspects.iter().map(|suspect| {
        let mutant = suspect.shown();
        let [place, name, words] = row(mutant, if mutant.needs_model() { "needs a model" } else { "" });
        [place.trim_start().to_owned(), name, words]
    }))
}

/// A public interface: fields are added, never changed or removed. Without a fate it is a list.
pub(super) fn to_json(suspect: &Suspect, judged: Option<&Judged<'_>>) -> Json {
    let mutant = suspect.shown();
    let mut told = json!({
        "name": mutant.name,
        "file": mutant.file,
        "line": mutant.lines.start(),
        "text": mutant.words,
        "needs_model": mutant.needs_model(),
    });
    let Some(judged) = judged else { return told };
    told["fate"] = judged.word().replace(' ', "_").into();
    match &judged.fate {
        Fate::Caught(test) | Fate::TimedOut(test) => told["test"] = test.display().to_string().into(),
        Fate::Missed(n_tests) => told["tests"] = (*n_tests).into(),
        Fate::AsGood(n_cases) | Fate::Undecided(n_cases) => told["cases"] = (*n_cases).into(),
        Fate::NotReached | Fate::NeedsModel => {}
    }
    if let Some(skipped) = judged.skipped {
        told["reason"] = skipped.reason.as_str().into();
    }
    told
}
