//! The world: models, tools, journals, clock and configuration, and the session that drives a machine with them.

pub mod llm;
pub mod tool;
