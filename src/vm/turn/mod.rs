//! One turn: the reply is read while it arrives, and what it says is done piece by piece
//! (spec `turn-protocol.md`).

pub(crate) mod end;
pub(crate) mod history;
pub(crate) mod messages;
mod pointer;
pub(crate) mod speech;
pub(crate) mod state;
mod work;

use std::sync::Arc;

use playhouse_lang::program::StepId;
use playhouse_lang::value::Value;

use crate::calls::call::{CallState, Callee};
use crate::machine::frame_core::{Phase, ReturnValue, Then};
use crate::machine::state::Machine;
use crate::protocol::fault::FaultKind;
use crate::protocol::{CallId, Fact, ReplyEnd, TurnEnd, TurnId, Usage, Wait};
use crate::reply::{Action, ReadEnd, ReadFaultKind, Reading, WaitFor};
use crate::turn::history::{append_line, say_line};
use crate::turn::state::{Gate, Goal, Todo};
use crate::variables::fault::EvalFault;

impl Machine {
    pub(crate) fn handle_chunk(&mut self, id: TurnId, bytes: &[u8]) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == id && turn.ended.is_none()) {
            let mut readings = Vec::new();
            turn.reader.push(bytes, &mut readings);
            turn.readings.extend(readings);
        } else if let Some(closing) = self.closing.iter_mut().find(|closing| closing.id == id) {
            closing.n_bytes += bytes.len() as u64;
        }
    }

    pub(crate) fn handle_reply_ended(&mut self, id: TurnId, end: ReplyEnd, usage: Option<Usage>) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == id && turn.ended.is_none()) {
            let read_end = match &end {
                ReplyEnd::Complete(crate::protocol::Finish::Length)
                | ReplyEnd::Broken { .. }
                | ReplyEnd::Refused { .. }
                | ReplyEnd::Closed => ReadEnd::Cut,
                ReplyEnd::Complete(_) => ReadEnd::Complete,
            };
            let mut readings = Vec::new();
            turn.reader.finish(read_end, &mut readings);
            turn.readings.extend(readings);
            turn.ended = Some((end, usage));
        } else if let Some(index) = self.closing.iter().position(|closing| closing.id == id) {
            let closing = self.closing.remove(index);
            self.report_finished(&closing, usage);
        }
    }

    /// The next piece of the reply in hand.
    pub(crate) fn step_turn(&mut self) -> Option<Wait> {
        let Some(turn) = self.turn.as_mut() else {
            self.core_mut().phase = Phase::Ready;
            return None;
        };
        match turn.gate {
            Gate::Held(call) => return self.step_held(call),
            Gate::Judging { drops_line } => return self.step_judging(drops_line),
            Gate::Open => {}
        }
        if let Some(todo) = turn.todo.pop_front() {
            self.step_todo(todo);
        } else if let Some(reading) = turn.next_reading() {
            self.step_reading(reading);
        } else if turn.ended.is_some() {
            self.end_of_reply();
        } else {
            return Some(Wait::Reply(turn.id));
        }
        None
    }

    /// A line refers to the result of a tool that is still running: it and what follows it wait.
    fn step_held(&mut self, call: CallId) -> Option<Wait> {
        // Speech that does not wait for the classifier has come to a result that is not there: both are waited for.
        if let Some(question) = self.watcher.question() {
            return Some(Wait::Verdict(question.question));
        }
        if self.core().watch.first_match().is_some() {
            self.cut_for_match(true);
            return None;
        }
        let state = self.core().queue.get(call).map(|queued| queued.state().clone());
        match state {
            Some(CallState::Running { .. } | CallState::Queued) => return Some(Wait::Call(call)),
            Some(CallState::Asking { .. }) => return Some(Wait::Approval(call)),
            Some(CallState::Done(result)) => {
                self.take_call(call);
                if result.is_err() {
                    self.cut_before_line("a call that the next line needs has failed");
                    return None;
                }
                if self.judge_in_turn(true) {
                    return None;
                }
            }
            None => {}
        }
        if let Some(turn) = self.turn.as_mut() {
            turn.gate = Gate::Open;
        }
        None
    }

    pub(crate) fn step_reading(&mut self, reading: Reading) {
        let Some(turn) = self.turn.as_mut() else { return };
        match reading {
            Reading::SayBegan { at, .. } => {
                turn.begin_line(at.clone());
                turn.todo.extend(at.map(Todo::At));
                turn.todo.push_back(Todo::OpenSay);
            }
            Reading::SayText(text) => turn.todo.push_back(Todo::SayText(text)),
            Reading::SayEnded => turn.todo.push_back(Todo::CloseSay),
            Reading::Line(line) => turn.plan(line),
            Reading::Prose { text, .. } => {
                if !turn.prose.is_empty() {
                    turn.prose.push('\n');
                }
                turn.prose.push_str(&text);
            }
            Reading::Think { .. } => {}
            Reading::Ignored { key, .. } => {
                self.report(Fact::Ignored { cause: format!("the key `{key}` means nothing here").into() });
            }
            // What was heard of a sentence is not said again: the model goes on in the middle of it.
            Reading::Fault(fault) if fault.kind == ReadFaultKind::CutOff && turn.has_spoken() => {
                turn.is_cut_short = true;
                self.cut_turn("the reply ended in a sentence");
                self.after_turn(Then::GoOn);
            }
            Reading::Fault(fault) => {
                // What could not be read is a line of its own; the one before it, if that is complete, has taken effect.
                if turn.line_source.is_some() {
                    turn.begin_line(None);
                }
                turn.line_source = Some(fault.excerpt.into()).filter(|excerpt: &Arc<str>| !excerpt.is_empty());
                self.fail_turn(&fault.message);
            }
        }
    }

    pub(crate) fn step_todo(&mut self, todo: Todo) {
        let is_over = self.turn.as_ref().is_some_and(|turn| turn.is_line_over);
        match todo {
            Todo::SayText(_) | Todo::SayParts(_) | Todo::CloseSay | Todo::Act(Action::Think(_)) if is_over => {}
            Todo::OpenSay | Todo::Set(..) | Todo::Act(_) if is_over => self.report_done(),
            Todo::At(label) => self.at(&label),
            Todo::Move(target) => self.move_towards(target),
            Todo::OpenSay => self.open_say(),
            Todo::SayText(text) => self.scan_speech(&text),
            Todo::SayParts(parts) => self.say_parts(parts),
            Todo::CloseSay => self.close_say(),
            Todo::Set(name, value) => self.set(&name, &value),
            Todo::Act(action) => self.act_on(action),
            Todo::Applied { source, end } => {
                let Some(turn) = self.turn.as_mut() else { return };
                turn.applied.truncate(turn.line_start);
                append_line(&mut turn.applied, &source);
                turn.n_used = end;
                turn.is_line_applied = true;
                // A yield is part of its line: the frame waits or returns when the triggers have been seen to.
                if !turn.todo.front().is_some_and(Todo::is_yield) {
                    self.judge_in_turn(false);
                } else if self.returns_inside() {
                    // What matches is called when the turn has ended, and the playbook inside returns then.
                    self.ask_classifier();
                    self.hold_while_asking(false);
                }
            }
        }
    }

    /// The pointer's line must wait for a call.
    pub(crate) fn wait_for_results(&mut self, step: StepId) {
        match self.stack().blocking_call(step) {
            Some(call) => self.hold_for_call(call),
            None => self.todo_first(Todo::Move(Goal::Line(step))),
        }
    }

    /// Something refers to the result of a call that is not there yet. A tool is waited for; for a playbook it
    /// is as if `"wait": "calls"` stood before the line.
    pub(crate) fn hold_for(&mut self, name: &str) {
        if let Some(call) = self.top().pending(name).map(|call| call.id) {
            self.hold_for_call(call);
        }
    }

    pub(crate) fn hold_for_call(&mut self, call: CallId) {
        let queued = self.core().queue.get(call).map(|queued| (queued.callee, queued.state()));
        match queued {
            Some((Callee::Tool(_) | Callee::Model, CallState::Queued)) => {
                self.cut_before_line("the line needs the result of a tool")
            }
            Some((Callee::Tool(_) | Callee::Model, _)) => {
                if let Some(turn) = self.turn.as_mut() {
                    turn.gate = Gate::Held(call);
                }
            }
            Some((Callee::Playbook(_) | Callee::Plan(_) | Callee::Gone(_), _)) | None => {
                self.cut_before_line("the line needs the result of a playbook");
            }
        }
    }

    /// The line in hand needs what is not there: the frame goes on with it, in mid-sentence, when it is.
    fn cut_before_line(&mut self, reason: &str) {
        if let Some(turn) = self.turn.as_mut() {
            turn.is_cut_short = true;
        }
        self.cut_without_line(reason);
    }

    /// The reply is cut, the line in hand does not take effect, and the frame goes on.
    pub(crate) fn cut_without_line(&mut self, reason: &str) {
        self.drop_line();
        self.cut_turn(reason);
        self.after_turn(Then::GoOn);
    }

    fn set(&mut self, name: &Arc<str>, value: &Value) {
        self.touch_line();
        if playhouse_lang::expr::scan_name(name) != name.len() || name.is_empty() {
            return self.fail_turn(&format!("\"{name}\" in \"set\" is no variable name; use letters, digits and _"));
        }
        let resolved = match self.resolve(value) {
            Ok(resolved) => resolved,
            Err(EvalFault::Unset(unset)) if self.top().pending(&unset).is_some() => {
                self.todo_first(Todo::Set(name.clone(), value.clone()));
                return self.hold_for(&unset);
            }
            Err(fault) => return self.fail_turn(&format!("\"set\" of {name}: {fault}")),
        };
        let assigned = self.top().here.performed.as_ref().and_then(|performed| performed.assigned.clone());
        if let Some((own, truth)) = assigned
            && own == *name
        {
            if truth == *resolved.value() {
                let cause = format!("the interpreter has set ${name} itself");
                return self.report(Fact::Ignored { cause: cause.into() });
            }
            let cause = format!("the model's value of ${name} differs from the interpreter's");
            self.report(Fact::Ignored { cause: cause.into() });
            return self.cut_without_line("a value differs from the interpreter's");
        }
        let playbook = self.top().executed();
        if let Some(ty) = self.stack().type_of(playbook, name)
            && !ty.accepts(resolved.value())
        {
            let shown = crate::variables::display::shorten(&resolved, 80);
            return self.fail_turn(&format!("${name} must be {ty}, not {} {shown}", resolved.value().kind()));
        }
        let changed = self.reader().variable(name).is_none_or(|variable| variable.value.value() != resolved.value());
        if self.set_variable(name, resolved) && changed {
            self.progressed();
        }
    }

    fn act_on(&mut self, action: Action) {
        if matches!(action, Action::Return(_)) && self.leave_to_return() {
            return self.todo_after_leaving(action);
        }
        if !matches!(action, Action::Think(_)) {
            self.touch_line();
        }
        match action {
            Action::Say(text) => {
                self.todo_first(Todo::CloseSay);
                self.todo_first(Todo::SayText(text));
                self.todo_first(Todo::OpenSay);
            }
            Action::Set(members) => {
                for (name, value) in members.into_iter().rev() {
                    self.todo_first(Todo::Set(name, value));
                }
            }
            Action::Call { name, arguments, each, result } => self.call(name, arguments, each, result),
            Action::Think(_) => {}
            Action::Wait(WaitFor::Calls) => self.yield_turn(TurnEnd::Wait, Then::GoOn),
            Action::Wait(WaitFor::User) => self.yield_turn(TurnEnd::Wait, Then::WaitUser),
            Action::Wait(WaitFor::Timer(text)) => match timer_ms(&text) {
                Some(after_ms) => {
                    self.progressed();
                    self.yield_turn(TurnEnd::Wait, Then::WaitTimer { after_ms, text: text.into() });
                }
                None => self.fail_turn(&format!("\"timer:{text}\" is no ISO 8601 duration, like \"timer:PT30S\"")),
            },
            Action::Wait(WaitFor::Agent(agent)) => self.fail(
                FaultKind::Unsupported,
                format!("the program waits for the agent {agent}: waiting for other agents is not supported"),
            ),
            Action::Return(_) if self.has_returned() => self.report_done(),
            Action::Return(value) => {
                let value = match self.resolve(&value) {
                    Ok(resolved) => ReturnValue::Value(resolved),
                    Err(EvalFault::Unset(name)) if self.top().pending(&name).is_some() => ReturnValue::Pending(value),
                    Err(fault) => return self.fail_turn(&format!("\"return\": {fault}")),
                };
                self.progressed();
                let then = Then::Return { value, failed: false };
                if self.top().inside.is_some() {
                    self.yield_inside(then)
                } else {
                    self.yield_turn(TurnEnd::Return, then)
                }
            }
            Action::End(reason) => {
                self.progressed();
                self.yield_turn(TurnEnd::End, Then::End { reason: reason.map(Arc::from) });
            }
        }
    }

    pub(crate) fn todo_first(&mut self, todo: Todo) {
        if let Some(turn) = self.turn.as_mut() {
            turn.todo.push_front(todo);
        }
    }

    pub(crate) fn progressed(&mut self) {
        if let Some(turn) = self.turn.as_mut() {
            turn.progress = true;
        }
    }

    /// The model does something on the line.
    pub(crate) fn touch_line(&mut self) {
        self.top_mut().here.touched = true;
        if let Some(turn) = self.turn.as_mut() {
            turn.said_at = None;
        }
    }

    /// The line in hand does not take effect after all; what it has said stays said.
    pub(crate) fn drop_line(&mut self) {
        if let Some(turn) = self.turn.as_mut() {
            turn.applied.truncate(turn.line_start);
            if let Some(said) = turn.line_said.take() {
                let line = say_line(turn.line_at.as_ref(), &said);
                append_line(&mut turn.applied, &line);
            }
        }
    }
}

/// Milliseconds of an ISO 8601 duration; calendar units have no fixed length and are refused.
fn timer_ms(text: &str) -> Option<u64> {
    let duration: jiff::SignedDuration = text.parse().ok()?;
    u64::try_from(duration.as_millis()).ok()
}
