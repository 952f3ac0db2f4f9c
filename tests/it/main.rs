//! The one test binary: one file per topic.

#![allow(clippy::unwrap_used)]

mod test_file;
mod tidy;
