//! Text to program. Pure and total: any text gives a program and diagnostics.

pub mod expr;
pub mod flow_graph;
pub mod program;
