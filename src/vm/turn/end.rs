//! How a turn ends: yields, cuts, ends without a yield, broken streams, and what becomes of a model that does
//! not keep to the protocol (spec `turn-protocol.md`).

use std::sync::Arc;

use playhouse_lang::program::StepId;
use playhouse_lang::program::flow_graph::Node;

use crate::machine::frame_core::{Phase, ReturnValue, Then};
use crate::machine::interpreter::{Interpreter, ReplyInHand};
use crate::machine::state::Machine;
use crate::protocol::fault::FaultKind;
use crate::protocol::settings::OnProtocolFailure;
use crate::protocol::{
    Close, Effect, Fact, Finish, QuestionId, ReplyEnd, Tracked, TurnEnd, TurnId, Usage, Verdict, Wait, estimate_tokens,
};
use crate::turn::history::{append_line, say_line};
use crate::turn::state::ClosingTurn;
use crate::turn::{TurnOver, TurnStep};

/// Said when a model cannot be brought to keep to the protocol and has said nothing that could be said instead.
const NOTHING_TO_SAY: &str = "Sorry, I could not go on with that. Could you say it in other words?";

impl Machine {
    pub(crate) fn handle_chunk(&mut self, id: TurnId, bytes: &[u8]) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == id && turn.ended.is_none()) {
            turn.read(bytes);
        } else if let Some(closing) = self.closing.iter_mut().find(|closing| closing.id == id) {
            closing.n_bytes += bytes.len() as u64;
        }
    }

    pub(crate) fn handle_reply_ended(&mut self, id: TurnId, end: ReplyEnd, usage: Option<Usage>) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == id && turn.ended.is_none()) {
            turn.finish_reading(end, usage);
            self.interpreter.reply = Some(ReplyInHand { turn: id, is_arriving: false });
        } else if let Some(index) = self.closing.iter().position(|closing| closing.id == id) {
            let closing = self.closing.remove(index);
            self.report_finished(&closing, usage);
        }
    }

    /// The classifier has answered: its next question may also be about what has been read meanwhile.
    pub(crate) fn handle_verdict(&mut self, question: QuestionId, verdict: &Verdict, ms: u64) {
        let is_open = self.interpreter.watcher.question().is_some_and(|open| open.question == question);
        self.interpreter.tell_watcher(|watcher, context| watcher.judged(context, question, verdict, ms));
        if let Some(turn) = self.turn.as_mut().filter(|_| is_open) {
            turn.horizon = turn.readings.len();
        }
    }

    /// One piece of the reply in hand; what must be waited for.
    pub(crate) fn step_turn(&mut self) -> Option<Wait> {
        let Some(turn) = self.turn.as_mut() else {
            self.interpreter.stack.core_mut().phase = Phase::Ready;
            return None;
        };
        let over = match (TurnStep { interpreter: &mut self.interpreter, turn }).advance() {
            Ok(wait) => return wait,
            Err(over) => over,
        };
        match over {
            // The rest of the reply is not wanted, but its usage may still come.
            TurnOver::Yielded(end, then) => {
                self.end_turn(end, Close::Grace, "the model has yielded");
                self.after_turn(then);
            }
            TurnOver::Cut(reason, then) => {
                self.cut_turn(&reason);
                self.after_turn(then);
            }
            TurnOver::CalledPlaybook => {
                self.cut_turn("the line calls a playbook");
                self.after_turn(Then::GoOn);
                let core = self.interpreter.stack.core_mut();
                if core.phase == Phase::Draining(Then::GoOn) {
                    core.phase = Phase::Ready;
                }
            }
            TurnOver::TailCall(tail_call) => {
                self.cut_turn("the call takes the place of its playbook");
                if self.interpreter.outcome.is_none() {
                    self.interpreter.make_tail_call(*tail_call);
                }
            }
            TurnOver::Matched => self.cut_for_match(),
            TurnOver::Mistaken(problem) => self.fail_turn(&problem),
            TurnOver::Read => self.end_of_reply(),
            // Nobody wants the reply of a session that has failed: `advance` closes it.
            TurnOver::Failed => {}
        }
        None
    }

    /// The reply is cut here. The caller says how the frame goes on.
    pub(crate) fn cut_turn(&mut self, reason: &str) {
        self.end_turn(TurnEnd::Cut, Close::Now, reason);
    }

    /// The reply is not wanted any more, for something has gone wrong.
    pub(crate) fn close_turn(&mut self, reason: &str) {
        self.end_turn(TurnEnd::Error, Close::Now, reason);
    }

    /// Ends the turn in progress, if there is one: keeps what took effect as the assistant's message, and lets
    /// go of the stream.
    fn end_turn(&mut self, end: TurnEnd, close: Close, reason: &str) {
        self.interpreter.tell_watcher(|watcher, _| watcher.drop_ahead());
        let Some(mut turn) = self.turn.take() else { return };
        self.interpreter.reply = None;
        self.time_limit = None;
        let was_cut_short = turn.is_cut_short
            || matches!(
                turn.ended,
                Some((ReplyEnd::Broken { .. } | ReplyEnd::Closed | ReplyEnd::Complete(Finish::Length), _))
            );
        if let Some(speech) = turn.speech.take() {
            let delivered = speech.utterance.text[speech.n_before..].to_owned();
            if !delivered.is_empty() {
                turn.applied.truncate(turn.line_start);
                append_line(&mut turn.applied, &say_line(turn.line_at.as_ref(), &delivered));
            }
            if speech.utterance.text.is_empty() {
                // Nothing was heard of it: it is as if it had not begun.
            } else if was_cut_short {
                let chat_owner = self.interpreter.stack.chat_owner_mut();
                chat_owner.told.set_saying(speech.utterance.text.as_str());
                chat_owner.saying = Some(speech.utterance);
            } else {
                self.interpreter.complete_utterance(speech.utterance);
            }
        }
        // A line that broke off after its speech: nothing else of it took effect.
        if let Some(said) = turn.line_said.take().filter(|said| turn.line_source.is_none() && !said.is_empty()) {
            append_line(&mut turn.applied, &say_line(turn.line_at.as_ref(), &said));
        }
        self.interpreter.last_prose = std::mem::take(&mut turn.prose);
        if !turn.applied.is_empty() {
            self.interpreter.stack.chat_owner_mut().chat.push_assistant(turn.applied);
        } else if end == TurnEnd::Error
            && let Some(words) = turn.words.take()
        {
            // The chat has them already; whoever reads the turn as data gets them once more.
            self.interpreter.stack.chat_owner_mut().told.keep_words(words);
        }
        // A stream that broke is not the model's idleness.
        if turn.progress {
            self.interpreter.stack.chat_owner_mut().n_idle_turns = 0;
        } else if !matches!(turn.ended, Some((ReplyEnd::Broken { .. } | ReplyEnd::Closed, _))) {
            self.interpreter.stack.chat_owner_mut().n_idle_turns += 1;
        }
        self.interpreter.start_queued_tools();
        // A turn that goes on in the next one is not over.
        if !turn.is_matched && end != TurnEnd::Error {
            self.interpreter.tell_watcher(|watcher, context| watcher.turn_over(context));
        }
        let n_bytes = turn.reader.n_bytes();
        let closing = ClosingTurn {
            id: turn.id,
            place: self.interpreter.place(),
            started: turn.started,
            prompt_tokens: turn.prompt_tokens,
            n_bytes,
            n_used: turn.n_used.min(n_bytes),
            end,
            is_matched: turn.is_matched,
        };
        let spent = turn.prompt_tokens + estimate_tokens(n_bytes);
        self.interpreter.stack.spend_tokens(spent);
        let withdrawn = turn.withdrawn;
        // One that has come to its end, too, may be taken back.
        if (turn.ended.is_none() && close == Close::Now) || !withdrawn.is_empty() {
            let discarded_bytes = closing.n_bytes - closing.n_used;
            self.interpreter.report(Fact::StreamCancelled { reason: reason.into(), discarded_bytes, withdrawn });
        }
        match turn.ended {
            Some((_, usage)) => self.report_finished(&closing, usage),
            None => {
                self.interpreter.emit(Effect::CloseReply { turn: turn.id, close });
                self.closing.push(closing);
            }
        }
    }

    /// The reply of a turn is over in every sense.
    fn report_finished(&mut self, closing: &ClosingTurn, usage: Option<Usage>) {
        let estimated = usage.is_none();
        // A request of which not a byte came back is not known to have been read.
        let usage = usage.unwrap_or(Usage {
            prompt_tokens: if closing.n_bytes > 0 { closing.prompt_tokens } else { 0 },
            cached_tokens: 0,
            completion_tokens: estimate_tokens(closing.n_bytes),
        });
        let discarded_tokens = estimate_tokens(closing.n_bytes - closing.n_used);
        let ms = u64::try_from(self.interpreter.stack.now.0 - closing.started.0).unwrap_or(0);
        self.interpreter.counters.add_usage(usage);
        self.interpreter.counters.discarded_tokens += discarded_tokens;
        if closing.is_matched {
            self.interpreter.counters.match_discarded_tokens += discarded_tokens;
        }
        self.interpreter.counters.model_ms += ms;
        let fact = Fact::TurnFinished { turn: closing.id, end: closing.end, usage, discarded_tokens, estimated, ms };
        self.interpreter.report_at(closing.place, fact);
    }

    /// How the frame goes on after a turn that was no failure of the protocol.
    fn after_turn(&mut self, then: Then) {
        if self.interpreter.outcome.is_some() {
            return;
        }
        self.interpreter.drain(then);
        let chat_owner = self.interpreter.stack.chat_owner_mut();
        chat_owner.n_failures = 0;
        chat_owner.n_attempts = 0;
        chat_owner.told_left_out.clear();
        if chat_owner.n_idle_turns >= self.interpreter.stack.settings.max_turns_without_progress {
            let n = self.interpreter.stack.settings.max_turns_without_progress;
            self.interpreter.protocol_failure(&format!("{n} turns in a row brought nothing"));
        }
    }

    /// A trigger has matched: the reply is cut after the last line that took effect. A turn that was judged together
    /// with the user's message has not begun to take effect: it is as if it had not been asked for.
    fn cut_for_match(&mut self) {
        let stack = &self.interpreter.stack;
        let name = stack.core().watch.first_match().map(|trigger| stack.program.trigger_name(trigger));
        let mut undo = None;
        if let Some(turn) = self.turn.as_mut() {
            turn.is_matched = true;
            // It is not the model's idleness.
            turn.progress = true;
            undo = turn.undo.take();
        }
        self.cut_turn(&format!("trigger {} matched", name.unwrap_or_default()));
        if let Some(undo) = undo {
            let chat_owner = self.interpreter.stack.chat_owner_mut();
            (chat_owner.chat, chat_owner.told) = *undo;
        }
        self.after_turn(Then::GoOn);
    }

    /// The model has made a mistake: the reply is cut before the line in hand, and the model is told.
    fn fail_turn(&mut self, problem: &str) {
        let line = self.turn.as_ref().and_then(|turn| turn.line_source.clone());
        let problem = &match line {
            Some(line) => {
                let end = line.floor_char_boundary(200);
                let more = if end < line.len() { "…" } else { "" };
                format!("{problem}; the line was: {}{more}", line[..end].replace(['\n', '\r'], " "))
            }
            None => problem.to_owned(),
        };
        if let Some(turn) = self.turn.as_mut() {
            turn.drop_line();
        }
        self.close_turn("a mistake of the model");
        if self.interpreter.outcome.is_some() {
            return;
        }
        self.interpreter.drain(Then::GoOn);
        self.interpreter.stack.chat_owner_mut().n_attempts = 0;
        self.interpreter.note_mistake(problem);
    }

    /// The reply is over and everything in it has been looked at.
    fn end_of_reply(&mut self) {
        let Some(turn) = self.turn.as_ref() else { return };
        let Some((end, _)) = turn.ended.clone() else { return };
        let (n_lines, reopened) = (turn.n_lines, turn.reopened);
        let has_said = turn.line_said.as_ref().is_some_and(|said| !said.is_empty());
        let took_effect = !turn.applied.is_empty() || turn.has_spoken() || has_said;
        match end {
            ReplyEnd::Refused { reason } => self.interpreter.fail(FaultKind::Model, reason),
            ReplyEnd::Broken { reason, retry_after_ms } => {
                self.broken(&reason, retry_after_ms, took_effect, reopened);
            }
            ReplyEnd::Closed => self.broken(&"the reply was closed".into(), None, took_effect, reopened),
            ReplyEnd::Complete(_) if n_lines == 0 => {
                let problem = "your reply had no JSON line; answer with JSON Lines only, like \
                               {\"at\":\"01\",\"say\":\"…\"}, and end with a line that has \"wait\", \"return\" or \"end\"";
                self.fail_turn(problem);
            }
            ReplyEnd::Complete(Finish::Length) => {
                self.end_turn(TurnEnd::Ended, Close::Now, "the reply is over");
                self.after_turn(Then::GoOn);
            }
            ReplyEnd::Complete(Finish::Stop | Finish::Other(_)) => {
                let (next, then) = match self.wait_after_question() {
                    Some(next) => (next.map(Node::Step), Then::WaitUser),
                    None => (self.line_left_behind(), Then::GoOn),
                };
                self.end_turn(TurnEnd::Ended, Close::Now, "the reply is over");
                match next {
                    Some(Node::End) => {
                        self.after_turn(Then::Return { value: ReturnValue::Value(Tracked::NULL), failed: false });
                    }
                    Some(Node::Step(next)) => {
                        self.after_turn(then.clone());
                        if self.interpreter.stack.core().phase == Phase::Draining(then) {
                            self.interpreter.arrive(Node::Step(next));
                        }
                    }
                    None => self.after_turn(then),
                }
            }
        }
    }

    /// Whether a reply that ends without a yield has asked the user something last, so that the answer comes next: at
    /// its line, or at the line that follows and only waits for it.
    fn wait_after_question(&self) -> Option<Option<StepId>> {
        let frame = self.interpreter.stack.top();
        let step = self.turn.as_ref()?.said_at.filter(|said_at| frame.pointer == Some(*said_at))?;
        if self.interpreter.stack.is_unanswered(step) {
            return Some(None);
        }
        let [only] = self.interpreter.stack.body(frame).flow.successors(step) else { return None };
        let Node::Step(next) = only.to else { return None };
        let is_next = frame.here.performed.is_none()
            && self.interpreter.stack.has_done_work(step, true)
            && self.interpreter.stack.only_waits(next);
        is_next.then_some(Some(next))
    }

    /// Where a reply that ends without a yield has left its last line for: after the last line, or to a line
    /// that is the interpreter's anyway. None: the model may have more to do on the line.
    fn line_left_behind(&self) -> Option<Node> {
        let frame = self.interpreter.stack.top();
        let body = self.interpreter.stack.body(frame);
        let step = frame.pointer?;
        if self.turn.as_ref().is_some_and(|turn| turn.speech.is_some()) {
            return None;
        }
        let next = match &frame.here.performed {
            Some(performed) => performed.next,
            None if frame.here.touched && self.interpreter.stack.has_done_work(step, true) => {
                let edges = body.flow.successors(step);
                let first = edges.first()?.to;
                edges.iter().all(|edge| edge.to == first).then_some(first)?
            }
            None => return None,
        };
        match next {
            Node::End => Some(Node::End),
            Node::Step(id) => {
                (self.interpreter.stack.is_interpreters(body, id) && frame.here.performed.is_none()).then_some(next)
            }
        }
    }

    /// The stream broke: what was applied stays, and the model is asked to go on from there.
    fn broken(&mut self, reason: &Arc<str>, retry_after_ms: Option<u64>, took_effect: bool, reopened: bool) {
        let is_unfinished =
            !reopened && self.turn.as_ref().is_some_and(|turn| turn.speech.is_some() && turn.has_spoken());
        self.close_turn("the stream broke");
        let settings = self.interpreter.stack.settings.clone();
        self.interpreter.drain(Then::GoOn);
        let chat_owner = self.interpreter.stack.chat_owner_mut();
        // A restart of our own process says nothing about the server.
        if reopened {
            chat_owner.delay_ms = 0;
            return;
        }
        chat_owner.n_unfinished = chat_owner.n_unfinished.saturating_add(u32::from(is_unfinished));
        // Pieces of one sentence, over and over, bring nothing, either.
        let brought_something = took_effect && chat_owner.n_unfinished <= 1;
        chat_owner.n_attempts = if brought_something { 1 } else { chat_owner.n_attempts + 1 };
        let n_attempts = chat_owner.n_attempts;
        if n_attempts > settings.max_retries {
            let times = if n_attempts == 1 { "1 attempt".to_owned() } else { format!("{n_attempts} attempts") };
            let message = format!("no answer after {times}: {reason}; the session is saved");
            return self.interpreter.fail(FaultKind::Model, message);
        }
        let doubled = settings.retry_delay_ms.saturating_mul(1 << (n_attempts - 1).min(16));
        // The server's own wish counts, but not for ever.
        let wished = retry_after_ms.unwrap_or(0).min(settings.max_retry_delay_ms.saturating_mul(10));
        let delay_ms = doubled.min(settings.max_retry_delay_ms).max(wished);
        self.interpreter.stack.chat_owner_mut().delay_ms = delay_ms;
        self.interpreter.counters.retries += 1;
        self.interpreter.report(Fact::Retry { cause: reason.clone(), attempt: n_attempts + 1, delay_ms });
    }

    /// The reply in progress is about the old text. `drops_frame`: so is the frame.
    pub(crate) fn close_turn_for_change(&mut self, reason: &str, drops_frame: bool) {
        if let Some(turn) = self.turn.as_mut() {
            // It is not the model's idleness. A sentence is gone on with, if its line is still there.
            (turn.progress, turn.is_cut_short) = (true, !drops_frame);
            let undo = turn.undo.take();
            if drops_frame {
                self.interpreter.stack.core_mut().queue.drop_waiting();
            }
            self.cut_turn(reason);
            // Nothing of it took effect: what the model had been told counts as not told.
            if let Some(undo) = undo {
                self.interpreter.stack.chat_owner_mut().told = undo.1;
            }
        }
        if let Some(frame) = self.interpreter.stack.frames.last_mut()
            && frame.core().phase == Phase::Turn
        {
            frame.core_mut().phase = Phase::Draining(Then::GoOn);
        }
    }

    /// After a restart a reply in progress is a broken stream; one that was only being closed is over.
    pub(crate) fn reopen_turns(&mut self) {
        for closing in std::mem::take(&mut self.closing) {
            self.report_finished(&closing, None);
        }
        let Some(turn) = self.turn.as_mut() else { return };
        if turn.ended.is_none() {
            turn.reopened = true;
            let id = turn.id;
            let reason = "the process was restarted".into();
            self.handle_reply_ended(id, ReplyEnd::Broken { reason, retry_after_ms: None }, None);
        }
    }
}

impl Interpreter {
    /// The model cannot be brought to keep to the protocol.
    pub(crate) fn protocol_failure(&mut self, problem: &str) {
        let chat_owner = self.stack.chat_owner_mut();
        chat_owner.n_failures = 0;
        chat_owner.n_idle_turns = 0;
        chat_owner.told_left_out.clear();
        match self.stack.settings.on_protocol_failure {
            OnProtocolFailure::Speak => {
                self.report(Fact::Degraded { cause: problem.into() });
                let prose = std::mem::take(&mut self.last_prose);
                let text = if prose.trim().is_empty() { NOTHING_TO_SAY.to_owned() } else { prose };
                let line = say_line(None, &text);
                self.say_text(text);
                let chat_owner = self.stack.chat_owner_mut();
                chat_owner.chat.push_assistant(line);
                chat_owner.told.forget_problem();
                self.drain(Then::WaitUser);
            }
            OnProtocolFailure::Stop => {
                let name = self.stack.describe(self.stack.top().location());
                let prose = std::mem::take(&mut self.last_prose);
                let reply =
                    if prose.is_empty() { String::new() } else { format!("; its last reply was: {}", prose.trim()) };
                self.fail(
                    FaultKind::Protocol,
                    format!(
                        "the model did not follow the turn protocol at {name}: {problem}{reply}; try a stronger \
                         model, or set on_protocol_failure = \"speak\""
                    ),
                );
            }
        }
    }
}
