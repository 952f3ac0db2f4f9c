//! All integration tests, in one binary.
#![allow(clippy::unwrap_used)]

mod golden;
mod lang;
