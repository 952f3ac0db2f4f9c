//! Labelled transcripts (`*.judge.md`): what a careful person says of statements about conversations. Pure; the format is
//! `docs/users.md`, "How far to trust a judge".

mod form;
mod line;
mod read;

pub use crate::files::judge_file::form::{JudgeFile, Label, Labelled, TranscriptLine};
