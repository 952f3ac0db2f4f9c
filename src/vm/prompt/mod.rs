//! What the model is told: the machine's state as messages, by the templates in `prompts/`
//! (spec `execution.md`, "The three model calls").
//!
//! The wording of the blocks is a public interface: scripts match on it. All text from outside the program is a
//! JSON string, so it cannot look like a block.

mod blocks;
pub mod files;
pub(crate) mod system;
mod today;
mod tools;

use playhouse_lang::program::Mode;

use crate::machine::frame::Chat;
use crate::machine::frame_core::Phase;
use crate::machine::state::Machine;
use crate::protocol::fault::FaultKind;
use crate::protocol::settings::Settings;
use crate::protocol::{ChatMessage, Effect, Fact, Role, StartTurn, TurnData, TurnId, TurnKind};
use crate::reply::{ReaderOptions, ReplyReader};
use crate::turn::state::{Gate, Turn, estimate_tokens};

impl Machine {
    /// Asks the model to go on at the top frame's pointer.
    pub(crate) fn start_turn(&mut self) {
        if self.limit_reached() {
            return;
        }
        if let Some(message) = self.session_limit() {
            return self.fail(FaultKind::Limit, message);
        }
        if self.deliver_early() {
            return;
        }
        let before = self.before_turn();
        let is_judging = self.watcher.question().is_some();
        let chat_owner = self.chat_owner();
        let undo = is_judging.then(|| Box::new((chat_owner.chat.clone(), chat_owner.told.clone())));
        let system = self.system_message(self.core().agent);
        let kind = self.prepare_message(estimate_tokens(system.len() as u64));
        self.next.turn += 1;
        let id = TurnId(self.next.turn);
        let now = self.now;
        let settings = self.settings.clone();
        for frame in &mut self.frames {
            let spent = &mut frame.core_mut().spent;
            spent.turns += 1;
            spent.turns_since_user += 1;
        }
        self.counters.turns += 1;
        let program = self.program.clone();
        let callables = self.prompts.callables(&program, &self.tools, self.core().agent);
        let variables = self
            .reader()
            .all()
            .into_iter()
            .map(|(name, variable)| (name.clone(), variable.value.value().clone()))
            .collect();
        let frame = self.top_mut();
        frame.here.ask_model = false;
        frame.core.phase = Phase::Turn;
        let inside = frame.inside.as_mut().map(|inside| {
            inside.is_told = true;
            (frame.playbook, inside.region.line)
        });
        let (playbook, pointer) = (frame.executed(), frame.location().step());
        let chat_owner = self.chat_owner_mut();
        let delay_ms = std::mem::take(&mut chat_owner.delay_ms);
        let told = std::mem::take(&mut chat_owner.told);
        let mut messages = Vec::with_capacity(chat_owner.chat.messages.len() + 1);
        messages.push(ChatMessage { role: Role::System, text: system.clone() });
        messages.extend(chat_owner.chat.messages.iter().cloned());
        let prompt_tokens = chat_owner.chat.tokens + estimate_tokens(system.len() as u64);
        let attempt = chat_owner.n_attempts + 1;
        let n_messages = messages.len();
        self.turn = Some(Turn {
            id,
            started: now,
            prompt_tokens,
            reader: ReplyReader::new(reader_options(&settings)),
            readings: Default::default(),
            todo: Default::default(),
            gate: if is_judging { Gate::Judging { drops_line: true } } else { Gate::Open },
            ended: None,
            applied: String::new(),
            line_start: 0,
            line_at: None,
            line_said: None,
            line_source: None,
            n_lines: 0,
            n_used: 0,
            progress: false,
            said_at: None,
            speech: None,
            prose: String::new(),
            is_cut_short: false,
            is_time_up: false,
            is_line_over: false,
            is_line_applied: false,
            reopened: false,
            horizon: 0,
            undo,
            before,
            is_matched: false,
        });
        self.start_time_limit();
        self.report(Fact::TurnStarted { kind, n_messages, prompt_tokens });
        let Some(place) = self.place() else { return };
        let data = TurnData {
            playbook,
            pointer,
            inside,
            variables,
            user: told.last_words().cloned(),
            problem: told.problem().cloned(),
        };
        self.emit(Effect::StartTurn(Box::new(StartTurn {
            turn: id,
            kind,
            attempt,
            delay_ms,
            place,
            messages,
            prompt_tokens,
            callables,
            data,
        })));
    }

    fn session_limit(&self) -> Option<String> {
        let counters = &self.counters;
        if counters.turns >= self.settings.turns {
            return Some(format!(
                "the session has taken {} turns, the limit `turns`; raise it to go on",
                counters.turns
            ));
        }
        let tokens = counters.prompt_tokens + counters.completion_tokens;
        if tokens >= self.settings.tokens {
            return Some(format!(
                "the session has used {tokens} tokens, more than the limit `tokens`; raise it to go on"
            ));
        }
        let frame = self.top();
        let playbook = self.program.playbook(frame.executed());
        let is_unbounded = playbook.mode == Mode::Goal && playbook.limits.turns.is_none();
        (is_unbounded && frame.core.spent.turns_since_user >= self.settings.goal_turns).then(|| {
            format!(
                "{} has taken {} turns without reaching its goal, the limit `goal_turns`; say when the goal is met, \
                 or give the playbook `limits`",
                playbook.name, frame.core.spent.turns_since_user
            )
        })
    }

    /// Puts the next user message into the frame's chat session, which is begun afresh where it must be.
    fn prepare_message(&mut self, system_tokens: u64) -> TurnKind {
        let chat_owner = self.chat_owner();
        let is_covered = chat_owner.told.suspended_since().is_some();
        let mut kind = match (chat_owner.chat.messages.is_empty(), is_covered) {
            (true, _) => TurnKind::Start,
            (false, true) if self.settings.resume_fresh => TurnKind::Start,
            (false, true) => TurnKind::Resume,
            (false, false) => TurnKind::Continue,
        };
        // A broken stream that brought nothing: the same message is sent again.
        let is_unanswered = chat_owner.chat.messages.last().is_some_and(|message| message.role == Role::User);
        if kind == TurnKind::Continue && is_unanswered && chat_owner.told.is_empty() {
            return kind;
        }
        let mut message = self.stack().render_turn(kind, system_tokens);
        let chat = &self.chat_owner().chat;
        let tokens = chat.tokens + system_tokens + estimate_tokens(message.text.len() as u64);
        if kind != TurnKind::Start {
            let reason = if chat.n_turns >= self.settings.max_session_turns {
                Some("it has had many turns")
            } else if tokens > self.settings.context_tokens {
                Some("it would not fit into the context")
            } else {
                None
            };
            if let Some(reason) = reason {
                kind = TurnKind::Start;
                self.report(Fact::SessionRenewed { reason });
                message = self.stack().render_turn(kind, system_tokens);
            }
        }
        let heard = self.conversation.n_total();
        let chat = &mut self.chat_owner_mut().chat;
        if kind == TurnKind::Start {
            *chat = Chat::default();
        }
        chat.n_turns += 1;
        chat.heard = heard;
        chat.shown.retain(|(name, _)| !message.shown.iter().any(|(shown, _)| shown == name));
        chat.shown.extend(message.shown);
        chat.push_user(&message.text);
        kind
    }
}

impl Chat {
    pub(crate) fn push_assistant(&mut self, lines: String) {
        self.tokens += estimate_tokens(lines.len() as u64);
        match self.messages.last_mut() {
            Some(last) if last.role == Role::Assistant => last.text = format!("{}\n{lines}", last.text).into(),
            _ => self.messages.push(ChatMessage { role: Role::Assistant, text: lines.into() }),
        }
    }

    /// Appends to the last message if that is the user's too: many servers refuse anything but alternation.
    fn push_user(&mut self, text: &str) {
        self.tokens += estimate_tokens(text.len() as u64);
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => last.text = format!("{}\n\n{text}", last.text).into(),
            _ => self.messages.push(ChatMessage { role: Role::User, text: text.into() }),
        }
    }
}

fn reader_options(settings: &Settings) -> ReaderOptions {
    ReaderOptions {
        starts_in_think: settings.starts_in_think,
        max_actions: settings.reply_actions,
        max_bytes: settings.reply_bytes,
    }
}
