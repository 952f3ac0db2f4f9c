//! All integration tests, in one binary.
#![allow(clippy::unwrap_used)]

mod chunks;
mod config;
mod events;
mod fuzz;
mod fuzz_machine;
mod fuzz_reply;
mod golden;
mod http_server;
mod journal;
mod lang;
mod openai;
mod program;
mod prompts;
mod replay;
mod reply;
mod script;
mod session;
mod template;
mod test_file;
mod tidy;
mod tool;
mod vm;
mod world;
