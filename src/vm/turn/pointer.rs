//! Where a reply says it is: what an `at` does (spec `turn-protocol.md`, "The pointer").

use std::sync::Arc;

use playhouse_lang::program::{Loop, Mode, StepId, StepKind};

use crate::calls::call::Callee;
use crate::machine::frame_core::{Phase, Then};
use crate::machine::state::Machine;
use crate::reply::{Action, WaitFor};
use crate::turn::state::Todo;
use crate::variables::display::first_line;
use crate::walk::Walk;
use crate::walk::way::Way;

impl Machine {
    /// `at`: the model says which line it is at.
    pub(crate) fn at(&mut self, label: &Arc<str>) {
        if self.at_inlined(label) {
            return;
        }
        let program = self.program.clone();
        let frame = self.asker();
        let playbook = program.playbook(frame.playbook);
        let target = playbook.find_step(label);
        match (playbook.mode, target) {
            (Mode::Goal, Some(step)) => {
                if !frame.reached.contains(&step) {
                    self.top_mut().reached.push(step);
                    self.progressed();
                }
            }
            // Lines mean nothing to a goal.
            (Mode::Goal, None) => {}
            (Mode::Steps, Some(step)) => self.todo_first(Todo::Move(step)),
            (Mode::Steps, None) => {
                let labels: Vec<&str> = playbook.steps.iter().map(|step| &*step.label).collect();
                let known = match labels.as_slice() {
                    [first, .., last] if labels.len() > 12 => format!("{first} to {last}"),
                    _ => labels.join(", "),
                };
                let problem = format!("{} has no line {label}; its lines are {known}", playbook.name);
                self.fail_turn(&problem);
            }
        }
    }

    /// One hop on the way to the line that an `at` names. Explicit lines on the way are performed.
    pub(crate) fn move_towards(&mut self, target: StepId) {
        let Some(pointer) = self.top().pointer else { return };
        if pointer == target && self.only_returns_here() {
            return;
        }
        let n_frames = self.frames.len();
        if self.top().here.performed.is_none() {
            match self.perform(pointer) {
                // A decision in words about a result that the model has not seen would be made up.
                Walk::Left if self.decides_on_pending(pointer) => {
                    return self.cut_without_line("the line decides on a result that is on its way");
                }
                Walk::Left => {}
                Walk::NeedsCalls => {
                    self.todo_first(Todo::Move(target));
                    return self.wait_for_results(pointer);
                }
                Walk::Yield(then) if self.top().inlined => {
                    self.yield_inlined(then);
                    return self.end_line();
                }
                Walk::Yield(then) => {
                    self.cut_turn("the interpreter has performed the line that ends the playbook");
                    return self.after_turn(then);
                }
                // The reply was that of the frame that has gone.
                Walk::TookOver => return,
                Walk::Done => {
                    self.progressed();
                    if self.frames.len() > n_frames {
                        return self.walked_inside(pointer, target);
                    }
                    // What the model writes for the lines behind it would come before what the playbook does. The
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
                    if self.hides_list(pointer) {
                        self.cut_turn("the list is too long to be shown whole");
                        return self.after_turn(Then::GoOn);
                    }
                    let goes_on = !self.judge_in_turn(true) || self.turn.is_some();
                    return if goes_on {
                        self.todo_first(Todo::Move(target))
                    };
                }
            }
        }
        if pointer == target {
            return;
        }
        match self.way(target) {
            Way::Through(next) => {
                self.pass_to(next);
                self.progressed();
                self.todo_first(Todo::Move(target));
            }
            Way::Back => {
                self.move_back(target);
                self.progressed();
                self.todo_first(Todo::Move(target));
            }
            Way::NotDone(step) => {
                let text = self.program.playbook(self.top().playbook).step(step).text.clone();
                let label = self.label(step);
                let problem = format!("line {label} is not done: {}", first_line(&text));
                self.fail_turn(&problem);
            }
            Way::Over(between) => self.fail_jump(target, &between),
            Way::Unreachable if self.top().here.performed.is_some() => {
                let (from, to) = (self.label(pointer), self.label(target));
                self.fail_turn(&format!("line {to} is not reached: the interpreter has decided line {from} otherwise"));
            }
            Way::Unreachable => {
                let problem = format!(
                    "line {} does not lead to line {}; go on from line {0}",
                    self.label(pointer),
                    self.label(target)
                );
                self.fail_turn(&problem);
            }
        }
    }

    /// A reply cannot go on beyond lines that do something and are the interpreter's. What the model meant is not
    /// known: it is asked again where it was, and decides whether they are to be done.
    pub(crate) fn fail_jump(&mut self, target: StepId, between: &[StepId]) {
        let Some(pointer) = self.top().pointer else { return };
        let playbook = self.program.playbook(self.top().playbook);
        let lines: Vec<String> = between
            .iter()
            .map(|step| format!("{}= {}", self.label(*step), first_line(&playbook.step(*step).text)))
            .collect();
        let (from, to) = (self.label(pointer), self.label(target));
        self.fail_turn(&format!(
            "before line {to} come lines of the interpreter: {}. To have them done, end your reply at line {from}; to \
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
        let goes_in = |todo: &Todo| matches!(todo, Todo::Enter(_) | Todo::At(_) | Todo::Move(_));
        let has = |is_it: &dyn Fn(&Todo) -> bool| self.turn.as_ref().is_some_and(|turn| turn.todo.iter().any(is_it));
        let returns = has(&is_return) && !has(&goes_in);
        let playbook = self.program.playbook(frame.playbook);
        let decides = matches!(playbook.step(step).kind, StepKind::Branch { .. });
        returns && !decides && self.stops_reply(playbook, step)
    }

    /// The interpreter goes on with the pointer's line, and the reply is cut: what it says there but to wait for
    /// calls is not done.
    fn tell_unheard(&mut self, step: StepId) {
        let is_heard = |todo: &Todo| {
            matches!(todo, Todo::Applied { .. } | Todo::Act(Action::Think(_) | Action::Wait(WaitFor::Calls)))
        };
        let has_more = self.turn.as_ref().is_some_and(|turn| !turn.todo.iter().all(is_heard));
        if has_more {
            let label = self.label(step);
            let told = format!("what you wrote for line {label} was not done: the interpreter has done that line");
            self.asker_mut().told.set_problem(told);
        }
    }

    /// Whether a line is a branch or loop that names a result which is not there yet.
    pub(crate) fn decides_on_pending(&self, step: StepId) -> bool {
        let frame = self.top();
        let line = self.program.playbook(frame.playbook).step(step);
        matches!(line.kind, StepKind::Branch { .. } | StepKind::Loop(_))
            && line.reads.iter().any(|name| frame.pending(name).is_some())
    }

    /// Whether a loop's list was too long for the model to see, so that it must be told each item.
    fn hides_list(&self, step: StepId) -> bool {
        let frame = self.top();
        let kind = &self.program.playbook(frame.playbook).step(step).kind;
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
