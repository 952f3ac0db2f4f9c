//! Journals in files: one JSON object per line (`.jsonl`), mode 0600, one process at a time. Lines are only ever added, all
//! that one flush has in one write, so a process may be killed at any byte without losing what was flushed before.

mod journal;

mod read;

mod store;

pub use self::journal::{FileJournal, holder, read_file};
pub use self::store::Files;
