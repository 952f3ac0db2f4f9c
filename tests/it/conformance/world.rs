//! The scripted world of a case: its tools, its model, and what they were asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use playhouse::host::llm::{Llm, LlmRequest, ReplyPart, ReplyStream};
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::retrieval::Retrieval;
use playhouse::host::tool::{CallContext, ToolFuture, ToolOutcome, generate};
use playhouse::lang::plan::{Plan, PlanBody, read_plan};
use playhouse::lang::program::{Parameter, Signature, Type};
use playhouse::span::FileId;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::{EffectClass, Finish, ReplyEnd, ToolSignature};
use serde_json::Value as Json;

use crate::conformance::case::{Answer, Case, System, Tool};
use crate::conformance::matchers::equal;

/// What was asked of the world.
#[derive(Default)]
pub(crate) struct Seen {
    /// Calls of tools, with the arguments that are not null: a tool cannot tell null from what was left out.
    pub(crate) calls: Vec<(String, serde_json::Map<String, Json>)>,
    pub(crate) n_in_flight: usize,
    pub(crate) max_in_flight: usize,
    pub(crate) n_llm_calls: usize,
    /// Requests to the model that were not what the script expects.
    pub(crate) odd_requests: Vec<String>,
}

pub(crate) type Shared = Arc<Mutex<Seen>>;

/// The name of the plan's file, which declares its language.
pub(crate) fn file_name(system: System) -> &'static str {
    match system {
        System::Jmp => "case.jmp.json",
        System::Branch => "case.branch.json",
        System::Dataflow => "case.yaml",
    }
}

/// The tools of a case. What a plan in the branch dialect can call without naming a tool is there as in the product.
pub(crate) fn tools(system: System, case: &Case, text: &str, seen: &Shared) -> Registry {
    let registry = Registry::new();
    if system == System::Branch {
        registry.replace(Arc::new(generate::LlmGenerate)).unwrap();
        for retrieval in Retrieval::ALL {
            registry.replace(retrieval.on(&[])).unwrap();
        }
    }
    let replies = case.llm.iter().filter_map(|answer| answer.reply.as_deref());
    let plans: Vec<Plan> =
        [text].into_iter().chain(replies).filter_map(|text| read_plan(FileId(0), file_name(system), text).0).collect();
    for (name, tool) in case.tools.iter().chain(&case.domains) {
        let mut given: Vec<String> = match &tool.args {
            Some(args) => args.clone(),
            // Any arguments: those that some plan gives it, or that it must get.
            None => {
                let known = registry.get(name).map(|known| known.signature().signature);
                let known = known.iter().flat_map(|known| &known.parameters).map(|known| known.name.to_string());
                known.chain(plans.iter().flat_map(|plan| arguments(plan, name))).collect()
            }
        };
        given.extend(tool.required.iter().cloned());
        given.sort();
        given.dedup();
        registry
            .replace(Arc::new(Scripted {
                name: name.clone(),
                parameters: given,
                tool: tool.clone(),
                n_given: Mutex::new(0),
                seen: seen.clone(),
            }))
            .unwrap();
    }
    registry
}

/// The names of the arguments that a plan gives to a tool.
fn arguments(plan: &Plan, tool: &str) -> Vec<String> {
    match &plan.body {
        PlanBody::Json(json) => {
            let calls = json.instructions.iter().filter_map(|instruction| instruction.kind.call());
            let calls = calls.filter(|call| &*call.callee == tool);
            calls.flat_map(|call| &call.arguments).map(|(name, _)| name.to_string()).collect()
        }
        PlanBody::Dataflow(dataflow) => {
            let domains = dataflow.domains().filter(|domain| &*domain.name == tool);
            domains.flat_map(|domain| &domain.slots).map(|slot| slot.name.to_string()).collect()
        }
    }
}

struct Scripted {
    name: String,
    parameters: Vec<String>,
    tool: Tool,
    /// How many of the responses in order have been given.
    n_given: Mutex<usize>,
    seen: Shared,
}

impl Scripted {
    fn answer(&self, arguments: &serde_json::Map<String, Json>) -> ToolOutcome {
        let fits = |when: &indexmap::IndexMap<String, Json>| {
            when.iter().all(|(name, wanted)| equal(wanted, arguments.get(name).unwrap_or(&Json::Null)))
        };
        let conditional = self.tool.responses.iter().find(|response| response.when.as_ref().is_some_and(fits));
        let response = conditional.or_else(|| {
            let in_order: Vec<_> = self.tool.responses.iter().filter(|response| response.when.is_none()).collect();
            let mut n_given = self.n_given.lock().unwrap();
            let index = (*n_given).min(in_order.len().saturating_sub(1));
            *n_given += 1;
            in_order.get(index).copied()
        });
        match response.map(|response| (&response.value, &response.error)) {
            Some((_, Some(error))) => ToolOutcome::Error(error.clone()),
            Some((Some(value), None)) => ToolOutcome::Value(Value::from_json(&value.to_string()).unwrap()),
            Some((None, None)) | None => ToolOutcome::Error("the case has no response for this call".to_owned()),
        }
    }
}

/// Counts a call while it is being made, also if it is given up.
struct InFlight<'a>(&'a Shared);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().n_in_flight -= 1;
    }
}

impl playhouse::host::tool::Tool for Scripted {
    fn signature(&self) -> ToolSignature {
        let parameter = |name: &String| Parameter {
            name: name.as_str().into(),
            ty: Type::ANY,
            default: (!self.tool.required.contains(name)).then_some(Value::Null),
            description: "".into(),
            span: None,
        };
        let signature = Signature {
            name: self.name.as_str().into(),
            parameters: self.parameters.iter().map(parameter).collect(),
            returns: Type::ANY,
            summary: "".into(),
        };
        ToolSignature::new(signature, EffectClass::Write)
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(86_400)
    }

    fn call(&self, _context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            let Ok(Json::Object(mut arguments)) = serde_json::from_str(&Value::map(arguments).to_json()) else {
                return ToolOutcome::Error("arguments are an object".to_owned());
            };
            arguments.retain(|_, value| !value.is_null());
            {
                let mut seen = self.seen.lock().unwrap();
                seen.calls.push((self.name.clone(), arguments.clone()));
                seen.n_in_flight += 1;
                seen.max_in_flight = seen.max_in_flight.max(seen.n_in_flight);
            }
            let _in_flight = InFlight(&self.seen);
            let answer = self.answer(&arguments);
            if self.tool.latency_ms > 0 {
                tokio::time::sleep(Duration::from_millis(self.tool.latency_ms)).await;
            }
            answer
        })
    }
}

/// The model: scripted answers, in order.
pub(crate) struct Script {
    answers: Vec<Answer>,
    seen: Shared,
}

impl Script {
    pub(crate) fn new(answers: Vec<Answer>, seen: Shared) -> Script {
        Script { answers, seen }
    }
}

impl Llm for Script {
    fn id(&self) -> Arc<str> {
        "case".into()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        let mut seen = self.seen.lock().unwrap();
        let answer = self.answers.get(seen.n_llm_calls);
        seen.n_llm_calls += 1;
        let asked: Vec<&str> = request.messages.iter().map(|message| &*message.text).collect();
        let asked = asked.join("\n");
        let complete = ReplyEnd::Complete(Finish::Stop);
        let refused = |reason: &str| ReplyEnd::Refused { reason: reason.into() };
        let (reply, end) = match answer {
            Some(Answer { expect_contains, reply, error }) => {
                for wanted in expect_contains.iter().filter(|wanted| !asked.contains(wanted.as_str())) {
                    let odd = format!("request {} to contain {wanted:?}, got {asked:?}", seen.n_llm_calls);
                    seen.odd_requests.push(odd);
                }
                match error {
                    Some(error) => (None, refused(error)),
                    None => (Some(reply.clone().unwrap_or_default()), complete),
                }
            }
            None => (None, refused("the case has no answer left")),
        };
        let bytes = reply.map(|reply| ReplyPart::Bytes(reply.into_bytes()));
        let parts: Vec<ReplyPart> = bytes.into_iter().chain([ReplyPart::End { end, usage: None }]).collect();
        Box::pin(tokio_stream::iter(parts))
    }
}
