//! What must not happen, whoever wants it.

mod approval;
mod files;
mod http;
mod journal;
mod log;
// It watches processes by descriptors that only Linux has.
#[cfg(target_os = "linux")]
mod plugin;
mod session;
mod text;
