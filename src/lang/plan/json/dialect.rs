//! The types of instructions, and which dialect a plan is written in (spec `plans.md`, 2.8).

use crate::plan::json::references::Found;
use crate::plan::json::tree::Json;
use crate::plan::json::{Dialect, references};
use crate::span::Span;

/// A type of instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    const ALL: [InstructionType; 8] = [
        InstructionType::Assign,
        InstructionType::Jmp,
        InstructionType::Calling,
        InstructionType::LlmGenerate,
        InstructionType::RetrieveKnowledgeGraph,
        InstructionType::RetrieveEmbeddedChunks,
        InstructionType::Condition,
        InstructionType::Reasoning,
    ];

    /// It as it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            InstructionType::Assign => "assign",
            InstructionType::Jmp => "jmp",
            InstructionType::Calling => "calling",
            InstructionType::LlmGenerate => "llm_generate",
            InstructionType::RetrieveKnowledgeGraph => "retrieve_knowledge_graph",
            InstructionType::RetrieveEmbeddedChunks => "retrieve_embedded_chunks",
            InstructionType::Condition => "condition",
            InstructionType::Reasoning => "reasoning",
        }
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

    /// The type of this name.
    pub(crate) fn of_name(name: &str) -> Option<InstructionType> {
        InstructionType::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The types of a dialect.
    pub(crate) fn all_of(dialect: Dialect) -> impl Iterator<Item = InstructionType> {
        InstructionType::ALL.into_iter().filter(move |known| known.dialect().is_none_or(|only| only == dialect))
    }
}

/// A dialect and how it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) dialect: Dialect,
    /// What in the text shows it; none: it was declared, or nothing shows it.
    pub(crate) because: Option<Span>,
    pub(crate) declared: bool,
}

/// The dialect of the plan that `list` is: the types of its instructions tell, else its references, else what the
/// parameters of its `assign`s are.
pub(crate) fn guess(list: Json<'_>) -> Known {
    let instructions = || list.items();
    let types = instructions().filter_map(|instruction| instruction.member("type"));
    let known = |dialect, because| Known { dialect, because, declared: false };
    for written in types {
        let dialect = written.value.text().and_then(InstructionType::of_name).and_then(InstructionType::dialect);
        if let Some(dialect) = dialect {
            return known(dialect, Some(written.value.span()));
        }
    }
    // What a plan says about itself refers to nothing.
    let is_reasoning = |instruction: &Json<'_>| {
        instruction.member("type").is_some_and(|written| written.value.text() == Some("reasoning"))
    };
    for instruction in instructions().filter(|instruction| !is_reasoning(instruction)) {
        if let Some(parameters) = instruction.member("parameters")
            && let Some((dialect, place)) = dialect_of_references(parameters.value)
        {
            return known(dialect, Some(place));
        }
    }
    let mut assigns = instructions()
        .filter(|instruction| instruction.member("type").is_some_and(|written| written.value.text() == Some("assign")))
        .peekable();
    let has_shape = |instruction: Json<'_>| {
        instruction.member("parameters").is_some_and(|parameters| {
            let value = parameters.value;
            value.members().count() == 2 && value.member("value").is_some() && value.member("var_name").is_some()
        })
    };
    let is_branch = assigns.peek().is_some() && assigns.all(has_shape);
    known(if is_branch { Dialect::Branch } else { Dialect::Jmp }, None)
}

/// The dialect of the first reference in a value, and the place of what holds it.
fn dialect_of_references(value: Json<'_>) -> Option<(Dialect, Span)> {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        if let Some(text) = value.text() {
            for dialect in [Dialect::Jmp, Dialect::Branch] {
                if references::scan(text, dialect).any(|found| matches!(found, Found::Variable { .. })) {
                    return Some((dialect, value.span()));
                }
            }
        }
        if references::variable_object(value).is_some() {
            return Some((Dialect::Branch, value.span()));
        }
        let children = pending.len();
        pending.extend(value.items());
        pending.extend(value.members().map(|member| member.value));
        pending[children..].reverse();
    }
    None
}
