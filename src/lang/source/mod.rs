//! Files as they were written: Markdown, YAML, and the tree of a file.

pub(crate) mod ast;
pub(crate) mod front_matter;
pub mod keys;
pub(crate) mod markdown;
pub(crate) mod parse;
pub mod skill;
pub mod yaml;

pub use crate::source::ast::SectionKind;
use crate::source::keys::Key;
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

/// The keys that the line of an offset can begin with: those of the front matter or of the metadata that it is a line of, but
/// for those that stand in other lines there. A line that is none yet counts if a key would make it one.
pub fn keys_at(text: &str, offset: usize) -> Vec<&'static Key> {
    let offset = text.floor_char_boundary(offset.min(text.len()));
    let start = line_start(text, offset);
    let end = offset + line_length(&text[offset..]);
    let line = &text[start..end];
    if let Some(content) = parse::read_beginning(FileId(0), text).front_matter
        && content.range().contains(&start)
    {
        // What is indented belongs to a value.
        let others = [&text[content.range().start..start], &text[end..content.range().end]];
        let written: Vec<&str> = others.iter().flat_map(|part| part.lines()).filter_map(front_matter::key_of).collect();
        let is_inside = line.starts_with([' ', '\t']);
        return keys::FRONT_MATTER.iter().filter(|key| !is_inside && !written.contains(&key.name)).collect();
    }
    // What is begun may become a key. Unlike others, `model` is one only where nothing but keys stands above it.
    let line = if line.contains(':') { line } else { "model:\n" };
    let text = [&text[..start], line, &text[end..]].concat();
    let tree = parse::parse(FileId(0), &text);
    let agents = [&tree.preamble].into_iter().chain(&tree.agents);
    let mut bodies = agents.flat_map(|agent| {
        let own = agent.heading.map(|_| (&agent.body, keys::AGENT));
        own.into_iter().chain(agent.playbooks.iter().map(|playbook| (&playbook.body, keys::PLAYBOOK)))
    });
    let is_here = |metadata: &ast::Metadata| (start..start + line.len()).contains(&metadata.key.range().start);
    let Some((body, keys)) = bodies.find(|(body, _)| body.metadata.iter().any(is_here)) else { return Vec::new() };
    let others = body.metadata.iter().filter(|metadata| !is_here(metadata));
    let written: Vec<&str> = others.map(|metadata| &text[metadata.key.range()]).collect();
    keys.iter().filter(|key| !written.contains(&key.name)).collect()
}
