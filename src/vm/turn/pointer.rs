//! Where a reply says it is: what an `at` does (spec `turn-protocol.md`, "The pointer").

use std::sync::Arc;

use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Loop, Mode, Step, StepId, StepKind};

use crate::calls::call::Callee;
use crate::machine::frame_core::Then;
use crate::machine::stack::Stack;
use crate::reply::{Action, WaitFor};
use crate::turn::state::{Goal, Todo};
use crate::turn::{TurnOver, TurnResult, TurnStep, mistake};
use crate::variables::display::first_line;
use crate::walk::LineOutcome;
use crate::walk::way::JumpOutcome;

impl TurnStep<'_> {
    /// `at`: the model says which line it is at.
    pub(super) fn at(&mut self, label: &Arc<str>) -> TurnResult {
        self.turn.is_way_known = false;
        let stack = &self.interpreter.stack;
        if self.skips()
            && let Some(step) = stack.body(stack.top()).find_step(label)
        {
            self.refuse_skip(step)?;
        }
        let stack = &mut self.interpreter.stack;
        let frame = stack.top();
        let (playbook, body) = (stack.program.playbook(frame.playbook), stack.body(frame));
        let target = body.find_step(label);
        let performed = frame.here.performed.as_ref();
        if let (Some(target), Some(performed)) = (target, performed)
            && performed.left_at == Some(target)
        {
            // The line has been done, and with it the playbook inside: the model still writes about it.
            self.turn.is_line_over = true;
            return Ok(());
        }
        match (playbook.mode, target) {
            (Mode::Goal, Some(step)) => {
                let reached = &mut stack.top_mut().reached;
                if !reached.contains(&step) {
                    reached.push(step);
                    self.turn.progress = true;
                }
            }
            // Lines mean nothing to a goal.
            (Mode::Goal, None) => {}
            (Mode::Steps, Some(step)) => {
                if let Some(region) = stack.region_of(step) {
                    // It was executed here, and is to be executed again.
                    if frame.pointer == Some(region.line) && performed.is_some() {
                        self.interpreter.move_back(region.line);
                    }
                    let inside = self.interpreter.stack.top_mut().inside.as_mut();
                    if let Some(inside) = inside.filter(|inside| inside.region.line == region.line) {
                        inside.is_told = true;
                    }
                }
                self.turn.todo_first(Todo::Move(Goal::Line(step)));
            }
            (Mode::Steps, None) => {
                let mut lines: Vec<&Step> = body.steps.iter().collect();
                lines.sort_by_key(|line| stack.position(line.id));
                let labels: Vec<&str> = lines.iter().map(|line| &*line.label).collect();
                let known = match labels.as_slice() {
                    [first, .., last] if labels.len() > 12 => format!("{first} to {last}"),
                    _ => labels.join(", "),
                };
                return mistake(format!("{} has no line {label}; its lines are {known}", playbook.name));
            }
        }
        Ok(())
    }

    /// One hop on the way to the line that an `at` names, or out of a region. Explicit lines on the way are performed.
    pub(super) fn move_towards(&mut self, goal: Goal) -> TurnResult {
        let frame = self.interpreter.stack.top();
        let Some(pointer) = frame.pointer else { return Ok(()) };
        let target = match (goal, &frame.inside) {
            // A line is not left as long as what is inside it goes on.
            (Goal::Line(line), Some(inside)) if inside.region.line == line => return Ok(()),
            (Goal::Line(line), _) => Node::Step(line),
            (Goal::Out, Some(inside)) => inside.region.next,
            (Goal::Out, None) => return Ok(()),
        };
        let is_there = target == Node::Step(pointer);
        if is_there && self.only_returns_here() {
            return Ok(());
        }
        if frame.here.performed.is_none() {
            let outcome = self.interpreter.perform(pointer);
            self.go_on_unless_failed()?;
            let stack = &self.interpreter.stack;
            match outcome {
                // A decision in words about a result that the model has not seen would be made up.
                LineOutcome::Left if stack.decides_on_pending(pointer) => {
                    return Err(self.cut_without_line("the line decides on a result that is on its way"));
                }
                LineOutcome::Left => {}
                LineOutcome::NeedsCalls => {
                    self.turn.todo_first(Todo::Move(goal));
                    return self.wait_for_results(pointer);
                }
                LineOutcome::Yield(then) if stack.top().inside.is_some() => {
                    self.yield_inside(then)?;
                    if is_there {
                        self.turn.is_line_over = true;
                    } else {
                        self.turn.todo_first(Todo::Move(goal));
                    }
                    return Ok(());
                }
                LineOutcome::Yield(then) => {
                    let reason = "the interpreter has performed the line that ends the playbook";
                    return Err(TurnOver::Cut(reason.into(), then));
                }
                LineOutcome::TailCall(tail_call) => {
                    self.apply_line_in_hand()?;
                    return Err(TurnOver::TailCall(tail_call));
                }
                LineOutcome::Done => {
                    self.turn.progress = true;
                    if stack.top().inside.as_ref().is_none_or(|inside| inside.region.line != pointer) {
                        // What the model writes for the lines after it would come before what the playbook does. The
                        // interpreter goes on as if it had come here by itself.
                        if stack.core().queue.iter().any(|call| matches!(call.callee, Callee::Playbook(_))) {
                            self.tell_unheard(pointer);
                            return Err(TurnOver::CalledPlaybook);
                        }
                        if stack.hides_list(pointer) {
                            let reason = "the list is too long to be shown whole";
                            return Err(TurnOver::Cut(reason.into(), Then::GoOn));
                        }
                        self.judge(true)?;
                    }
                    self.turn.todo_first(Todo::Move(goal));
                    return Ok(());
                }
            }
        }
        if is_there {
            self.interpreter.stack.top_mut().here.is_named = true;
            return Ok(());
        }
        let way = self.interpreter.stack.way(target);
        // Which way leads over lines that nobody has decided is not known: they have been looked at from its beginning.
        if self.returns_at(target, &way) {
            return Ok(());
        }
        let (stack, is_known) = (&self.interpreter.stack, self.turn.is_way_known);
        if (!is_known || stack.top().here.left_to_model)
            && !matches!(way, JumpOutcome::Over(_) if self.returned().is_some())
            && let Ok(target) = stack.forward(stack.body(stack.top()), pointer, target)
        {
            self.pass_lines(target, matches!(way, JumpOutcome::Through(_)))?;
        }
        self.turn.is_way_known = self.interpreter.stack.top().here.performed.is_none();
        let stack = &self.interpreter.stack;
        match way {
            JumpOutcome::Through(next) if stack.leaves_region(next) => return self.walk_out(goal),
            JumpOutcome::Through(next) => {
                let is_reached =
                    if next == target { !self.skips() } else { !next.step().is_some_and(|next| stack.is_undone(next)) };
                if is_reached {
                    self.interpreter.arrive(next);
                } else {
                    self.interpreter.pass_to(next);
                }
            }
            JumpOutcome::Back(to) => {
                if stack.leaves_region(Node::Step(to)) {
                    self.walk_back_out()?;
                }
                self.interpreter.move_back(to);
            }
            JumpOutcome::NotDone(line) => return mistake(stack.not_done(&[line])),
            JumpOutcome::Over(between) => {
                // A reply cannot go on beyond lines that do something and are the interpreter's. What the model meant
                // is not known: it is asked again where it was, and decides whether they are to be done.
                let problem = stack.jumped_over(pointer, target, &between);
                self.interpreter.stack.top_mut().here.ask_model = true;
                return mistake(problem);
            }
            JumpOutcome::Unreachable => {
                let (from, to) = (stack.label(pointer), stack.label_of(target));
                return mistake(match stack.top().here.performed {
                    Some(_) => format!("{to} is not reached: the interpreter has decided line {from} otherwise"),
                    None => format!("line {from} does not lead to {to}; continue from line {from}"),
                });
            }
        }
        self.turn.progress = true;
        self.turn.todo_first(Todo::Move(goal));
        Ok(())
    }

    /// Whether the line in hand says only that the playbook is left early, at a line of the interpreter's that would
    /// do something: that is not done any more.
    fn only_returns_here(&self) -> bool {
        let stack = &self.interpreter.stack;
        let frame = stack.top();
        let Some(step) = frame.pointer.filter(|_| frame.here.performed.is_none()) else { return false };
        let is_return = |todo: &Todo| matches!(todo, Todo::Act(Action::Return(_)));
        let goes_in = |todo: &Todo| matches!(todo, Todo::At(_) | Todo::Move(_));
        let todo = &self.turn.todo;
        let returns = todo.iter().any(is_return) && !todo.iter().any(goes_in);
        let body = stack.body(frame);
        let decides = matches!(body.step(step).kind, StepKind::Branch { .. });
        returns && !decides && stack.stops_reply(body, step)
    }

    /// The interpreter goes on with the pointer's line, and the reply is cut: what it says there but to wait for
    /// calls is not done.
    fn tell_unheard(&mut self, step: StepId) {
        let is_heard = |todo: &Todo| {
            matches!(todo, Todo::Applied { .. } | Todo::Act(Action::Think(_) | Action::Wait(WaitFor::Calls)))
        };
        if self.turn.todo.iter().all(is_heard) {
            return;
        }
        let stack = &mut self.interpreter.stack;
        let label = stack.label(step);
        let told = format!("what you wrote for line {label} was not done: the interpreter has done that line");
        stack.chat_owner_mut().told.set_problem(told);
    }
}

impl Stack {
    /// That these lines stand between the pointer and where a reply wants to go, in words for the program's model.
    fn jumped_over(&self, pointer: StepId, target: Node, between: &[StepId]) -> String {
        let body = self.body(self.top());
        let lines: Vec<String> = between
            .iter()
            .map(|step| format!("{}= {}", self.label(*step), first_line(&body.step(*step).text)))
            .collect();
        let (from, to) = (self.label(pointer), self.label_of(target));
        format!(
            "before {to} come lines of the interpreter: {}. To have them done, end your reply at line {from}{}",
            lines.join("; "),
            self.how_to_leave(pointer)
        )
    }

    /// `line 03`, or `the end`.
    fn label_of(&self, node: Node) -> String {
        match node {
            Node::Step(step) => format!("line {}", self.label(step)),
            Node::End => "the end".to_owned(),
        }
    }

    /// Whether a line is a branch or loop that names a result which is not there yet.
    pub(crate) fn decides_on_pending(&self, step: StepId) -> bool {
        let frame = self.top();
        let line = self.body(frame).step(step);
        matches!(line.kind, StepKind::Branch { .. } | StepKind::Loop(_))
            && line.reads.iter().any(|name| frame.pending(name).is_some())
    }

    /// Whether a loop's list was too long for the model to see, so that it must be told each item.
    fn hides_list(&self, step: StepId) -> bool {
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
