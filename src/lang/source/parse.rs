//! Text to tree: finds agents, playbooks, sections, metadata and items, and gives each its place.

use std::ops::Range;

use crate::source::ast::{
    AgentTree, Body, Fence, FileTree, HeadingTree, Import, ItemTree, Metadata, PlaybookTree, Section, SectionKind,
};
use crate::source::front_matter::{self, Found};
use crate::source::keys::{AGENT, Key, PLAYBOOK, find, meant};
use crate::source::line_length;
use crate::source::markdown;
use crate::source::markdown::{Block, Item};
use crate::span::{FileId, Span};

/// What comes after this line is not formatted.
pub(crate) const FORMAT_OFF: &str = "<!-- fmt: off -->";

/// What comes after this line is formatted again.
pub(crate) const FORMAT_ON: &str = "<!-- fmt: on -->";

/// What a file begins with.
#[derive(PartialEq)]
pub(crate) struct Beginning {
    pub(crate) front_matter: Option<Span>,
    lost: Option<(Span, &'static str)>,
    /// Where the text after it begins.
    from: usize,
}

/// Reads what a file begins with: marks, and front matter or what looks like it.
pub(crate) fn read_beginning(file: FileId, text: &str) -> Beginning {
    let mut from = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    if text[from..].starts_with("#!") {
        from += line_length(&text[from..]);
    }
    let span = |range: Range<usize>| Span::new(file, range.start, range.end);
    match front_matter::find(text, from) {
        Found::Yaml(content, end) => Beginning { front_matter: Some(span(content)), lost: None, from: end },
        Found::Lost(mark, advice) => Beginning { front_matter: None, lost: Some((span(mark), advice)), from },
        Found::Nothing => Beginning { front_matter: None, lost: None, from },
    }
}

/// Reads one file, whose whole text is `text`. Total: any text gives a tree, every span lies inside the file.
pub(crate) fn parse(file: FileId, text: &str) -> FileTree {
    let Beginning { front_matter, lost, from } = read_beginning(file, text);
    FileTree { front_matter, lost_front_matter: lost, ..parse_part(file, text, from..text.len()) }
}

/// Reads a part of a file, as if nothing stood before and after it.
pub(crate) fn parse_part(file: FileId, text: &str, part: Range<usize>) -> FileTree {
    let text = text.get(..part.end).unwrap_or(text);
    let blocks = markdown::parse(text, part.start);
    Builder { file, text, blocks: &blocks }.build(part.start)
}

/// What a segment of the file begins with.
#[derive(Clone, Copy)]
enum Start {
    Preamble,
    Agent,
    Playbook,
    Known(SectionKind),
    Unknown,
}

/// A heading and the blocks under it, up to the next heading that gives structure.
struct Segment {
    start: Start,
    heading: Option<Range<usize>>,
    blocks: Range<usize>,
    end: usize,
}

struct Builder<'a> {
    file: FileId,
    text: &'a str,
    blocks: &'a [Block],
}

impl Builder<'_> {
    fn build(&self, from: usize) -> FileTree {
        let preamble = AgentTree { heading: None, body: Body::default(), playbooks: Vec::new() };
        let (front_matter, lost_front_matter) = (None, None);
        let mut tree = FileTree { file: self.file, front_matter, lost_front_matter, preamble, agents: Vec::new() };
        for segment in self.segments() {
            let Some(heading) = segment.heading.clone() else {
                self.add_body(&mut tree.preamble.body, from..segment.end, &segment.blocks, AGENT);
                continue;
            };
            let title = self.heading(heading.clone());
            let content = heading.end..segment.end;
            if let Start::Agent = segment.start {
                let mut body = Body::default();
                self.add_body(&mut body, content, &segment.blocks, AGENT);
                tree.agents.push(AgentTree { heading: Some(title), body, playbooks: Vec::new() });
                continue;
            }
            let agent = tree.agents.last_mut().unwrap_or(&mut tree.preamble);
            if let Start::Playbook = segment.start {
                let mut body = Body::default();
                self.add_body(&mut body, content, &segment.blocks, PLAYBOOK);
                let span = Span::new(self.file, heading.start, segment.end);
                agent.playbooks.push(PlaybookTree { heading: title, body, sections: Vec::new(), span, skill: None });
                continue;
            }
            let Some(playbook) = agent.playbooks.last_mut() else { continue };
            playbook.span = playbook.span.to(Span::new(self.file, heading.start, segment.end));
            if let Start::Known(kind) = segment.start {
                self.add_section(playbook, kind, title, content, &segment.blocks);
            } else {
                playbook.body.unknown_headings.push(title);
                self.add_body(&mut playbook.body, heading.start..segment.end, &segment.blocks, &[]);
            }
        }
        tree
    }

    /// Cuts the file at H1, H2 and (inside a playbook) H3.
    fn segments(&self) -> Vec<Segment> {
        let mut segments = vec![Segment { start: Start::Preamble, heading: None, blocks: 0..0, end: self.text.len() }];
        let (mut in_playbook, mut too_high) = (false, false);
        for (index, block) in self.blocks.iter().enumerate() {
            if let Block::Heading { level, range } = block
                && (*level < 3 || (*level == 3 && in_playbook))
            {
                // `## Steps` directly below `## Name`, or below another section of a playbook that has none of this
                // kind, is a section one level too high; with text in between it is a playbook of that name.
                let last = segments.last();
                let nothing_between = |last: &Segment| matches!(last.start, Start::Playbook) && last.blocks.is_empty();
                let kind = self.known_section(range.clone());
                let own = segments.iter().rev().take_while(|segment| !matches!(segment.start, Start::Playbook));
                let is_first = |segment: &Segment| matches!(segment.start, Start::Known(known) if Some(known) != kind);
                // `## Note` may well be a playbook.
                let is_missing =
                    || kind != Some(SectionKind::Notes) && own.clone().next().is_some() && own.clone().all(is_first);
                let fits =
                    *level == 3 || (in_playbook && (too_high || last.is_some_and(nothing_between) || is_missing()));
                let known = kind.filter(|_| fits);
                too_high = *level == 2 && known.is_some();
                let start = match (level, known) {
                    (1, _) => Start::Agent,
                    (_, Some(kind)) => Start::Known(kind),
                    (2, None) => Start::Playbook,
                    (_, None) => Start::Unknown,
                };
                in_playbook = *level > 1;
                if let Some(last) = segments.last_mut() {
                    last.end = range.start;
                }
                let blocks = index + 1..index + 1;
                segments.push(Segment { start, heading: Some(range.clone()), blocks, end: self.text.len() });
            } else if let Some(last) = segments.last_mut() {
                last.blocks.end = index + 1;
            }
        }
        segments
    }

    fn known_section(&self, heading: Range<usize>) -> Option<SectionKind> {
        let title = self.heading(heading).title;
        match self.text[title.range()].trim_end_matches(':').trim_end().to_lowercase().as_str() {
            "triggers" | "trigger" => Some(SectionKind::Triggers),
            "steps" => Some(SectionKind::Steps),
            "notes" | "note" => Some(SectionKind::Notes),
            _ => None,
        }
    }

    fn heading(&self, range: Range<usize>) -> HeadingTree {
        let source = &self.text[range.clone()];
        let indent = source.len() - source.trim_start().len();
        let n_marks = source[indent..].bytes().take_while(|&byte| byte == b'#').count();
        let marks = range.start + indent..range.start + indent + n_marks;
        let mut title = self.text[marks.end..range.end].trim_end();
        // Closing marks count only after a space: `# C#` is `C#`.
        let unmarked = title.trim_end_matches('#');
        if unmarked.is_empty() || unmarked.ends_with([' ', '\t']) {
            title = unmarked;
        }
        let title = trimmed(self.file, self.text, marks.end..marks.end + title.len());
        HeadingTree { marks: Span::new(self.file, marks.start, marks.end), title }
    }

    fn add_body(&self, body: &mut Body, range: Range<usize>, blocks: &Range<usize>, keys: &'static [Key]) {
        let start = self.add_metadata(body, range.clone(), keys);
        let mut cuts = Vec::new();
        // Where later metadata ends: Markdown may take its YAML list for a list.
        let mut taken = start;
        for block in &self.blocks[blocks.clone()] {
            match block {
                Block::Item(item) if item.marker.start >= taken => body.items.push(self.item(item, false)),
                Block::Fence { language, range } if range.start >= taken => {
                    self.add_fence(body, language, range, &mut cuts);
                }
                Block::Text(text) if text.end > taken => {
                    let from = text.start.max(taken);
                    self.add_imports(body, from..text.end, &mut cuts);
                    taken = self.add_late_metadata(body, from..text.end, range.end, keys, &mut cuts);
                }
                Block::Text(_) | Block::Item(_) | Block::Fence { .. } | Block::Heading { .. } => {}
            }
        }
        self.add_text(&mut body.text, start..range.end, &cuts);
    }

    fn add_section(
        &self,
        playbook: &mut PlaybookTree,
        kind: SectionKind,
        heading: HeadingTree,
        range: Range<usize>,
        blocks: &Range<usize>,
    ) {
        let mut section = Section { kind, heading, text: Vec::new(), items: Vec::new(), other: Vec::new() };
        let mut cuts = Vec::new();
        for block in &self.blocks[blocks.clone()] {
            match block {
                Block::Item(item) => {
                    let mut item = self.item(item, kind != SectionKind::Notes);
                    self.add_item_imports(&mut playbook.body, &mut item);
                    section.items.push(item);
                }
                Block::Fence { language, range } => {
                    self.add_fence(&mut playbook.body, language, range, &mut cuts);
                    self.add_text(&mut section.other, range.clone(), &cuts);
                }
                Block::Text(range) => {
                    self.add_imports(&mut playbook.body, range.clone(), &mut cuts);
                    self.add_text(&mut section.other, range.clone(), &cuts);
                }
                Block::Heading { range, .. } => section.other.push(trimmed(self.file, self.text, range.clone())),
            }
        }
        self.add_text(&mut section.text, range, &cuts);
        playbook.sections.push(section);
    }

    fn add_fence(&self, body: &mut Body, language: &str, range: &Range<usize>, cuts: &mut Vec<Range<usize>>) {
        body.fences.push(Fence { language: language.to_owned(), span: trimmed(self.file, self.text, range.clone()) });
        // Python is for the interpreter, not for the model; `public.json` is what older compilers appended.
        if is_code(language) {
            cuts.push(range.clone());
        }
    }

    /// Takes `!import path` lines out of a text block, and what is said to the formatter only.
    fn add_imports(&self, body: &mut Body, range: Range<usize>, cuts: &mut Vec<Range<usize>>) {
        let mut at = range.start;
        while at < range.end {
            let end = (at + line_length(&self.text[at..])).min(range.end);
            let line = &self.text[at..end];
            if let Some(rest) = line.trim_start().strip_prefix("!import")
                && rest.starts_with([' ', '\t'])
            {
                let path = rest.split(" #").next().unwrap_or("");
                let start = end - rest.len();
                let path = trimmed(self.file, self.text, start..start + path.len());
                body.imports.push(Import { span: trimmed(self.file, self.text, at..end), path });
                cuts.push(at..end);
            } else if matches!(line.trim(), FORMAT_OFF | FORMAT_ON) {
                cuts.push(at..end);
            }
            at = end;
        }
    }

    /// Takes `!import` lines out of an item: without an indentation they go on with its paragraph.
    fn add_item_imports(&self, body: &mut Body, item: &mut ItemTree) {
        for piece in std::mem::take(&mut item.text) {
            let mut cuts = Vec::new();
            if self.text[piece.range()].contains("!import") {
                self.add_imports(body, piece.range(), &mut cuts);
            }
            self.add_text(&mut item.text, piece.range(), &cuts);
        }
    }

    /// Adds what is left of `range` without `cuts` (in order), in trimmed pieces.
    fn add_text(&self, pieces: &mut Vec<Span>, range: Range<usize>, cuts: &[Range<usize>]) {
        let mut at = range.start;
        let first = cuts.partition_point(|cut| cut.end <= range.start);
        let ends = cuts[first..].iter().take_while(|cut| cut.start < range.end);
        for (start, end) in ends.map(|cut| (cut.start, cut.end)).chain([(range.end, range.end)]) {
            let piece = trimmed(self.file, self.text, at..start.max(at));
            if piece.start < piece.end {
                pieces.push(piece);
            }
            at = end;
        }
    }

    fn item(&self, item: &Item, with_prefix: bool) -> ItemTree {
        let mut text: Vec<Span> = item.text.iter().map(|range| trimmed(self.file, self.text, range.clone())).collect();
        let mut prefix = None;
        if let Some(first) = text.first_mut()
            && with_prefix
        {
            let length = scan_prefix(&self.text[first.range()]);
            if length > 0 {
                let split = first.start as usize + length;
                prefix = Some(trimmed(self.file, self.text, first.start as usize..split));
                *first = trimmed(self.file, self.text, split..first.end as usize);
            }
        }
        text.retain(|piece| piece.start < piece.end);
        ItemTree {
            level: item.level,
            ordered: item.ordered,
            bullet: Span::new(self.file, item.marker.start, item.marker.end),
            prefix,
            text,
            plain: item.plain,
            lifted: item.lifted,
        }
    }

    /// Reads metadata lines at the beginning of `range`; gives where the text after them begins.
    fn add_metadata(&self, body: &mut Body, range: Range<usize>, keys: &'static [Key]) -> usize {
        let mut at = range.start;
        let mut rest = at;
        let mut in_block = false;
        while at < range.end {
            let end = (at + line_length(&self.text[at..])).min(range.end);
            let line = self.text[at..end].trim_end();
            if line.trim() == "---" && (in_block || !body.metadata.is_empty()) {
                return end;
            }
            if line.trim().is_empty() {
                at = end;
                continue;
            }
            if !in_block && line == "metadata:" && !keys.is_empty() && self.has_closing_rule(end..range.end) {
                in_block = true;
                at = end;
                continue;
            }
            let indent = line.len() - line.trim_start().len();
            let key_length = line[indent..].bytes().take_while(|b| b.is_ascii_lowercase() || *b == b'_').count();
            let key = &line[indent..indent + key_length];
            let is_key = key_length > 0 && line[indent + key_length..].starts_with(':');
            let is_known = is_key && find(keys, key).is_some();
            if !in_block && (indent > 0 || !is_known) {
                body.near_metadata = self.near_metadata(at + indent..at + line.len(), keys);
                break;
            }
            let value_start = if is_key { at + indent + key_length + 1 } else { at };
            let value_end = self.end_of_value(end, indent, range.end);
            if is_known {
                let key = Span::new(self.file, at + indent, at + indent + key_length);
                let value = trimmed(self.file, self.text, value_start..value_end);
                body.metadata.push(Metadata { key, value });
            } else {
                body.text.push(trimmed(self.file, self.text, at..value_end));
            }
            at = value_end;
            rest = at;
        }
        rest
    }

    /// A line with a misspelt key, if its value is one that no sentence has.
    fn near_metadata(&self, line: Range<usize>, keys: &'static [Key]) -> Option<(Span, &'static str)> {
        let (key, value) = self.text[line.clone()].split_once(':')?;
        let is_value = value.trim_start().starts_with(['[', '{']) || matches!(value.trim(), "true" | "false");
        let meant = meant(keys, key).filter(|_| is_value)?;
        Some((Span::new(self.file, line.start, line.start + key.len()), meant))
    }

    /// Reads metadata lines that stand after other text, as older programs have them. Only keys that no sentence
    /// begins with count there. Gives where the last of them ends.
    fn add_late_metadata(
        &self,
        body: &mut Body,
        text: Range<usize>,
        limit: usize,
        keys: &'static [Key],
        cuts: &mut Vec<Range<usize>>,
    ) -> usize {
        let mut at = text.start;
        while at < text.end {
            let end = at + line_length(&self.text[at..]);
            let line = &self.text[at..end];
            let key = line.split(':').next().unwrap_or("");
            let is_key = key.len() < line.len() && key != "model" && find(keys, key).is_some();
            let value_end = if is_key { self.end_of_value(end, 0, limit) } else { end };
            if is_key {
                let value = trimmed(self.file, self.text, at + key.len() + 1..value_end);
                body.metadata.push(Metadata { key: Span::new(self.file, at, at + key.len()), value });
                cuts.push(at..value_end);
            }
            at = value_end;
        }
        cuts.sort_by_key(|cut| cut.start);
        at
    }

    /// A value goes on over the lines that are indented more than its key, or are items of a YAML list.
    fn end_of_value(&self, from: usize, indent: usize, limit: usize) -> usize {
        let mut end = from;
        while end < limit {
            let next = (end + line_length(&self.text[end..])).min(limit);
            let line = self.text[end..next].trim_end();
            let line_indent = line.len() - line.trim_start().len();
            let belongs = line_indent > indent || (line_indent == indent && line.trim_start().starts_with("- "));
            if line.is_empty() || !belongs {
                break;
            }
            end = next;
        }
        end
    }

    fn has_closing_rule(&self, range: Range<usize>) -> bool {
        self.text[range].lines().any(|line| line.trim() == "---")
    }
}

/// Whether a fence holds code for an interpreter, not text for the model.
pub(crate) fn is_code(language: &str) -> bool {
    matches!(language, "python" | "py" | "python3" | "public.json")
}

fn trimmed(file: FileId, text: &str, range: Range<usize>) -> Span {
    let source = &text[range.clone()];
    let start = range.start + (source.len() - source.trim_start().len());
    Span::new(file, start, start.max(range.start + source.trim_end().len()))
}

/// The length of an old number or trigger prefix (`01:QUE `, `02.01:`, `T1:CND `), 0 if there is none. `YLD`,
/// `JMP`, `CHK` and a `RET` without `Return` after it are the line's meaning and stay in the text.
fn scan_prefix(text: &str) -> usize {
    let numbered = text.strip_prefix('T').unwrap_or(text);
    let n_number = numbered.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    if n_number == 0 || !numbered[n_number..].starts_with(':') {
        return 0;
    }
    let colon = text.len() - numbered.len() + n_number + 1;
    let opcode = text[colon..].bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = text[colon + opcode..].trim_start();
    match &text[colon..colon + opcode] {
        "" if text[colon..].starts_with([' ', '\t']) => colon,
        "YLD" | "JMP" | "CHK" => colon,
        "RET" if !rest.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("return")) => colon,
        "EXE" | "QUE" | "CND" | "RET" | "TNK" | "INT" | "LOP" | "ELS" | "BGN" | "EVT" => colon + opcode,
        _ => 0,
    }
}
