//! Expressions: the tree of conditions, explicit lines and references.
//!
//! The grammar is that of spec `language.md`, "Expressions"; it is read by `lexer` and `parser`. Evaluation is
//! `vm::variables::eval`.

mod alternatives;
mod comparisons;
mod english;
mod existence;
pub(crate) mod lexer;
mod literals;
mod measures;
mod more;
mod names;
mod parser;
mod plural;
pub mod template;
mod text;
mod tree;

pub(crate) use crate::expr::alternatives::bare_text;
pub(crate) use crate::expr::comparisons::{
    ACTION_VERBS, AGES, ANY_CASE, EXISTENCE, MOMENTS, condition_words, is_one_of,
};
pub use crate::expr::lexer::{number_word, read_number};
pub(crate) use crate::expr::literals::read_date;
pub use crate::expr::names::{
    LAST_CALL_FAILED, begins_name, check_event_name, continues_name, identifier, scan_name, scan_reference,
};
pub(crate) use crate::expr::names::{name_length, scan_variable};
pub(crate) use crate::expr::parser::{
    Arguments, Style, expect_condition, parse_arguments, parse_as, parse_operand, parse_prefix, too_deep_message,
};
pub use crate::expr::parser::{ExprError, MAX_DEPTH, parse, parse_condition};
pub use crate::expr::tree::{BinaryOperator, Expr, ExprKind, Test, UnaryOperator};
