//! The types of instructions, and which dialect a plan is written in (spec `plans.md`, 2.8).

use strum::VariantArray;

use crate::plan::json::tree::Json;
use crate::plan::json::{Dialect, references};

/// A type of instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum InstructionType {
    Assign,
    Jmp,
    Calling,
    LlmGenerate,
    RetrieveKnowledgeGraph,
    RetrieveEmbeddedChunks,
    Condition,
    Reasoning,
}

impl InstructionType {
    /// It as it is written.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// The type of this name.
    pub(crate) fn of_name(name: &str) -> Option<InstructionType> {
        name.parse().ok()
    }

    /// The one dialect that has it; none: both have.
    pub(crate) fn dialect(self) -> Option<Dialect> {
        match self {
            InstructionType::Assign | InstructionType::Reasoning => None,
            InstructionType::Jmp | InstructionType::Calling => Some(Dialect::Jmp),
            InstructionType::LlmGenerate
            | InstructionType::RetrieveKnowledgeGraph
            | InstructionType::RetrieveEmbeddedChunks
            | InstructionType::Condition => Some(Dialect::Branch),
        }
    }

    /// The parameters that it reads.
    pub(crate) fn parameters(self) -> &'static [&'static str] {
        match self {
            InstructionType::Assign => &["value", "var_name"],
            InstructionType::Jmp => &["condition_prompt", "context", "jump_if_true", "jump_if_false", "target_seq"],
            InstructionType::Calling => &["tool", "params", "output_vars"],
            InstructionType::LlmGenerate => &["prompt", "context", "output_var"],
            InstructionType::RetrieveKnowledgeGraph => &["query", "output_var"],
            InstructionType::RetrieveEmbeddedChunks => &["embedding_query", "top_k", "output_var"],
            InstructionType::Condition => &["prompt", "context", "true_branch", "false_branch"],
            InstructionType::Reasoning => &[],
        }
    }

    /// The types of a dialect.
    pub(crate) fn all_of(dialect: Dialect) -> impl Iterator<Item = InstructionType> {
        let has = move |known: &InstructionType| known.dialect().is_none_or(|only| only == dialect);
        InstructionType::VARIANTS.iter().copied().filter(has)
    }
}

/// The dialect of the plan that `list` is: the types of its instructions tell, else its references, else what the
/// parameters of its `assign`s are.
pub(crate) fn guess(list: Json<'_>) -> Dialect {
    fn type_of(instruction: Json<'_>) -> Option<&str> {
        instruction.member("type")?.value.text()
    }
    let types = list.items().filter_map(type_of);
    // What a plan says about itself refers to nothing.
    let with_references = list.items().filter(|instruction| type_of(*instruction) != Some("reasoning"));
    let parameters = with_references.filter_map(|instruction| instruction.member("parameters"));
    let mut assigns = list.items().filter(|instruction| type_of(*instruction) == Some("assign")).peekable();
    let has_shape = |instruction: Json<'_>| {
        instruction.member("parameters").is_some_and(|parameters| {
            let value = parameters.value;
            value.members().count() == 2 && value.member("value").is_some() && value.member("var_name").is_some()
        })
    };
    let mut by_type = types.filter_map(|name| InstructionType::of_name(name)?.dialect());
    let mut by_references = parameters.filter_map(|parameters| dialect_of_references(parameters.value));
    by_type.next().or_else(|| by_references.next()).unwrap_or_else(|| {
        let is_branch = assigns.peek().is_some() && assigns.all(has_shape);
        if is_branch { Dialect::Branch } else { Dialect::Jmp }
    })
}

/// The dialect of the first reference in a value.
fn dialect_of_references(value: Json<'_>) -> Option<Dialect> {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        if let Some(text) = value.text() {
            for dialect in [Dialect::Jmp, Dialect::Branch] {
                if references::scan(text, dialect).any(|found| found.doubt.is_none()) {
                    return Some(dialect);
                }
            }
        }
        if references::variable_object(value).is_some() {
            return Some(Dialect::Branch);
        }
        let children = pending.len();
        pending.extend(value.items());
        pending.extend(value.members().map(|member| member.value));
        pending[children..].reverse();
    }
    None
}
