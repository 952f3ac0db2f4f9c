//! All integration tests, in one binary.
#![allow(clippy::unwrap_used)]

mod chunks;
mod fuzz_reply;
mod golden;
mod lang;
mod reply;
mod template;
mod test_file;
mod tidy;
mod vm;
mod world;
