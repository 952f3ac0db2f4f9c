//! Nothing is skipped in silence: which lines of the model's a reply leaves out, and what becomes of it then
//! (docs/turn-protocol.md, "Lines left out"). The one place that decides it.

use std::sync::Arc;

use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Body, Mode, Step, StepId, StepKind};
use playhouse_lang::value::Value;

use crate::machine::stack::Stack;
use crate::protocol::Fact;
use crate::protocol::view::SkippedLine;
use crate::reply::Action;
use crate::turn::state::Todo;
use crate::turn::{TurnResult, TurnStep, mistake};
use crate::variables::display::{first_line, shorten_text};
use crate::walk::way::JumpOutcome;

/// So many lines are named to the model; it can see the others.
const MAX_TOLD: usize = 5;

/// So many are kept to be shown; all are reported.
const MAX_KEPT: usize = 1000;

/// So much of what is returned is kept as the reason for the lines that it leaves out.
const REASON_BYTES: usize = 200;

impl TurnStep<'_> {
    /// The pointer is to go to `target`. Lines that this leaves out are told to the model, once; what it then leaves out
    /// all the same is reported, where that may be. `is_open`: nothing else stands in the way.
    pub(super) fn pass_lines(&mut self, target: Node, is_open: bool) -> TurnResult {
        let stack = &self.interpreter.stack;
        let lines = stack.left_out(target);
        if lines.iter().any(|line| stack.is_strict(*line)) {
            let must_be_done = |line: &StepId| !stack.may_be_passed(*line);
            if lines.iter().any(must_be_done) || !stack.is_told(&lines) {
                let leave = stack.top().pointer.filter(|_| self.returned().is_some());
                let leave = leave.map(|from| stack.how_to_leave(from));
                let problem = stack.not_done(&lines) + &leave.unwrap_or_default();
                return self.tell_left_out(lines, problem);
            }
        }
        if is_open && !lines.is_empty() {
            self.report_left_out(&lines, None);
        }
        Ok(())
    }

    /// The playbook is left from where the pointer is, with `value`; none: the program is ended. What it returns is the
    /// reason for the lines that are left out by that. Without one it is a jump like any other.
    pub(super) fn leave_lines(&mut self, value: Option<&Value>) -> TurnResult {
        let stack = &self.interpreter.stack;
        let lines = stack.left_out_by_leaving();
        if lines.is_empty() {
            return Ok(());
        }
        let said = |value: &Value| value.as_str().map_or_else(|| value.to_json(), str::to_owned);
        let reason = value.filter(|value| **value != Value::Null).map(|value| shorten_text(&said(value), REASON_BYTES));
        let reason = reason.map(Arc::from).or_else(|| stack.top().here.skipped.clone());
        // Nobody wrote a skill for an interpreter: what it returns is no reason for leaving lines out.
        let is_skill = stack.is_skills();
        if is_skill || lines.iter().any(|line| stack.is_strict(*line)) {
            let body = stack.body(stack.top());
            let is_due = lines.iter().any(|line| body.step(*line).compulsory);
            let needs_more = stack.top().pointer.is_none() || is_skill;
            if is_due || ((reason.is_none() || needs_more) && !stack.is_told(&lines)) {
                let why = if is_due || needs_more { "" } else { "; or `return` why" };
                let problem = format!("you leave, and this is {}{why}", stack.not_done(&lines));
                return self.tell_left_out(lines, problem);
            }
        }
        self.report_left_out(&lines, reason);
        Ok(())
    }

    /// Whether the line in hand goes to a `Return` only to leave the playbook there with a value, and leaves lines out by
    /// that: then it leaves from where the pointer is, for the value says why. Lines that must be done stop it, and so
    /// does a decision or an effect of the interpreter's.
    pub(super) fn returns_at(&self, target: Node, way: &JumpOutcome) -> bool {
        let stack = &self.interpreter.stack;
        let body = stack.body(stack.top());
        let (Some(from), Some(line)) = (stack.top().pointer, target.step()) else { return false };
        let is_return = matches!(body.step(line).kind, StepKind::Return(_)) && stack.is_models(line);
        let is_open = matches!(way, JumpOutcome::Through(_) | JumpOutcome::NotDone(_));
        let is_outside = body.step(line).parent.is_none_or(|parent| body.is_nested(from, parent));
        let is_same = stack.leaves_region(target) == stack.leaves_region(Node::Step(from));
        let has_value = self.returned().is_some_and(|value| *value != Value::Null);
        if !(is_return && is_open && is_outside && is_same && has_value) {
            return false;
        }
        let lines = stack.left_out(target);
        !lines.is_empty() && !lines.iter().any(|line| body.step(*line).must_be_done())
    }

    /// What the line in hand returns.
    pub(super) fn returned(&self) -> Option<&Value> {
        self.turn
            .todo
            .iter()
            .find_map(|todo| if let Todo::Act(Action::Return(value)) = todo { Some(value) } else { None })
    }

    /// `skip`: the line that the pointer is at is left out.
    pub(super) fn skip(&mut self, reason: Arc<str>) -> TurnResult {
        let stack = &self.interpreter.stack;
        let named = self.turn.line_at.as_ref().and_then(|at| stack.body(stack.top()).find_step(at));
        let Some(line) = stack.top().pointer.or(named) else { return Ok(()) };
        self.refuse_skip(line)?;
        let frame = self.interpreter.stack.top_mut();
        frame.here.skipped = frame.pointer.map(|_| reason.clone());
        self.turn.progress = true;
        self.report_left_out(&[line], Some(reason));
        Ok(())
    }

    /// Whether the line in hand says that its line is left out.
    pub(super) fn skips(&self) -> bool {
        self.turn.todo.iter().any(|todo| matches!(todo, Todo::Act(Action::Skip(_))))
    }

    /// A line that must be done, or that is none of the model's, is not left out.
    pub(super) fn refuse_skip(&self, line: StepId) -> TurnResult {
        let stack = &self.interpreter.stack;
        let step = stack.body(stack.top()).step(line);
        let (label, text) = (&step.label, first_line(&step.text));
        if !stack.is_models(line) {
            let problem = "is the interpreter's and cannot be skipped: to leave the playbook before it, `return`";
            return mistake(format!("line {label}= {problem}; it is: {text}"));
        }
        if step.must_be_done() && stack.is_strict(line) {
            return mistake(format!("line {label}! cannot be skipped: {text}"));
        }
        Ok(())
    }

    fn tell_left_out(&mut self, lines: Vec<StepId>, problem: String) -> TurnResult {
        self.interpreter.stack.top_mut().told_left_out.extend(lines);
        mistake(problem)
    }

    fn report_left_out(&mut self, lines: &[StepId], reason: Option<Arc<str>>) {
        let interpreter = &mut *self.interpreter;
        let labels: Vec<Arc<str>> = lines.iter().map(|line| interpreter.stack.label(*line)).collect();
        let name = &interpreter.stack.program.playbook(interpreter.stack.top().playbook).name;
        let kept = labels.iter().take(MAX_KEPT.saturating_sub(interpreter.skipped.len()));
        let kept = kept.map(|label| SkippedLine { line: format!("{name}:{label}").into(), reason: reason.clone() });
        interpreter.skipped.extend(kept);
        interpreter.report(Fact::LinesSkipped { lines: labels, reason });
    }
}

impl Stack {
    /// The lines of the model's that lie on every way from the pointer to `target` and are not done.
    pub(super) fn left_out(&self, target: Node) -> Vec<StepId> {
        self.lines_between(target, |line| self.is_undone(line))
    }

    /// Those that are left out when what is executed is left, and the interpreter's that the author wants done whatever
    /// comes; of a goal's items those that it has not come to, of a skill's those of the procedures that it has entered. What
    /// leaves at its own line has begun that.
    fn left_out_by_leaving(&self) -> Vec<StepId> {
        let frame = self.top();
        let playbook = self.program.playbook(frame.executed());
        if playbook.mode == Mode::Goal {
            let is_entered = |line: &Step| {
                let is_beside = |reached: &StepId| procedure(playbook.step(*reached)) == procedure(line);
                playbook.skill.is_none() || frame.reached.iter().any(is_beside)
            };
            let open = playbook.steps.iter().filter(|line| !frame.reached.contains(&line.id) && is_entered(line));
            return open.map(|line| line.id).collect();
        }
        let target = frame.inside.as_ref().map_or(Node::End, |inside| inside.region.next);
        let body = self.body(frame);
        let is_begun = frame.here.touched || frame.here.is_named;
        self.lines_between(target, |line| {
            let (step, is_here) = (body.step(line), frame.pointer == Some(line));
            let is_open = self.is_undone(line) || (step.compulsory && !is_here && !self.is_models(line));
            // What a skill requires to be called is not begun by words.
            let is_due = self.is_skills() && step.due_call.is_some() && !self.has_done_work(line, false);
            is_open && (is_due || !(is_here && is_begun)) && !matches!(step.kind, StepKind::Return(_))
        })
    }

    /// The lines that lie on every way from the pointer to `target`, that one not included, and that are wanted.
    fn lines_between(&self, target: Node, is_wanted: impl Fn(StepId) -> bool) -> Vec<StepId> {
        let frame = self.top();
        let Some(from) = frame.pointer.filter(|from| target != Node::Step(*from)) else { return Vec::new() };
        let body = self.body(frame);
        if body.flow.successors(from).iter().any(|edge| edge.to == target) {
            // Nothing lies between.
            let is_left = is_wanted(from) && !self.leaves_loop(body, from, target);
            return if is_left { vec![from] } else { Vec::new() };
        }
        // The header of a loop stands above the rest of its round.
        let is_below = |line| target.step().is_none_or(|to| self.is_before(to, from) || self.is_before(line, to));
        let is_passed = |line: StepId| {
            let is_after = || self.is_before(from, line) && is_below(line);
            line == from || (is_after() && !self.reaches(body, from, target, Some(line)))
        };
        let lines = body.steps.iter().map(|line| line.id);
        let mut lines: Vec<StepId> = lines
            .filter(|line| is_wanted(*line) && !self.leaves_loop(body, *line, target) && is_passed(*line))
            .collect();
        if !lines.is_empty() && !self.reaches(body, from, target, None) {
            lines.clear();
        }
        lines.sort_by_key(|line| self.position(*line));
        lines
    }

    /// Whether the way to `target` leaves a loop of the model's own that the pointer and the line are in: the rest of a
    /// round is not missed.
    fn leaves_loop(&self, body: &Body, line: StepId, target: Node) -> bool {
        let Some(from) = self.top().pointer else { return false };
        let mut around = std::iter::successors(body.step(line).parent, |parent| body.step(*parent).parent);
        around.any(|header| {
            matches!(body.step(header).kind, StepKind::Loop(_))
                && !self.is_interpreters(body, header)
                && body.is_nested(from, header)
                && target.step().is_none_or(|target| target != header && !body.is_nested(target, header))
        })
    }

    /// Whether a line is the model's to do and nothing has been done about it.
    pub(super) fn is_undone(&self, line: StepId) -> bool {
        let here = Some(line) == self.top().pointer;
        let state = &self.top().here;
        let step = self.body(self.top()).step(line);
        // A heading of a skill is done by the lines below it, but for what it requires itself.
        let is_heading = self.is_skills() && !step.children.is_empty() && step.due_call.is_none();
        if !self.is_models(line) || (here && state.skipped.is_some()) || is_heading {
            return false;
        }
        let is_begun = here && (state.touched || state.is_named);
        match &step.kind {
            StepKind::Branch { .. } | StepKind::Loop(_) | StepKind::Break | StepKind::Continue | StepKind::Gone(_) => {
                false
            }
            StepKind::Ask { targets } if targets.is_empty() => !(is_begun || here && state.is_answered),
            StepKind::Free | StepKind::Say { .. } | StepKind::Return(_) | StepKind::End => {
                !is_begun || !self.has_done_work(line, false)
            }
            StepKind::Ask { .. } | StepKind::Assign { .. } | StepKind::Call(_) => !self.has_done_work(line, false),
        }
    }

    /// Whether what is executed is a skill.
    fn is_skills(&self) -> bool {
        self.program.playbook(self.top().executed()).skill.is_some()
    }

    /// Whether a line is left to the model, now or as a rule.
    fn is_models(&self, line: StepId) -> bool {
        let frame = self.top();
        let is_left = frame.pointer == Some(line) && frame.here.left_to_model;
        is_left || !self.is_interpreters(self.body(frame), line)
    }

    /// Whether a line is passed without a reason when the model insists. What follows one that gives a variable its value
    /// would miss that.
    fn may_be_passed(&self, line: StepId) -> bool {
        !self.body(self.top()).step(line).must_be_done() && self.has_done_work(line, false)
    }

    fn is_told(&self, lines: &[StepId]) -> bool {
        lines.iter().all(|line| self.top().told_left_out.contains(line))
    }

    /// How a playbook is left early, in words for the program's model.
    pub(super) fn how_to_leave(&self, from: StepId) -> String {
        format!("; to leave the playbook without them, write {{\"at\":\"{}\",\"return\":VALUE}}", self.label(from))
    }

    /// That lines are not done, in words for the program's model.
    pub(super) fn not_done(&self, lines: &[StepId]) -> String {
        let body = self.body(self.top());
        let mark = |line: StepId| match self.is_models(line) {
            false => "=",
            true if body.step(line).must_be_done() => "!",
            true => "",
        };
        let words = |line: StepId| first_line(&body.step(line).text).trim_end_matches('.');
        let told = lines.iter().take(MAX_TOLD);
        let mut told: Vec<String> =
            told.map(|line| format!("{}{} {}", self.label(*line), mark(*line), words(*line))).collect();
        told.extend((lines.len() > MAX_TOLD).then(|| format!("and {} more", lines.len() - MAX_TOLD)));
        let skip = lines.iter().find(|line| !body.step(**line).must_be_done());
        let skip = skip.map(|line| format!(", or write {{\"at\":\"{}\",\"skip\":\"why\"}}", self.label(*line)));
        format!("not done: {}. Do each in order{}", told.join("; "), skip.unwrap_or_default())
    }
}

/// The letters of the procedure that a line belongs to: `a` of `a02.01`.
fn procedure(line: &Step) -> &str {
    line.label.trim_end_matches(|c: char| !c.is_ascii_alphabetic())
}
