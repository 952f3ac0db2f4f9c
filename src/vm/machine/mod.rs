//! The machine and its parts: how it begins, its frames, and how they come and go.

pub(crate) mod begin;
pub(crate) mod conversation;
pub(crate) mod ending;
pub(crate) mod frame;
pub(crate) mod frame_core;
mod frames;
pub(crate) mod inbox;
pub(crate) mod interpreter;
mod limits;
mod look;
pub(crate) mod stack;
pub(crate) mod state;
pub(crate) mod step;
pub(crate) mod told;
