//! Whose work an effect is: a line is done when what it wants has happened (spec `turn-protocol.md`, "The pointer").
//!
//! An effect belongs to the line that the pointer is at, if that line wants it; else to the next line on each way from
//! there that does: a model may set at one line what a later line asks for. Of lines on different ways the one that is
//! come to first keeps it.

use std::sync::Arc;

use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Body, Step, StepId, StepKind};

use crate::calls::call::Called;

/// What the lines of a frame have done since it began, or since its pointer last moved back.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineWork {
    /// The pointer has moved back, or a loop has begun another round.
    is_afresh: bool,
    n_calls: u32,
    done: Vec<(StepId, Effect)>,
    /// The names of all calls, for lines in words that name one.
    called: Vec<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Effect {
    /// The frame itself has set a variable: what another frame sets is not the work of its lines.
    Set(Arc<str>),
    /// The call with this number has been queued.
    Call(u32),
}

impl LineWork {
    /// A variable was set at the line `at`. `is_here`: the pointer is there, so that a later line may have wanted it.
    pub(crate) fn note_set(&mut self, body: &Body, at: StepId, name: &Arc<str>, is_here: bool) {
        let wants = |line: &Step| line.writes.contains(name);
        if wants(body.step(at)) {
            self.note(at, Effect::Set(name.clone()));
        } else if is_here {
            next_lines(body, at, wants).into_iter().for_each(|line| self.note(line, Effect::Set(name.clone())));
        }
    }

    fn note(&mut self, line: StepId, effect: Effect) {
        let done = (line, effect);
        if !self.done.contains(&done) {
            self.done.push(done);
        }
    }

    /// A call was queued at the line `at`. What is called on a free line is what that line wants.
    pub(crate) fn note_call(&mut self, body: &Body, at: StepId, called: &Called) {
        self.n_calls += 1;
        self.called.push(called.name.clone());
        let is_open = |line: &Step| {
            let is_it = matches!(&line.kind, StepKind::Call(site) if called.is_of(site));
            is_it && !self.has_called(line.id)
        };
        let line = body.step(at);
        let lines = if is_open(line) {
            vec![at]
        } else if line.is_free() {
            Vec::new()
        } else {
            next_lines(body, at, |line| is_open(line) || line.is_free())
        };
        let lines = lines.into_iter().filter(|line| !body.step(*line).is_free());
        self.done.extend(lines.map(|line| (line, Effect::Call(self.n_calls))));
    }

    /// The pointer leaves a line: what that has done is not the work of any other. Nobody asks for its own work any
    /// more, for going back begins afresh.
    pub(crate) fn leave(&mut self, line: StepId) {
        while let Some(own) = self.done.iter().position(|(done, _)| *done == line) {
            let (_, effect) = self.done.swap_remove(own);
            self.done.retain(|(_, other)| *other != effect);
        }
    }

    /// Whether what a line wants has happened. A line that wants nothing but words is always done.
    pub(crate) fn is_done(&self, line: &Step) -> bool {
        let has_set = |name: &Arc<str>| {
            self.done.iter().any(|(done, effect)| *done == line.id && matches!(effect, Effect::Set(set) if set == name))
        };
        let is_done = match &line.kind {
            StepKind::Ask { targets } => targets.iter().all(|target| has_set(&target.name)),
            StepKind::Assign { target, .. } => has_set(&target.name),
            StepKind::Call(_) => self.has_called(line.id),
            StepKind::Return(_) => false,
            StepKind::Branch { .. }
            | StepKind::Loop(_)
            | StepKind::End
            | StepKind::Break
            | StepKind::Continue
            | StepKind::Say { .. }
            | StepKind::Free
            | StepKind::Gone(_) => true,
        };
        is_done && (matches!(line.kind, StepKind::Call(_)) || line.due_call.as_ref().is_none_or(|due| self.names(due)))
    }

    /// Whether a callable was called that is written so, with the name of its agent or without.
    fn names(&self, due: &str) -> bool {
        let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
        self.called.iter().any(|name| **name == *due || last(name) == last(due))
    }

    fn has_called(&self, line: StepId) -> bool {
        self.done.iter().any(|(done, effect)| *done == line && matches!(effect, Effect::Call(_)))
    }

    /// Whether a variable that was known before the frame began counts for a line that asks for it.
    pub(crate) fn is_first_pass(&self) -> bool {
        !self.is_afresh
    }

    /// The pointer moves back: what was done before does not count any more.
    pub(crate) fn start_afresh(&mut self) {
        self.is_afresh = true;
        self.done.clear();
        self.called.clear();
    }

    /// What has been set is taken back to what it was; calls stay made.
    pub(crate) fn take_back_sets(&mut self, before: &LineWork) {
        let is_set = |done: &&(StepId, Effect)| matches!(done.1, Effect::Set(_));
        self.done.retain(|done| !is_set(&done));
        self.done.extend(before.done.iter().filter(is_set).cloned());
    }

    /// The same work of the lines of another text.
    pub(crate) fn map_lines(&mut self, same: impl Fn(StepId) -> Option<StepId>) {
        let done = std::mem::take(&mut self.done);
        self.done = done.into_iter().filter_map(|(line, effect)| Some((same(line)?, effect))).collect();
    }
}

/// The first lines after `from`, on each way, for which `is_it` holds.
fn next_lines(body: &Body, from: StepId, is_it: impl Fn(&Step) -> bool) -> Vec<StepId> {
    let mut found = Vec::new();
    let mut seen = vec![false; body.steps.len()];
    let mut pending = vec![from];
    while let Some(step) = pending.pop() {
        for edge in body.flow.successors(step) {
            let Node::Step(next) = edge.to else { continue };
            if std::mem::replace(&mut seen[next.0 as usize], true) {
                continue;
            }
            if is_it(body.step(next)) {
                found.push(next);
            } else {
                pending.push(next);
            }
        }
    }
    found
}
