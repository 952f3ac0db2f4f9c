//! Speech: an utterance is delivered while its string is still being generated, with its references replaced
//! (spec `turn-protocol.md`, "References").

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::program::StepKind;

use crate::calls::call::{Callee, QueuedCall};
use crate::machine::frame::{Frame, OpenUtterance};
use crate::machine::state::Machine;
use crate::protocol::{Effect, Fact, UtteranceId};
use crate::reply::Reading;
use crate::turn::state::{Speech, Todo};
use crate::variables::fault::EvalFault;
use crate::variables::resolve::Spoken;
use crate::variables::template::{Part, TextScanner, scan_text};

impl Machine {
    pub(crate) fn open_say(&mut self) {
        self.touch_line();
        let frame = self.top();
        let playbook = self.stack().body(frame);
        let is_said = frame.here.performed.is_some()
            && frame.pointer.is_some_and(|step| matches!(playbook.step(step).kind, StepKind::Say { literal: Some(_) }));
        if is_said {
            self.report(Fact::Ignored { cause: "the interpreter has said this line itself".into() });
        }
        let utterance = match self.chat_owner_mut().saying.take() {
            Some(open) if !is_said => open,
            open => {
                self.chat_owner_mut().saying = open;
                OpenUtterance { id: self.next_utterance(), text: String::new() }
            }
        };
        let waits_for_turn = |call: &QueuedCall| {
            (matches!(call.callee, Callee::Playbook(_)) || call.is_waiting()) && call.result_name.is_some()
        };
        let held = self.core().queue.iter().any(waits_for_turn).then(VecDeque::new);
        if let Some(turn) = self.turn.as_mut() {
            let n_before = utterance.text.len();
            let scanner = TextScanner::default();
            turn.speech = Some(Speech { utterance, n_before, scanner, swallowed: is_said, held });
        }
    }

    fn next_utterance(&mut self) -> UtteranceId {
        self.next.utterance += 1;
        UtteranceId(self.next.utterance)
    }

    /// Delivers what can be delivered; at a result that is not there yet the rest waits.
    pub(crate) fn say_parts(&mut self, mut parts: VecDeque<Part>) {
        let speech = self.turn.as_mut().and_then(|turn| turn.speech.as_mut());
        if let Some(held) = speech.and_then(|speech| speech.held.as_mut()) {
            return held.extend(parts);
        }
        let mut text = String::new();
        let mut pending = None;
        while let Some(part) = parts.pop_front() {
            match part {
                Part::Text(piece) => text.push_str(&piece),
                Part::Reference { reference, braced, source } => {
                    match self.stack().speak_reference(&reference, braced, &source) {
                        Spoken::Text(piece) => text.push_str(&piece),
                        Spoken::Unknown => {
                            text.push_str(&source);
                            let cause = format!("`{source}` in `say` is no visible variable; it was said as written");
                            self.report(Fact::Ignored { cause: cause.into() });
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
        if let Some(name) = pending {
            self.todo_first(Todo::SayParts(parts));
            self.hold_for(&name);
        }
    }

    fn speak(&mut self, text: String) {
        let Some(place) = self.place() else { return };
        let Some(turn) = self.turn.as_mut() else { return };
        let Some(speech) = turn.speech.as_mut() else { return };
        if text.is_empty() || speech.swallowed {
            return;
        }
        speech.utterance.text.push_str(&text);
        turn.progress = true;
        let utterance = speech.utterance.id;
        self.emit(Effect::Say { utterance, text, last: false, place });
    }

    pub(crate) fn close_say(&mut self) {
        let Some(turn) = self.turn.as_mut() else { return };
        let Some(speech) = turn.speech.as_mut() else { return };
        let mut parts = Vec::new();
        speech.scanner.finish(&mut parts);
        if let Some(mut held) = speech.held.take() {
            held.extend(parts);
            turn.todo.push_front(Todo::CloseSay);
            turn.todo.push_front(Todo::SayParts(held.clone()));
            let pending = held.iter().find_map(|part| match part {
                Part::Reference { reference, .. } if self.top().pending(&reference.name).is_some() => {
                    Some(reference.name.clone())
                }
                Part::Reference { .. } | Part::Text(_) => None,
            });
            if let Some(name) = pending {
                self.hold_for(&name);
            }
            return;
        }
        if !parts.is_empty() {
            turn.todo.push_front(Todo::CloseSay);
            turn.todo.push_front(Todo::SayParts(parts.into()));
            return;
        }
        let Some(speech) = turn.speech.take() else { return };
        let pointer = self.frames.last().and_then(Frame::playbook).and_then(|frame| frame.pointer);
        turn.said_at = pointer;
        if speech.swallowed {
            return;
        }
        turn.line_said = Some(speech.utterance.text[speech.n_before..].to_owned());
        self.complete_utterance(speech.utterance);
    }

    /// An utterance has its whole text.
    pub(crate) fn complete_utterance(&mut self, utterance: OpenUtterance) {
        let Some(place) = self.place() else { return };
        self.emit(Effect::Say { utterance: utterance.id, text: String::new(), last: true, place });
        if utterance.text.is_empty() {
            return;
        }
        let text: Arc<str> = utterance.text.into();
        self.note_utterance(false, text.clone());
        self.tell_watcher(|watcher, sight| watcher.spoken(sight));
        self.report(Fact::Said { text });
        let heard = self.conversation.n_total();
        self.chat_owner_mut().chat.heard = heard;
    }

    /// Says a text of the program's own, with its references.
    pub(crate) fn say_whole(&mut self, text: &str) -> Result<String, EvalFault> {
        let mut said = String::new();
        for part in scan_text(text) {
            match part {
                Part::Text(piece) => said.push_str(&piece),
                Part::Reference { reference, braced, source } => {
                    match self.stack().speak_reference(&reference, braced, &source) {
                        Spoken::Text(piece) => said.push_str(&piece),
                        Spoken::Pending(name) => return Err(EvalFault::Unset(name)),
                        Spoken::Unknown if braced => return Err(EvalFault::Unset(reference.name)),
                        Spoken::Unknown => said.push_str(&source),
                    }
                }
            }
        }
        self.say_text(said.clone());
        Ok(said)
    }

    /// One whole utterance of the interpreter's.
    pub(crate) fn say_text(&mut self, text: String) {
        let id = self.next_utterance();
        if let Some(place) = self.place() {
            self.emit(Effect::Say { utterance: id, text: text.clone(), last: false, place });
        }
        self.complete_utterance(OpenUtterance { id, text });
    }

    /// While the classifier is asked and speech need not wait for it: does the next piece of the reply if that is
    /// speech, or only says which line it is at. Nothing that stands after anything else is done.
    pub(crate) fn step_speech_only(&mut self) -> bool {
        // A line of the interpreter's on the way would be performed.
        let may_move = self
            .frames
            .last()
            .and_then(Frame::playbook)
            .is_some_and(|frame| frame.here.performed.is_some() || !self.stack().performs_here(frame));
        let Some(turn) = self.turn.as_mut() else { return false };
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
                    self.step_reading(reading);
                }
                return is_readable;
            }
        };
        let todo = if may_do { turn.todo.pop_front() } else { None };
        if let Some(todo) = todo {
            self.step_todo(todo);
        }
        may_do
    }

    /// Decoded text of the string arrives.
    pub(crate) fn scan_speech(&mut self, text: &str) {
        let Some(turn) = self.turn.as_mut() else { return };
        let Some(speech) = turn.speech.as_mut() else { return };
        let mut parts = Vec::new();
        speech.scanner.push(text, &mut parts);
        turn.todo.push_front(Todo::SayParts(parts.into()));
    }
}
