//! All integration tests, in one binary.
#![allow(clippy::unwrap_used)]

mod chunks;
mod classify;
mod cli;
mod config;
mod conversation;
mod crash;
mod events;
mod faults;
mod fewer_calls;
mod fuzz;
mod fuzz_machine;
mod fuzz_reply;
mod fuzz_watcher;
mod golden;
mod guides;
mod http_server;
mod ideal_model;
mod journal;
mod lang;
mod openai;
mod optimiser;
mod program;
mod prompts;
mod replay;
mod replayed_model;
mod reply;
mod run;
mod script;
mod seeded;
mod session;
mod tail_calls;
mod template;
mod test_file;
mod tidy;
mod tool;
mod trigger_tests;
mod vm;
mod watcher;
#[cfg(feature = "embedded")]
mod weights;
mod why;
mod world;
