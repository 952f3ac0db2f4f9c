//! What must not happen, whoever wants it.

mod plugin;
mod session;
mod text;
