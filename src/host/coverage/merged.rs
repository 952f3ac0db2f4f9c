//! The counts of many runs, put together by the places in files.

use std::sync::Arc;

use indexmap::IndexMap;
use playhouse_lang::plan::Plan;
use playhouse_lang::program::{AgentKind, Mode, Playbook, Program};
use playhouse_lang::span::Span;
use serde::Serialize;

use crate::library;
use crate::text::{cut, one_line};

use super::reached::{Reached, ReachedPlaybook, Ways};
use super::way::Way;

/// So many characters of a line are told.
const WORDS: usize = 100;

/// What was reached of all programs that were added.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// By file and the byte at which it begins there; in the order in which they came.
    parts: IndexMap<(Arc<str>, u32), Part>,
    /// The texts of their files.
    files: IndexMap<Arc<str>, Arc<str>>,
}

/// A playbook or plan, as far as it was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name, with its agent before it where several have that name.
    pub name: String,
    /// What it is.
    pub kind: PartKind,
    /// Its file.
    pub file: Arc<str>,
    /// The line of its heading there, from 1.
    pub at: usize,
    /// How often it was entered.
    pub n: u64,
    /// Its lines; of one that pursues a goal none, for nobody says which of them are done.
    pub lines: Vec<Line>,
    /// Its triggers.
    pub triggers: Vec<Line>,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum PartKind {
    /// A playbook.
    Playbook,
    /// A plan.
    Plan,
}

/// A line, a node of a plan, or a trigger.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// `02.01`, `T1`.
    pub label: Arc<str>,
    /// What is written there, on one line; of much the beginning.
    pub words: String,
    /// Where, as a line of the file, from 1.
    pub at: usize,
    /// How often it was reached; of a trigger: fired.
    pub n: u64,
    /// What can come of it, and how often that did.
    pub ways: Vec<(Way, u64)>,
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Were reached.
    pub reached: usize,
    /// There are.
    pub all: usize,
}

/// All kinds of things that are counted. As JSON a public interface: fields are added, never changed or removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Totals {
    pub parts: Tried,
    pub lines: Tried,
    /// Of branches and loops.
    pub ways: Tried,
    pub triggers: Tried,
    pub calls: Tried,
}

impl Tried {
    fn of(counts: impl Iterator<Item = u64>) -> Tried {
        counts.fold(Tried::default(), |tried, n| tried.and(Tried { reached: usize::from(n > 0), all: 1 }))
    }

    fn and(self, other: Tried) -> Tried {
        Tried { reached: self.reached + other.reached, all: self.all + other.all }
    }

    /// From 0 to 100; of nothing all is reached.
    pub fn percent(self) -> f64 {
        if self.all == 0 { 100.0 } else { 100.0 * self.reached as f64 / self.all as f64 }
    }
}

impl Totals {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Totals) -> Totals {
        Totals {
            parts: self.parts.and(other.parts),
            lines: self.lines.and(other.lines),
            ways: self.ways.and(other.ways),
            triggers: self.triggers.and(other.triggers),
            calls: self.calls.and(other.calls),
        }
    }
}

impl Coverage {
    /// Adds what was reached of a program. Its playbooks from the library are the library's business.
    pub fn add(&mut self, program: &Program, reached: &Reached) {
        for (playbook, counts) in program.playbooks.iter().zip(&reached.playbooks) {
            if program.agent(playbook.agent).kind != AgentKind::Playbooks || playbook.implicit {
                continue;
            }
            let new = || part_of(program, playbook, counts);
            let Some(part) = self.part(program, playbook.span, new) else { continue };
            part.n += counts.n_entered;
            for (line, counts) in part.lines.iter_mut().zip(&counts.lines) {
                line.n += counts.n;
                add_ways(&mut line.ways, &counts.ways);
            }
            for (trigger, counts) in part.triggers.iter_mut().zip(&counts.triggers) {
                trigger.n += counts.iter().find(|(way, _)| *way == Way::Fired).map_or(0, |(_, n)| *n);
                add_ways(&mut trigger.ways, counts);
            }
        }
        for (plan, counts) in program.plans.iter().zip(&reached.plans) {
            let Some(part) = self.part(program, plan.span, || part_of_plan(program, plan)) else { continue };
            part.n += counts.n_entered;
            part.lines.iter_mut().zip(&counts.nodes).for_each(|(line, n)| line.n += n);
        }
    }

    /// The parts, file by file as these came, each file from top to bottom.
    pub fn parts(&self) -> Vec<&Part> {
        let mut parts: Vec<&Part> = self.parts.values().collect();
        parts.sort_by_key(|part| (self.files.get_index_of(&part.file), part.at));
        parts
    }

    /// The files with their texts, and the parts in each.
    pub fn files(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, Vec<&Part>)> {
        let parts = self.parts();
        self.files.iter().map(move |(name, text)| {
            let own = parts.iter().filter(|part| part.file == *name);
            (name, text, own.copied().collect())
        })
    }

    /// The same part there.
    pub fn find(&self, part: &Part) -> Option<&Part> {
        self.parts.values().find(|other| other.file == part.file && other.at == part.at)
    }

    /// Of all parts.
    pub fn totals(&self) -> Totals {
        self.parts.values().fold(Totals::default(), |all, part| all.and(part.totals()))
    }

    fn part(&mut self, program: &Program, span: Span, new: impl FnOnce() -> Part) -> Option<&mut Part> {
        let file = program.sources.get(span.file)?;
        if library::is_library(&file.name) {
            return None;
        }
        self.files.entry(file.name.clone()).or_insert_with(|| file.text.clone());
        Some(self.parts.entry((file.name.clone(), span.start)).or_insert_with(new))
    }
}

impl Part {
    /// What of it was reached.
    pub fn totals(&self) -> Totals {
        let ways = |lines: &[Line], wanted: fn(Way) -> bool| {
            let all = lines.iter().flat_map(|line| &line.ways).filter(|(way, _)| wanted(*way));
            Tried::of(all.map(|(_, n)| *n))
        };
        Totals {
            parts: Tried::of([self.n].into_iter()),
            lines: Tried::of(self.lines.iter().map(|line| line.n)),
            ways: ways(&self.lines, |way| !way.is_of_call()),
            triggers: ways(&self.triggers, |_| true),
            calls: ways(&self.lines, Way::is_of_call),
        }
    }
}

fn add_ways(to: &mut Ways, from: &Ways) {
    to.iter_mut().zip(from).for_each(|((_, n), (_, more))| *n += more);
}

/// A playbook of which nothing was reached yet; `counts` tell what there is to reach.
fn part_of(program: &Program, playbook: &Playbook, counts: &ReachedPlaybook) -> Part {
    let none = |ways: &Ways| ways.iter().map(|(way, _)| (*way, 0)).collect();
    let lines = playbook.steps.iter().zip(&counts.lines).filter(|_| playbook.mode == Mode::Steps);
    let triggers = playbook.triggers.iter().zip(&counts.triggers);
    Part {
        name: program.unique_name(playbook.id),
        kind: PartKind::Playbook,
        file: file_of(program, playbook.span),
        at: line_of(program, playbook.title_span),
        n: 0,
        lines: lines
            .map(|(step, counts)| line(program, step.label.clone(), &step.text, step.span, none(&counts.ways)))
            .collect(),
        triggers: triggers
            .map(|(trigger, ways)| {
                line(program, format!("T{}", trigger.id.index + 1).into(), &trigger.text, trigger.span, none(ways))
            })
            .collect(),
    }
}

fn part_of_plan(program: &Program, plan: &Plan) -> Part {
    let nodes = plan.nodes.iter();
    let node = |label: &Arc<str>, span| line(program, label.clone(), program.sources.text(span), span, Vec::new());
    Part {
        name: plan.name.to_string(),
        kind: PartKind::Plan,
        file: file_of(program, plan.span),
        at: line_of(program, plan.span),
        n: 0,
        lines: nodes.map(|found| node(&found.label, found.span)).collect(),
        triggers: Vec::new(),
    }
}

fn line(program: &Program, label: Arc<str>, text: &str, span: Span, ways: Ways) -> Line {
    let words = cut(&one_line(text), WORDS);
    Line { label, words, at: line_of(program, span), n: 0, ways }
}

fn file_of(program: &Program, span: Span) -> Arc<str> {
    program.sources.get(span.file).map_or_else(|| "".into(), |file| file.name.clone())
}

fn line_of(program: &Program, span: Span) -> usize {
    program.sources.get(span.file).map_or(1, |file| file.lines.line_column(span.start as usize).0)
}
