//! One file as it was written: what stands where. Nothing is judged here and nothing is lost: every token that
//! the program does not keep (heading marks, bullets, old numbering) has its place, for whoever rewrites a text.

use crate::span::{FileId, Span};

/// A whole file.
#[derive(Clone, Debug)]
pub struct FileTree {
    /// The file.
    pub file: FileId,
    /// A first line that begins with `#!`.
    pub shebang: Option<Span>,
    /// The YAML between the first two `---` lines, without them.
    pub front_matter: Option<Span>,
    /// What stands before the first agent's heading; its `heading` is none.
    pub preamble: AgentTree,
    /// The agents in order.
    pub agents: Vec<AgentTree>,
}

/// A heading line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadingTree {
    /// The `#`s in front.
    pub marks: Span,
    /// The words, without marks and white space around them.
    pub title: Span,
}

/// An agent: an H1 and what belongs to it.
#[derive(Clone, Debug)]
pub struct AgentTree {
    /// Its heading; none for a file's preamble.
    pub heading: Option<HeadingTree>,
    /// What stands between the heading and the first playbook.
    pub body: Body,
    /// Its playbooks in order.
    pub playbooks: Vec<PlaybookTree>,
}

/// A playbook: an H2 and what belongs to it.
#[derive(Clone, Debug)]
pub struct PlaybookTree {
    /// Its heading; the title holds the signature.
    pub heading: HeadingTree,
    /// What stands between the heading and the first known H3, and under unknown headings.
    pub body: Body,
    /// `### Triggers`, `### Steps` and `### Notes` in order; each can stand more than once.
    pub sections: Vec<Section>,
    /// From the heading to the end of the playbook.
    pub span: Span,
}

/// The free part of an agent or playbook.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Metadata lines.
    pub metadata: Vec<Metadata>,
    /// The text for the model: pieces between which something else was taken out.
    pub text: Vec<Span>,
    /// The list items in that text.
    pub items: Vec<ItemTree>,
    /// Fenced blocks in that text.
    pub fences: Vec<Fence>,
    /// `!import` lines.
    pub imports: Vec<Import>,
    /// Headings of the third level that are none we know.
    pub unknown_headings: Vec<HeadingTree>,
}

/// A metadata line, `key: value`; a value can go on over indented lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The key.
    pub key: Span,
    /// Everything behind the colon.
    pub value: Span,
}

/// What a known H3 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    /// `### Triggers` or `### Trigger`.
    Triggers,
    /// `### Steps`.
    Steps,
    /// `### Notes`.
    Notes,
}

/// A known H3 and what stands under it.
#[derive(Clone, Debug)]
pub struct Section {
    /// Which one.
    pub kind: SectionKind,
    /// Its heading.
    pub heading: HeadingTree,
    /// Everything under the heading: pieces between which something else was taken out.
    pub text: Vec<Span>,
    /// Its list items.
    pub items: Vec<ItemTree>,
    /// What stands in it outside of lists.
    pub other: Vec<Span>,
}

/// A list item.
#[derive(Clone, Debug)]
pub struct ItemTree {
    /// How deep it is nested, from 0.
    pub level: usize,
    /// Whether its list is numbered.
    pub ordered: bool,
    /// The bullet or number.
    pub bullet: Span,
    /// An old number or trigger prefix (`01:QUE`, `T1:CND`, `01.`), with its colon.
    pub prefix: Option<Span>,
    /// Its own text, in pieces if lists are nested between them.
    pub text: Vec<Span>,
    /// Whether the text is one paragraph and nothing else.
    pub plain: bool,
    /// Whether it was nested too deep and is therefore one level higher than written.
    pub lifted: bool,
}

/// A fenced block outside of lists.
#[derive(Clone, Debug)]
pub struct Fence {
    /// The first word behind the fence, in lower case.
    pub language: String,
    /// The block with its fences.
    pub span: Span,
}

/// An `!import` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Import {
    /// The whole line.
    pub span: Span,
    /// The path alone.
    pub path: Span,
}
