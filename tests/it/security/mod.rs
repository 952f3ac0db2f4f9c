//! What must not happen, whoever wants it.

mod files;
mod http;
mod journal;
mod plugin;
mod session;
mod text;
