//! The tools for plans, and of them the retrieval instructions. There is no store of documents yet: each says so, and what to do instead.

use crate::host::tool::arguments::{parameter, tool};
use crate::host::tool::{CallContext, Tool, ToolFuture, ToolOutcome};
use crate::lang::program::Type;
use crate::value::{Map, Value};
use crate::vm::protocol::{EffectClass, ToolSignature};

/// One of them.
#[derive(Clone, Copy)]
pub struct Retrieval {
    name: &'static str,
    parameters: &'static [(&'static str, bool)],
    summary: &'static str,
}

impl Retrieval {
    /// All of them: name, parameters with whether each must be given, what it is for (spec `plans.md`, "What all
    /// plans share").
    pub const ALL: [Retrieval; 3] = [
        Retrieval {
            name: "retrieve_knowledge_graph",
            parameters: &[("query", true)],
            summary: "looks facts up in a knowledge graph (no store is connected)",
        },
        Retrieval {
            name: "retrieve_embedded_chunks",
            parameters: &[("embedding_query", true), ("top_k", true)],
            summary: "looks up pieces of documents by meaning (no store is connected)",
        },
        Retrieval {
            name: "vector_search",
            parameters: &[("query", true), ("top_k", false)],
            summary: "looks up pieces of documents by meaning (no store is connected)",
        },
    ];

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl Tool for Retrieval {
    fn signature(&self) -> ToolSignature {
        let parameters = self.parameters.iter();
        let parameters =
            parameters.map(|(name, is_required)| parameter(name, Type::ANY, (!is_required).then_some(Value::Null), ""));
        tool(self.name, parameters.collect(), Type::ANY, self.summary, EffectClass::ReadOnly)
    }

    fn call(&self, _context: CallContext, _arguments: Map) -> ToolFuture<'_> {
        let name = self.name;
        Box::pin(async move {
            ToolOutcome::Error(format!(
                "`{name}` has no store of documents to look into; give one with --tools FILE, where a tool of this \
                 name stands"
            ))
        })
    }
}
