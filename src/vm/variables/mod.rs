//! Variables: where they are kept, how they are read and written, and what is computed from them.

pub(crate) mod access;
pub(crate) mod bounds;
pub(crate) mod display;
pub mod eval;
pub mod fault;
mod operators;
pub(crate) mod resolve;
pub(crate) mod scope;
pub(crate) mod visible;
