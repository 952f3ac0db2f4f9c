//! What must not happen, whoever wants it.

mod files;
mod http;
mod journal;
mod log;
mod plugin;
mod session;
mod text;
