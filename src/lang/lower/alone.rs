//! What the lines of a playbook say about names by themselves: what checks of a whole program ask of each playbook, so that
//! it is found out once for as long as its text is the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::english::phrase::mentioned_names;
use crate::expr::{Expr, ExprKind};
use crate::lower::names::{Liveness, NAMES_AT_ONCE};
use crate::program::{Argument, CALL, EVENT, Loop, Mode, Playbook, Returned, Step, StepId, StepKind, USER_MESSAGE};
use crate::span::Span;

/// What a playbook says alone. Names are without `$`, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alone {
    /// Those that a line may set, and its parameters: a model that is asked to do a line can set whatever it mentions.
    pub(crate) may_write: BTreeSet<Arc<str>>,
    /// Those that a line is certain to set, and its parameters.
    pub(crate) sets: BTreeSet<Arc<str>>,
    /// Those that its lines mention, and in how many lines.
    pub(crate) n_lines: BTreeMap<Arc<str>, usize>,
    /// Those that it is certain to write into its own frame, each with the first place where it does. Names that are bound
    /// anew each time are not meant: parameters and loop variables.
    pub(crate) binds: Vec<(Arc<str>, Span)>,
    /// Those that a line needs while nothing in the playbook has given them a value before, each with the first place.
    pub(crate) needs: Vec<(Arc<str>, Span)>,
    /// Of each line with a call the names of its own frame that are read after it before they are set.
    pub(crate) read_behind: Vec<(StepId, Vec<Arc<str>>)>,
    /// Lines that nothing leads to.
    pub(crate) found: Vec<Diagnostic>,
}

impl Alone {
    /// Of a playbook whose names are sorted.
    pub(crate) fn of(playbook: &Playbook) -> Alone {
        let mut alone = Alone::default();
        let parameters = || playbook.parameters.iter().map(|parameter| parameter.name.clone());
        alone.may_write.extend(parameters());
        alone.sets.extend(parameters());
        for step in &playbook.steps {
            alone.may_write.extend(may_write(step).cloned());
            alone.sets.extend(step.kind.targets().iter().map(|target| target.name.clone()));
            let named: BTreeSet<&Arc<str>> = step.reads.iter().chain(&step.writes).collect();
            named.into_iter().for_each(|name| *alone.n_lines.entry(name.clone()).or_default() += 1);
        }
        alone.binds = binds(playbook);
        alone.needs = needs(playbook);
        alone.read_behind = read_behind(playbook);
        alone.found = unreachable_lines(playbook);
        alone
    }
}

fn binds(playbook: &Playbook) -> Vec<(Arc<str>, Span)> {
    if playbook.mode == Mode::Goal {
        return Vec::new();
    }
    let loops = playbook.steps.iter().filter(|step| matches!(step.kind, StepKind::Loop(_)));
    let mut seen: BTreeSet<&str> = loops.flat_map(|step| step.kind.targets()).map(|target| &*target.name).collect();
    seen.extend(playbook.parameters.iter().map(|parameter| &*parameter.name));
    let targets = playbook.steps.iter().flat_map(|step| step.kind.targets());
    let own = targets.filter(|target| playbook.own.contains(&target.name) && seen.insert(&target.name));
    own.map(|target| (target.name.clone(), target.span)).collect()
}

fn needs(playbook: &Playbook) -> Vec<(Arc<str>, Span)> {
    let mut written: HashMap<&str, Vec<&Step>> = HashMap::new();
    for step in &playbook.steps {
        may_write(step).for_each(|name| written.entry(name).or_default().push(step));
    }
    let described = mentioned_names(&playbook.description);
    let (mut needs, mut seen) = (Vec::new(), BTreeSet::new());
    for step in &playbook.steps {
        let before = |line: &&Step| line.id < step.id || in_until(playbook, step, line);
        for (name, span) in needed_names(step) {
            // The first place where a name is needed decides.
            let is_first = seen.insert(name.clone());
            let is_known = playbook.own.contains(&name)
                || is_given(&name)
                || described.contains(&name)
                || written.get(&*name).is_some_and(|lines| lines.iter().any(before));
            if is_first && !is_known {
                needs.push((name, span));
            }
        }
    }
    needs
}

fn read_behind(playbook: &Playbook) -> Vec<(StepId, Vec<Arc<str>>)> {
    let calls = playbook.steps.iter().filter(|step| step.call().is_some());
    let mut behind: Vec<(StepId, Vec<Arc<str>>)> = calls.map(|step| (step.id, Vec::new())).collect();
    if behind.is_empty() || playbook.mode == Mode::Goal {
        return behind;
    }
    let own: Vec<&Arc<str>> = playbook.own.iter().collect();
    for names in own.chunks(NAMES_AT_ONCE) {
        let liveness = Liveness::new(&playbook.steps, &playbook.flow, names.iter().map(|name| (*name).clone()));
        for (line, live) in &mut behind {
            let is_live = |name: &&&Arc<str>| liveness.is_live_behind(&playbook.flow, *line, name);
            live.extend(names.iter().filter(is_live).map(|name| (*name).clone()));
        }
    }
    behind
}

/// The first line of each run of lines that nothing leads to.
fn unreachable_lines(playbook: &Playbook) -> Vec<Diagnostic> {
    if playbook.mode == Mode::Goal {
        return Vec::new();
    }
    let reached = playbook.flow.reachable();
    let is_reached = |step: &Step| reached[step.id.0 as usize];
    let mut found = Vec::new();
    for step in playbook.steps.iter().filter(|step| !is_reached(step)) {
        let parent = step.parent.map(|parent| playbook.step(parent));
        if parent.is_some_and(|parent| !is_reached(parent)) {
            continue;
        }
        let before = playbook.steps[..step.id.0 as usize].iter().rev().find(|other| other.parent == step.parent);
        if before.is_some_and(|before| !is_reached(before)) {
            continue;
        }
        let mut warning = Diagnostic::warning("unreachable-line", step.span, "this line can't be reached");
        if let Some(before) = before {
            warning = warning.with_place(before.span, "nothing continues after this line");
        }
        found.push(warning);
    }
    found
}

/// Names that exist without being set by a line.
fn is_given(name: &str) -> bool {
    matches!(name, USER_MESSAGE | CALL | EVENT) || name.starts_with('_')
}

/// The names that a line may set: a model that is asked to do a line can set whatever the line mentions.
fn may_write(step: &Step) -> impl Iterator<Item = &Arc<str>> {
    step.writes.iter().chain(step.reads.iter().filter(|_| !step.explicit))
}

/// Whether `line` stands in the body of the `until` loop whose header is `header`: the body runs first.
fn in_until(playbook: &Playbook, header: &Step, line: &Step) -> bool {
    matches!(header.kind, StepKind::Loop(Loop::Until { .. })) && playbook.is_nested(line.id, header.id)
}

/// The names without whose values the line can't be done, each with a place.
fn needed_names(step: &Step) -> Vec<(Arc<str>, Span)> {
    let mut needed = Vec::new();
    let mut add = |expr: &Expr| add_references(expr, &mut needed);
    match &step.kind {
        StepKind::Branch { condition: expr, .. }
        | StepKind::Loop(Loop::ForEach { list: expr, .. } | Loop::Repeat { count: expr })
        | StepKind::Loop(Loop::While { condition: expr } | Loop::Until { condition: expr, .. })
        | StepKind::Assign { value: expr, .. } => expr.iter().for_each(add),
        StepKind::Return(Returned::Value(value)) => add(value),
        StepKind::Return(Returned::Call(call)) | StepKind::Call(call) => {
            call.arguments.iter().flatten().for_each(|argument: &Argument| add(&argument.value));
        }
        StepKind::Say { literal: Some(text) } => {
            needed.extend(mentioned_names(text).into_iter().map(|name| (name, step.span)));
        }
        StepKind::Return(Returned::Nothing | Returned::Words)
        | StepKind::End
        | StepKind::Break
        | StepKind::Continue
        | StepKind::Ask { .. }
        | StepKind::Say { literal: None }
        | StepKind::Free
        | StepKind::Gone(_) => {}
    }
    needed
}

/// A name whose presence is asked for may be missing.
fn add_references(expr: &Expr, needed: &mut Vec<(Arc<str>, Span)>) {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Test { .. } => {}
        ExprKind::Reference(reference) => needed.push((reference.name.clone(), expr.span)),
        ExprKind::List(items) | ExprKind::Text(items) => items.iter().for_each(|item| add_references(item, needed)),
        ExprKind::Map(members) => members.iter().for_each(|(_, value)| add_references(value, needed)),
        ExprKind::Unary(_, operand) | ExprKind::Length(operand) => add_references(operand, needed),
        ExprKind::Binary(_, left, right) | ExprKind::Range(left, right) => {
            add_references(left, needed);
            add_references(right, needed);
        }
    }
}
