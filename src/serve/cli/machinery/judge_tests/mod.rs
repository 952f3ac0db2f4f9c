//! Labelled transcripts (`*.judge.md`): what a careful person says of statements about conversations, and how often a
//! judge says the same. The format is `docs/users.md`, "How far to trust a judge".

mod form;

mod line;

mod read;

mod run;

pub use self::form::{JudgeFile, Label, Labelled};
pub use self::run::{JudgeOptions, run_judge_file};

/// How the names of such files end.
pub(crate) const ENDING: &str = ".judge.md";
