//! One turn: the reply is read while it arrives, and what it says is done piece by piece
//! (spec `turn-protocol.md`).
//!
//! A [`TurnStep`] does one piece with the two things that it concerns, the turn and the interpreter. It never ends the
//! turn itself: it answers that the turn is over, and why ([`TurnOver`]), and [`Machine`](crate::Machine) ends it.

mod call;
mod end;
mod history;
mod judge;
mod messages;
mod pointer;
mod region;
mod skipped;
mod speech;
mod start;
pub(crate) mod state;
mod work;

use std::borrow::Cow;
use std::sync::Arc;

use playhouse_lang::program::StepId;
use playhouse_lang::value::Value;

use crate::calls::call::{CallState, Callee};
use crate::machine::frame_core::{ReturnValue, Then};
use crate::machine::interpreter::Interpreter;
use crate::protocol::fault::FaultKind;
use crate::protocol::{CallId, TurnEnd, Wait};
use crate::reply::{Action, ReadFaultKind, Reading, WaitFor};
use crate::turn::history::append_line;
use crate::turn::state::{Gate, Goal, Todo, Turn};
use crate::variables::display::shorten;
use crate::variables::fault::EvalFault;
use crate::walk::tail_call::TailCall;

/// What the model is told that begins a sentence again and again and never ends it.
const UNFINISHED: &str = "your replies end in the middle of a string; finish the sentence, then the line with \"}, and keep \
                          the reply short";

/// One piece of work of a turn: the turn, and the interpreter that it acts on.
struct TurnStep<'m> {
    interpreter: &'m mut Interpreter,
    turn: &'m mut Turn,
}

/// Why a turn is over.
#[derive(Debug)]
enum TurnOver {
    /// The model has yielded; then this follows.
    Yielded(TurnEnd, Then),
    /// The reply is cut for this reason; then this follows.
    Cut(Cow<'static, str>, Then),
    /// The reply is cut, for the pointer's line has called a playbook: the frame goes on by itself.
    CalledPlaybook,
    /// The playbook that is called takes the frame's place.
    TailCall(Box<TailCall>),
    /// A trigger has matched.
    Matched,
    /// The model has made a mistake, of which it is told.
    Mistaken(String),
    /// Everything in the reply has been looked at.
    Read,
    /// The session has failed.
    Failed,
}

/// What a piece of a turn comes to, unless the turn is over.
type TurnResult<T = ()> = Result<T, TurnOver>;

impl TurnStep<'_> {
    /// Does the next piece of the reply in hand. Answers what must be waited for.
    fn advance(&mut self) -> TurnResult<Option<Wait>> {
        match self.turn.gate {
            Gate::Held(call) => return self.step_held(call),
            Gate::Judging { drops_line } => return self.step_judging(drops_line),
            Gate::Open => {}
        }
        if let Some(todo) = self.turn.todo.pop_front() {
            self.step_todo(todo)?;
        } else if let Some(reading) = self.turn.next_reading() {
            self.step_reading(reading)?;
        } else if self.turn.ended.is_some() {
            return Err(TurnOver::Read);
        } else {
            return Ok(Some(Wait::Reply(self.turn.id)));
        }
        Ok(None)
    }

    /// A line refers to the result of a tool that is still running: it and what follows it wait.
    fn step_held(&mut self, call: CallId) -> TurnResult<Option<Wait>> {
        // Speech that does not wait for the classifier has come to a result that is not there: both are waited for.
        if let Some(question) = self.interpreter.watcher.question() {
            return Ok(Some(Wait::Verdict(question.question)));
        }
        let core = self.interpreter.stack.core();
        if core.watch.first_match().is_some() {
            return Err(self.matched(true));
        }
        match core.queue.get(call).map(|queued| queued.state().clone()) {
            Some(CallState::Running { .. } | CallState::Queued) => return Ok(Some(Wait::Call(call))),
            Some(CallState::Asking { .. }) => return Ok(Some(Wait::Approval(call))),
            Some(CallState::Done(result)) => {
                self.interpreter.take_call(call);
                self.go_on_unless_failed()?;
                if result.is_err() {
                    return Err(self.cut_before_line("a call that the next line needs has failed"));
                }
                if self.judge(true)? {
                    return Ok(None);
                }
            }
            None => {}
        }
        self.turn.gate = Gate::Open;
        Ok(None)
    }

    fn step_reading(&mut self, reading: Reading) -> TurnResult {
        let turn = &mut *self.turn;
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
            Reading::Ignored { key, .. } => self.interpreter.ignore(format!("the key `{key}` means nothing here")),
            // What was heard of a sentence is not said again: the model goes on in the middle of it. One that finishes no
            // sentence is told so.
            Reading::Fault(fault) if fault.kind == ReadFaultKind::CutOff && turn.has_spoken() => {
                let max_unfinished = self.interpreter.stack.settings.max_repairs;
                let chat_owner = self.interpreter.stack.chat_owner_mut();
                chat_owner.n_unfinished = chat_owner.n_unfinished.saturating_add(1);
                if chat_owner.n_unfinished > max_unfinished {
                    return Err(TurnOver::Mistaken(UNFINISHED.to_owned()));
                }
                turn.is_cut_short = true;
                return Err(TurnOver::Cut("the reply ended in a sentence".into(), Then::GoOn));
            }
            Reading::Fault(fault) => {
                // What could not be read is a line of its own; the one before it, if that is complete, has taken effect.
                if turn.line_source.is_some() {
                    turn.begin_line(None);
                }
                turn.line_source = Some(fault.excerpt.into()).filter(|excerpt: &Arc<str>| !excerpt.is_empty());
                return Err(TurnOver::Mistaken(fault.message));
            }
        }
        Ok(())
    }

    fn step_todo(&mut self, todo: Todo) -> TurnResult {
        let is_over = self.turn.is_line_over;
        match todo {
            Todo::SayText(_) | Todo::SayParts(_) | Todo::CloseSay | Todo::Act(Action::Think(_) | Action::Skip(_))
                if is_over => {}
            Todo::OpenSay | Todo::Set(..) | Todo::Act(_) if is_over => self.report_done(),
            Todo::At(label) => return self.at(&label),
            Todo::Move(goal) => return self.move_towards(goal),
            Todo::OpenSay => self.open_say(),
            Todo::SayText(text) => self.scan_speech(&text),
            Todo::SayParts(parts) => return self.say_parts(parts),
            Todo::CloseSay => return self.close_say(),
            Todo::Set(name, value) => return self.set(&name, &value),
            Todo::Act(action) => return self.act_on(action),
            Todo::Applied { source, end } => {
                let turn = &mut *self.turn;
                turn.applied.truncate(turn.line_start);
                append_line(&mut turn.applied, &source);
                turn.n_used = end;
                turn.is_line_applied = true;
                // A yield is part of its line: the frame waits or returns when the triggers have been seen to.
                if !turn.todo.front().is_some_and(Todo::is_yield) {
                    self.judge(false)?;
                } else if self.returns_inside() {
                    // What matches is called when the turn has ended, and the playbook inside returns then.
                    self.ask_classifier();
                    self.hold_while_asking(false);
                }
            }
        }
        Ok(())
    }

    /// The line that is in hand takes effect with what it does now, for nothing can be noted after it.
    fn apply_line_in_hand(&mut self) -> TurnResult {
        let todo = &mut self.turn.todo;
        let applied = todo.iter().position(|todo| matches!(todo, Todo::Applied { .. }));
        match applied.and_then(|index| todo.remove(index)) {
            Some(applied) => self.step_todo(applied),
            None => Ok(()),
        }
    }

    /// A limit may have ended the session.
    fn go_on_unless_failed(&self) -> TurnResult {
        if self.interpreter.outcome.is_some() { Err(TurnOver::Failed) } else { Ok(()) }
    }

    /// A trigger has matched. `drops_line`: the line in hand has not taken effect, and will not.
    fn matched(&mut self, drops_line: bool) -> TurnOver {
        if drops_line {
            self.turn.drop_line();
        }
        TurnOver::Matched
    }

    /// The pointer's line must wait for a call.
    fn wait_for_results(&mut self, step: StepId) -> TurnResult {
        match self.interpreter.stack.blocking_call(step) {
            Some(call) => self.hold_for_call(call),
            None => {
                self.turn.todo_first(Todo::Move(Goal::Line(step)));
                Ok(())
            }
        }
    }

    /// Something refers to the result of a call that is not there yet. A tool is waited for; for a playbook it
    /// is as if `"wait": "calls"` stood before the line.
    fn hold_for(&mut self, name: &str) -> TurnResult {
        match self.interpreter.stack.top().pending(name).map(|call| call.id) {
            Some(call) => self.hold_for_call(call),
            None => Ok(()),
        }
    }

    fn hold_for_call(&mut self, call: CallId) -> TurnResult {
        let queued = self.interpreter.stack.core().queue.get(call).map(|queued| (queued.callee, queued.state()));
        match queued {
            Some((Callee::Tool(_) | Callee::Model, CallState::Queued)) => {
                Err(self.cut_before_line("the line needs the result of a tool"))
            }
            Some((Callee::Tool(_) | Callee::Model, _)) => {
                self.turn.gate = Gate::Held(call);
                Ok(())
            }
            Some((Callee::Playbook(_) | Callee::Plan(_) | Callee::Gone(_), _)) | None => {
                Err(self.cut_before_line("the line needs the result of a playbook"))
            }
        }
    }

    /// The line in hand needs what is not there: the frame goes on with it, in mid-sentence, when it is.
    fn cut_before_line(&mut self, reason: &'static str) -> TurnOver {
        self.turn.is_cut_short = true;
        self.cut_without_line(reason)
    }

    /// The reply is cut, the line in hand does not take effect, and the frame goes on.
    fn cut_without_line(&mut self, reason: &'static str) -> TurnOver {
        self.turn.drop_line();
        TurnOver::Cut(reason.into(), Then::GoOn)
    }

    fn set(&mut self, name: &Arc<str>, value: &Value) -> TurnResult {
        self.touch_line();
        if playhouse_lang::expr::scan_name(name) != name.len() || name.is_empty() {
            return mistake(format!("\"{name}\" in \"set\" is not a variable name; use letters, digits and _"));
        }
        let resolved = match self.interpreter.resolve(value) {
            Ok(resolved) => resolved,
            Err(EvalFault::Unset(unset)) if self.interpreter.stack.top().pending(&unset).is_some() => {
                self.turn.todo_first(Todo::Set(name.clone(), value.clone()));
                return self.hold_for(&unset);
            }
            Err(fault) => return mistake(format!("\"set\" of {name}: {fault}")),
        };
        let stack = &self.interpreter.stack;
        let assigned = stack.top().here.performed.as_ref().and_then(|performed| performed.assigned.clone());
        if let Some((own, truth)) = assigned
            && own == *name
        {
            if truth == *resolved.value() {
                self.interpreter.ignore(format!("the interpreter has set ${name} itself"));
                return Ok(());
            }
            self.interpreter.ignore(format!("the model's value of ${name} differs from the interpreter's"));
            return Err(self.cut_without_line("a value differs from the interpreter's"));
        }
        if let Some(wanted) = stack.wanted(stack.top().executed(), name, resolved.value()) {
            let shown = shorten(&resolved, 80);
            return mistake(format!("${name} must be {wanted}, not {} {shown}", resolved.value().kind()));
        }
        let changed = stack.reader().variable(name).is_none_or(|variable| variable.value.value() != resolved.value());
        self.interpreter.set_variable(name, resolved);
        self.turn.progress |= changed;
        self.go_on_unless_failed()
    }

    fn act_on(&mut self, action: Action) -> TurnResult {
        if let Action::Return(value) = &action
            && self.leave_to_return()
        {
            return self.todo_after_leaving(value.clone());
        }
        if !matches!(action, Action::Think(_) | Action::Skip(_) | Action::Return(_) | Action::End(_)) {
            self.touch_line();
        }
        match action {
            Action::Say(text) => {
                self.turn.todo_first(Todo::CloseSay);
                self.turn.todo_first(Todo::SayText(text));
                self.turn.todo_first(Todo::OpenSay);
            }
            Action::Set(members) => {
                for (name, value) in members.into_iter().rev() {
                    self.turn.todo_first(Todo::Set(name, value));
                }
            }
            Action::Call { name, arguments, each, result } => return self.call(name, arguments, each, result),
            Action::Think(_) => {}
            Action::Skip(reason) => return self.skip(reason),
            Action::Wait(WaitFor::Calls) => return Err(TurnOver::Yielded(TurnEnd::Wait, Then::GoOn)),
            Action::Wait(WaitFor::User) => return Err(TurnOver::Yielded(TurnEnd::Wait, Then::WaitUser)),
            Action::Wait(WaitFor::Timer(text)) => {
                let Some(after_ms) = timer_ms(&text) else {
                    return mistake(format!("\"timer:{text}\" is not an ISO 8601 duration, like \"timer:PT30S\""));
                };
                self.turn.progress = true;
                return Err(TurnOver::Yielded(TurnEnd::Wait, Then::WaitTimer { after_ms, text: text.into() }));
            }
            Action::Wait(WaitFor::Agent(agent)) => {
                let problem =
                    format!("the program waits for the agent {agent}: waiting for other agents is not supported");
                self.interpreter.fail(FaultKind::Unsupported, problem);
                return Err(TurnOver::Failed);
            }
            Action::Return(_) if self.has_returned() => self.report_done(),
            Action::Return(value) => {
                let returned = match self.interpreter.resolve(&value) {
                    Ok(resolved) => ReturnValue::Value(resolved),
                    Err(EvalFault::Unset(name)) if self.interpreter.stack.top().pending(&name).is_some() => {
                        ReturnValue::Pending(value.clone())
                    }
                    Err(fault) => return mistake(format!("\"return\": {fault}")),
                };
                self.leave_lines(Some(&value))?;
                self.turn.progress = true;
                let then = Then::Return { value: returned, failed: false };
                if self.interpreter.stack.top().inside.is_some() {
                    return self.yield_inside(then);
                }
                return Err(TurnOver::Yielded(TurnEnd::Return, then));
            }
            Action::End(reason) => {
                self.leave_lines(reason.as_deref().map(Value::from).as_ref())?;
                self.turn.progress = true;
                return Err(TurnOver::Yielded(TurnEnd::End, Then::End { reason: reason.map(Arc::from) }));
            }
        }
        Ok(())
    }

    /// The model does something on the line.
    fn touch_line(&mut self) {
        self.interpreter.stack.top_mut().here.touched = true;
        self.turn.said_at = None;
    }

    /// Tells that something the model wrote is no longer its to do.
    fn report_done(&mut self) {
        self.interpreter.ignore("the interpreter has done this line itself");
    }
}

/// The model has made a mistake, of which it is told.
fn mistake<T>(problem: String) -> TurnResult<T> {
    Err(TurnOver::Mistaken(problem))
}

/// Milliseconds of an ISO 8601 duration; calendar units have no fixed length and are refused.
fn timer_ms(text: &str) -> Option<u64> {
    let duration: jiff::SignedDuration = text.parse().ok()?;
    u64::try_from(duration.as_millis()).ok()
}
