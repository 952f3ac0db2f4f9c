//! The machine: a program and events in, effects out. Pure and deterministic: no I/O, no clock, no `async`.

pub mod reply;
pub mod template;
