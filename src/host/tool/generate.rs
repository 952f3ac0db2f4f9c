//! `llm_generate`: the session's model as a tool, for plans and playbooks (spec `plans.md`, "What all plans share").

use std::time::Duration;

use playhouse_lang::program::{Type, TypeKind};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::plan::{LLM_GENERATE, MEMBERS};
use playhouse_vm::protocol::{EffectClass, StartCall, ToolSignature};

use crate::llm::answer::{Retries, ask, request};
use crate::llm::{Llm, LlmRequest};
use crate::tool::arguments::{parameter, tool};
use crate::tool::{CallContext, Tool, ToolFuture, ToolOutcome};

/// Asks the model of the session that calls, and gives its reply as text.
pub struct LlmGenerate;

/// What is to be known to call it, also where there is no model yet.
pub fn signature() -> ToolSignature {
    let text = |name: &str, default, description: &str| parameter(name, Type::ANY, default, description);
    let list = Type { optional: true, ..TypeKind::List.into() };
    let parameters = vec![
        text("prompt", None, "what the model is asked"),
        text("context", Some(Value::Null), "what else it should know"),
        text("response_format", Some(Value::Null), "\"json\" for an object as the answer"),
        parameter(MEMBERS, list, Some(Value::Null), "the members that the object must have"),
    ];
    let summary = "asks a language model and returns its reply";
    tool(LLM_GENERATE, parameters, TypeKind::Str, summary, EffectClass::ReadOnly)
}

impl Tool for LlmGenerate {
    fn signature(&self) -> ToolSignature {
        signature()
    }

    fn timeout(&self) -> Duration {
        // A large model may think for minutes.
        Duration::from_secs(600)
    }

    fn is_recorded(&self) -> bool {
        false
    }

    fn replayed(&self, call: &StartCall, llm: &dyn Llm) {
        llm.replayed(&request_of(&call.argument_map()));
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            let Some(llm) = context.llm else {
                return ToolOutcome::Error(format!(
                    "`{LLM_GENERATE}` asks a session's model, and there is no session here"
                ));
            };
            match ask(&*llm, request_of(&arguments), Retries::default()).await {
                Ok((text, usage)) => ToolOutcome::Written { text, usage },
                Err(reason) => ToolOutcome::Error(reason.to_string()),
            }
        })
    }
}

fn request_of(arguments: &Map) -> LlmRequest {
    let given = |name: &str| arguments.get(name).filter(|value| **value != Value::Null);
    let mut text = given("prompt").map(text_of).unwrap_or_default();
    if let Some(context) = given("context") {
        text.push_str("\n\nCONTEXT\n");
        text.push_str(&text_of(context));
    }
    let format = given("response_format").map(text_of);
    match (given(MEMBERS), format.as_deref()) {
        (Some(Value::List(members)), _) => {
            let members: Vec<String> = members.iter().map(Value::to_json).collect();
            text.push_str(&format!(
                "\n\nAnswer with a JSON object and nothing else. It has these members: {}",
                members.join(", ")
            ));
        }
        (_, Some("json")) => text.push_str("\n\nAnswer with a JSON object and nothing else."),
        _ => {}
    }
    request(&text)
}

/// The text of an argument. A dataflow plan gives lists of texts, mostly of one.
fn text_of(value: &Value) -> String {
    if let Value::List(texts) = value
        && texts.iter().all(|text| text.as_str().is_some())
    {
        return texts.iter().map(Value::to_text).collect::<Vec<_>>().join("\n");
    }
    value.to_text()
}
