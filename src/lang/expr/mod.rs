//! Expressions: the tree of conditions, explicit lines and references.
//!
//! The grammar is that of spec `language.md`, "Expressions"; it is read by `lexer` and `parser`. Evaluation is
//! `vm::variables::eval`.

mod english;
pub(crate) mod lexer;
mod names;
mod parser;
mod text;
mod tree;

pub(crate) use crate::expr::names::identifier;
pub use crate::expr::names::{begins_name, continues_name, scan_name, scan_reference};
pub(crate) use crate::expr::parser::{Arguments, parse_arguments, parse_prefix, too_deep_message};
pub use crate::expr::parser::{ExprError, MAX_DEPTH, parse};
pub use crate::expr::tree::{BinaryOperator, Expr, ExprKind, Test, UnaryOperator};
