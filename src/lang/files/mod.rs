//! Files that people write: which kind a file is.

pub mod kind;
