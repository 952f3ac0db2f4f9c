//! What was measured of one program with one model: cases and their runs; and the file that keeps it (`.eval.json`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::program::ProgramText;
use crate::stats::Tally;

/// How the names of kept measurements end.
pub const ENDING: &str = ".eval.json";

/// The version of the form.
const VERSION: u64 = 1;

/// How a run came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Verdict {
    /// All that is expected holds.
    Passed,
    /// Something does not.
    Failed,
    /// Of something it could not be said. It is valid, and has not passed.
    Undecided,
    /// It says nothing about the program: the model could not be reached, or the one who played the user went astray. It
    /// is counted apart.
    Invalid,
}

/// One run of a case, as it is counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// How it came out.
    pub verdict: Verdict,
    /// Why it did not pass, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What it cost, by `[prices]`; none: prices are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// How long the model took, in milliseconds; none: what stands in for one takes no time that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ms: Option<u64>,
    /// The first rule of the program that was broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_rule: Option<Arc<str>>,
    /// The way it took ([`crate::eval::part::steps`]).
    pub steps: Vec<Arc<str>>,
}

/// The runs of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCase {
    /// The file, as it was given.
    pub case: String,
    /// A name for its text: equal texts have equal names.
    pub hash: String,
    /// Which of [`Measured::programs`] it is of.
    pub program: usize,
    /// Its runs, in the order in which they were planned.
    pub trials: Vec<Trial>,
    /// How it comes out when nothing is done.
    pub idle: Verdict,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The model's id.
    pub model: Arc<str>,
    /// How often each case was to be run.
    pub k: u32,
    /// What the order of the runs was drawn with.
    pub seed: u64,
    /// The texts of the programs.
    pub programs: Vec<ProgramText>,
    /// The cases, in the order in which they were given.
    pub cases: Vec<MeasuredCase>,
    /// How many runs were planned and not made.
    pub n_missing: usize,
}

/// A measurement that cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum MeasuredError {
    /// The system says no.
    #[error("{path}: {cause}; check the path")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// It is no measurement, or damaged.
    #[error(
        "{path}: this is not a measurement of `playhouse eval`: {cause}; measure again with `playhouse eval --out`"
    )]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// A newer one.
    #[error(
        "{path}: this was measured by a newer Playhouse (format {version}, this one reads {VERSION}); use that one"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
}

#[derive(Serialize, Deserialize)]
struct File<T> {
    eval: u64,
    #[serde(flatten)]
    measured: T,
}

/// What is read of a file first.
#[derive(Deserialize)]
struct Nothing {}

impl MeasuredCase {
    /// Its valid runs.
    pub fn valid(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| trial.verdict != Verdict::Invalid)
    }

    /// How many there are, and how many passed.
    pub fn tally(&self) -> Tally {
        let n_passed = self.trials.iter().filter(|trial| trial.verdict == Verdict::Passed).count();
        Tally::new(n_passed, self.valid().count()).unwrap_or_default()
    }
}

impl Measured {
    /// Reads a kept measurement.
    ///
    /// # Errors
    /// There is none, it is damaged, or a newer one.
    pub fn read(path: &Path) -> Result<Measured, MeasuredError> {
        let text =
            std::fs::read_to_string(path).map_err(|cause| MeasuredError::File { path: path.to_owned(), cause })?;
        let form =
            |cause: &dyn std::fmt::Display| MeasuredError::Form { path: path.to_owned(), cause: cause.to_string() };
        let head: File<Nothing> = serde_json::from_str(&text).map_err(|error| form(&error))?;
        if head.eval > VERSION {
            return Err(MeasuredError::Newer { path: path.to_owned(), version: head.eval });
        }
        let File::<Measured> { measured, .. } = serde_json::from_str(&text).map_err(|error| form(&error))?;
        if measured.cases.iter().any(|case| case.program >= measured.programs.len()) {
            return Err(form(&"a case belongs to a program that is not in it"));
        }
        Ok(measured)
    }

    /// The text of the file that keeps it.
    pub fn to_json(&self) -> String {
        // Texts, numbers and lists of them: writing them cannot fail.
        serde_json::to_string(&File { eval: VERSION, measured: self }).unwrap_or_default() + "\n"
    }

    /// Its cases' valid runs.
    pub fn tallies(&self) -> Vec<Tally> {
        self.cases.iter().map(MeasuredCase::tally).collect()
    }

    /// How many runs were made.
    pub fn n_made(&self) -> usize {
        self.cases.iter().map(|case| case.trials.len()).sum()
    }

    /// How many of them are invalid.
    pub fn n_invalid(&self) -> usize {
        self.cases.iter().map(|case| case.trials.len() - case.valid().count()).sum()
    }

    /// Whether so little was measured that nothing should be concluded: runs are missing, or more than a tenth of them
    /// are invalid.
    pub fn is_too_little(&self) -> bool {
        self.n_missing > 0 || is_too_many(self.n_invalid(), self.n_made())
    }

    /// How many cases pass when nothing is done.
    pub fn n_idle(&self) -> usize {
        self.cases.iter().filter(|case| case.idle == Verdict::Passed).count()
    }
}

/// Whether more than a tenth of the runs are invalid.
pub fn is_too_many(n_invalid: usize, n_runs: usize) -> bool {
    n_invalid * 10 > n_runs
}
