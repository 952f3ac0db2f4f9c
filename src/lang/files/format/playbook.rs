//! Playbooks: headings, signatures, metadata, sections.

use std::ops::Range;

use crate::analysis::diff::same::same_but_for_places;
use crate::files::format::items::{numbers, write_items};
use crate::files::format::proof::{Untouched, proved};
use crate::files::format::writer::{Gap, Writer, has_carriage_returns, prose, with_line_breaks};
use crate::lower::heading::tidy_title;
use crate::lower::lower_alone;
use crate::program::Mode;
use crate::source::ast::{Body, FileTree, HeadingTree, ItemTree, Metadata, PlaybookTree, Section, SectionKind};
use crate::source::parse::parse;
use crate::source::{line_length, line_start};
use crate::span::FileId;

/// What a heading begins.
enum Part<'t> {
    /// An agent or a playbook.
    Body(&'t Body),
    /// Lines or triggers.
    Items(&'t Section),
    /// Text.
    Prose,
}

/// A heading and what it begins.
struct Start<'t> {
    heading: HeadingTree,
    /// How it is written; none: it is text, too.
    line: Option<String>,
    part: Part<'t>,
}

/// Formats one file of a program. It is read by itself: what it imports makes no difference.
///
/// # Errors
/// Why the text is left as it is.
pub fn format_playbook(text: &str) -> Result<String, Untouched> {
    proved(text, |text| Ok(write(text)), same)
}

fn same(old: &str, new: &str) -> Result<(), Untouched> {
    let ((program, imports), (other, other_imports)) = (lower_alone(old), lower_alone(new));
    same_but_for_places(&program, &other).map_err(|place| Untouched::differs(old, place.start as usize))?;
    if imports == other_imports { Ok(()) } else { Err(Untouched::differs(old, 0)) }
}

fn write(text: &str) -> String {
    let unified = text.replace("\r\n", "\n");
    let tree = parse(FileId(0), &unified);
    let modes: Vec<Mode> = lower_alone(&unified).0.playbooks.iter().map(|playbook| playbook.mode).collect();
    let written = Layout { text: &unified, tree: &tree, modes }.write();
    with_line_breaks(written, has_carriage_returns(text))
}

struct Layout<'t> {
    text: &'t str,
    tree: &'t FileTree,
    /// Of the playbooks, in the order of the file.
    modes: Vec<Mode>,
}

impl<'t> Layout<'t> {
    fn write(&self) -> String {
        let text = self.text;
        let bom = text.len() - text.trim_start_matches('\u{feff}').len();
        let head = self.head(bom);
        let mut writer = Writer::new(text, bom, self.numbers());
        let starts = self.starts();
        let end_of = |index: usize| starts.get(index).map_or(text.len(), |start| self.line(start.heading).start);
        if bom < head {
            writer.put(bom..head, &text[bom..head], Gap::Kept);
        } else if prose(text, head..end_of(0)).is_none() && !writer.is_off(&(head..end_of(0))) {
            writer.skip_to(end_of(0));
        }
        writer.put_prose(head..end_of(0));
        for (index, start) in starts.iter().enumerate() {
            let line = self.line(start.heading);
            let content = line.end..end_of(index + 1);
            let Some(heading) = &start.line else {
                writer.put_prose(line.start..content.end);
                continue;
            };
            writer.put(line, heading, Gap::Blank);
            match start.part {
                Part::Body(body) => self.write_body(&mut writer, body, content),
                Part::Items(section) => write_items(&mut writer, section),
                Part::Prose => writer.put_prose(content),
            }
        }
        writer.finish()
    }

    /// Where the front matter ends, or the line for the shell.
    fn head(&self, from: usize) -> usize {
        let is_script = self.text[from..].starts_with("#!");
        let first = if is_script { from + line_length(&self.text[from..]) } else { from };
        let end = self.tree.front_matter.map_or(first, |content| {
            let close = content.end as usize;
            close + line_length(&self.text[close..])
        });
        from + self.text[from..end].trim_end().len()
    }

    /// The line of a heading, without its line break.
    fn line(&self, heading: HeadingTree) -> Range<usize> {
        let marks = heading.marks.start as usize;
        let start = line_start(self.text, marks)
            .max(self.text[..marks].rfind('\u{feff}').map_or(0, |at| at + '\u{feff}'.len_utf8()));
        start..marks + self.text[marks..].find('\n').unwrap_or(self.text.len() - marks)
    }

    fn playbooks(&self) -> impl Iterator<Item = (&'t PlaybookTree, Mode)> {
        let agents = std::iter::once(&self.tree.preamble).chain(&self.tree.agents);
        let modes = self.modes.iter().copied().chain(std::iter::repeat(Mode::Goal));
        agents.flat_map(|agent| &agent.playbooks).zip(modes)
    }

    /// All headings that give structure, in order.
    fn starts(&self) -> Vec<Start<'t>> {
        let title = |heading: HeadingTree| &self.text[heading.title.range()];
        let mut starts = Vec::new();
        for agent in &self.tree.agents {
            starts.extend(agent.heading.map(|heading| Start {
                heading,
                line: Some(format!("# {}", title(heading)).trim_end().to_owned()),
                part: Part::Body(&agent.body),
            }));
        }
        for (playbook, mode) in self.playbooks() {
            let heading = playbook.heading;
            let tidy = tidy_title(title(heading)).unwrap_or_else(|| title(heading).to_owned());
            let line = Some(format!("## {tidy}").trim_end().to_owned());
            starts.push(Start { heading, line, part: Part::Body(&playbook.body) });
            starts.extend(playbook.sections.iter().map(|section| section_start(section, mode)));
            let unknown = playbook.body.unknown_headings.iter();
            starts.extend(unknown.map(|&heading| Start { heading, line: None, part: Part::Prose }));
        }
        starts.sort_by_key(|start| start.heading.marks.start);
        starts
    }

    /// The numbers that the interpreter counts, too: of lists in goal mode.
    fn numbers(&self) -> Vec<(Range<usize>, String)> {
        let goals = self.playbooks().filter(|(_, mode)| *mode == Mode::Goal);
        let lists = goals.flat_map(|(playbook, _)| {
            let steps = playbook.sections.iter().filter(|section| section.kind == SectionKind::Steps);
            let sections = steps.map(|section| section.items.as_slice());
            std::iter::once(playbook.body.items.as_slice()).chain(sections)
        });
        let mut numbers: Vec<_> = lists.flat_map(|items: &[ItemTree]| numbers(self.text, items.iter())).collect();
        numbers.sort_by_key(|(place, _)| place.start);
        numbers
    }

    /// Metadata first, its lines together, then the text.
    fn write_body(&self, writer: &mut Writer<'_>, body: &Body, content: Range<usize>) {
        let text = self.text;
        let lines = |metadata: &&Metadata| content.contains(&(metadata.key.start as usize));
        let mut metadata: Vec<&Metadata> = body.metadata.iter().filter(lines).collect();
        metadata.sort_by_key(|line| line.key.start);
        // Between `metadata:` and a rule every line is for itself.
        if writer.is_off(&content) || text[content.clone()].lines().any(|line| line.trim_end() == "metadata:") {
            return writer.put_prose(content);
        }
        let place = |line: &Metadata| {
            let end = if line.value.start < line.value.end { line.value.end } else { line.key.end + 1 };
            line.key.start as usize..end as usize
        };
        let (mut at, mut n_first) = (content.start, 0);
        for line in &metadata {
            let range = place(line);
            let between = text.get(at..range.start).unwrap_or("");
            let is_next = between.trim().is_empty() && between.ends_with('\n');
            if !is_next {
                break;
            }
            writer.put(range.clone(), &text[range.clone()], if n_first == 0 { Gap::Blank } else { Gap::Line });
            at = range.end;
            n_first += 1;
        }
        // A rule below metadata ends it and is nothing else; above it, it is text.
        let is_rule = text[at..content.end].trim_start().starts_with("---");
        let late = if is_rule && n_first == 0 { &[] } else { &metadata[n_first..] };
        for (index, line) in late.iter().enumerate() {
            let gap = if index + n_first == 0 { Gap::Blank } else { Gap::Line };
            writer.put_moved(&text[place(line)], gap);
        }
        for line in late {
            let range = place(line);
            writer.put_prose(at..range.start);
            at = range.end;
            writer.skip_to(at);
        }
        writer.put_prose(at..content.end);
    }
}

fn section_start(section: &Section, mode: Mode) -> Start<'_> {
    let line = match section.kind {
        SectionKind::Triggers => "### Triggers",
        SectionKind::Steps => "### Steps",
        SectionKind::Notes => "### Notes",
    };
    let part = match section.kind {
        SectionKind::Triggers => Part::Items(section),
        SectionKind::Steps if mode == Mode::Steps => Part::Items(section),
        SectionKind::Steps | SectionKind::Notes => Part::Prose,
    };
    Start { heading: section.heading, line: Some(line.to_owned()), part }
}
