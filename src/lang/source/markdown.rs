//! Markdown to blocks with their places. The only file of the language that names `pulldown-cmark`.
//!
//! A program is read by its outermost blocks: headings, list items and fences. Everything else is text and is
//! kept as it was written, so no block for it is made here. Items come as one flat list with their nesting as a
//! number: a hostile text can nest lists as deep as it is long, and no code of ours recurses over them.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Deeper items are lifted to this level.
pub(crate) const MAX_NESTING: usize = 100;

/// A block that gives a program its structure; ranges are bytes of the parsed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// `# …` to `###### …`. Underlined (setext) headings are text: a rule below a paragraph is no agent.
    Heading {
        /// How many `#`.
        level: usize,
        /// The whole line.
        range: Range<usize>,
    },
    /// An item of a list that stands in no quotation.
    Item(Item),
    /// A fenced block outside of lists.
    Fence {
        /// The first word after the opening fence.
        language: String,
        /// The fences included.
        range: Range<usize>,
    },
    /// Anything else outside of lists, but rules: paragraphs, HTML, quotations.
    Text(Range<usize>),
}

/// A list item without the items nested in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// 0 for an outermost item.
    pub(crate) level: usize,
    /// `1.` and the like; else a bullet.
    pub(crate) ordered: bool,
    /// The bullet or number.
    pub(crate) marker: Range<usize>,
    /// Its own text, trimmed: one range, or several with nested lists between them.
    pub(crate) text: Vec<Range<usize>>,
    /// Whether the text is one paragraph and nothing else.
    pub(crate) plain: bool,
    /// Whether it was nested deeper than [`MAX_NESTING`].
    pub(crate) lifted: bool,
}

/// Splits `text[from..]` into blocks, in order; all ranges count from the beginning of `text`.
pub(crate) fn parse(text: &str, from: usize) -> Vec<Block> {
    let mut reader = Reader { text, blocks: Vec::new(), open: Vec::new(), columns: Vec::new(), line: (0, 0, 0) };
    let body = text.get(from..).unwrap_or("");
    // How many blocks that hide their content (quotations, paragraphs, fences, …) are open.
    let mut hidden = 0_usize;
    for (event, range) in Parser::new_ext(body, Options::empty()).into_offset_iter() {
        let range = range.start + from..range.end + from;
        let is_outside = hidden == 0;
        if let (true, Event::Start(Tag::List(first))) = (is_outside, &event) {
            reader.begin_list(first.is_some(), range);
        } else if is_outside && event == Event::Start(Tag::Item) {
            reader.begin_item(range);
        } else if let (true, Event::End(TagEnd::List(_))) = (is_outside, &event) {
            reader.end_list();
        } else if is_outside && event == Event::End(TagEnd::Item) {
            reader.end_item();
        } else if let Event::Start(tag) = &event {
            if is_outside {
                reader.begin_block(tag, range);
            }
            hidden += 1;
        } else if let Event::End(_) = event {
            hidden -= 1;
        } else if is_outside && event == Event::Rule {
            reader.rule();
        }
    }
    reader.blocks
}

/// The links and pictures of `text[from..]`, with what they lead to.
pub(crate) fn links(text: &str, from: usize) -> Vec<(Range<usize>, String)> {
    let body = text.get(from..).unwrap_or("");
    let link = |(event, range): (Event<'_>, Range<usize>)| {
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
            Some((range.start + from..range.end + from, dest_url.into_string()))
        } else {
            None
        }
    };
    Parser::new_ext(body, Options::empty()).into_offset_iter().filter_map(link).collect()
}

struct Reader<'a> {
    text: &'a str,
    blocks: Vec<Block>,
    /// The open lists and items, outermost first.
    open: Vec<Open>,
    /// The columns of the markers above the present one: nesting is what the author sees, see [`Reader::level`].
    columns: Vec<usize>,
    /// The line measured last: its start, how much wider its indentation is than its bytes, and up to where
    /// line breaks were looked for.
    line: (usize, usize, usize),
}

enum Open {
    List { ordered: bool },
    Item { block: usize, end: usize, resume: usize, n_blocks: usize },
}

impl Reader<'_> {
    fn begin_list(&mut self, ordered: bool, range: Range<usize>) {
        if let Some(Open::Item { block, resume, .. }) = self.open.last_mut() {
            let (block, own) = (*block, *resume..range.start);
            *resume = range.end;
            self.add_text(block, own);
        }
        self.open.push(Open::List { ordered });
    }

    fn end_list(&mut self) {
        self.open.pop();
    }

    fn begin_item(&mut self, range: Range<usize>) {
        let ordered = matches!(self.open.last(), Some(Open::List { ordered: true }));
        let source = &self.text[range.clone()];
        let indent = source.len() - source.trim_start().len();
        let marked = &source[indent..];
        let n_digits = marked.bytes().take_while(u8::is_ascii_digit).count();
        let length = (n_digits + 1).min(marked.len());
        let marker = range.start + indent..range.start + indent + length;
        let level = self.level(marker.start);
        self.blocks.push(Block::Item(Item {
            level: level.min(MAX_NESTING - 1),
            ordered,
            marker: marker.clone(),
            text: Vec::new(),
            plain: true,
            lifted: level >= MAX_NESTING,
        }));
        let block = self.blocks.len() - 1;
        self.open.push(Open::Item { block, end: range.end, resume: marker.end, n_blocks: 0 });
    }

    fn end_item(&mut self) {
        let Some(Open::Item { block, end, resume, n_blocks }) = self.open.pop() else { return };
        self.add_text(block, resume..end);
        if let Block::Item(item) = &mut self.blocks[block] {
            item.plain = n_blocks == 0 && item.text.len() <= 1;
        }
    }

    /// The level of an item whose marker begins at `start`. By Markdown's rules `1. a` followed by `  - b` are
    /// two lists side by side; an author who indents means nesting. So the columns decide: two or more further
    /// right than the item above is nested in it.
    fn level(&mut self, start: usize) -> usize {
        let (mut line_start, mut extra, scanned) = self.line;
        let line_break = self.text[scanned..start.max(scanned)].rfind('\n');
        if line_break.is_some() || scanned == 0 {
            line_start = line_break.map_or(0, |at| scanned + at + 1);
            let indent = self.text[line_start..].chars().take_while(|&c| c == ' ' || c == '\t');
            let (mut width, mut n_bytes) = (0, 0);
            for character in indent {
                width = if character == '\t' { (width / 4 + 1) * 4 } else { width + 1 };
                n_bytes += 1;
            }
            extra = width - n_bytes;
        }
        self.line = (line_start, extra, start.max(scanned));
        let column = start - line_start + extra;
        while self.columns.last().is_some_and(|&above| column < above + 2) {
            self.columns.pop();
        }
        self.columns.push(column);
        self.columns.len() - 1
    }

    fn begin_block(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        if let Some(Open::Item { n_blocks, .. }) = self.open.last_mut() {
            // One paragraph (a loose list) is the normal case; the inline tags of a tight item are none at all.
            let inline = matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. });
            *n_blocks += usize::from(!inline && !matches!(tag, Tag::Paragraph));
            return;
        }
        self.columns.clear();
        if let Tag::Heading { level, .. } = tag
            && self.text[range.clone()].trim_start().starts_with('#')
        {
            let line = self.text[range.clone()].trim_end().len();
            self.blocks.push(Block::Heading { level: *level as usize, range: range.start..range.start + line });
        } else if let Tag::CodeBlock(CodeBlockKind::Fenced(info)) = tag {
            let language = info.split_whitespace().next().unwrap_or("").to_ascii_lowercase();
            self.blocks.push(Block::Fence { language, range });
        } else {
            self.blocks.push(Block::Text(range));
        }
    }

    /// A rule says nothing, so it is no block; but it ends lists.
    fn rule(&mut self) {
        if let Some(Open::Item { n_blocks, .. }) = self.open.last_mut() {
            *n_blocks += 1;
        } else {
            self.columns.clear();
        }
    }

    fn add_text(&mut self, block: usize, range: Range<usize>) {
        let Some(source) = self.text.get(range.clone()) else { return };
        let start = range.start + (source.len() - source.trim_start().len());
        let trimmed = source.trim();
        if let Block::Item(item) = &mut self.blocks[block]
            && !trimmed.is_empty()
        {
            item.text.push(start..start + trimmed.len());
        }
    }
}
