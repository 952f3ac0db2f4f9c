//! The tools that look into documents: those of playbooks, and the instructions of plans. What they find is data, as all
//! that tools answer.

use std::sync::Arc;

use playhouse_lang::program::{Type, TypeKind};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{EffectClass, ToolSignature};
use strum::VariantArray as _;

use crate::resource::documents::Documents;
use crate::tool::arguments::{Among, check_arguments, join_faults, parameter, tool};
use crate::tool::{ArgumentFault, CallContext, Tool, ToolFuture, ToolOutcome};

/// Chunks that a search gives if nobody says how many.
const TOP: i64 = 8;

/// The same of `vector_search`.
const TOP_OF_VECTOR_SEARCH: i64 = 10;

/// Chunks that a search gives at most.
const MAX_TOP: usize = 100;

/// Chunks around a part of a document that are given at most.
const MAX_AROUND: usize = 50;

/// What plans are told of a search.
const PIECES: &str = "looks up pieces of documents by what they say";

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Retrieval {
    /// `SearchDocuments`.
    #[strum(serialize = "SearchDocuments")]
    Search,
    /// `ReadDocument`.
    #[strum(serialize = "ReadDocument")]
    Read,
    /// `LookUpFacts`.
    #[strum(serialize = "LookUpFacts")]
    LookUp,
    /// The instruction `retrieve_knowledge_graph` of plans.
    #[strum(serialize = "retrieve_knowledge_graph")]
    KnowledgeGraph,
    /// The instruction `retrieve_embedded_chunks` of plans.
    #[strum(serialize = "retrieve_embedded_chunks")]
    EmbeddedChunks,
    /// The tool `vector_search` of plans.
    VectorSearch,
}

impl Retrieval {
    /// All of them.
    pub const ALL: &'static [Retrieval] = Retrieval::VARIANTS;

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What it takes and gives, whichever indexes there are. The parameters of plans' instructions are those of their
    /// sources (spec `plans.md`, "What all plans share").
    pub fn signature(self) -> ToolSignature {
        let text = |name: &str, description: &str| parameter(name, TypeKind::Str, None, description);
        let any = |name: &str, default| parameter(name, Type::ANY, default, "");
        let number = |name: &str, default: i64, description: &str| {
            parameter(name, TypeKind::Int, Some(Value::Int(default)), description)
        };
        let found = "a list of chunks with their `content` and `source`, the best first; empty if there are none";
        let (parameters, returns, summary) = match self {
            Retrieval::Search => {
                let index = Type { optional: true, ..TypeKind::Str.into() };
                let parameters = vec![
                    text("query", "what to look for, as a question or in words of the documents"),
                    number("top_k", TOP, "how many chunks"),
                    parameter("index", index, Some(Value::Null), "the name or id of an index, if there are several"),
                ];
                (parameters, TypeKind::List, format!("Searches the documents: {found}."))
            }
            Retrieval::Read => {
                let parameters = vec![
                    text("source", "a source as a search returns it, such as docs/refunds.md:12-40, or a document"),
                    number("before", 0, "how many chunks before it"),
                    number("after", 0, "how many chunks after it"),
                ];
                (parameters, TypeKind::Dict, "Returns the text of a part of a document.".to_owned())
            }
            Retrieval::LookUp => {
                let summary = "Looks up what the documents say about the things that a question names: `entities`, \
                               `relationships` between them, and the `chunks` that answer it best.";
                (vec![text("query", "a question that names things")], TypeKind::Dict, summary.to_owned())
            }
            Retrieval::KnowledgeGraph => {
                let summary = "looks facts up in the documents".to_owned();
                return tool(self.name(), vec![any("query", None)], Type::ANY, &summary, EffectClass::ReadOnly);
            }
            Retrieval::EmbeddedChunks => {
                let parameters = vec![any("embedding_query", None), any("top_k", None)];
                return tool(self.name(), parameters, Type::ANY, PIECES, EffectClass::ReadOnly);
            }
            Retrieval::VectorSearch => {
                let parameters = vec![any("query", None), any("top_k", Some(Value::Null))];
                return tool(self.name(), parameters, Type::ANY, PIECES, EffectClass::ReadOnly);
            }
        };
        tool(self.name(), parameters, returns, &summary, EffectClass::ReadOnly)
    }

    /// It, on these indexes; a call that names none means the first.
    pub fn on(self, indexes: &[Arc<Documents>]) -> Arc<dyn Tool> {
        Arc::new(RetrievalTool { kind: self, indexes: Among::new("index", indexes, |_| String::new()) })
    }
}

struct RetrievalTool {
    kind: Retrieval,
    /// None: the program is only looked at, or asks for nothing.
    indexes: Option<Among<Documents>>,
}

impl Tool for RetrievalTool {
    fn signature(&self) -> ToolSignature {
        self.kind.signature()
    }

    fn check(&self, arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
        let arguments = check_arguments(&self.signature().signature, arguments)?;
        let fault = self.indexes.as_ref().and_then(|indexes| indexes.find(&arguments).err());
        fault.map_or(Ok(arguments), |fault| Err(vec![fault]))
    }

    fn call(&self, _context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            let Some(indexes) = &self.indexes else { return ToolOutcome::Error(no_index(self.kind)) };
            let index = match indexes.find(&arguments) {
                Ok(index) => index,
                Err(fault) => return ToolOutcome::Error(join_faults(&[fault])),
            };
            let text = |name: &str| arguments.get(name).map(|text| text.to_text().to_string()).unwrap_or_default();
            let number = |name: &str, otherwise: i64, most: usize| {
                let number = arguments.get(name).and_then(|number| number.to_text().trim().parse().ok());
                usize::try_from(number.unwrap_or(otherwise)).unwrap_or(0).min(most)
            };
            let found = match self.kind {
                Retrieval::Search => index.search(&text("query"), number("top_k", TOP, MAX_TOP)).await,
                Retrieval::EmbeddedChunks => {
                    index.search(&text("embedding_query"), number("top_k", TOP, MAX_TOP)).await
                }
                Retrieval::VectorSearch => {
                    index.search(&text("query"), number("top_k", TOP_OF_VECTOR_SEARCH, MAX_TOP)).await
                }
                Retrieval::Read => {
                    let around = |name| number(name, 0, MAX_AROUND);
                    index.read(&text("source"), around("before"), around("after")).await
                }
                Retrieval::LookUp | Retrieval::KnowledgeGraph => index.facts(&text("query")).await,
            };
            found.map_or_else(ToolOutcome::Error, ToolOutcome::Value)
        })
    }
}

/// What is said of a tool that has no documents.
pub(crate) fn no_index(kind: Retrieval) -> String {
    format!(
        "`{}` has no index of documents to search (index-missing); make one with `playhouse index add FOLDER`, declare \
         a resource of the type `documents`, or give a tool of this name with --tools FILE",
        kind.name()
    )
}
