//! The Language Server Protocol 3.18: what an editor is told of programs while they are written (spec `editors.md`,
//! sections 3 to 5).
//!
//! - `documents`: the texts that the editor has open, and its positions in them.
//! - `programs`: which programs there are, loaded with those texts in place of the files'.
//! - `workspace`: which files of the editor's folders name which others, open or not.
//! - `cases`: the tests and trigger tables among them, held against their programs.
//! - `answers`: a question to one of them, in the protocol's words (`convert`); `renames` and `extract` with
//!   their `edits` of several texts.
//! - [`serve`]: one connection: changes in order, questions as they come.

mod answers;
mod capabilities;
mod case_answers;
mod cases;
mod completions;
mod convert;
mod documents;
mod edits;
mod extract;
mod file_answers;
mod programs;
mod registration;
mod renames;
mod server;
mod workspace;

pub use crate::serve::lsp::server::{ServeError, serve};
