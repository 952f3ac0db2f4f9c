//! All integration tests, in one binary.
#![allow(clippy::unwrap_used)]

mod fuzz;
mod golden;
mod lang;
