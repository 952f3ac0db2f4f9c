//! The one test binary.
#![allow(clippy::unwrap_used)]

mod chunks;
mod fuzz_reply;
mod reply;
mod template;
