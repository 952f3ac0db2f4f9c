//! Queued calls: binding arguments, starting tools, running playbooks, taking results
//! (spec `turn-protocol.md`, "Yields and the queue").

use std::sync::Arc;

use playhouse_lang::program::permits::READ_SKILL_FILE;
use playhouse_lang::value::Value;

use crate::calls::arguments::{Resolved, describe_call};
use crate::calls::call::{AskedBy, CallState, Called, Callee, QueuedCall};
use crate::calls::callees::Callees;
use crate::calls::tool_policy::Clearance;
use crate::machine::frame::{Frame, caller_of};
use crate::machine::frame_core::{Phase, ReturnValue, Then};
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::protocol::{
    CallId, CallKind, CallOutcome, EffectClass, Fact, FrameOrigin, INTERRUPTED, Origin, REFUSED, Tracked, TurnId, Usage,
};
use crate::variables::bounds::bound_outcome;
use crate::variables::display::shorten;

impl Interpreter {
    /// Puts a call into the top frame's queue, which has room; a tool starts at once, or when the turn is over.
    pub(crate) fn queue_call(
        &mut self,
        resolved: &Resolved,
        arguments: Vec<(Arc<str>, Tracked)>,
        result_name: Option<Arc<str>>,
        written_in: Option<TurnId>,
    ) -> CallId {
        self.queue_call_at(self.stack.frames.len() - 1, resolved, arguments, result_name, written_in)
    }

    /// Puts a call into the queue of the frame at a depth. `written_in`: the reply that holds it, if one does.
    pub(crate) fn queue_call_at(
        &mut self,
        depth: usize,
        resolved: &Resolved,
        mut arguments: Vec<(Arc<str>, Tracked)>,
        result_name: Option<Arc<str>>,
        written_in: Option<TurnId>,
    ) -> CallId {
        let is_top = depth + 1 == self.stack.frames.len();
        let is_playbook = self.stack.frames[depth].playbook().is_some();
        let id = self.ids.next_call();
        let turn = self.turn().filter(|_| is_top);
        let place = self.stack.frames[depth].place(turn);
        let name = resolved.signature.name.clone();
        let kind = resolved.callee.kind();
        let unresolved = match resolved.callee {
            Callee::Tool(_) => self.stack.resolve_assets(depth, &name, &mut arguments).err(),
            Callee::Playbook(_) | Callee::Plan(_) | Callee::Model | Callee::Gone(_) => None,
        };
        let queued = Fact::CallQueued { call: id, name: name.clone(), kind, arguments: arguments.clone(), written_in };
        self.report_at(place, queued);
        let agent = self.stack.frames[depth].core().agent;
        let mut queued = QueuedCall::new(id, name.clone(), resolved.callee, arguments, result_name, place);
        queued.is_result_secret =
            queued.result_name.as_ref().is_some_and(|name| self.stack.is_declared_secret(agent, name));
        match resolved.callee {
            Callee::Tool(_) => self.counters.tool_calls += 1,
            Callee::Playbook(_) => self.counters.playbook_calls += 1,
            Callee::Plan(_) => self.counters.plan_calls += 1,
            Callee::Model => self.counters.model_questions += 1,
            Callee::Gone(_) => {}
        }
        self.stack.frames[depth].core_mut().queue.push(queued);
        // Lines mean nothing to a goal: none of them would claim the call.
        let layouts = self.stack.layouts.clone();
        if let Some(frame) = self.stack.frames[depth].playbook_mut()
            && let Some(at) = frame.pointer
        {
            frame.work.note_call(layouts.body(frame.playbook), at, &Called { callee: resolved.callee, name });
        }
        if let Some(fault) = unresolved {
            self.refuse_call(id, format!("{} was not called: {fault}", resolved.signature.name).into());
            return id;
        }
        if is_top {
            self.tell_watcher(|watcher, context| watcher.call_queued(context, id));
        }
        let is_guarded = is_top && self.stack.core().queue.is_guarded(id);
        let has_room = self.stack.room_for_tools(depth) > 0 || !is_playbook;
        let starts_early = has_room && (self.stack.settings.early_start || self.reply.is_none() || !is_playbook);
        if let (Some(effect), true, false) = (resolved.callee.effect(), starts_early, is_guarded) {
            let is_arriving = is_playbook && self.reply.is_some_and(|reply| reply.is_arriving);
            self.counters.early_starts += u64::from(is_arriving);
            self.start_tool(id, effect);
        }
        id
    }

    /// Tells the world to start a queued call of a tool, if nothing stands between.
    fn start_tool(&mut self, id: CallId, effect: EffectClass) {
        let Some(queued) = self.stack.find_call(id).cloned() else { return };
        match self.stack.clearance(&queued) {
            Clearance::Go => self.start_cleared(id, effect),
            Clearance::Ask(question) => {
                let Some(queued) = self.stack.find_call(id) else { return };
                let asked = queued.ask(0, question, AskedBy::Policy);
                self.report(asked);
            }
            Clearance::Refuse(reason) => self.refuse_call(id, reason),
        }
    }

    fn start_cleared(&mut self, id: CallId, effect: EffectClass) {
        let program = self.stack.program.clone();
        let Some(queued) = self.stack.find_call(id) else { return };
        let request = queued.request(&program, effect, 1);
        self.emit(request);
    }

    /// The turn is over: tools that were kept until then start, all together, but for those that a trigger's
    /// playbook may refuse.
    pub(crate) fn start_queued_tools(&mut self) {
        let queue = &self.stack.core().queue;
        let kept: Vec<(CallId, EffectClass)> = queue
            .iter()
            .filter(|queued| queued.is_waiting() && !queue.is_guarded(queued.id))
            .filter_map(|queued| Some((queued.id, queued.callee.effect()?)))
            .take(self.stack.room_for_tools(self.stack.frames.len() - 1))
            .collect();
        kept.into_iter().for_each(|(id, effect)| self.start_tool(id, effect));
    }

    /// The turn in the queue has come of a playbook, or of a tool that was guarded.
    pub(crate) fn run_queued(&mut self, id: CallId) {
        let now = self.stack.now;
        let program = self.stack.program.clone();
        let Some(queued) = self.stack.core_mut().queue.get_mut(id) else { return };
        if let Some(effect) = queued.callee.effect() {
            return self.start_tool(id, effect);
        }
        let playbook = if let Callee::Playbook(playbook) = queued.callee { Some(playbook) } else { None };
        if let Some(reason) = playbook.and_then(|playbook| program.unsupported(playbook)) {
            return self.refuse_call(id, reason.into());
        }
        let started = queued.begin(1, now);
        let (arguments, from) = (queued.arguments.clone(), queued.place.location);
        let (callee, origin) = (queued.callee, FrameOrigin::Call { call: id, from });
        self.report(started);
        match callee {
            Callee::Playbook(playbook) => self.push_frame(playbook, arguments, origin),
            Callee::Plan(plan) => self.push_plan(plan, arguments, origin),
            Callee::Tool(_) | Callee::Model | Callee::Gone(_) => {}
        }
    }

    /// Takes a finished call's result: `as` is set, the model will be told.
    pub(crate) fn take_call(&mut self, id: CallId) {
        if matches!(self.stack.frames.last(), Some(Frame::Plan(_))) {
            return self.take_plan_call(self.stack.frames.len() - 1, id);
        }
        let Some((queued, result)) = self.stack.core_mut().queue.take_done(id) else { return };
        self.stack.core_mut().last_call_failed = Tracked::new(Value::Bool(result.is_err()), Origin::CODE);
        let line = describe_call(&queued.name, &queued.arguments);
        let shown = self.stack.settings.shown_value_bytes;
        let whole = queued.one_of.and_then(|one_of| Some((one_of.n_all, self.stack.collect(one_of, &result)?)));
        let (line, told) = match whole {
            Some((n_all, list)) => (format!("{} for each of {n_all} items", queued.name), Ok(list)),
            None if queued.one_of.is_some() && result.is_ok() => {
                return self.tell_watcher(|watcher, context| watcher.call_taken(context, &queued, &result));
            }
            None => (line, result.clone()),
        };
        match told {
            Ok(value) => {
                let text = format!("{line} -> {}", shorten(&value, shown));
                let told = &mut self.stack.chat_owner_mut().told;
                match reference(&queued, &value) {
                    Some(reference) => told.push_reference(reference),
                    None => told.push_result(text),
                }
                if let Some(name) = &queued.result_name {
                    let playbook = self.stack.top().executed();
                    match self.stack.wanted(playbook, name, value.value()) {
                        Some(wanted) => {
                            let problem = format!(
                                "${name} was not set: it must be {wanted}, but {} gave {}",
                                queued.name,
                                value.value().kind()
                            );
                            self.stack.chat_owner_mut().told.set_problem(problem);
                        }
                        None => {
                            if !self.set_variable_at(queued.place.location, name, value.clone()) {
                                return;
                            }
                            self.stack.chat_owner_mut().told.note_known(name);
                        }
                    }
                }
                let frame = self.stack.top();
                if matches!(&frame.core.phase, Phase::Draining(Then::Return { value: ReturnValue::OfCall(call), .. }) if *call == id)
                {
                    self.stack.core_mut().phase =
                        Phase::Draining(Then::Return { value: ReturnValue::Value(value), failed: false });
                }
            }
            Err(error) => {
                if let Some(name) =
                    queued.result_name.as_ref().filter(|name| self.stack.reader().variable(name).is_some())
                {
                    self.stack.core_mut().outdated.push((name.clone(), queued.name.clone()));
                }
                let error = Value::Str(error).to_json();
                self.stack.chat_owner_mut().told.push_result(format!("{line} !! {error}"));
                if let Phase::Draining(Then::Return { failed, .. }) = &mut self.stack.core_mut().phase {
                    *failed = true;
                    if queued.is_interrupted {
                        // Whoever interrupts says how it goes on; the return does not come about.
                        self.drain(Then::WaitUser);
                        self.stack.top_mut().ask_model_again();
                    }
                }
            }
        }
        self.tell_watcher(|watcher, context| watcher.call_taken(context, &queued, &result));
    }

    pub(crate) fn handle_call_started(&mut self, call: CallId, attempt: u32) {
        let now = self.stack.now;
        let Some(queued) = self.stack.find_call(call) else { return };
        let started = queued.begin(attempt, now);
        self.report(started);
    }

    pub(crate) fn handle_call_ended(&mut self, call: CallId, outcome: CallOutcome, usage: Option<Usage>) {
        let now = self.stack.now;
        let bounds = self.stack.settings.bounds();
        if let Some(usage) = usage {
            self.counters.add_usage(usage);
            self.stack.spend_tokens(usage.prompt_tokens + usage.completion_tokens);
        }
        if let Some(Frame::Plan(plan)) =
            self.stack.frames.iter_mut().find(|frame| frame.core().queue.get(call).is_some())
        {
            plan.note_result();
        }
        let Some(queued) = self.stack.find_call(call) else { return };
        // A stale answer: the call has ended already, or was never started.
        let CallState::Running { attempt, .. } = *queued.state() else { return };
        if let CallOutcome::Needs { question, takes_no } = outcome {
            let asked = queued.ask(attempt, question, AskedBy::Tool { takes_no });
            return self.report(asked);
        }
        queued.is_interrupted = outcome == CallOutcome::Interrupted;
        let result = result_of(bound_outcome(outcome, bounds), origin_of(queued));
        let finished = queued.finish(now, result);
        if let Fact::CallFinished { kind: CallKind::Model, ms, .. } = finished {
            self.counters.model_ms += ms;
        }
        self.report(finished);
    }

    /// A person answered: the call is made again with the answer, or refused.
    pub(crate) fn handle_approved(&mut self, call: CallId, answer: Value, by: Option<Arc<str>>) {
        let program = self.stack.program.clone();
        let Some(queued) = self.stack.find_call(call) else { return };
        let CallState::Asking { attempt, asked_by, question } = queued.state().clone() else { return };
        let Some(effect) = queued.callee.effect() else { return };
        let refusal: Option<Arc<str>> = match (asked_by, &answer) {
            (AskedBy::Policy, Value::Bool(true)) | (AskedBy::Tool { takes_no: true }, _) => None,
            (AskedBy::Policy | AskedBy::Tool { takes_no: false }, Value::Bool(false)) => Some(REFUSED.into()),
            (AskedBy::Tool { takes_no: false }, _) => None,
            // Whoever says something else has not said yes.
            (AskedBy::Policy, words) => Some(format!("{REFUSED} and said: {}", words.to_json()).into()),
        };
        if refusal.is_none() {
            if let AskedBy::Tool { .. } = asked_by {
                queued.answer(question, answer.clone());
            }
            let request = queued.request(&program, effect, attempt + 1);
            self.emit(request);
        }
        self.report(Fact::ApprovalGiven { call, answer, refused: refusal.is_some(), by });
        if let Some(refusal) = refusal {
            self.refuse_call(call, refusal);
        }
    }

    /// After a restart: calls that were not confirmed are started now, safe ones again; of the others nobody
    /// knows what became (spec `architecture.md`, "After a crash").
    pub(crate) fn reopen_calls(&mut self) {
        let (now, program) = (self.stack.now, self.stack.program.clone());
        let (mut effects, mut lost) = (Vec::new(), Vec::new());
        for frame in &mut self.stack.frames {
            for queued in frame.core_mut().queue.iter_mut() {
                let Some(class) = queued.callee.effect() else { continue };
                let CallState::Running { attempt, confirmed } = *queued.state() else { continue };
                let is_safe = matches!(class, EffectClass::ReadOnly | EffectClass::Idempotent);
                if confirmed && !is_safe {
                    let unknown: Arc<str> = "outcome unknown: the process stopped during the call".into();
                    lost.push(queued.finish(now, Err(unknown)));
                    continue;
                }
                let attempt = if confirmed { attempt + 1 } else { attempt };
                effects.push(queued.request(&program, class, attempt));
            }
        }
        lost.into_iter().for_each(|fact| self.report(fact));
        effects.into_iter().for_each(|effect| self.emit(effect));
    }
}

impl Stack {
    /// What the top frame's lines and model mean by a name.
    pub(crate) fn find_callee(&self, name: &str) -> Result<Resolved, String> {
        let (agent, caller) = caller_of(&self.frames);
        Callees::new(&self.program, &self.tools, &self.prompts, agent, caller).find(name)
    }

    /// The calls, of whatever frame, that have ended and of whose results nobody knows yet: they wait to be taken.
    pub(crate) fn untaken_calls(&self) -> Vec<CallId> {
        self.calls_that(|queued| matches!(queued.state(), CallState::Done(_)))
    }

    /// The calls, of whatever frame, that the world was told to start and that have not ended.
    pub(crate) fn started_calls(&self) -> Vec<CallId> {
        self.calls_that(|queued| queued.callee.effect().is_some() && queued.is_running())
    }

    fn calls_that(&self, is_it: impl Fn(&QueuedCall) -> bool) -> Vec<CallId> {
        let queues = self.frames.iter().flat_map(|frame| frame.core().queue.iter());
        queues.filter(|queued| is_it(queued)).map(|queued| queued.id).collect()
    }

    /// The call that must be over before another one is queued, because the top frame's queue is full.
    pub(crate) fn call_in_the_way(&self) -> Option<CallId> {
        self.core().queue.in_the_way(self.settings.queue)
    }
}

/// A file of a skill's folder as its model sees it.
fn reference(queued: &QueuedCall, value: &Tracked) -> Option<String> {
    let is_skills = *queued.name == *READ_SKILL_FILE && value.origin() == Origin::CODE && !value.is_secret();
    let (_, path) = queued.arguments.first().filter(|_| is_skills)?;
    Some(format!("REFERENCE {}\n{}", path.value().to_json(), value.value().as_str()?.trim_end()))
}

/// Where the result of a call comes from. A file of a skill's own folder is a part of its text.
fn origin_of(queued: &QueuedCall) -> Origin {
    match queued.callee {
        Callee::Model => Origin::MODEL,
        Callee::Tool(_) if *queued.name == *READ_SKILL_FILE => Origin::CODE,
        Callee::Tool(_) | Callee::Playbook(_) | Callee::Plan(_) | Callee::Gone(_) => Origin::TOOL,
    }
}

/// What came of a call, as the program is told.
fn result_of(outcome: CallOutcome, origin: Origin) -> Result<Tracked, Arc<str>> {
    match outcome {
        CallOutcome::Value { value, secret } => Ok(Tracked::new(value, origin).secret_if(secret)),
        CallOutcome::Error(error) => Err(error),
        CallOutcome::Needs { question, .. } => Err(question),
        CallOutcome::Interrupted => Err(INTERRUPTED.into()),
    }
}
