//! The one test binary.
#![allow(clippy::unwrap_used)]

mod script;
