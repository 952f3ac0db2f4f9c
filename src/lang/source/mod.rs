//! Files as they were written: Markdown, YAML, and the tree of a file.

pub(crate) mod ast;
pub mod front_matter;
pub(crate) mod markdown;
pub(crate) mod parse;
pub mod yaml;

pub use crate::source::ast::SectionKind;
use crate::span::FileId;

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

/// Where the line begins in which this place of `text` is.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// In which part of a file something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Front matter, or an agent's own text.
    Agent,
    /// A playbook's own text.
    Playbook,
    /// A section of a playbook.
    Section(SectionKind),
}

/// In which part of a file an offset lies: while somebody writes there, so what stands after it does not count.
pub fn part_at(text: &str, offset: usize) -> Part {
    let before = &text[..text.floor_char_boundary(offset.min(text.len()))];
    // An outermost heading begins anew, whatever stands above it; in a fenced block that says nothing.
    let start = ["\n# ", "\n## "].into_iter().filter_map(|mark| before.rfind(mark)).max().unwrap_or(0);
    let tree = parse::parse(FileId(0), &before[start..]);
    let agents = [&tree.preamble].into_iter().chain(&tree.agents);
    let Some(playbook) = agents.flat_map(|agent| &agent.playbooks).last() else { return Part::Agent };
    playbook.sections.last().map_or(Part::Playbook, |section| Part::Section(section.kind))
}
