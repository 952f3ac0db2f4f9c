//! All integration tests, in one binary.
#![allow(clippy::unwrap_used)]

mod chunks;
mod fuzz;
mod fuzz_reply;
mod golden;
mod http_server;
mod lang;
mod openai;
mod replay;
mod reply;
mod script;
mod template;
mod test_file;
mod tidy;
mod vm;
mod world;
