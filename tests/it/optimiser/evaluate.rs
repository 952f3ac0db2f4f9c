//! What a generated program means: its tree, evaluated directly, by the rules of the specification for variables
//! and triggers. It knows no pointers, turns or frames that are elided, and shares nothing with the machine.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::optimiser::tree::{Action, Call, Callee, Expr, Line, Number, Program, Style, Trigger, answer, write_speech};

/// What of a run can be observed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Everything said, in order.
    pub(crate) speech: Vec<String>,
    /// Calls of tools with their arguments, in order.
    pub(crate) calls: Vec<String>,
    /// What the program returned.
    pub(crate) result: Number,
    /// The last value given to each name.
    pub(crate) last_values: BTreeMap<String, Number>,
}

/// What a run came to.
pub(crate) struct Evaluated {
    pub(crate) observed: Observed,
    /// For the names whose last values nobody saw: which values before the last may stand instead, and whether
    /// the name may have none at all.
    ///
    /// A tail call `$r = Foo()`, `Return $r` gives `$r` no value: the frame whose line it is has gone when `Foo`
    /// returns, and the value goes where `Return` would have sent it. So such a value may be missing if nothing
    /// but that `Return` has read it.
    pub(crate) droppable: BTreeMap<String, (Vec<Number>, bool)>,
    pub(crate) n_triggers: usize,
    pub(crate) n_rounds: usize,
    pub(crate) n_lines: usize,
    pub(crate) n_asked: usize,
    /// The most frames there were at once.
    pub(crate) depth: usize,
}

/// Why a program is not worth running.
pub(crate) struct Unfit;

type Ran<T> = Result<T, Unfit>;

/// How a block of lines ended.
enum Flow {
    Next,
    Return(Number),
}

struct Variable {
    value: Number,
    /// The assignment that gave the value, by its position in the history; also tells which is the later.
    set: usize,
    bound: bool,
}

struct Frame {
    playbook: usize,
    variables: BTreeMap<String, Variable>,
}

struct Assignment {
    name: String,
    value: Number,
    is_tail: bool,
    was_read: bool,
    /// Bindings of parameters are no assignments that anybody observes.
    is_silent: bool,
}

struct Evaluation<'a> {
    program: &'a Program,
    own: Vec<BTreeSet<&'a str>>,
    frames: Vec<Frame>,
    others: BTreeMap<String, Variable>,
    history: Vec<Assignment>,
    /// Per playbook: whether its trigger's condition was true, and whether the trigger is active.
    truths: Vec<bool>,
    active: Vec<bool>,
    out: Evaluated,
}

const MAX_LINES: usize = 110;
const MAX_VALUE: i64 = 1_000_000;

/// Runs a program; `answers` are what the user says, in order.
pub(crate) fn evaluate(program: &Program, answers: &[i64]) -> Ran<Evaluated> {
    let n = program.playbooks.len();
    let mut evaluation = Evaluation {
        program,
        own: (0..n).map(|index| own_names(program, index)).collect(),
        frames: Vec::new(),
        others: BTreeMap::new(),
        history: Vec::new(),
        truths: vec![false; n],
        active: vec![false; n],
        out: Evaluated {
            observed: Observed::default(),
            droppable: BTreeMap::new(),
            n_triggers: 0,
            n_rounds: 0,
            n_lines: 0,
            n_asked: 0,
            depth: 0,
        },
    };
    for name in &program.declared {
        let set = evaluation.note(name, Some(0), false, true);
        evaluation.others.insert(name.clone(), Variable { value: Some(0), set, bound: false });
    }
    let result = evaluation.call(0, Vec::new(), answers)?;
    evaluation.out.observed.result = result;
    Ok(evaluation.finish())
}

impl<'a> Evaluation<'a> {
    fn note(&mut self, name: &str, value: Number, is_tail: bool, is_silent: bool) -> usize {
        self.history.push(Assignment { name: name.to_owned(), value, is_tail, was_read: false, is_silent });
        self.history.len() - 1
    }

    fn finish(mut self) -> Evaluated {
        for assignment in self.history.iter().filter(|assignment| !assignment.is_silent) {
            self.out.observed.last_values.insert(assignment.name.clone(), assignment.value);
        }
        for name in self.out.observed.last_values.keys() {
            let mut earlier = Vec::new();
            let mut may_be_missing = true;
            for assignment in self.history.iter().rev().filter(|one| !one.is_silent && one.name == *name) {
                earlier.push(assignment.value);
                if !assignment.is_tail || assignment.was_read {
                    may_be_missing = false;
                    break;
                }
            }
            if earlier.len() > 1 || may_be_missing {
                self.out.droppable.insert(name.clone(), (earlier, may_be_missing));
            }
        }
        self.out
    }

    fn call(&mut self, playbook: usize, arguments: Vec<Number>, answers: &[i64]) -> Ran<Number> {
        if self.frames.len() >= 14 {
            return Err(Unfit);
        }
        let mut variables = BTreeMap::new();
        for (name, value) in self.program.playbooks[playbook].parameters.iter().zip(arguments) {
            let set = self.note(name, value, false, true);
            variables.insert(name.clone(), Variable { value, set, bound: true });
        }
        self.frames.push(Frame { playbook, variables });
        self.out.depth = self.out.depth.max(self.frames.len());
        let program = self.program;
        let flow = self.block(&program.playbooks[playbook].lines, answers)?;
        // Parameters and loop variables go with the frame, the rest joins the others.
        let Some(frame) = self.frames.pop() else { return Err(Unfit) };
        for (name, variable) in frame.variables {
            let is_later = self.others.get(&name).is_none_or(|present| present.set < variable.set);
            if !variable.bound && is_later {
                self.others.insert(name, variable);
            }
        }
        Ok(if let Flow::Return(value) = flow { value } else { None })
    }

    fn block(&mut self, lines: &'a [Line], answers: &[i64]) -> Ran<Flow> {
        let mut chain_is_over = false;
        for (index, line) in lines.iter().enumerate() {
            self.out.n_lines += 1;
            if self.out.n_lines > MAX_LINES {
                return Err(Unfit);
            }
            let next = lines.get(index + 1);
            let flow = match &line.action {
                Action::If { condition, then } => {
                    let value = self.read_int(&condition.name)?;
                    chain_is_over = condition.holds(value);
                    match then {
                        _ if !chain_is_over => Flow::Next,
                        Some(then) => self.act(then, None, answers)?,
                        None => self.block(&line.children, answers)?,
                    }
                }
                Action::Otherwise if chain_is_over => Flow::Next,
                Action::Otherwise => self.block(&line.children, answers)?,
                Action::ForEach { .. } | Action::Repeat(_) | Action::While(_) => self.rounds(line, answers)?,
                Action::Set { .. }
                | Action::Say { .. }
                | Action::Ask { .. }
                | Action::Call(_)
                | Action::Return(_)
                | Action::ReturnCall(_) => self.act(&line.action, next, answers)?,
            };
            if let Flow::Return(_) = flow {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn rounds(&mut self, line: &'a Line, answers: &[i64]) -> Ran<Flow> {
        let mut round = 0;
        loop {
            let goes_on = match &line.action {
                Action::ForEach { items, .. } => round < items.len(),
                Action::Repeat(n) => round < *n,
                Action::While(condition) => {
                    let value = self.read_int(&condition.name)?;
                    condition.holds(value)
                }
                Action::Set { .. }
                | Action::Say { .. }
                | Action::Ask { .. }
                | Action::Call(_)
                | Action::Return(_)
                | Action::ReturnCall(_)
                | Action::If { .. }
                | Action::Otherwise => false,
            };
            if !goes_on {
                return Ok(Flow::Next);
            }
            if let Action::ForEach { variable, items } = &line.action {
                self.set(variable, Some(items[round]), false, answers)?;
            }
            round += 1;
            self.out.n_rounds += 1;
            self.out.n_lines += 1;
            if let Flow::Return(value) = self.block(&line.children, answers)? {
                return Ok(Flow::Return(value));
            }
        }
    }

    fn act(&mut self, action: &'a Action, next: Option<&Line>, answers: &[i64]) -> Ran<Flow> {
        match action {
            Action::Set { target, value } => {
                let value = self.compute(value)?;
                self.set(target, Some(value), false, answers)?;
            }
            Action::Say { tag, names } => {
                let mut values = BTreeMap::new();
                for name in names {
                    values.insert(name.as_str(), write_number(self.read(name)?));
                }
                let text = write_speech(tag, names, &|name| values[name].clone());
                self.out.observed.speech.push(text);
            }
            Action::Ask { target } => {
                let answer = *answers.get(self.out.n_asked).ok_or(Unfit)?;
                self.out.n_asked += 1;
                self.out.observed.speech.push(question(target));
                self.set(target, Some(answer), false, answers)?;
            }
            Action::Call(call) => {
                let value = self.perform(call, answers)?;
                if let Some(result) = &call.result {
                    let is_tail = matches!(call.callee, Callee::Playbook(_))
                        && next.is_some_and(|next| returns_just(next, result));
                    self.set(result, value, is_tail, answers)?;
                }
            }
            // The `Return` of a tail call's result does not count as somebody who reads it.
            Action::Return(value) => {
                let read_before = value
                    .names()
                    .first()
                    .and_then(|name| self.find(name))
                    .filter(|&set| self.history[set].is_tail && !self.history[set].was_read);
                let value = self.compute_or_null(value)?;
                if let Some(set) = read_before {
                    self.history[set].was_read = false;
                }
                return Ok(Flow::Return(value));
            }
            Action::ReturnCall(call) => return Ok(Flow::Return(self.perform(call, answers)?)),
            Action::If { .. } | Action::Otherwise | Action::ForEach { .. } | Action::Repeat(_) | Action::While(_) => {
                return Err(Unfit);
            }
        }
        Ok(Flow::Next)
    }

    fn perform(&mut self, call: &Call, answers: &[i64]) -> Ran<Number> {
        let mut arguments = Vec::new();
        for argument in &call.arguments {
            arguments.push(self.compute(argument)?);
        }
        match &call.callee {
            Callee::Tool(name) => {
                self.out.observed.calls.push(write_call(name, &arguments));
                Ok(Some(answer(name, &arguments)))
            }
            Callee::Playbook(index) => self.call(*index, arguments.into_iter().map(Some).collect(), answers),
        }
    }

    fn compute(&mut self, value: &Expr) -> Ran<i64> {
        let computed = value.value(&mut |name| self.read(name).ok()).ok_or(Unfit)?;
        if computed.abs() > MAX_VALUE { Err(Unfit) } else { Ok(computed) }
    }

    /// As `compute`, and a plain name may hold null.
    fn compute_or_null(&mut self, value: &Expr) -> Ran<Number> {
        match value {
            Expr::Just(term) if term.name().is_some() => self.read(term.name().unwrap_or("")),
            Expr::Just(_) | Expr::Sum(..) | Expr::Less(..) | Expr::Remainder(..) => self.compute(value).map(Some),
        }
    }

    fn read_int(&mut self, name: &str) -> Ran<i64> {
        self.read(name)?.ok_or(Unfit)
    }

    /// The frame, then the frames below it, nearest first, then the others.
    fn read(&mut self, name: &str) -> Ran<Number> {
        let set = self.find(name).ok_or(Unfit)?;
        self.history[set].was_read = true;
        Ok(self.history[set].value)
    }

    fn find(&self, name: &str) -> Option<usize> {
        let frames = self.frames.iter().rev().find_map(|frame| frame.variables.get(name));
        frames.or_else(|| self.others.get(name)).map(|variable| variable.set)
    }

    /// An own name in the frame itself, any other where reading finds it, found nowhere: in the frame.
    fn set(&mut self, name: &'a str, value: Number, is_tail: bool, answers: &[i64]) -> Ran<()> {
        let set = self.note(name, value, is_tail, false);
        let top = self.frames.len() - 1;
        let playbook = self.frames[top].playbook;
        let place = if self.own[playbook].contains(name) {
            Some(top)
        } else {
            (0..=top).rev().find(|&at| self.frames[at].variables.contains_key(name))
        };
        let is_loop_variable = loop_variables(&self.program.playbooks[playbook].lines).contains(&name);
        let bound = place == Some(top) && is_loop_variable;
        let variables = match place {
            Some(at) => &mut self.frames[at].variables,
            None if self.others.contains_key(name) => &mut self.others,
            None => &mut self.frames[top].variables,
        };
        let old = variables.get(name).map(|variable| (variable.value, variable.bound));
        let bound = bound || old.is_some_and(|(_, bound)| bound);
        variables.insert(name.to_owned(), Variable { value, set, bound });
        if old.map(|(old, _)| old) != Some(value) {
            self.updated(name, value, old.map(|(old, _)| old), answers)?;
        }
        Ok(())
    }

    /// A name has got another value: its triggers are asked, and those that match run one after the other.
    fn updated(&mut self, name: &str, value: Number, old: Option<Number>, answers: &[i64]) -> Ran<()> {
        let mut matched = Vec::new();
        for (index, playbook) in self.program.playbooks.iter().enumerate() {
            let fires = match &playbook.trigger {
                Some(Trigger::More(watched, bound)) if watched == name => {
                    self.history.last_mut().ok_or(Unfit)?.was_read = true;
                    let before = std::mem::replace(&mut self.truths[index], value.is_some_and(|value| value > *bound));
                    self.truths[index] && !before
                }
                Some(Trigger::Changes(watched)) if watched == name => {
                    self.history.last_mut().ok_or(Unfit)?.was_read = true;
                    old.is_some()
                }
                Some(Trigger::More(..) | Trigger::Changes(_)) | None => false,
            };
            if fires && !self.active[index] {
                matched.push(index);
                self.active[index] = true;
            }
        }
        for index in matched {
            self.out.n_triggers += 1;
            self.call(index, Vec::new(), answers)?;
            self.active[index] = false;
        }
        Ok(())
    }
}

/// How the model asks.
pub(crate) fn question(target: &str) -> String {
    format!("Which {target}?")
}

pub(crate) fn write_number(number: Number) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}

pub(crate) fn write_call(name: &str, arguments: &[i64]) -> String {
    let arguments: Vec<String> = arguments.iter().map(i64::to_string).collect();
    format!("{name}({})", arguments.join(", "))
}

/// Whether a line is `Return $name`, so that the interpreter can read it.
pub(crate) fn returns_just(line: &Line, name: &str) -> bool {
    let Action::Return(Expr::Just(term)) = &line.action else { return false };
    line.style == Style::Exact && term.name() == Some(name)
}

fn loop_variables(lines: &[Line]) -> HashSet<&str> {
    let mut names = HashSet::new();
    for line in lines {
        if let Action::ForEach { variable, .. } = &line.action {
            names.insert(variable.as_str());
        }
        names.extend(loop_variables(&line.children));
    }
    names
}

/// The own names of a playbook: parameters, loop variables, and those that are written before they are read,
/// declared ones never.
fn own_names(program: &Program, index: usize) -> BTreeSet<&str> {
    let playbook = &program.playbooks[index];
    let mut own: BTreeSet<&str> = BTreeSet::new();
    let read_first = read_before(&playbook.lines, BTreeSet::new());
    written(&playbook.lines, &mut own);
    own.retain(|name| !read_first.contains(name) && !watches(playbook.trigger.as_ref(), name));
    own.extend(loop_variables(&playbook.lines));
    own.retain(|name| !program.declared.iter().any(|declared| declared == name));
    own.extend(playbook.parameters.iter().map(String::as_str));
    own
}

fn watches(trigger: Option<&Trigger>, name: &str) -> bool {
    match trigger {
        Some(Trigger::More(watched, _) | Trigger::Changes(watched)) => watched == name,
        None => false,
    }
}

/// The names that lines are certain to write when they are done.
fn written<'a>(lines: &'a [Line], names: &mut BTreeSet<&'a str>) {
    for line in lines {
        names.extend(target(line));
        written(&line.children, names);
    }
}

/// The name that a line is certain to write. Of a line that nobody can read nothing is certain.
fn target(line: &Line) -> Option<&str> {
    match &line.action {
        Action::Ask { target } => Some(target),
        Action::Set { target, .. } if line.style != Style::Words => Some(target),
        Action::Call(call) if line.style != Style::Words => call.result.as_deref(),
        Action::ForEach { variable, .. } => Some(variable),
        Action::Set { .. }
        | Action::Call(_)
        | Action::Say { .. }
        | Action::Return(_)
        | Action::ReturnCall(_)
        | Action::If { .. }
        | Action::Otherwise
        | Action::Repeat(_)
        | Action::While(_) => None,
    }
}

/// The names that an action mentions, other than what it is certain to write.
fn mentions(action: &Action, style: Style) -> Vec<&str> {
    match action {
        Action::Set { target, value } => {
            let also = (style == Style::Words).then_some(target.as_str());
            value.names().into_iter().chain(also).collect()
        }
        Action::Say { names, .. } => names.iter().map(String::as_str).collect(),
        Action::Call(call) | Action::ReturnCall(call) => {
            let also = call.result.as_deref().filter(|_| style == Style::Words);
            call.arguments.iter().flat_map(Expr::names).chain(also).collect()
        }
        Action::Return(value) => value.names(),
        Action::If { condition, then } => {
            let inside = then.iter().flat_map(|then| mentions(then, Style::Exact));
            std::iter::once(condition.name.as_str()).chain(inside).collect()
        }
        Action::While(condition) => vec![&condition.name],
        Action::Ask { .. } | Action::Otherwise | Action::ForEach { .. } | Action::Repeat(_) => Vec::new(),
    }
}

/// The names that may be read from the beginning of `lines` on before they are written, if those of `after` may
/// be read behind them.
fn read_before<'a>(lines: &'a [Line], after: BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let mut live = after;
    // What is read behind the chain of arms in hand, and what is read when the arms above have not been chosen.
    let mut behind_chain = live.clone();
    for (index, line) in lines.iter().enumerate().rev() {
        if !matches!(lines.get(index + 1).map(|next| &next.action), Some(Action::Otherwise)) {
            behind_chain = live.clone();
        }
        live = match &line.action {
            Action::Return(_) | Action::ReturnCall(_) => BTreeSet::new(),
            Action::If { then, .. } => {
                let inside = match then.as_deref() {
                    Some(Action::Return(_) | Action::ReturnCall(_)) => BTreeSet::new(),
                    _ => read_before(&line.children, behind_chain.clone()),
                };
                live.union(&inside).copied().collect()
            }
            Action::Otherwise => read_before(&line.children, behind_chain.clone()),
            Action::ForEach { .. } | Action::Repeat(_) | Action::While(_) => {
                let mut around = live.clone();
                around.extend(mentions(&line.action, line.style));
                // Twice: what the body reads may be read again in the next round.
                for _ in 0..2 {
                    let inside = read_before(&line.children, around.clone());
                    around.extend(inside);
                }
                around
            }
            Action::Set { .. } | Action::Say { .. } | Action::Ask { .. } | Action::Call(_) => {
                let written = target(line);
                live.into_iter().filter(|name| Some(*name) != written).collect()
            }
        };
        live.extend(mentions(&line.action, line.style));
    }
    live
}
