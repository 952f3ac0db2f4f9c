//! All integration tests, in one binary.
#![allow(clippy::unwrap_used)]

mod golden;
mod http_server;

mod lang;

mod journal;

mod tool;

mod config;

mod openai;
mod replay;
mod script;
