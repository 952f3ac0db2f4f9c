//! Dataflow plans: a YAML document of aliases, each bound to text or to calls of services (spec `plans.md`,
//! section 3).

pub(crate) mod check;
mod date_calls;
pub(crate) mod explain;
mod expr;
mod lexer;
mod mend;
pub(crate) mod read;
mod reader;
mod resolve;
mod shape;
mod template;
pub(crate) mod types;
mod words;
pub(crate) mod yaml;

pub use check::check_domains;
pub use explain::{mermaid, outline, path};
pub use read::{MAX_TEXT, read};
pub use types::{
    Alias, AliasBody, AliasId, Dataflow, Domain, Expr, ExprKind, Method, Period, Relative, Slot, Start, Template,
    TemplatePart, TimeOfDay, Unit,
};
pub use words::read_clock;
