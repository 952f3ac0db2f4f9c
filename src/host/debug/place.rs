//! Lines of files, and the places in a program where it can stop.

use std::ops::RangeInclusive;
use std::sync::Arc;

use playhouse_lang::plan::{NodeId, Plan, PlanId};
use playhouse_lang::program::{Mode, Program};
use playhouse_lang::span::{FileId, Sources, Span};
use playhouse_vm::protocol::Location;
use playhouse_vm::protocol::view::plan;

/// A piece of a file; lines and columns from 1, columns in UTF-16 code units, as editors count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRange {
    /// The file.
    pub file: FileId,
    /// The first line.
    pub line: usize,
    /// Where in it.
    pub column: usize,
    /// The last line.
    pub end_line: usize,
    /// After the last character.
    pub end_column: usize,
}

/// A place where a program can stop, and the lines it takes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopPlace {
    /// The place.
    pub location: Location,
    /// Its text.
    pub range: TextRange,
}

/// Every place of a program where it can stop, in the order of the texts.
#[derive(Clone, Debug, Default)]
pub struct Places {
    places: Vec<StopPlace>,
    /// Where playbooks and plans begin and end: a breakpoint is moved inside of one first.
    stretches: Vec<TextRange>,
}

impl Places {
    /// The places of a program: its playbooks' lines, the headings of playbooks without lines, the nodes of plans.
    pub fn of(program: &Program) -> Places {
        let mut places = Places::default();
        let sources = &program.sources;
        for playbook in program.playbooks.iter().filter(|playbook| !playbook.implicit || !playbook.steps.is_empty()) {
            places.stretches.extend(range(sources, playbook.span));
            if playbook.mode == Mode::Goal || playbook.steps.is_empty() {
                places.put(sources, Location::Line { playbook: playbook.id, step: None }, playbook.title_span);
            }
            for step in &playbook.steps {
                places.put(sources, Location::Line { playbook: playbook.id, step: Some(step.id) }, step.span);
            }
        }
        for (index, plan) in (0..).zip(&program.plans) {
            places.stretches.extend(range(sources, plan.span));
            for (node, plan_node) in (0..).zip(&plan.nodes) {
                places.put(sources, Location::Plan { plan: PlanId(index), node: Some(NodeId(node)) }, plan_node.span);
            }
        }
        // Of places on one line the one that begins first; where two begin together, the one around.
        places.places.sort_by_key(|place| (place.range.file.0, place.range.line, place.range.column));
        places
    }

    fn put(&mut self, sources: &Sources, location: Location, span: Span) {
        if let Some(range) = range(sources, span) {
            self.places.push(StopPlace { location, range });
        }
    }

    /// The place that a breakpoint on `line` (from 1) of a file means: the one that stands there, else the next one
    /// below in the same playbook or plan, else the last one above in it, else the next one in the file, else the last.
    pub fn nearest(&self, file: FileId, line: usize) -> Option<StopPlace> {
        let of_file = || self.places.iter().filter(move |place| place.range.file == file);
        if let Some(place) = of_file().find(|place| place.range.line == line) {
            return Some(*place);
        }
        // Inside a line of several lines; the innermost begins last.
        if let Some(place) = of_file().rfind(|place| place.range.line < line && line <= place.range.end_line) {
            return Some(*place);
        }
        let around = self.stretches.iter().filter(|stretch| stretch.file == file);
        let around = around.filter(|stretch| stretch.line <= line && line <= stretch.end_line).min_by_key(|stretch| {
            // The smallest one around it.
            stretch.end_line - stretch.line
        });
        let in_stretch = |place: &&StopPlace| {
            around.is_some_and(|around| (around.line..=around.end_line).contains(&place.range.line))
        };
        let below = |place: &&StopPlace| place.range.line > line;
        let found = of_file().filter(in_stretch).find(below);
        let found = found.or_else(|| of_file().rfind(in_stretch));
        found.or_else(|| of_file().find(below)).or_else(|| of_file().next_back()).copied()
    }

    /// The places that begin on these lines of a file.
    pub fn on_lines(&self, file: FileId, lines: RangeInclusive<usize>) -> impl Iterator<Item = &StopPlace> {
        self.places.iter().filter(move |place| place.range.file == file && lines.contains(&place.range.line))
    }
}

/// The text of a place; `written` are the plans that a model wrote while the session ran, which are in no file. The
/// heading, where no line is named. None: the place has no text in a file.
pub fn text_range(program: &Program, written: &[Arc<Plan>], location: Location) -> Option<TextRange> {
    match location {
        Location::Line { playbook, step } => {
            let playbook = program.playbooks.get(playbook.0 as usize)?;
            let step = step.and_then(|step| playbook.steps.get(step.0 as usize));
            range(&program.sources, step.map_or(playbook.title_span, |step| step.span))
        }
        Location::Plan { plan: id, node } => {
            let plan = plan(program, written, id)?;
            // What a model wrote is in none of the program's files.
            if id.0 as usize >= program.plans.len() {
                return None;
            }
            let node = node.and_then(|node| plan.nodes.get(node.0 as usize));
            range(&program.sources, node.map_or(plan.span, |node| node.span))
        }
    }
}

/// Where a span is; none: in no file of these.
pub fn range(sources: &Sources, span: Span) -> Option<TextRange> {
    let file = sources.get(span.file)?;
    let position = |offset: u32| {
        let offset = offset as usize;
        let (line, _) = file.lines.line_column(offset);
        let before = file.lines.line_start(line).and_then(|start| file.text.get(start..offset)).unwrap_or_default();
        (line, before.encode_utf16().count() + 1)
    };
    let ((line, column), (end_line, end_column)) = (position(span.start), position(span.end));
    Some(TextRange { file: span.file, line, column, end_line, end_column })
}
