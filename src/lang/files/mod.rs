//! Files that people write: which kind a file is, and the one layout of each kind.

pub mod format;
pub mod kind;
