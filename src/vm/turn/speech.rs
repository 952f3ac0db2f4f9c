//! Speech: an utterance is delivered while its string is still being generated, with its references replaced
//! (spec `turn-protocol.md`, "References").

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::program::StepKind;

use crate::calls::call::{Callee, QueuedCall};
use crate::machine::frame::OpenUtterance;
use crate::machine::interpreter::Interpreter;
use crate::protocol::{Effect, Fact};
use crate::reply::Reading;
use crate::turn::state::{Speech, Todo};
use crate::turn::{TurnOver, TurnResult, TurnStep};
use crate::variables::fault::EvalFault;
use crate::variables::resolve::Spoken;
use playhouse_lang::expr::template::{Part, TextScanner, scan_text};

impl TurnStep<'_> {
    pub(super) fn open_say(&mut self) {
        self.touch_line();
        let stack = &mut self.interpreter.stack;
        let frame = stack.top();
        let body = stack.body(frame);
        let is_said = frame.here.performed.is_some()
            && !frame.here.is_said
            && frame.pointer.is_some_and(|step| matches!(body.step(step).kind, StepKind::Say { literal: Some(_) }));
        let waits_for_turn = |call: &QueuedCall| {
            (matches!(call.callee, Callee::Playbook(_)) || call.is_waiting()) && call.result_name.is_some()
        };
        let held = frame.core.queue.iter().any(waits_for_turn).then(VecDeque::new);
        let open = stack.chat_owner_mut().saying.take_if(|_| !is_said);
        if is_said {
            self.interpreter.ignore("the interpreter has said this line itself");
        }
        let utterance =
            open.unwrap_or_else(|| OpenUtterance { id: self.interpreter.ids.next_utterance(), text: String::new() });
        let (n_before, scanner) = (utterance.text.len(), TextScanner::default());
        self.turn.speech = Some(Speech { utterance, n_before, scanner, swallowed: is_said, held });
    }

    /// Delivers what can be delivered; at a result that is not there yet the rest waits.
    pub(super) fn say_parts(&mut self, mut parts: VecDeque<Part>) -> TurnResult {
        let speech = self.turn.speech.as_mut();
        if let Some(held) = speech.and_then(|speech| speech.held.as_mut()) {
            held.extend(parts);
            return Ok(());
        }
        let mut text = String::new();
        let mut pending = None;
        while let Some(part) = parts.pop_front() {
            match part {
                Part::Text(piece) if text.is_empty() => text = piece,
                Part::Text(piece) => text.push_str(&piece),
                Part::Reference { reference, braced, source } => {
                    match self.interpreter.stack.speak_reference(&reference, braced, &source) {
                        Spoken::Text(piece) => text.push_str(&piece),
                        // A user never reads a name in place of its value.
                        Spoken::Unknown(fault) if braced => {
                            self.speak(text);
                            if let EvalFault::NoStep { .. } = fault {
                                return Err(TurnOver::Mistaken(format!("`{source}` in `say`: {fault}")));
                            }
                            return Err(TurnOver::Mistaken(format!(
                                "`{source}` in `say` is not a visible variable; say it in other words, or `{{$${}}}` for the \
                                 name itself",
                                reference.name
                            )));
                        }
                        Spoken::Unknown(_) => {
                            text.push_str(&source);
                            let cause =
                                format!("`{source}` in `say` is not a visible variable; it was said as written");
                            self.interpreter.ignore(cause);
                        }
                        Spoken::Pending(name) => {
                            parts.push_front(Part::Reference { reference, braced, source });
                            pending = Some(name);
                            break;
                        }
                    }
                }
            }
        }
        self.speak(text);
        let Some(name) = pending else { return Ok(()) };
        self.turn.todo_first(Todo::SayParts(parts));
        self.hold_for(&name)
    }

    fn speak(&mut self, text: String) {
        let (Some(place), Some(speech)) = (self.interpreter.place(), self.turn.speech.as_mut()) else { return };
        if text.is_empty() || speech.swallowed {
            return;
        }
        speech.utterance.text.push_str(&text);
        self.turn.progress = true;
        self.interpreter.emit(Effect::Say { utterance: speech.utterance.id, text, last: false, place });
    }

    pub(super) fn close_say(&mut self) -> TurnResult {
        let turn = &mut *self.turn;
        let Some(speech) = turn.speech.as_mut() else { return Ok(()) };
        let mut parts = Vec::new();
        speech.scanner.finish(&mut parts);
        let frame = self.interpreter.stack.top();
        if let Some(mut held) = speech.held.take() {
            held.extend(parts);
            let pending = held.iter().find_map(|part| match part {
                Part::Reference { reference, .. } => frame.pending(&reference.name).map(|call| call.id),
                Part::Text(_) => None,
            });
            turn.todo_first(Todo::CloseSay);
            turn.todo_first(Todo::SayParts(held));
            return pending.map_or(Ok(()), |call| self.hold_for_call(call));
        }
        if !parts.is_empty() {
            turn.todo_first(Todo::CloseSay);
            turn.todo_first(Todo::SayParts(parts.into()));
            return Ok(());
        }
        turn.said_at = frame.pointer;
        if let Some(speech) = turn.speech.take().filter(|speech| !speech.swallowed) {
            turn.line_said = Some(speech.utterance.text[speech.n_before..].to_owned());
            self.interpreter.stack.chat_owner_mut().n_unfinished = 0;
            self.interpreter.complete_utterance(speech.utterance);
        }
        Ok(())
    }

    /// While the classifier is asked and speech need not wait for it: does the next piece of the reply if that is
    /// speech, or only says which line it is at. Nothing that stands after anything else is done.
    pub(super) fn step_speech_only(&mut self) -> TurnResult<bool> {
        let frame = self.interpreter.stack.top();
        // A line of the interpreter's on the way would be performed.
        let may_move = frame.here.performed.is_some() || !self.interpreter.stack.performs_here(frame);
        let turn = &mut *self.turn;
        let may_do = match turn.todo.front() {
            Some(
                Todo::OpenSay
                | Todo::SayText(_)
                | Todo::SayParts(_)
                | Todo::CloseSay
                | Todo::Applied { .. }
                | Todo::At(_),
            ) => true,
            Some(Todo::Move(_)) => may_move,
            Some(Todo::Set(..) | Todo::Act(_)) => false,
            None => {
                let is_readable = match turn.readings.front() {
                    // A line that does anything else is held with its `at`: the pointer does not go ahead.
                    Some(Reading::Line(line)) => line.streamed_say || line.actions.is_empty(),
                    None | Some(Reading::Fault(_)) => false,
                    Some(
                        Reading::SayBegan { .. }
                        | Reading::SayText(_)
                        | Reading::SayEnded
                        | Reading::Prose { .. }
                        | Reading::Think { .. }
                        | Reading::Ignored { .. },
                    ) => true,
                };
                if is_readable && let Some(reading) = turn.next_reading() {
                    self.step_reading(reading)?;
                }
                return Ok(is_readable);
            }
        };
        if may_do && let Some(todo) = turn.todo.pop_front() {
            self.step_todo(todo)?;
        }
        Ok(may_do)
    }

    /// Decoded text of the string arrives.
    pub(super) fn scan_speech(&mut self, text: &str) {
        let Some(speech) = self.turn.speech.as_mut() else { return };
        let mut parts = Vec::new();
        speech.scanner.push(text, &mut parts);
        self.turn.todo_first(Todo::SayParts(parts.into()));
    }
}

impl Interpreter {
    /// An utterance has its whole text.
    pub(crate) fn complete_utterance(&mut self, utterance: OpenUtterance) {
        let Some(place) = self.place() else { return };
        self.emit(Effect::Say { utterance: utterance.id, text: String::new(), last: true, place });
        if utterance.text.is_empty() {
            return;
        }
        let text: Arc<str> = utterance.text.into();
        self.stack.note_utterance(false, text.clone());
        self.tell_watcher(|watcher, context| watcher.spoken(context));
        self.report(Fact::Said { text });
        let heard = self.stack.conversation.n_total();
        self.stack.chat_owner_mut().chat.heard = heard;
    }

    /// Says a text of the program's own, with its references.
    pub(crate) fn say_whole(&mut self, text: &str) -> Result<String, EvalFault> {
        let mut said = String::new();
        for part in scan_text(text) {
            match part {
                Part::Text(piece) => said.push_str(&piece),
                Part::Reference { reference, braced, source } => {
                    match self.stack.speak_reference(&reference, braced, &source) {
                        Spoken::Text(piece) => said.push_str(&piece),
                        Spoken::Pending(name) => return Err(EvalFault::Unset(name)),
                        Spoken::Unknown(fault) if braced => return Err(fault),
                        Spoken::Unknown(_) => said.push_str(&source),
                    }
                }
            }
        }
        self.say_text(said.clone());
        Ok(said)
    }

    /// One whole utterance of the interpreter's.
    pub(crate) fn say_text(&mut self, text: String) {
        let id = self.ids.next_utterance();
        if let Some(place) = self.place() {
            self.emit(Effect::Say { utterance: id, text: text.clone(), last: false, place });
        }
        self.complete_utterance(OpenUtterance { id, text });
    }
}
