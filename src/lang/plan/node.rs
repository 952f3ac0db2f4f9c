//! What the languages of plans have in common: places, by which a machine says where it is, and which languages there
//! are.

use std::sync::Arc;

use crate::span::Span;

/// A plan, by its position in [`crate::program::Program::plans`]. Plans that a model wrote while a session ran get
/// the next numbers, in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlanId(pub u32);

/// A place in a plan, by its position in [`crate::plan::Plan::nodes`]: an instruction, an alias, or one of an alias's domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// One place in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanNode {
    /// How people name it. JSON plans: the path of sequence numbers (`3`, `6/false/9`); dataflow plans: the alias
    /// (`outbound`), or alias and domain (`outbound.flights`).
    pub label: Arc<str>,
    /// Its place in the text.
    pub span: Span,
}

/// Which language a plan is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum PlanLanguage {
    /// JSON with jumps: source 000.
    Jmp,
    /// JSON with branches: source 001.
    Branch,
    /// YAML: source 002.
    Dataflow,
}

impl PlanLanguage {
    /// The language of a file, by its name: `.jmp.json`, `.branch.json`, `.json` (`Some(None)`: which of
    /// the two is seen in the text), `.yaml`, `.yml`; none: it is no plan.
    pub fn of_file(name: &str) -> Option<Option<PlanLanguage>> {
        let name = name.to_ascii_lowercase();
        if name.ends_with(".jmp.json") {
            Some(Some(PlanLanguage::Jmp))
        } else if name.ends_with(".branch.json") {
            Some(Some(PlanLanguage::Branch))
        } else if name.ends_with(".json") {
            Some(None)
        } else {
            (name.ends_with(".yaml") || name.ends_with(".yml")).then_some(Some(PlanLanguage::Dataflow))
        }
    }
}
