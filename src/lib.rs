//! Playhouse runs playbooks: Markdown procedures that a language model executes line by line, while an
//! interpreter owns the call stack, the instruction pointer, the variables and the queued calls.
//!
//! Modules in reading order; each may use those above it only (DESIGN.md, "Layers").

pub mod span;

pub mod diagnostic;

pub mod value;

pub mod lang;

pub mod vm;

pub mod host;

pub mod serve;
