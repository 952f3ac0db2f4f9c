//! Texts to chunks: sections by headings; in each, blocks together as long as they fit; each with its lines.

use std::ops::Range;

/// Characters of a chunk at most (spec `retrieval.md`, "Engines"): longer ones bury what they hold, shorter ones tear it apart.
pub(super) const MAX_CHARACTERS: usize = 1_000;

/// A part of a text that is kept whole if it fits into a chunk, by its lines (from 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Its lines.
    pub(super) lines: Range<usize>,
    /// What it says and how deep it is, if it is a heading.
    pub(super) heading: Option<(usize, String)>,
}

/// A chunk of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its first line, from 1.
    pub(super) first: usize,
    /// Its last line, from 1.
    pub(super) last: usize,
    /// The headings that it stands under, the outermost first: `Refunds > Late`.
    pub(super) heading: String,
    /// Its text, as it stands there.
    pub(super) content: String,
}

/// What is not divided any further: whole lines, or a part of a single one.
struct Unit<'t> {
    lines: Range<usize>,
    text: &'t str,
}

/// Chunks of a text that consists of these blocks; lines that stand in none of them are blocks of their own.
pub(super) fn chunks(text: &str, blocks: Vec<Block>) -> Vec<Chunk> {
    let lines = Lines::new(text);
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut chunks: Vec<Chunk> = Vec::new();
    // The chunk that is being filled, and how many of its characters are a heading's and nothing else.
    let mut open: Option<Chunk> = None;
    let mut is_heading_alone = false;
    for block in complete(&lines, blocks) {
        if let Some((level, heading)) = &block.heading {
            chunks.extend(open.take());
            path.retain(|(above, _)| above < level);
            path.push((*level, heading.clone()));
        }
        let units = units(&lines, &block);
        let n_characters: usize = units.iter().map(|unit| unit.text.chars().count() + 1).sum();
        if n_characters > MAX_CHARACTERS && !is_heading_alone {
            // What must be divided begins with a chunk of its own.
            chunks.extend(open.take());
        }
        for unit in units {
            if let Some(chunk) = &mut open {
                let gap = lines.between(chunk.last, unit.lines.start);
                let n_together =
                    [&chunk.content, gap, unit.text].iter().map(|text| text.chars().count()).sum::<usize>();
                if n_together <= MAX_CHARACTERS {
                    chunk.content.push_str(gap);
                    chunk.content.push_str(unit.text);
                    chunk.last = unit.lines.end;
                    continue;
                }
                chunks.extend(open.take());
            }
            let heading = path.iter().map(|(_, heading)| &**heading).collect::<Vec<_>>().join(" > ");
            let content = unit.text.to_owned();
            open = Some(Chunk { first: unit.lines.start + 1, last: unit.lines.end, heading, content });
        }
        is_heading_alone = block.heading.is_some();
    }
    chunks.extend(open);
    chunks
}

/// The blocks of a text that has no other structure than its empty lines.
pub(super) fn paragraphs(text: &str) -> Vec<Chunk> {
    chunks(text, Vec::new())
}

/// The blocks in order, none of them empty, with those that nobody has named between them.
fn complete(lines: &Lines<'_>, blocks: Vec<Block>) -> Vec<Block> {
    let mut all = Vec::with_capacity(blocks.len());
    let mut at = 0;
    let end = Block { lines: lines.len()..lines.len(), heading: None };
    for block in blocks.into_iter().chain([end]) {
        let start = block.lines.start.max(at);
        let mut first = at;
        for line in at..=start {
            if line == start || lines.line(line).trim().is_empty() {
                if first < line {
                    all.push(Block { lines: first..line, heading: None });
                }
                first = line + 1;
            }
        }
        at = block.lines.end.clamp(start, lines.len());
        if start < at {
            all.push(Block { lines: start..at, heading: block.heading });
        }
    }
    all
}

/// The whole block if it fits, else its lines, and of lines that do not fit their parts.
fn units<'t>(lines: &Lines<'t>, block: &Block) -> Vec<Unit<'t>> {
    let whole = lines.text(block.lines.clone());
    if whole.chars().count() <= MAX_CHARACTERS {
        return vec![Unit { lines: block.lines.clone(), text: whole }];
    }
    let mut units = Vec::new();
    for line in block.lines.clone() {
        let mut rest = lines.line(line);
        while !rest.is_empty() {
            let (part, after) = rest.split_at(cut_at(rest));
            units.push(Unit { lines: line..line + 1, text: part });
            rest = after;
        }
    }
    units
}

/// How many bytes of a line are one part: all if it fits, else up to the end of a sentence in its second half, else of a word.
fn cut_at(line: &str) -> usize {
    let Some((most, _)) = line.char_indices().nth(MAX_CHARACTERS) else { return line.len() };
    let part = &line[..most];
    let half = part.floor_char_boundary(most / 2);
    let sentence = [". ", "! ", "? ", "; ", "。"].iter().filter_map(|end| Some(part.rfind(end)? + end.len())).max();
    let word = part.rfind(' ').map(|at| at + 1);
    sentence.filter(|at| *at > half).or(word.filter(|at| *at > half)).unwrap_or(most)
}

/// A text by its lines.
struct Lines<'t> {
    text: &'t str,
    /// Where each line begins, and the end of the text.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Lines<'t> {
        let starts = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let mut starts: Vec<usize> = starts.filter(|start| *start < text.len()).collect();
        starts.push(text.len());
        Lines { text, starts }
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn line(&self, line: usize) -> &'t str {
        self.text(line..line + 1)
    }

    /// These lines, without the end of the last.
    fn text(&self, lines: Range<usize>) -> &'t str {
        self.text[self.starts[lines.start]..self.starts[lines.end]].trim_end_matches(['\n', '\r'])
    }

    /// What stands between a line (its number from 1, so where the next one begins) and another, as it is written; nothing
    /// inside of one line.
    fn between(&self, after: usize, before: usize) -> &'t str {
        let Some(start) = self.starts.get(after).filter(|_| after <= before) else { return "" };
        let from = self.text[..*start].trim_end_matches(['\n', '\r']).len();
        &self.text[from..self.starts[before]]
    }
}
