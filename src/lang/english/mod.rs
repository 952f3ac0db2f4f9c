//! The English of lines and triggers: what a text is read as.

pub(crate) mod callables;
pub(crate) mod calls;
pub(crate) mod grammar;
pub(crate) mod items;
pub(crate) mod lines;
pub(crate) mod loops;
mod near;
pub mod outline;
pub(crate) mod phrase;
pub(crate) mod questions;
pub(crate) mod reading;
pub(crate) mod skill_calls;
pub(crate) mod triggers;
pub(crate) mod words;
