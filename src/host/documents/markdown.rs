//! Documents in Markdown: their outermost blocks, and what of them is a fact. What the language reads as a program is read by
//! `lang::source`; documents of others have underlined headings and tables, too.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::documents::chunk::Block;

/// What was read of a text.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// Its outermost blocks.
    pub(super) blocks: Vec<Block>,
    /// Its links, each with its line (from 1).
    pub(super) links: Vec<(usize, Link)>,
    /// Its tables: the line of the head, and of each row its cells; the head is the first.
    pub(super) tables: Vec<Vec<(usize, Vec<String>)>>,
    /// Items and paragraphs as text, each with its line, `**` before and after what is strong.
    pub(super) sentences: Vec<(usize, String)>,
}

/// Where a link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// `[text](target)`.
    To(String),
    /// `[[page]]`.
    Page(String),
}

/// Reads a text.
#[allow(clippy::wildcard_enum_match_arm, reason = "a few kinds of many say something")]
pub(super) fn read(text: &str) -> Outline {
    let options = Options::ENABLE_TABLES | Options::ENABLE_WIKILINKS | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let starts: Vec<usize> = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let line_of = |at: usize| starts.partition_point(|start| *start <= at);
    let lines = |range: &Range<usize>| {
        let inside = text[range.clone()].trim_end().len();
        line_of(range.start) - 1..line_of(range.start + inside.saturating_sub(1)).max(line_of(range.start))
    };
    let mut outline = Outline::default();
    // How many blocks are open; the text of the innermost one that is told; the cells of the row.
    let (mut depth, mut words, mut cells) = (0_usize, String::new(), Vec::new());
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match &event {
            Event::Start(tag) => {
                if depth == 0 {
                    outline.blocks.push(Block { lines: lines(&range), heading: None });
                }
                depth += 1;
                match tag {
                    Tag::Link { link_type: LinkType::WikiLink { .. }, dest_url, .. } => {
                        outline.links.push((line_of(range.start), Link::Page(dest_url.to_string())));
                    }
                    Tag::Link { dest_url, .. } => {
                        outline.links.push((line_of(range.start), Link::To(dest_url.to_string())));
                    }
                    Tag::Table(_) => outline.tables.push(Vec::new()),
                    Tag::TableHead | Tag::TableRow => cells.clear(),
                    Tag::Heading { .. } | Tag::Paragraph | Tag::Item | Tag::TableCell => words.clear(),
                    Tag::Strong => words.push_str("**"),
                    _ => {}
                }
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                match tag {
                    TagEnd::Heading(level) if depth == 0 => {
                        let heading = (*level as usize, words.trim().to_owned());
                        outline.blocks.last_mut().into_iter().for_each(|block| block.heading = Some(heading.clone()));
                    }
                    TagEnd::TableCell => cells.push(words.trim().to_owned()),
                    TagEnd::TableHead | TagEnd::TableRow => {
                        let row = (line_of(range.start), std::mem::take(&mut cells));
                        outline.tables.last_mut().into_iter().for_each(|table| table.push(row.clone()));
                    }
                    TagEnd::Strong => words.push_str("**"),
                    TagEnd::Paragraph | TagEnd::Item if !words.trim().is_empty() => {
                        outline.sentences.push((line_of(range.start), std::mem::take(&mut words)));
                    }
                    _ => {}
                }
            }
            // An item of a tight list has no paragraph: what is nested in it begins another text.
            Event::Text(text) | Event::Code(text) => words.push_str(text),
            Event::SoftBreak | Event::HardBreak => words.push(' '),
            Event::Rule | Event::Html(_) if depth == 0 => {
                outline.blocks.push(Block { lines: lines(&range), heading: None });
            }
            _ => {}
        }
    }
    outline
}
