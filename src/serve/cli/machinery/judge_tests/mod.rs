//! How often a judge says what a careful person says in labelled transcripts (`*.judge.md`). The format is `docs/users.md`, "How far to trust a judge".

mod run;

pub use self::run::run_judge_file;

/// How the names of such files end.
pub(crate) const ENDING: &str = ".judge.md";
