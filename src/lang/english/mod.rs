//! The English of lines and triggers: what a text is read as.

pub(crate) mod callables;
pub(crate) mod calls;
pub(crate) mod grammar;
mod holes;
pub(crate) mod items;
pub(crate) mod lines;
pub(crate) mod loops;
mod near;
pub(crate) mod pattern;
pub(crate) mod reading;
pub(crate) mod rules;
mod time;
pub(crate) mod triggers;
pub(crate) mod words;
