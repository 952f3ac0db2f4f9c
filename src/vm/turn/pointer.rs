//! Where a reply says it is: what an `at` does (spec `turn-protocol.md`, "The pointer").

use std::sync::Arc;

use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Loop, Mode, Step, StepId, StepKind};

use crate::calls::call::Callee;
use crate::machine::frame_core::{Phase, Then};
use crate::machine::stack_view::StackView;
use crate::machine::state::Machine;
use crate::reply::{Action, WaitFor};
use crate::turn::state::{Goal, Todo};
use crate::variables::display::first_line;
use crate::walk::LineOutcome;
use crate::walk::way::JumpOutcome;

impl Machine {
    /// `at`: the model says which line it is at.
    pub(crate) fn at(&mut self, label: &Arc<str>) {
        let layouts = self.layouts.clone();
        let playbook = layouts.body(self.top().playbook);
        let target = playbook.find_step(label);
        let (pointer, performed) = (self.top().pointer, self.top().here.performed.clone());
        if let (Some(target), Some(performed)) = (target, &performed)
            && performed.left_at == Some(target)
        {
            // The line has been done, and with it the playbook inside: the model still writes about it.
            return self.end_line();
        }
        if let Some(region) = target.and_then(|target| self.stack().region_of(target)) {
            // It was executed here, and is to be executed again.
            if pointer == Some(region.line) && performed.is_some() {
                self.move_back(region.line);
            }
            if let Some(inside) = self.top_mut().inside.as_mut().filter(|inside| inside.region.line == region.line) {
                inside.is_told = true;
            }
        }
        match (playbook.mode, target) {
            (Mode::Goal, Some(step)) => {
                if !self.top().reached.contains(&step) {
                    self.top_mut().reached.push(step);
                    self.progressed();
                }
            }
            // Lines mean nothing to a goal.
            (Mode::Goal, None) => {}
            (Mode::Steps, Some(step)) => self.todo_first(Todo::Move(Goal::Line(step))),
            (Mode::Steps, None) => {
                let mut lines: Vec<&Step> = playbook.steps.iter().collect();
                lines.sort_by_key(|line| self.stack().position(line.id));
                let labels: Vec<&str> = lines.iter().map(|line| &*line.label).collect();
                let known = match labels.as_slice() {
                    [first, .., last] if labels.len() > 12 => format!("{first} to {last}"),
                    _ => labels.join(", "),
                };
                let problem = format!("{} has no line {label}; its lines are {known}", playbook.name);
                self.fail_turn(&problem);
            }
        }
    }

    /// One hop on the way to the line that an `at` names, or out of a region. Explicit lines on the way are performed.
    pub(crate) fn move_towards(&mut self, goal: Goal) {
        let frame = self.top();
        let Some(pointer) = frame.pointer else { return };
        let target = match (goal, &frame.inside) {
            // A line is not left as long as what is inside it goes on.
            (Goal::Line(line), Some(inside)) if inside.region.line == line => return,
            (Goal::Line(line), _) => Node::Step(line),
            (Goal::Out, Some(inside)) => inside.region.next,
            (Goal::Out, None) => return,
        };
        let is_there = target == Node::Step(pointer);
        if is_there && self.only_returns_here() {
            return;
        }
        if self.top().here.performed.is_none() {
            match self.perform(pointer) {
                // A decision in words about a result that the model has not seen would be made up.
                LineOutcome::Left if self.stack().decides_on_pending(pointer) => {
                    return self.cut_without_line("the line decides on a result that is on its way");
                }
                LineOutcome::Left => {}
                LineOutcome::NeedsCalls => {
                    self.todo_first(Todo::Move(goal));
                    return self.wait_for_results(pointer);
                }
                LineOutcome::Yield(then) if self.top().inside.is_some() => {
                    self.yield_inside(then);
                    if is_there {
                        return self.end_line();
                    }
                    return self.todo_first(Todo::Move(goal));
                }
                LineOutcome::Yield(then) => {
                    self.cut_turn("the interpreter has performed the line that ends the playbook");
                    return self.after_turn(then);
                }
                // The reply was that of the frame that has gone.
                LineOutcome::TookOver => return,
                LineOutcome::Done => {
                    self.progressed();
                    if self.top().inside.as_ref().is_some_and(|inside| inside.region.line == pointer) {
                        return self.todo_first(Todo::Move(goal));
                    }
                    // What the model writes for the lines after it would come before what the playbook does. The
                    // interpreter goes on as if it had come here by itself.
                    if self.core().queue.iter().any(|call| matches!(call.callee, Callee::Playbook(_))) {
                        self.tell_unheard(pointer);
                        self.cut_turn("the line calls a playbook");
                        self.after_turn(Then::GoOn);
                        if self.outcome.is_none() && self.core().phase == Phase::Draining(Then::GoOn) {
                            self.core_mut().phase = Phase::Ready;
                        }
                        return;
                    }
                    if self.stack().hides_list(pointer) {
                        self.cut_turn("the list is too long to be shown whole");
                        return self.after_turn(Then::GoOn);
                    }
                    let goes_on = !self.judge_in_turn(true) || self.turn.is_some();
                    return if goes_on {
                        self.todo_first(Todo::Move(goal))
                    };
                }
            }
        }
        if is_there {
            return;
        }
        match self.stack().way(target) {
            JumpOutcome::Through(next) if self.stack().leaves_region(next) => self.walk_out(goal),
            JumpOutcome::Through(next) => {
                self.pass_to(next);
                self.progressed();
                self.todo_first(Todo::Move(goal));
            }
            JumpOutcome::Back(to) => {
                if self.stack().leaves_region(Node::Step(to)) && !self.walk_back_out() {
                    return;
                }
                self.move_back(to);
                self.progressed();
                self.todo_first(Todo::Move(goal));
            }
            JumpOutcome::NotDone(step) => {
                let line = self.stack().body(self.top()).step(step);
                let (label, text) = (&line.label, first_line(&line.text));
                let unseen =
                    self.top().inside.as_ref().filter(|_| step == pointer && self.stack().leaves_region(target));
                self.fail_turn(&match unseen {
                    Some(inside) => format!(
                        "you leave line {} before line {label} is done: {text}. End your reply before it",
                        self.stack().label(inside.region.line)
                    ),
                    None => format!("line {label} is not done: {text}"),
                });
            }
            JumpOutcome::Over(between) => self.fail_jump(target, &between),
            JumpOutcome::Unreachable => {
                let (from, to) = (self.stack().label(pointer), self.stack().label_of(target));
                let problem = match self.top().here.performed {
                    Some(_) => format!("{to} is not reached: the interpreter has decided line {from} otherwise"),
                    None => format!("line {from} does not lead to {to}; go on from line {from}"),
                };
                self.fail_turn(&problem);
            }
        }
    }

    /// A reply cannot go on beyond lines that do something and are the interpreter's. What the model meant is not
    /// known: it is asked again where it was, and decides whether they are to be done.
    fn fail_jump(&mut self, target: Node, between: &[StepId]) {
        let Some(pointer) = self.top().pointer else { return };
        let playbook = self.stack().body(self.top());
        let lines: Vec<String> = between
            .iter()
            .map(|step| format!("{}= {}", self.stack().label(*step), first_line(&playbook.step(*step).text)))
            .collect();
        let (from, to) = (self.stack().label(pointer), self.stack().label_of(target));
        self.fail_turn(&format!(
            "before {to} come lines of the interpreter: {}. To have them done, end your reply at line {from}; to \
             leave the playbook without them, write {{\"at\":\"{from}\",\"return\":VALUE}}",
            lines.join("; ")
        ));
        if self.outcome.is_none() {
            self.top_mut().here.ask_model = true;
        }
    }

    /// Whether the line in hand says only that the playbook is left early, at a line of the interpreter's that would
    /// do something: that is not done any more.
    fn only_returns_here(&self) -> bool {
        let frame = self.top();
        let Some(step) = frame.pointer.filter(|_| frame.here.performed.is_none()) else { return false };
        let is_return = |todo: &Todo| matches!(todo, Todo::Act(Action::Return(_)));
        let goes_in = |todo: &Todo| matches!(todo, Todo::At(_) | Todo::Move(_));
        let has = |is_it: &dyn Fn(&Todo) -> bool| self.turn.as_ref().is_some_and(|turn| turn.todo.iter().any(is_it));
        let returns = has(&is_return) && !has(&goes_in);
        let playbook = self.stack().body(frame);
        let decides = matches!(playbook.step(step).kind, StepKind::Branch { .. });
        returns && !decides && self.stack().stops_reply(playbook, step)
    }

    /// The interpreter goes on with the pointer's line, and the reply is cut: what it says there but to wait for
    /// calls is not done.
    fn tell_unheard(&mut self, step: StepId) {
        let is_heard = |todo: &Todo| {
            matches!(todo, Todo::Applied { .. } | Todo::Act(Action::Think(_) | Action::Wait(WaitFor::Calls)))
        };
        let has_more = self.turn.as_ref().is_some_and(|turn| !turn.todo.iter().all(is_heard));
        if has_more {
            let label = self.stack().label(step);
            let told = format!("what you wrote for line {label} was not done: the interpreter has done that line");
            self.chat_owner_mut().told.set_problem(told);
        }
    }
}

impl<'a> StackView<'a> {
    /// `line 03`, or `the end`.
    fn label_of(self, node: Node) -> String {
        match node {
            Node::Step(step) => format!("line {}", self.label(step)),
            Node::End => "the end".to_owned(),
        }
    }

    /// Whether a line is a branch or loop that names a result which is not there yet.
    pub(crate) fn decides_on_pending(self, step: StepId) -> bool {
        let frame = self.top();
        let line = self.body(frame).step(step);
        matches!(line.kind, StepKind::Branch { .. } | StepKind::Loop(_))
            && line.reads.iter().any(|name| frame.pending(name).is_some())
    }

    /// Whether a loop's list was too long for the model to see, so that it must be told each item.
    fn hides_list(self, step: StepId) -> bool {
        let frame = self.top();
        let kind = &self.body(frame).step(step).kind;
        matches!(kind, StepKind::Loop(Loop::ForEach { .. }))
            && frame.loops.iter().any(|state| {
                state.header == step
                    && state
                        .items
                        .as_ref()
                        .is_some_and(|items| !items.value().to_json_within(self.settings.shown_value_bytes).1)
            })
    }
}
