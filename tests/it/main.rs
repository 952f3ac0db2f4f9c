//! All integration tests, in one binary.
#![allow(clippy::unwrap_used)]

mod chunks;
mod config;
mod conversation;
mod crash;
mod fuzz;
mod fuzz_machine;
mod fuzz_reply;
mod golden;
mod http_server;
mod ideal_model;
mod journal;
mod lang;
mod openai;
mod prompts;
#[path = "replay_prefix.rs"]
mod replay;
mod replayed_model;
mod reply;
mod script;
mod session;
mod template;
mod test_file;
mod tidy;
mod tool;
mod vm;
mod world;
