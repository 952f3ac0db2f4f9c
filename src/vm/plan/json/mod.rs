//! JSON plans while they run: one instruction after the other (spec `plans.md`, sections 1 and 2).
//!
//! A plan's variables are its own: it is given arguments and gives back a value. What an instruction waits for (a
//! tool, a playbook, the model's answer to a condition) stands in the frame's queue, one call at a time.

mod answer;
mod replan;
mod values;

use std::sync::Arc;

use playhouse_lang::plan::json::{Branch, Dialect, Instruction, InstructionKind, JsonPlan, Output, PlanCall, Target};
use playhouse_lang::plan::{FINAL_ANSWER, Plan, PlanBody, RESULT};
use playhouse_lang::value::{Map, Value};

use crate::calls::arguments::{Given, bind, describe_call};
use crate::calls::call::QueuedCall;
use crate::plan::json::answer::{first_object, read_condition};
use crate::plan::json::values::{RETRIEVE_CHUNKS, check_top_k};
use crate::plan::prompts::condition;
use crate::plan::request::{NodeFault, PlanContext, PlanEvent, PlanRequest, Requested};
use crate::plan::{LLM_GENERATE, MEMBERS};
use crate::protocol::{EffectClass, Fact, Origin, PlanFaultKind, Tracked};
use crate::variables::display::shorten;
use crate::variables::fault::told_keys;

/// How far a JSON plan is.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonExecution {
    doing: Doing,
    n_steps: u64,
    n_replans: u32,
    /// What was called so far that may have changed something, as a model is told.
    effects: Vec<String>,
    /// It is to end as soon as nothing runs any more, and why.
    stopped: Option<Arc<str>>,
}

/// What a plan does at its instruction.
#[derive(Clone, Debug, Default)]
enum Doing {
    /// The instruction has not begun, or waits for the result of its call.
    #[default]
    Instruction,
    /// It has set so many of the instruction's variables.
    Assign { n_set: usize },
    /// It waits for the answer to a condition.
    Condition {
        /// How often the model has been asked.
        n_asked: u32,
    },
    /// It waits for another plan.
    Replan {
        n_asked: u32,
        /// What the model was told.
        told: Arc<str>,
    },
}

impl JsonExecution {
    /// Something has happened: what the plan wants now.
    pub(super) fn handle(&mut self, event: PlanEvent<'_>, context: &PlanContext<'_>) -> Vec<PlanRequest> {
        match event {
            PlanEvent::Begun(bound) => {
                let bound = bound.into_iter().map(|(name, value)| PlanRequest::Bind(name, value));
                bound.chain([PlanRequest::GoTo(json_of(context.source).first)]).collect()
            }
            PlanEvent::Step => self.next(context),
            PlanEvent::CallQueued { .. } => Vec::new(),
            PlanEvent::CallEnded(queued, result) => self.take(queued, result, context),
            PlanEvent::TooLarge(name, excess) => {
                self.fail(NodeFault::too_large(&format!("`{name}`"), excess).of(name), context)
            }
        }
    }

    /// One instruction, or what its call needs next.
    fn next(&mut self, context: &PlanContext<'_>) -> Vec<PlanRequest> {
        if let Some(call) = context.core.queue.first() {
            return vec![PlanRequest::Work(call.id)];
        }
        if let Some(reason) = self.stopped.take() {
            return vec![PlanRequest::Fail(reason)];
        }
        let Some(node) = context.node else { return value_of(context) };
        self.perform(json_of(context.source).instruction(node), context)
            .unwrap_or_else(|fault| self.fail(fault, context))
    }

    fn perform(&mut self, instruction: &Instruction, context: &PlanContext<'_>) -> Requested {
        let n_set = if let Doing::Assign { n_set } = std::mem::take(&mut self.doing) { n_set } else { 0 };
        if n_set == 0 {
            let limit = context.session.settings.plan_steps;
            if self.n_steps >= limit {
                let message = format!(
                    "the plan has reached its step limit (`plan_steps` is {limit}); end the loop, or raise the limit"
                );
                return Err(NodeFault::new(PlanFaultKind::Limit, message));
            }
            self.n_steps += 1;
        }
        match &instruction.kind {
            InstructionKind::Assign(assignments) => {
                let Some(assignment) = assignments.get(n_set) else {
                    return Ok(vec![PlanRequest::GoTo(instruction.next)]);
                };
                let value = context.value(&assignment.value, &assignment.name)?;
                // The next one sees what this one sets.
                self.doing = Doing::Assign { n_set: n_set + 1 };
                Ok(vec![PlanRequest::Set(assignment.name.clone(), value), PlanRequest::Again])
            }
            InstructionKind::Call(call) => plan_call(call, context),
            InstructionKind::Branch(branch) => self.ask(branch, 1, None, context),
            InstructionKind::Jump(target) => jump(target, "target_seq", context),
            InstructionKind::Reasoning { .. } => Ok(vec![PlanRequest::GoTo(instruction.next)]),
        }
    }

    /// Asks the model about a condition, for the `n_asked`th time.
    fn ask(&mut self, branch: &Branch, n_asked: u32, problem: Option<&str>, context: &PlanContext<'_>) -> Requested {
        self.doing = Doing::Condition { n_asked };
        let prompt = context.value(&branch.prompt, "prompt")?;
        let given = branch.context.as_ref().map(|given| context.value(given, "context")).transpose()?;
        // No model is shown a secret, whoever asks it.
        if let Some(parameter) = [("prompt", Some(&prompt)), ("context", given.as_ref())]
            .into_iter()
            .find_map(|(name, value)| value.filter(|value| value.is_secret()).map(|_| name))
        {
            let message = "it contains a secret value, which no model may see; ask without it";
            return Err(NodeFault::new(PlanFaultKind::Value, message).of(parameter));
        }
        let question = condition(json_of(context.source).dialect, &prompt, given.as_ref(), problem);
        Ok(vec![context.question("condition", question)?])
    }

    /// A call has ended.
    fn take(
        &mut self,
        queued: &QueuedCall,
        result: &Result<Tracked, Arc<str>>,
        context: &PlanContext<'_>,
    ) -> Vec<PlanRequest> {
        let Some(node) = context.node else { return Vec::new() };
        if let (true, Err(error)) = (queued.is_interrupted, result) {
            // Whoever interrupts a plan wants no other one.
            return vec![PlanRequest::Fail(self.stopped.take().unwrap_or_else(|| error.clone()))];
        }
        let instruction = json_of(context.source).instruction(node);
        let wanted = match (std::mem::take(&mut self.doing), &instruction.kind) {
            (Doing::Replan { n_asked, told }, _) => return self.replanned(result, n_asked, &told, context),
            (Doing::Condition { n_asked }, InstructionKind::Branch(branch)) => {
                self.answered(branch, result, n_asked, context)
            }
            (Doing::Condition { .. } | Doing::Instruction | Doing::Assign { .. }, kind) => {
                self.note_effect(queued, result);
                outputs(kind, &queued.name, result).map(|mut requests| {
                    requests.push(PlanRequest::GoTo(instruction.next));
                    requests
                })
            }
        };
        wanted.unwrap_or_else(|fault| self.fail(fault, context))
    }

    fn answered(
        &mut self,
        branch: &Branch,
        result: &Result<Tracked, Arc<str>>,
        n_asked: u32,
        context: &PlanContext<'_>,
    ) -> Requested {
        let answer = result
            .as_ref()
            .map_err(|error| NodeFault::new(PlanFaultKind::Model, format!("the model could not be asked: {error}")))?;
        match read_condition(json_of(context.source).dialect, &answer.value().to_text()) {
            Ok(true) => jump(&branch.if_true, "jump_if_true", context),
            Ok(false) => jump(&branch.if_false, "jump_if_false", context),
            Err(problem) if n_asked <= context.session.settings.condition_retries => {
                self.ask(branch, n_asked + 1, Some(&problem), context)
            }
            Err(problem) => {
                let times = if n_asked > 1 { format!(", asked {n_asked} times") } else { String::new() };
                Err(NodeFault::new(PlanFaultKind::Answer, format!("the model gave no answer{times}: {problem}")))
            }
        }
    }

    /// Remembers what may have changed the world.
    fn note_effect(&mut self, queued: &QueuedCall, result: &Result<Tracked, Arc<str>>) {
        if queued.callee.effect() == Some(EffectClass::ReadOnly) {
            return;
        }
        let call = describe_call(&queued.name, &queued.arguments);
        let became = match result {
            Ok(value) => format!("-> {}", shorten(value, 200)),
            Err(error) => format!("!! {}", Value::Str(error.clone()).to_json()),
        };
        self.effects.push(format!("{call} {became}"));
    }

    /// The instruction at the pointer has failed. The plan ends, unless a model may write another one.
    fn fail(&mut self, fault: NodeFault, context: &PlanContext<'_>) -> Vec<PlanRequest> {
        let Some(node) = context.node else { return Vec::new() };
        self.doing = Doing::Instruction;
        let instruction = json_of(context.source).instruction(node);
        let (label, type_name) = (&context.source.node(node).label, instruction.type_name);
        let at = fault.parameter.as_ref().map(|parameter| format!(", `{parameter}`")).unwrap_or_default();
        let named = format!("instruction {label} ({type_name}{at})");
        let fault = fault.into_plan_fault(context, node, Some(instruction.seq_no), type_name, &named);
        let then = self.begin_replan(&fault.message, context);
        vec![PlanRequest::Fault(fault), then]
    }

    pub(super) fn stop(&mut self, reason: Arc<str>) {
        self.stopped = Some(reason);
    }
}

/// A JSON plan's body is always one of instructions.
fn json_of(plan: &Plan) -> &JsonPlan {
    match &plan.body {
        PlanBody::Json(json) => json,
        PlanBody::Dataflow(_) => unreachable!("dataflow plans are executed in another way"),
    }
}

/// After the last instruction: the plan's value is that of its variable.
fn value_of(context: &PlanContext<'_>) -> Vec<PlanRequest> {
    let names: &[&str] = match json_of(context.source).dialect {
        Dialect::Jmp => &[FINAL_ANSWER],
        Dialect::Branch => &[FINAL_ANSWER, RESULT],
    };
    match names.iter().find_map(|name| context.core.scope.get(name)) {
        Some(variable) => vec![PlanRequest::Return(variable.value.clone())],
        None => {
            let cause = format!("{} set no `{}`: its value is null", context.source.name, names.join("` and no `"));
            vec![PlanRequest::Tell(Fact::Ignored { cause: cause.into() }), PlanRequest::Return(Tracked::NULL)]
        }
    }
}

/// The instruction's call; what is wrong with it is found before anything is called.
fn plan_call(call: &PlanCall, context: &PlanContext<'_>) -> Requested {
    let mut arguments = Vec::with_capacity(call.arguments.len());
    for (name, value) in &call.arguments {
        arguments.push((name.clone(), context.value(value, name)?));
    }
    let cannot_call = |problem: String| NodeFault::new(PlanFaultKind::Call, problem);
    let resolved = context.session.callees.find(&call.callee).map_err(cannot_call)?;
    if json_of(context.source).dialect == Dialect::Branch && &*call.callee == RETRIEVE_CHUNKS {
        check_top_k(&mut arguments)?;
    }
    // Only the registry's own knows the parameter: arguments of other tools are handed on as they are.
    let knows_members = resolved.signature.parameters.iter().any(|parameter| &*parameter.name == MEMBERS);
    if let (Output::Members(members), LLM_GENERATE, true) = (&call.output, &*call.callee, knows_members)
        && !arguments.iter().any(|(name, _)| &**name == MEMBERS)
    {
        let names = members.iter().cloned().map(Value::Str).collect();
        arguments.push((MEMBERS.into(), Tracked::new(Value::list(names), Origin::CODE)));
    }
    let arguments = bind(&resolved, Given::named(arguments)).map_err(cannot_call)?;
    Ok(vec![PlanRequest::Call { resolved, arguments, unit: 0 }])
}

fn jump(target: &Target, parameter: &str, context: &PlanContext<'_>) -> Requested {
    let value = match target {
        Target::Node(node) => return Ok(vec![PlanRequest::GoTo(*node)]),
        Target::Computed(value) => context.value(value, parameter)?,
    };
    let wrong = |message| NodeFault::new(PlanFaultKind::Value, message).of(parameter);
    let Value::Int(seq_no) = value.value() else {
        return Err(wrong(format!("the target must be an integer, but is {}", value.value().kind())));
    };
    let by_seq_no = &json_of(context.source).by_seq_no;
    match by_seq_no.binary_search_by_key(seq_no, |(number, _)| *number) {
        Ok(index) => Ok(vec![PlanRequest::GoTo(Some(by_seq_no[index].1))]),
        Err(_) => Err(wrong(format!("no instruction has the number {seq_no}"))),
    }
}

/// What a call's result sets.
fn outputs(kind: &InstructionKind, name: &str, result: &Result<Tracked, Arc<str>>) -> Requested {
    let InstructionKind::Call(call) = kind else { return Ok(Vec::new()) };
    let value =
        result.as_ref().map_err(|error| NodeFault::new(PlanFaultKind::Failed, format!("{name} failed: {error}")))?;
    let names = match &call.output {
        Output::Dropped => return Ok(Vec::new()),
        Output::Whole(name) => return Ok(vec![PlanRequest::Set(name.clone(), value.clone())]),
        Output::Members(names) => names,
    };
    let wrong = |message| NodeFault::new(PlanFaultKind::Value, message).of("output_vars");
    let members = members_of(value.value())
        .map_err(|problem| wrong(format!("{name} {problem}; `output_vars` asks for {}", names.join(", "))))?;
    let missing: Vec<&str> = names.iter().filter(|name| !members.contains_key(*name)).map(|name| &**name).collect();
    if !missing.is_empty() {
        let told = told_keys(&members, value.is_secret());
        return Err(wrong(format!("the result of {name} has no `{}`{told}", missing.join("`, `"))));
    }
    let member = |name: &Arc<str>| value.with_value(members.get(name).cloned().unwrap_or_default());
    Ok(names.iter().map(|name| PlanRequest::Set(name.clone(), member(name))).collect())
}

/// The members of an object, also of one that stands in text.
fn members_of(value: &Value) -> Result<Arc<Map>, String> {
    match value {
        Value::Map(members) => Ok(members.clone()),
        Value::Str(text) => match first_object(text) {
            Some(Value::Map(members)) => Ok(members),
            _ => Err("returned text without a JSON object".to_owned()),
        },
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => {
            Err(format!("returned {}, not an object", value.kind()))
        }
    }
}
