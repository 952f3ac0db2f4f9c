//! Queued calls: binding arguments, starting tools, running playbooks, taking results
//! (spec `turn-protocol.md`, "Yields and the queue").

use std::sync::Arc;

use playhouse_lang::builtins::{self, Builtin};
use playhouse_lang::program::{Parameter, Signature};
use playhouse_lang::value::{Origin, Tracked, Value};

use crate::fault::FaultKind;
use crate::frame::{AskedBy, CallState, Called, Callee, Frame, Phase, QueuedCall, ReturnValue, Then};
use crate::permits::Clearance;
use crate::protocol::{
    CallId, CallKind, CallOutcome, Effect, EffectClass, Fact, FrameOrigin, Location, PROMPT, StartCall, Timestamp,
    Usage,
};
use crate::{Machine, result_of};

/// What the program is told of a call that a person did not want.
const REFUSED: &str = "the person who was asked refused this call";

/// What a name means for a call.
pub(crate) struct Resolved {
    pub(crate) callee: Callee,
    pub(crate) signature: Signature,
    /// It is a tool that looks at its arguments itself ([`crate::protocol::ToolSignature::schema`]).
    checks_itself: bool,
}

/// Arguments as they were given.
pub(crate) enum Given {
    Named(Vec<(Arc<str>, Tracked)>),
    Positional(Vec<Tracked>),
}

impl Machine {
    /// What an agent's lines and model mean by a name.
    pub(crate) fn find_callee(&self, name: &str) -> Result<Resolved, String> {
        self.find_callee_for(self.frames.len() - 1, name)
    }

    /// What the frame at a depth means by a name.
    pub(crate) fn find_callee_for(&self, depth: usize, name: &str) -> Result<Resolved, String> {
        let agent = self.frames[depth].core().agent;
        if let Some(id) = self.program.find_playbook(agent, name) {
            let signature = Signature { name: name.into(), ..self.program.playbook(id).signature() };
            return Ok(Resolved { callee: Callee::Playbook(id), signature, checks_itself: false });
        }
        if let Some(id) = self.program.find_plan(name) {
            let signature = self.program.plans[id.0 as usize].signature();
            return Ok(Resolved { callee: Callee::Plan(id), signature, checks_itself: false });
        }
        if let Some(tool) = self.tool(name) {
            if let Some(refusal) = self.tool_refusal(depth, name) {
                return Err(refusal);
            }
            let (signature, checks_itself) = (tool.signature.clone(), tool.schema.is_some());
            return Ok(Resolved { callee: Callee::Tool(tool.effect), signature, checks_itself });
        }
        if builtins::find(name) == Some(Builtin::Unsupported) {
            return Err(format!(
                "`{name}` is a built-in of the older project that is not supported; write what it did in words"
            ));
        }
        let callables = self.prompts.callables(&self.program, &self.tools, agent);
        let near = callables
            .iter()
            .map(|other| (strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase()), other))
            .filter(|(likeness, _)| *likeness > 0.6)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        Err(match near {
            Some((_, other)) => format!("there is no playbook or tool `{name}`; did you mean `{other}`?"),
            None if callables.is_empty() => format!("there is no playbook or tool `{name}`; nothing can be called"),
            None => format!("there is no playbook or tool `{name}`; there are: {}", callables.join(", ")),
        })
    }

    /// Puts a call into the top frame's queue; a tool starts at once, or when the turn is over. `None`: a limit ended the session.
    pub(crate) fn queue_call(
        &mut self,
        resolved: &Resolved,
        arguments: Vec<(Arc<str>, Tracked)>,
        result_name: Option<Arc<str>>,
    ) -> Option<CallId> {
        self.queue_call_at(self.frames.len() - 1, resolved, arguments, result_name)
    }

    /// Puts a question of the machine's own to the session's model into the top frame's queue.
    pub(crate) fn queue_question(&mut self, name: &str, question: Tracked) {
        let signature = Signature {
            name: name.into(),
            parameters: Vec::new(),
            returns: playhouse_lang::program::Type::ANY,
            summary: "".into(),
        };
        let resolved = Resolved { callee: Callee::Model, signature, checks_itself: false };
        self.queue_call(&resolved, vec![(PROMPT.into(), question)], None);
    }

    /// Puts a call into the queue of the frame at a depth.
    pub(crate) fn queue_call_at(
        &mut self,
        depth: usize,
        resolved: &Resolved,
        mut arguments: Vec<(Arc<str>, Tracked)>,
        result_name: Option<Arc<str>>,
    ) -> Option<CallId> {
        let is_top = depth + 1 == self.frames.len();
        let is_playbook = self.frames[depth].playbook().is_some();
        if is_playbook && self.frames[depth].core().queue.len() >= self.settings.queue {
            self.fail(
                FaultKind::Limit,
                format!(
                    "more than {} calls are queued, the limit `queue`; wait for some, or raise it",
                    self.settings.queue
                ),
            );
            return None;
        }
        self.next.call += 1;
        let id = CallId(self.next.call);
        let turn = self.turn.as_ref().filter(|_| is_top).map(|turn| turn.id);
        let place = self.frames[depth].place(depth, turn);
        let name = resolved.signature.name.clone();
        let kind = resolved.callee.kind();
        let unresolved = match resolved.callee {
            Callee::Tool(_) => self.resolve_assets(depth, &name, &mut arguments).err(),
            Callee::Playbook(_) | Callee::Plan(_) | Callee::Model => None,
        };
        self.report_at(place, Fact::CallQueued { call: id, name: name.clone(), kind, arguments: arguments.clone() });
        let queued = QueuedCall {
            id,
            name: name.clone(),
            callee: resolved.callee,
            arguments,
            result_name,
            guards: None,
            place,
            state: CallState::Queued,
            started: None,
            answers: Vec::new(),
        };
        match resolved.callee {
            Callee::Tool(_) => self.counters.tool_calls += 1,
            Callee::Playbook(_) => self.counters.playbook_calls += 1,
            Callee::Plan(_) => self.counters.plan_calls += 1,
            Callee::Model => self.counters.model_questions += 1,
        }
        self.frames[depth].core_mut().queue.push_back(queued);
        if let Some(frame) = self.frames[depth].playbook_mut() {
            frame.unclaimed_calls.push(Called { callee: resolved.callee, name });
        }
        if let Some(fault) = unresolved {
            self.refuse_call(id, format!("{} was not called: {fault}", resolved.signature.name).into());
            return Some(id);
        }
        if is_top {
            self.queue_guards(id);
        }
        let is_guarded = is_top && self.is_guarded(id);
        let starts_early = self.settings.early_start || self.turn.is_none() || !is_playbook;
        if let (Some(effect), true, false) = (resolved.callee.effect(), starts_early, is_guarded) {
            let is_arriving = is_playbook && self.turn.as_ref().is_some_and(|turn| turn.ended.is_none());
            self.counters.early_starts += u64::from(is_arriving);
            self.start_tool(id, effect);
        }
        Some(id)
    }

    /// Tells the world to start a queued call of a tool, if nothing stands between.
    fn start_tool(&mut self, id: CallId, effect: EffectClass) {
        let Some(queued) = self.find_call(id).cloned() else { return };
        match self.clearance(&queued) {
            Clearance::Go => self.start_cleared(id, effect),
            Clearance::Ask(question) => self.ask_approval(id, question),
            Clearance::Refuse(reason) => self.refuse_call(id, reason),
        }
    }

    fn start_cleared(&mut self, id: CallId, effect: EffectClass) {
        let Some(queued) = self.find_call(id) else { return };
        queued.state = CallState::Running { attempt: 1, confirmed: false };
        let start = start_call(queued, effect, 1);
        self.emit(start);
    }

    /// The turn is over: tools that were kept until then start, all together, but for those that a trigger's
    /// playbook may refuse.
    pub(crate) fn start_queued_tools(&mut self) {
        let queue = &self.core().queue;
        let kept: Vec<(CallId, EffectClass)> = queue
            .iter()
            .filter(|queued| queued.state == CallState::Queued && !self.is_guarded(queued.id))
            .filter_map(|queued| Some((queued.id, queued.callee.effect()?)))
            .collect();
        kept.into_iter().for_each(|(id, effect)| self.start_tool(id, effect));
    }

    /// The turn in the queue has come of a playbook, or of a tool that was guarded.
    pub(crate) fn run_queued(&mut self, id: CallId) {
        let now = self.now;
        let program = self.program.clone();
        let Some(queued) = self.core_mut().call_mut(id) else { return };
        if let Some(effect) = queued.callee.effect() {
            return self.start_tool(id, effect);
        }
        let playbook = if let Callee::Playbook(playbook) = queued.callee { Some(playbook) } else { None };
        if let Some(reason) = playbook.and_then(|playbook| program.unsupported(playbook)) {
            let error: Arc<str> = reason.into();
            queued.state = CallState::Done(Err(error.clone()));
            let name = queued.name.clone();
            let kind = CallKind::Playbook;
            return self.report(Fact::CallFinished { call: id, name, kind, result: Err(error), ms: 0 });
        }
        queued.state = CallState::Running { attempt: 1, confirmed: true };
        queued.started = Some(now);
        let (name, arguments, from) = (queued.name.clone(), queued.arguments.clone(), queued.place.location);
        let (callee, origin) = (queued.callee, FrameOrigin::Call { call: id, from });
        self.report(Fact::CallStarted { call: id, name, kind: callee.kind(), attempt: 1 });
        match callee {
            Callee::Playbook(playbook) => self.push_frame(playbook, arguments, origin),
            Callee::Plan(plan) => self.push_plan(plan, arguments, origin),
            Callee::Tool(_) | Callee::Model => {}
        }
    }

    /// Takes a finished call's result: `as` is set, the model will be told.
    pub(crate) fn take_call(&mut self, id: CallId) {
        let queue = &mut self.core_mut().queue;
        let Some(index) = queue.iter().position(|queued| queued.id == id) else { return };
        let Some(queued) = queue.remove(index) else { return };
        let CallState::Done(result) = queued.state.clone() else { return };
        if matches!(self.frames.last(), Some(Frame::Plan(_))) {
            // What triggers make of the call comes before the next instruction.
            self.call_taken(&queued, &result);
            return self.plan_call_taken(&queued, result);
        }
        let line = describe_call(&queued.name, &queued.arguments);
        let shown = self.settings.shown_value_bytes;
        match result.clone() {
            Ok(value) => {
                let text = format!("{line} -> {}", shorten(&value, shown));
                self.asker_mut().news.results.push(text);
                if let Some(name) = &queued.result_name {
                    let playbook = self.top().playbook;
                    match self.type_of(playbook, name) {
                        Some(ty) if !ty.accepts(&value.value) => {
                            let problem = format!(
                                "${name} was not set: it must be {ty}, but {} gave {}",
                                queued.name,
                                value.value.kind()
                            );
                            self.asker_mut().news.problem = Some(problem.into());
                        }
                        _ => {
                            if !self.set_variable(name, value.clone()) {
                                return;
                            }
                            self.asker_mut().news.told_names.push(name.clone());
                            self.claim_result(name, queued.place.location);
                        }
                    }
                }
                let frame = self.top();
                if matches!(&frame.core.phase, Phase::Draining(Then::Return { value: ReturnValue::OfCall(call), .. }) if *call == id)
                {
                    self.core_mut().phase =
                        Phase::Draining(Then::Return { value: ReturnValue::Value(value), failed: false });
                }
            }
            Err(error) => {
                let error = Value::Str(error).to_json();
                self.asker_mut().news.results.push(format!("{line} !! {error}"));
                if let Phase::Draining(Then::Return { failed, .. }) = &mut self.core_mut().phase {
                    *failed = true;
                }
            }
        }
        self.call_taken(&queued, &result);
    }

    /// A result is the work of the line that called, not of a later line that asks for the same variable.
    fn claim_result(&mut self, name: &Arc<str>, line: Location) {
        let stamp = self.stamp;
        let frame = self.top_mut();
        if frame.location() != line {
            frame.claim(name, stamp);
        }
    }

    pub(crate) fn handle_call_started(&mut self, call: CallId, attempt: u32) {
        let now = self.now;
        let Some(queued) = self.find_call(call) else { return };
        queued.state = CallState::Running { attempt, confirmed: true };
        queued.started = Some(now);
        let (name, kind) = (queued.name.clone(), queued.callee.kind());
        self.report(Fact::CallStarted { call, name, kind, attempt });
    }

    pub(crate) fn handle_call_ended(&mut self, call: CallId, outcome: CallOutcome, usage: Option<Usage>) {
        let now = self.now;
        let limit = self.settings.value_bytes;
        if let Some(usage) = usage {
            self.spend_usage(usage);
        }
        if let Some(Frame::Dataflow(frame)) = self.frames.iter_mut().find(|frame| frame.core().has_call(call)) {
            frame.has_news = true;
        }
        let Some(queued) = self.find_call(call) else { return };
        // A stale answer: the call has ended already, or was never started.
        let CallState::Running { attempt, .. } = queued.state else { return };
        if let CallOutcome::Needs { question, takes_no } = outcome {
            let asked_by = AskedBy::Tool { takes_no };
            queued.state = CallState::Asking { attempt, question: question.clone(), asked_by };
            self.report(Fact::ApprovalAsked { call, question });
            return;
        }
        let mut result = result_of(outcome, queued.callee);
        if let Ok(value) = &result
            && value.value.to_json().len() > limit
        {
            result = Err(format!("the result is larger than the limit `value_bytes` of {limit} bytes").into());
        }
        queued.state = CallState::Done(result.clone());
        let finished = queued.finished(now, result);
        if let Fact::CallFinished { kind: CallKind::Model, ms, .. } = finished {
            self.counters.model_ms += ms;
        }
        self.report(finished);
    }

    /// A person answered: the call is made again with the answer, or refused.
    pub(crate) fn handle_approved(&mut self, call: CallId, answer: Value) {
        let Some(queued) = self.find_call(call) else { return };
        let CallState::Asking { attempt, asked_by, question } = queued.state.clone() else { return };
        let Some(effect) = queued.callee.effect() else { return };
        let refusal: Option<Arc<str>> = match (asked_by, &answer) {
            (AskedBy::Policy, Value::Bool(true)) | (AskedBy::Tool { takes_no: true }, _) => None,
            (AskedBy::Policy | AskedBy::Tool { takes_no: false }, Value::Bool(false)) => Some(REFUSED.into()),
            (AskedBy::Tool { takes_no: false }, _) => None,
            // Whoever says something else has not said yes.
            (AskedBy::Policy, words) => Some(format!("{REFUSED} and said: {}", words.to_json()).into()),
        };
        if refusal.is_none() {
            queued.state = CallState::Running { attempt: attempt + 1, confirmed: false };
            if let AskedBy::Tool { .. } = asked_by {
                queued.answers.push((question, answer));
            }
            let effect = start_call(queued, effect, attempt + 1);
            self.emit(effect);
        }
        self.report(Fact::ApprovalGiven { call });
        if let Some(refusal) = refusal {
            self.refuse_call(call, refusal);
        }
    }

    /// After a restart: calls that were not confirmed are started now, safe ones again; of the others nobody
    /// knows what became (spec `architecture.md`, "After a crash").
    pub(crate) fn reopen_calls(&mut self) {
        let now = self.now;
        let (mut effects, mut lost) = (Vec::new(), Vec::new());
        for frame in &mut self.frames {
            for queued in &mut frame.core_mut().queue {
                let Some(class) = queued.callee.effect() else { continue };
                let CallState::Running { attempt, confirmed } = queued.state else { continue };
                let is_safe = matches!(class, EffectClass::ReadOnly | EffectClass::Idempotent);
                if confirmed && !is_safe {
                    let unknown: Arc<str> = "outcome unknown: the process stopped during the call".into();
                    queued.state = CallState::Done(Err(unknown.clone()));
                    lost.push(queued.finished(now, Err(unknown)));
                    continue;
                }
                let attempt = if confirmed { attempt + 1 } else { attempt };
                queued.state = CallState::Running { attempt, confirmed: false };
                effects.push(start_call(queued, class, attempt));
            }
        }
        lost.into_iter().for_each(|fact| self.report(fact));
        effects.into_iter().for_each(|effect| self.emit(effect));
    }
}

impl QueuedCall {
    /// What watchers are told when it is over.
    pub(crate) fn finished(&self, now: Timestamp, result: Result<Tracked, Arc<str>>) -> Fact {
        let ms = self.started.map_or(0, |started| u64::try_from(now.0 - started.0).unwrap_or(0));
        Fact::CallFinished { call: self.id, name: self.name.clone(), kind: self.callee.kind(), result, ms }
    }
}

fn start_call(queued: &QueuedCall, effect: EffectClass, attempt: u32) -> Effect {
    Effect::StartCall(Box::new(StartCall {
        call: queued.id,
        attempt,
        kind: queued.callee.kind(),
        name: queued.name.clone(),
        arguments: queued.arguments.clone(),
        effect,
        answers: queued.answers.clone(),
        place: queued.place,
    }))
}

/// Binds arguments to parameters; all faults are told together. Of a tool that checks them itself only those that it
/// could not see: more values than parameters.
pub(crate) fn bind(resolved: &Resolved, given: Given) -> Result<Vec<(Arc<str>, Tracked)>, String> {
    let Resolved { signature, checks_itself, .. } = resolved;
    let parameters = &signature.parameters;
    let mut faults = Vec::new();
    let mut named: Vec<(Arc<str>, Tracked)> = match given {
        Given::Named(named) => named,
        Given::Positional(values) => {
            if values.len() > parameters.len() {
                faults.push(format!("{} arguments given, it takes {}", values.len(), parameters.len()));
            }
            parameters.iter().zip(values).map(|(parameter, value)| (parameter.name.clone(), value)).collect()
        }
    };
    if *checks_itself && faults.is_empty() {
        return Ok(named);
    }
    for (name, _) in &named {
        if !parameters.iter().any(|parameter| parameter.name == *name) {
            faults.push(format!("it has no parameter `{name}`"));
        }
    }
    let mut bound = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        let index = named.iter().position(|(name, _)| *name == parameter.name);
        match (index.map(|index| named.swap_remove(index).1), &parameter.default) {
            (Some(value), _) if !parameter.ty.accepts(&value.value) => {
                faults.push(format!("`{}` must be {}, not {}", parameter.name, parameter.ty, value.value.kind()));
            }
            (Some(value), _) => bound.push((parameter.name.clone(), value)),
            (None, Some(default)) => bound.push((parameter.name.clone(), Tracked::new(default.clone(), Origin::CODE))),
            (None, None) => faults.push(format!("`{}` is missing", parameter.name)),
        }
    }
    if faults.is_empty() {
        return Ok(bound);
    }
    let wanted: Vec<String> = parameters.iter().map(write_parameter).collect();
    Err(format!("{}({}): {}", signature.name, wanted.join(", "), faults.join("; ")))
}

/// `order_id: str = "x"`.
pub(crate) fn write_parameter(parameter: &Parameter) -> String {
    let mut text = parameter.name.to_string();
    if parameter.ty != playhouse_lang::program::Type::ANY {
        text = format!("{text}: {}", parameter.ty);
    }
    match &parameter.default {
        Some(default) => format!("{text} = {default}"),
        None => text,
    }
}

/// `Name(arg="x", other=3)`.
pub(crate) fn describe_call(name: &str, arguments: &[(Arc<str>, Tracked)]) -> String {
    let arguments: Vec<String> =
        arguments.iter().map(|(name, value)| format!("{name}={}", shorten(value, 200))).collect();
    format!("{name}({})", arguments.join(", "))
}

/// A value as the model is shown it: whole JSON up to `limit` bytes, else type, size and the first part.
pub(crate) fn shorten(value: &Tracked, limit: usize) -> String {
    if value.secret {
        return "(secret)".to_owned();
    }
    let json = value.value.to_json();
    if json.len() <= limit {
        return json;
    }
    let size = match &value.value {
        Value::List(items) => format!("{} items", items.len()),
        Value::Map(members) => format!("{} keys", members.len()),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
            format!("{} bytes", json.len())
        }
    };
    let end = json.floor_char_boundary(limit.min(300));
    let start = Value::str(&json[..end]).to_json();
    format!("({}, {size}, begins with {start})", value.value.kind())
}
