//! The model inside the binary: a guided executor, and what fills the places it leaves open.

pub mod slots;
#[cfg(feature = "embedded")]
pub mod weights;
