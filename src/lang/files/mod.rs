//! Files that people write: which kind a file is, the one layout of each kind, and the readers of tests, trigger tables,
//! users and transcripts.

pub mod case;
pub mod case_file;
pub mod format;
pub mod judge_file;
pub mod kind;
pub mod test_file;
pub mod trigger_table;
pub mod user_file;
