//! Files as they were written: Markdown, YAML, and the tree of a file.

pub(crate) mod ast;
pub mod front_matter;
pub(crate) mod markdown;
pub(crate) mod parse;
pub mod yaml;

/// A text to load, with the name it is shown under (normally its path).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Its name. Two texts of one name are one file.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A file that another one imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportRequest<'a> {
    /// The path as written.
    pub path: &'a str,
    /// The name of the importing file; relative paths are relative to it.
    pub from: &'a str,
}

/// The length of the first line of `text`, its line break included.
pub(crate) fn line_length(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |at| at + 1)
}
