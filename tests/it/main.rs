//! The one test binary.
#![allow(clippy::unwrap_used)]

mod http_server;
mod openai;
mod replay;
mod script;
