//! Tools that list and read a server's resources and prompts.

use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::program::{Parameter, Type, TypeKind};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{EffectClass, ToolSignature};
use rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, Prompt, ReadResourceRequestParams, ReadResourceResponse, Resource,
    ResourceTemplate, ServerCapabilities,
};
use serde_json::{Value as Json, json};

use super::content::{of_prompt, of_resource, put};
use super::error::{McpError, McpFault};
use super::schema::value_of;
use super::server::McpServer;
use super::text;
use crate::tool::arguments::{parameter, tool};
use crate::tool::{CallContext, Tool, ToolFuture, ToolOutcome};

/// Entries of a list at most.
const MAX_ENTRIES: usize = 10_000;

/// What a helper does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Work {
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

impl Work {
    /// All of them.
    pub(super) const ALL: [Work; 4] = [Work::ListResources, Work::ReadResource, Work::ListPrompts, Work::GetPrompt];

    /// Whether a server that can do this has it.
    pub(super) fn is_of(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Work::ListResources | Work::ReadResource => capabilities.resources.is_some(),
            Work::ListPrompts | Work::GetPrompt => capabilities.prompts.is_some(),
        }
    }

    /// The name of its tool, if the server has none of that name.
    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    fn summary(self) -> &'static str {
        match self {
            Work::ListResources => "Lists the resources of the server, and templates for addresses of more.",
            Work::ReadResource => {
                "Returns the content of a resource of the server: its text, or a list of several parts."
            }
            Work::ListPrompts => "Lists the prompts of the server with their arguments.",
            Work::GetPrompt => "Returns the messages of a prompt of the server.",
        }
    }

    fn parameters(self) -> Vec<Parameter> {
        match self {
            Work::ListResources | Work::ListPrompts => Vec::new(),
            Work::ReadResource => vec![parameter("uri", TypeKind::Str, None, "its address, as in the list")],
            Work::GetPrompt => vec![
                parameter("name", TypeKind::Str, None, "its name, as in the list"),
                parameter("arguments", TypeKind::Dict, Some(Value::Null), "its arguments by name, each as text"),
            ],
        }
    }
}

/// See the module.
pub(super) struct Helper {
    server: Arc<McpServer>,
    work: Work,
    signature: ToolSignature,
}

impl Helper {
    /// The helper by this name.
    pub(super) fn new(server: Arc<McpServer>, name: &str, work: Work) -> Helper {
        let name = format!("{}.{name}", server.options.name);
        let signature = tool(&name, work.parameters(), Type::ANY, work.summary(), EffectClass::ReadOnly);
        Helper { server, work, signature }
    }

    async fn make(&self, arguments: &Map) -> Result<Value, McpError> {
        let connection = self.server.connection().await?;
        let peer = &connection.peer;
        let text_of = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match self.work {
            Work::ListResources => {
                let page = |params| async move {
                    let page = peer.list_resources(Some(params)).await?;
                    Ok((page.resources.iter().map(resource).collect::<Vec<_>>(), page.next_cursor))
                };
                let (resources, _) = self.server.pages(&connection, MAX_ENTRIES, page).await?;
                let page = |params| async move {
                    let page = peer.list_resource_templates(Some(params)).await?;
                    Ok((page.resource_templates.iter().map(template).collect::<Vec<_>>(), page.next_cursor))
                };
                // Not all servers of resources have templates.
                let (templates, _) = self.server.pages(&connection, MAX_ENTRIES, page).await.unwrap_or_default();
                Ok(value_of(&json!({"resources": resources, "templates": templates})).unwrap_or(Value::Null))
            }
            Work::ListPrompts => {
                let page = |params| async move {
                    let page = peer.list_prompts(Some(params)).await?;
                    Ok((page.prompts.iter().map(prompt).collect(), page.next_cursor))
                };
                let (prompts, _) = self.server.pages(&connection, MAX_ENTRIES, page).await?;
                Ok(value_of(&Json::Array(prompts)).unwrap_or(Value::Null))
            }
            Work::ReadResource => {
                let params = ReadResourceRequestParams::new(text_of("uri"));
                match self.server.ask(&connection, peer.read_resource_once(params)).await? {
                    ReadResourceResponse::Complete(result) => Ok(of_resource(&result.contents)),
                    ReadResourceResponse::InputRequired(_) | _ => Err(self.wants_input()),
                }
            }
            Work::GetPrompt => {
                let mut params = GetPromptRequestParams::new(text_of("name"));
                if let Some(Value::Map(given)) = arguments.get("arguments") {
                    let given = given.iter().map(|(name, value)| (name.to_string(), Json::from(value.to_text())));
                    params = params.with_arguments(given.collect());
                }
                match self.server.ask(&connection, peer.get_prompt_once(params)).await? {
                    GetPromptResponse::Complete(result) => Ok(of_prompt(&result)),
                    GetPromptResponse::InputRequired(_) | _ => Err(self.wants_input()),
                }
            }
        }
    }

    fn wants_input(&self) -> McpError {
        let cause = "wants to ask a person first, which only its tools may do".to_owned();
        self.server.error((McpFault::Protocol, cause))
    }
}

impl Tool for Helper {
    fn signature(&self) -> ToolSignature {
        self.signature.clone()
    }

    fn timeout(&self) -> Duration {
        self.server.options.timeout
    }

    fn concurrency(&self) -> Option<usize> {
        self.server.options.concurrency
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            let made = tokio::select! {
                made = self.make(&arguments) => made,
                () = context.cancel.cancelled() => {
                    return ToolOutcome::Error(format!("`{}` was cancelled", self.signature.signature.name));
                }
            };
            match made {
                Ok(value) => ToolOutcome::Value(self.server.options.secrets.mask_value(value)),
                Err(error) => match error.fault {
                    McpFault::NoConnection
                    | McpFault::Exited
                    | McpFault::TimedOut
                    | McpFault::TooManyStarts
                    | McpFault::Http(429 | 500..) => ToolOutcome::Unavailable(error.to_string()),
                    McpFault::Configuration
                    | McpFault::NoCommand
                    | McpFault::Http(_)
                    | McpFault::NoServer
                    | McpFault::Protocol
                    | McpFault::Names
                    | McpFault::Closed => ToolOutcome::Error(error.to_string()),
                },
            }
        })
    }
}

fn resource(resource: &Resource) -> Json {
    let mut json = json!({"uri": resource.uri, "name": resource.name});
    described(&mut json, resource.title.as_deref(), resource.description.as_deref());
    put(&mut json, "mime_type", resource.mime_type.as_deref());
    if let Some(size) = resource.size {
        json["size"] = size.into();
    }
    json
}

fn template(template: &ResourceTemplate) -> Json {
    let mut json = json!({"uri_template": template.uri_template, "name": template.name});
    described(&mut json, template.title.as_deref(), template.description.as_deref());
    put(&mut json, "mime_type", template.mime_type.as_deref());
    json
}

fn prompt(prompt: &Prompt) -> Json {
    let mut json = json!({"name": prompt.name});
    described(&mut json, prompt.title.as_deref(), prompt.description.as_deref());
    let arguments = prompt.arguments.iter().flatten().map(|argument| {
        let mut json = json!({"name": argument.name, "required": argument.required == Some(true)});
        described(&mut json, argument.title.as_deref(), argument.description.as_deref());
        json
    });
    json["arguments"] = arguments.collect();
    json
}

fn described(json: &mut Json, title: Option<&str>, description: Option<&str>) {
    let bounded = |text: &str| text::words(text, text::MAX_SUMMARY);
    put(json, "title", title.map(bounded).as_deref());
    put(json, "description", description.map(bounded).as_deref());
}
