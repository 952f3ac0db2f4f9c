//! Plans: the second and third language of the machine. A plan is one file: a list of instructions in one of two
//! JSON dialects ([`json`]), or a dataflow document in YAML ([`dataflow`]) (spec `plans.md`).
//!
//! What is here is what both have in common: a name, parameters, and the nodes by which a machine says where it is.

mod check;
pub mod dataflow;
mod explain;
pub mod json;
mod mermaid;
pub(crate) mod node;
mod read;
pub(crate) mod types;
pub(crate) mod wording;

pub use check::{Surroundings, check_calls};
pub use explain::{Step, outline, steps};
pub use json::decode::{FINAL_ANSWER, RESULT, decode};
pub use mermaid::mermaid;
pub use node::{NodeId, PlanId, PlanLanguage, PlanNode};
pub use read::{check_plan, read_plan, read_written_plan};
pub use types::{Plan, PlanBody};
pub use wording::plan_name;
