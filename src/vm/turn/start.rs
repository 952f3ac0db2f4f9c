//! How a turn begins: the model is asked to go on.

use crate::machine::frame_core::Phase;
use crate::machine::interpreter::ReplyInHand;
use crate::machine::state::Machine;
use crate::protocol::fault::FaultKind;
use crate::protocol::settings::OnUserMessage;
use crate::protocol::{ChatMessage, Effect, Fact, Role, StartTurn, TurnData, estimate_tokens};
use crate::reply::ReplyReader;
use crate::turn::state::{Gate, Turn};

impl Machine {
    /// Asks the model to go on at the top frame's pointer.
    pub(crate) fn start_turn(&mut self) {
        if self.limit_reached() {
            return;
        }
        if let Some(message) = self.interpreter.session_limit() {
            return self.interpreter.fail(FaultKind::Limit, message);
        }
        // A message that came while something else was going on is part of the turn, unless messages wait until they
        // are asked for.
        let is_early = self.interpreter.stack.settings.on_user_message != OnUserMessage::Queue;
        if is_early && let Some(message) = self.interpreter.inbox.next() {
            return self.interpreter.deliver(message);
        }
        let before = self.before_turn();
        let interpreter = &mut self.interpreter;
        let is_judging = interpreter.watcher.question().is_some();
        let chat_owner = interpreter.stack.chat_owner();
        let undo = is_judging.then(|| Box::new((chat_owner.chat.clone(), chat_owner.told.clone())));
        let system = interpreter.stack.system_message(interpreter.stack.core().agent);
        let kind = interpreter.prepare_message(estimate_tokens(system.len() as u64));
        let turn = interpreter.ids.next_turn();
        interpreter.counters.turns += 1;
        let stack = &mut interpreter.stack;
        for frame in &mut stack.frames {
            let spent = &mut frame.core_mut().spent;
            spent.turns += 1;
            spent.turns_since_user += 1;
        }
        let callables = stack.prompts.callables(&stack.program, &stack.tools, stack.core().agent);
        let visible = stack.reader().all().into_iter();
        let variables = visible.map(|(name, variable)| (name.clone(), variable.value.value().clone())).collect();
        let frame = stack.top_mut();
        frame.here.ask_model = false;
        frame.core.phase = Phase::Turn;
        let inside = frame.inside.as_mut().map(|inside| {
            inside.is_told = true;
            (frame.playbook, inside.region.line)
        });
        let (playbook, pointer, is_said) = (frame.executed(), frame.location().step(), frame.here.is_said);
        let chat_owner = stack.chat_owner_mut();
        let delay_ms = std::mem::take(&mut chat_owner.delay_ms);
        let told = std::mem::take(&mut chat_owner.told);
        let mut messages = Vec::with_capacity(chat_owner.chat.messages.len() + 1);
        messages.push(ChatMessage { role: Role::System, text: system.clone() });
        messages.extend(chat_owner.chat.messages.iter().cloned());
        let prompt_tokens = chat_owner.chat.tokens + estimate_tokens(system.len() as u64);
        let attempt = chat_owner.n_attempts + 1;
        let n_messages = messages.len();
        let reader = ReplyReader::new(stack.settings.reader_options());
        let gate = if is_judging { Gate::Judging { drops_line: true } } else { Gate::Open };
        let words = told.last_words().cloned();
        let user = words.clone();
        self.turn = Some(Turn { gate, undo, before, words, ..Turn::new(turn, stack.now, prompt_tokens, reader) });
        interpreter.reply = Some(ReplyInHand { turn, is_arriving: true });
        self.start_time_limit();
        let interpreter = &mut self.interpreter;
        let untaken = interpreter.stack.untaken_calls();
        interpreter.report(Fact::TurnStarted { kind, n_messages, prompt_tokens, untaken });
        let Some(place) = interpreter.place() else { return };
        let data = TurnData { playbook, pointer, is_said, inside, variables, user, problem: told.problem().cloned() };
        interpreter.emit(Effect::StartTurn(Box::new(StartTurn {
            turn,
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
}
