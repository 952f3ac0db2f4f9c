//! Playhouse runs playbooks: Markdown procedures that a language model executes line by line, while an
//! interpreter owns the call stack, the instruction pointer, the variables and the queued calls.
//!
//! Modules in reading order; each may use those above it only (DESIGN.md, "Layers").

pub use playhouse_lang as lang;
pub use playhouse_lang::{diagnostic, span, value};

pub use playhouse_vm as vm;

pub mod host;

pub mod serve;
