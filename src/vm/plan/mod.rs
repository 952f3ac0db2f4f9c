//! JSON plans while they run: one instruction after the other (spec `plans.md`, sections 1 and 2).
//!
//! A plan's variables are its own: it is given arguments and gives back a value. What an instruction waits for (a
//! tool, a playbook, the model's answer to a condition) stands in the frame's queue, one call at a time.

mod answer;
mod fault;
pub(crate) mod frame;
pub mod prompts;
mod replan;
mod values;

use crate::plan::frame::Doing;
use crate::plan::frame::PlanFrame;
use crate::plan::frame::json_of;
use std::sync::Arc;

use crate::protocol::{Origin, Tracked};
use playhouse_lang::plan::json::{Branch, Dialect, Instruction, InstructionKind, Output, PlanCall, Target};
use playhouse_lang::plan::{FINAL_ANSWER, NodeId, Plan, PlanId, RESULT};
use playhouse_lang::value::{Map, Value};

use crate::calls::arguments::{Given, bind};
use crate::calls::call::QueuedCall;
use crate::machine::frame::Frame;
use crate::machine::frame_core::FrameCore;
use crate::machine::state::Machine;
use crate::plan::answer::{first_object, read_condition};
use crate::plan::frame::InstructionFault;
use crate::protocol::{EffectClass, Fact, FrameId, FrameOrigin, PlanFaultKind, Progress, Usage, Wait};
use crate::variables::fault::told_keys;

/// The registry's tool that asks the model.
pub const LLM_GENERATE: &str = "llm_generate";
/// Its parameter that names the members that the reply must have.
pub const MEMBERS: &str = "members";

impl Machine {
    /// Pushes a frame of a JSON plan; `bound` become its first variables.
    pub(crate) fn push_json_plan(
        &mut self,
        plan: PlanId,
        source: Arc<Plan>,
        bound: Vec<(Arc<str>, Tracked)>,
        origin: FrameOrigin,
    ) {
        let agent = self.calling_agent();
        self.next.frame += 1;
        let core = FrameCore::new(FrameId(self.next.frame), agent, origin);
        let frame = PlanFrame {
            core,
            plan,
            source,
            pointer: None,
            doing: Doing::Call,
            n_steps: 0,
            n_replans: 0,
            effects: Vec::new(),
            stopped: None,
        };
        self.frames.push(Frame::Plan(frame));
        self.frame_pushed(origin);
        for (name, value) in bound {
            self.bind_in_plan(&name, value);
        }
        let first = self.plan_frame().json().first;
        self.go_to(first);
    }

    fn plan_frame(&self) -> &PlanFrame {
        match self.frames.last() {
            Some(Frame::Plan(frame)) => frame,
            _ => unreachable!("only asked for with a plan on top of the stack"),
        }
    }

    fn plan_frame_mut(&mut self) -> &mut PlanFrame {
        match self.frames.last_mut() {
            Some(Frame::Plan(frame)) => frame,
            _ => unreachable!("only asked for with a plan on top of the stack"),
        }
    }

    /// Moves the pointer; a debugger may stop there.
    fn go_to(&mut self, node: Option<NodeId>) {
        self.plan_frame_mut().pointer = node;
        if node.is_some()
            && let Some(place) = self.place()
        {
            self.outbox.push_back(Progress::Reached(place));
        }
    }

    /// One instruction, or what its call needs next.
    pub(crate) fn step_plan(&mut self) -> Option<Wait> {
        if let Some(done) = self.step_queue() {
            return done;
        }
        if let Some(reason) = self.plan_frame_mut().stopped.take() {
            self.end_failed(reason);
            return None;
        }
        let frame = self.plan_frame_mut();
        let Some(node) = frame.pointer else {
            self.end_plan();
            return None;
        };
        let limit = self.settings.plan_steps;
        let frame = self.plan_frame_mut();
        if frame.n_steps >= limit {
            let message = format!(
                "the plan has reached its step limit: `plan_steps` of {limit}; a loop that does not end, or raise \
                 the limit"
            );
            self.plan_fault(InstructionFault::new(PlanFaultKind::Limit, message));
            return None;
        }
        frame.n_steps += 1;
        let source = frame.source.clone();
        let instruction = json_of(&source).instruction(node);
        if let Err(fault) = self.perform_instruction(instruction) {
            self.plan_fault(fault);
        }
        None
    }

    fn perform_instruction(&mut self, instruction: &Instruction) -> Result<(), InstructionFault> {
        match &instruction.kind {
            InstructionKind::Assign(assignments) => {
                for assignment in assignments {
                    let value = self.plan_value(&assignment.value, &assignment.name)?;
                    self.set_in_plan(&assignment.name, value)?;
                }
                self.go_to(instruction.next);
                Ok(())
            }
            InstructionKind::Call(call) => self.begin_plan_call(call),
            InstructionKind::Branch(branch) => {
                self.plan_frame_mut().doing = Doing::Condition { n_asked: 0 };
                self.ask_condition(branch, None)
            }
            InstructionKind::Jump(target) => self.jump(target, "target_seq"),
            InstructionKind::Reasoning { .. } => {
                self.go_to(instruction.next);
                Ok(())
            }
        }
    }

    fn jump(&mut self, target: &Target, parameter: &str) -> Result<(), InstructionFault> {
        let node = match target {
            Target::Node(node) => *node,
            Target::Computed(value) => {
                let value = self.plan_value(value, parameter)?;
                let Value::Int(seq_no) = value.value() else {
                    let message = format!("the target must be an integer, but is {}", value.value().kind());
                    return Err(InstructionFault::new(PlanFaultKind::Value, message).of(parameter));
                };
                let by_seq_no = &self.plan_frame().json().by_seq_no;
                match by_seq_no.binary_search_by_key(seq_no, |(number, _)| *number) {
                    Ok(index) => Some(by_seq_no[index].1),
                    Err(_) => {
                        let message = format!("no instruction has the number {seq_no}");
                        return Err(InstructionFault::new(PlanFaultKind::Value, message).of(parameter));
                    }
                }
            }
        };
        self.go_to(node);
        Ok(())
    }

    /// Puts the instruction's call into the queue; what is wrong with it is found before anything is called.
    fn begin_plan_call(&mut self, call: &PlanCall) -> Result<(), InstructionFault> {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for (name, value) in &call.arguments {
            arguments.push((name.clone(), self.plan_value(value, name)?));
        }
        let resolved = match self.find_callee(&call.callee) {
            Ok(resolved) => resolved,
            Err(problem) => return Err(InstructionFault::new(PlanFaultKind::Call, problem)),
        };
        let is_dialect_b = self.plan_frame().json().dialect == Dialect::Branch;
        if is_dialect_b && &*call.callee == values::RETRIEVE_CHUNKS {
            values::check_top_k(&mut arguments)?;
        }
        // Only the registry's own knows the parameter: arguments of other tools are handed on as they are.
        let knows_members = resolved.signature.parameters.iter().any(|parameter| &*parameter.name == MEMBERS);
        if let (Output::Members(members), LLM_GENERATE, true) = (&call.output, &*call.callee, knows_members)
            && !arguments.iter().any(|(name, _)| &**name == MEMBERS)
        {
            let names = members.iter().cloned().map(Value::Str).collect();
            arguments.push((MEMBERS.into(), Tracked::new(Value::list(names), Origin::CODE)));
        }
        let given = Given::named(arguments);
        let bound = bind(&resolved, given).map_err(|problem| InstructionFault::new(PlanFaultKind::Call, problem))?;
        self.plan_frame_mut().doing = Doing::Call;
        self.queue_call(&resolved, bound, None);
        Ok(())
    }

    fn ask_condition(&mut self, branch: &Branch, problem: Option<&str>) -> Result<(), InstructionFault> {
        let prompt = self.plan_value(&branch.prompt, "prompt")?;
        let context = branch.context.as_ref().map(|context| self.plan_value(context, "context")).transpose()?;
        // No model is shown a secret, whoever asks it.
        if let Some(parameter) = [("prompt", Some(&prompt)), ("context", context.as_ref())]
            .into_iter()
            .find_map(|(name, value)| value.filter(|value| value.is_secret()).map(|_| name))
        {
            let message = "it holds a secret value, which no model is shown; ask without it";
            return Err(InstructionFault::new(PlanFaultKind::Value, message).of(parameter));
        }
        let dialect = self.plan_frame().json().dialect;
        let question = prompts::condition(dialect, &prompt, context.as_ref(), problem);
        if let Doing::Condition { n_asked } = &mut self.plan_frame_mut().doing {
            *n_asked += 1;
        }
        self.ask_model("condition", question)
    }

    /// A call of the frame has ended and is out of its queue.
    pub(crate) fn plan_call_taken(&mut self, queued: &QueuedCall, result: Result<Tracked, Arc<str>>) {
        let source = self.plan_frame().source.clone();
        let Some(node) = self.plan_frame().pointer else { return };
        let instruction = json_of(&source).instruction(node);
        let outcome = match (self.plan_frame().doing.clone(), &instruction.kind) {
            (Doing::Replan { n_asked, told }, _) => {
                self.replanned(result, n_asked, &told);
                Ok(())
            }
            (Doing::Condition { n_asked }, InstructionKind::Branch(branch)) => {
                self.condition_answered(branch, result, n_asked)
            }
            (Doing::Condition { .. } | Doing::Call, kind) => {
                self.note_effect(queued, &result);
                self.plan_call_ended(kind, queued, result).map(|()| self.go_to(instruction.next))
            }
        };
        if let Err(fault) = outcome {
            self.plan_fault(fault);
        }
    }

    fn plan_call_ended(
        &mut self,
        kind: &InstructionKind,
        queued: &QueuedCall,
        result: Result<Tracked, Arc<str>>,
    ) -> Result<(), InstructionFault> {
        let InstructionKind::Call(call) = kind else { return Ok(()) };
        let value = result.map_err(|error| {
            InstructionFault::new(PlanFaultKind::Failed, format!("{} failed: {error}", queued.name))
        })?;
        match &call.output {
            Output::Dropped => Ok(()),
            Output::Whole(name) => self.set_in_plan(name, value),
            Output::Members(names) => {
                let members = members_of(value.value()).map_err(|problem| {
                    let message = format!("{} {problem}; `output_vars` wants {}", queued.name, names.join(", "));
                    InstructionFault::new(PlanFaultKind::Value, message).of("output_vars")
                })?;
                let missing: Vec<&str> =
                    names.iter().filter(|name| !members.contains_key(*name)).map(|name| &**name).collect();
                if !missing.is_empty() {
                    let told = told_keys(&members, value.is_secret());
                    let message = format!("the result of {} has no `{}`{told}", queued.name, missing.join("`, `"));
                    return Err(InstructionFault::new(PlanFaultKind::Value, message).of("output_vars"));
                }
                for name in names {
                    let member = members.get(name).cloned().unwrap_or_default();
                    self.set_in_plan(name, value.with_value(member))?;
                }
                Ok(())
            }
        }
    }

    fn condition_answered(
        &mut self,
        branch: &Branch,
        result: Result<Tracked, Arc<str>>,
        n_asked: u32,
    ) -> Result<(), InstructionFault> {
        let answer = result.map_err(|error| {
            InstructionFault::new(PlanFaultKind::Model, format!("the model could not be asked: {error}"))
        })?;
        let dialect = self.plan_frame().json().dialect;
        match read_condition(dialect, &answer.value().to_text()) {
            Ok(true) => self.jump(&branch.if_true, "jump_if_true"),
            Ok(false) => self.jump(&branch.if_false, "jump_if_false"),
            Err(problem) if n_asked <= self.settings.condition_retries => self.ask_condition(branch, Some(&problem)),
            Err(problem) => {
                let times = if n_asked > 1 { format!(", asked {n_asked} times") } else { String::new() };
                Err(InstructionFault::new(PlanFaultKind::Answer, format!("the model gave no answer{times}: {problem}")))
            }
        }
    }

    /// Remembers what may have changed the world.
    fn note_effect(&mut self, queued: &QueuedCall, result: &Result<Tracked, Arc<str>>) {
        if queued.callee.effect() == Some(EffectClass::ReadOnly) {
            return;
        }
        let call = crate::calls::arguments::describe_call(&queued.name, &queued.arguments);
        let became = match result {
            Ok(value) => format!("-> {}", crate::variables::display::shorten(value, 200)),
            Err(error) => format!("!! {}", Value::Str(error.clone()).to_json()),
        };
        self.plan_frame_mut().effects.push(format!("{call} {became}"));
    }

    /// Behind the last instruction: the plan's value is that of its variable.
    fn end_plan(&mut self) {
        let frame = self.plan_frame();
        let names: &[&str] = match frame.json().dialect {
            Dialect::Jmp => &[FINAL_ANSWER],
            Dialect::Branch => &[FINAL_ANSWER, RESULT],
        };
        let found = names.iter().find_map(|name| frame.core.scope.get(name)).map(|variable| variable.value.clone());
        if found.is_none() {
            let cause = format!("{} set no `{}`: its value is null", frame.source.name, names.join("` and no `"));
            self.report(Fact::Ignored { cause: cause.into() });
        }
        self.pop_frame(found.unwrap_or(Tracked::NULL));
    }

    /// A question of the machine's own to the session's model; its answer comes as the result of a call.
    pub(crate) fn ask_model(&mut self, name: &str, question: Tracked) -> Result<(), InstructionFault> {
        let spent = self.counters.prompt_tokens + self.counters.completion_tokens;
        if spent >= self.settings.tokens {
            let message = format!("the session has used its {} tokens, the limit `tokens`", self.settings.tokens);
            return Err(InstructionFault::new(PlanFaultKind::Limit, message));
        }
        self.queue_question(name, question);
        Ok(())
    }

    /// Tokens that a call has used count for the session and for every frame.
    pub(crate) fn spend_usage(&mut self, usage: Usage) {
        self.counters.prompt_tokens += usage.prompt_tokens;
        self.counters.cached_tokens += usage.cached_tokens;
        self.counters.completion_tokens += usage.completion_tokens;
        for frame in &mut self.frames {
            frame.core_mut().spent.tokens += usage.prompt_tokens + usage.completion_tokens;
        }
    }

    /// The plan on top is to end as soon as nothing runs any more.
    pub(crate) fn stop_plan(&mut self, reason: &str) {
        match self.frames.last_mut() {
            Some(Frame::Plan(frame)) => {
                frame.stopped = Some(reason.into());
                frame.core.queue.drop_waiting();
            }
            Some(Frame::Dataflow(frame)) => frame.stop(reason.into()),
            Some(Frame::Playbook(_)) | None => {}
        }
    }

    /// The agent in whose name a plan runs that is about to be pushed.
    pub(crate) fn calling_agent(&self) -> playhouse_lang::program::AgentId {
        self.frames.last().map_or(playhouse_lang::program::AgentId(0), |frame| frame.core().agent)
    }
}

/// The members of an object, also of one that stands in text.
fn members_of(value: &Value) -> Result<Arc<Map>, String> {
    match value {
        Value::Map(members) => Ok(members.clone()),
        Value::Str(text) => match first_object(text) {
            Some(Value::Map(members)) => Ok(members),
            _ => Err("gave text without a JSON object".to_owned()),
        },
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => {
            Err(format!("gave {}, not an object", value.kind()))
        }
    }
}
