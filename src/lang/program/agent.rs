//! Agents: standing instructions, and what their playbooks have in common.

use std::sync::Arc;

use crate::program::ids::{AgentId, PlaybookId};
use crate::program::tool_list::ToolList;
use crate::program::trigger_index::TriggerIndex;
use crate::signature::Type;
use crate::span::Span;
use crate::value::Value;

/// One H1: an agent, its standing instructions and its playbooks.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    /// This agent's id.
    pub id: AgentId,
    /// Its name as an identifier, unique in the program.
    pub name: Arc<str>,
    /// The heading's text as written.
    pub title: Arc<str>,
    /// The place of the title.
    pub title_span: Span,
    /// The text below the heading: its standing instructions.
    pub description: Arc<str>,
    /// Its playbooks in file order (implicit ones not among them).
    pub playbooks: Vec<PlaybookId>,
    /// Variables that exist from the start, from front matter and the agent's metadata.
    pub variables: Vec<DeclaredVariable>,
    /// Which tools its playbooks may call.
    pub tools: ToolList,
    /// Whether it is run by us, stands for a person, or lives elsewhere.
    pub kind: AgentKind,
    /// The triggers of its playbooks, by what concerns them.
    pub triggers: TriggerIndex,
}

impl Agent {
    /// Whether values of this name may not be shown.
    pub fn declares_secret(&self, name: &str) -> bool {
        self.variables.iter().any(|declared| declared.secret && *declared.name == *name)
    }
}

/// What runs an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentKind {
    /// Our machine.
    #[default]
    Playbooks,
    /// A person (`# Agent:Human`): recognised, not supported.
    Human,
    /// Another process (`remote:`): recognised, not supported.
    Remote,
}

/// A variable declared by `variables:`: exists from the start, never own.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredVariable {
    /// Its name, without `$`.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Its first value; none: the name is declared but not set.
    pub value: Option<Value>,
    /// Whether it may be shown (`secret: true`).
    pub secret: bool,
    /// The place of the declaration.
    pub span: Span,
}
