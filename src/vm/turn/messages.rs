//! Messages of the user: their delivery, and what becomes of one that comes while the model is speaking
//! (spec `execution.md`, "A message while the model is speaking").

use std::sync::Arc;

use playhouse_lang::value::Value;

use crate::machine::frame::Frame;
use crate::machine::frame_core::{Phase, Then};
use crate::machine::inbox::Message;
use crate::machine::interpreter::Interpreter;
use crate::machine::state::Machine;
use crate::protocol::settings::OnUserMessage;
use crate::protocol::{Fact, Origin, Tracked, USER_MESSAGE, UtteranceId, Wait};
use crate::turn::state::BeforeTurn;

impl Machine {
    /// The user has said something.
    pub(crate) fn handle_message(&mut self, text: Arc<str>) {
        self.interpreter.inbox.push(text);
        let is_speaking = self.interpreter.stack.frames.last().is_some_and(|frame| frame.core().phase == Phase::Turn);
        if !is_speaking || self.turn.is_none() || self.interpreter.outcome.is_some() || self.unwinding.is_some() {
            return;
        }
        match self.interpreter.stack.settings.on_user_message {
            OnUserMessage::Queue => return,
            OnUserMessage::Interrupt => self.cut_turn("the user spoke"),
            OnUserMessage::Rollback => self.roll_back(),
        }
        // The message is there already: the wait is over as soon as the calls are.
        self.interpreter.drain(Then::WaitUser);
    }

    /// While a person decides about a call, triggers are judged with what the user says: that may take days. The
    /// message stays for whoever asks later, unless a trigger's playbook is called for it. A plan has no triggers.
    /// Answers whether there was one.
    pub(crate) fn hear_while(&mut self, wait: &Wait) -> bool {
        let interpreter = &mut self.interpreter;
        let is_playbook = interpreter.stack.frames.last().and_then(Frame::playbook).is_some();
        if !matches!(wait, Wait::Approval(_)) || !is_playbook {
            return false;
        }
        let n_updates = interpreter.watcher.count(interpreter.counters).updates;
        let Some(text) = interpreter.inbox.hear(n_updates + 1) else { return false };
        interpreter.hear(text);
        if let Some(turn) = &self.turn {
            // The reply that waits with its next line is over if a trigger matches.
            interpreter.ask_classifier(|| turn.sets_ahead());
        }
        true
    }

    /// Before a turn that may have to be taken back.
    pub(super) fn before_turn(&self) -> Option<Box<BeforeTurn>> {
        let is_wanted = self.interpreter.stack.settings.on_user_message == OnUserMessage::Rollback;
        is_wanted.then(|| {
            Box::new(BeforeTurn {
                frames: self.interpreter.stack.frames.clone(),
                globals: self.interpreter.stack.globals.clone(),
                watcher: self.interpreter.watcher.mark(),
                last_call: self.interpreter.ids.last_call(),
                last_utterance: self.interpreter.ids.last_utterance(),
                n_calls: self.interpreter.counters.n_calls(),
            })
        })
    }

    /// Takes back what the turn in progress has set and said. Calls it has made cannot be undone: then the lines it
    /// has done stay done.
    fn roll_back(&mut self) {
        let last = self.interpreter.ids.last_utterance();
        let before = self.turn.as_mut().and_then(|turn| {
            let before = turn.before.take()?;
            turn.withdrawn = (before.last_utterance.0 + 1..=last.0).map(UtteranceId).collect();
            Some(before)
        });
        self.cut_turn("the user spoke; what the reply has set and said is taken back");
        let Some(before) = before else { return };
        let BeforeTurn { frames, globals, watcher: mark, last_call, n_calls, .. } = *before;
        self.interpreter.stack.core_mut().watch.roll_back(mark.n_updates);
        self.interpreter.tell_watcher(|watcher, _| watcher.roll_back(mark));
        let has_called = self.interpreter.counters.n_calls() > n_calls;
        let id_inside = |frames: &[Frame]| frames.last().and_then(Frame::inside).map(|inside| inside.id);
        // A playbook that began inside its caller in this turn goes with it.
        if !has_called && id_inside(&self.interpreter.stack.frames).is_some() && id_inside(&frames).is_none() {
            self.interpreter.drop_region();
        }
        // One that was over in this turn cannot be brought back: its line stays done.
        let is_same_stack = self.interpreter.stack.frames.len() == frames.len()
            && id_inside(&self.interpreter.stack.frames) == id_inside(&frames)
            && self.interpreter.stack.frames.iter().zip(&frames).all(|(frame, old)| frame.core().id == old.core().id);
        let goes_back = is_same_stack && !has_called;
        self.interpreter.stack.globals = globals;
        for (frame, old) in self.interpreter.stack.frames.iter_mut().zip(frames) {
            if frame.core().id != old.core().id {
                break;
            }
            // A plan waits meanwhile, or goes on with what is its own.
            let (Frame::Playbook(frame), Frame::Playbook(old)) = (frame, old) else { continue };
            frame.core.scope = old.core.scope;
            if let (Some(inside), Some(old)) = (&mut frame.inside, &old.inside)
                && inside.id == old.id
            {
                inside.scope = old.scope.clone();
            }
            frame.chat = old.chat;
            frame.told = old.told;
            frame.saying = old.saying;
            frame.work.take_back_sets(&old.work);
            if goes_back {
                frame.pointer = old.pointer;
                frame.here = old.here;
                frame.loops = old.loops;
                frame.work = old.work;
                frame.reached = old.reached;
            }
        }
        let mut told = "the user interrupted your last reply: what it said and set is taken back".to_owned();
        let queue = &self.interpreter.stack.core().queue;
        let made: Vec<&str> = queue.iter().filter(|queued| queued.id > last_call).map(|queued| &*queued.name).collect();
        if !made.is_empty() {
            told = format!("{told}; its calls stay made: {}", made.join(", "));
        }
        self.interpreter.stack.chat_owner_mut().told.push_meanwhile(told);
    }
}

impl Interpreter {
    /// A user's message reaches the top frame, which has waited for it.
    pub(crate) fn deliver(&mut self, Message { text, heard_as }: Message) {
        self.stack.chat_owner_mut().told.push_user(&text);
        self.stack.core_mut().phase = Phase::Ready;
        self.stack.top_mut().here.is_answered = true;
        if heard_as.is_none() {
            return self.hear(text);
        }
        // It has been an update already; another one may have come since.
        let value = Tracked::new(Value::Str(text), Origin::USER);
        self.set_global_silently(self.stack.core().agent, USER_MESSAGE, value);
    }

    /// The user is heard, and triggers are judged.
    fn hear(&mut self, text: Arc<str>) {
        self.stack.note_utterance(true, text.clone());
        self.report(Fact::UserMessage { text: text.clone() });
        self.tell_watcher(|watcher, context| watcher.spoken(context));
        for frame in &mut self.stack.frames {
            frame.core_mut().spent.turns_since_user = 0;
        }
        self.set_global(self.stack.core().agent, USER_MESSAGE, Tracked::new(Value::Str(text), Origin::USER));
    }
}
