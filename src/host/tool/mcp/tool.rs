//! A tool of a server.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::program::{Signature, Type};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{EffectClass, ToolSignature};
use rmcp::model::{CallToolRequestParams, CallToolResult, RequestParamsMeta as _, Tool as ForeignTool};

use super::content;
use super::error::Trouble;
use super::schema::InputSchema;
use super::server::McpServer;
use super::talk::{Next, Talk};
use super::text;
use crate::tool::{ArgumentFault, CallContext, Tool, ToolFuture, ToolOutcome};

/// See the module.
pub(super) struct McpTool {
    server: Arc<McpServer>,
    /// What the server calls it.
    their_name: String,
    signature: ToolSignature,
    input: InputSchema,
}

impl McpTool {
    /// The tool by our name.
    pub(super) fn new(server: Arc<McpServer>, name: &str, tool: &ForeignTool) -> McpTool {
        let input = InputSchema::new(&tool.input_schema);
        let annotations = tool.annotations.as_ref();
        let says = |hint: Option<bool>| hint == Some(true);
        let effect = if annotations.is_some_and(|it| says(it.read_only_hint)) {
            EffectClass::ReadOnly
        } else if annotations.is_some_and(|it| says(it.idempotent_hint)) {
            EffectClass::Idempotent
        } else {
            EffectClass::Write
        };
        let words = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        let signature = Signature {
            name: format!("{}.{name}", server.options.name).into(),
            parameters: input.parameters.clone(),
            returns: Type::ANY,
            summary: server.options.secrets.mask_text(&text::summary(words)).into(),
        };
        let mut signature = ToolSignature::new(signature, effect);
        signature.schema = input.shown.clone();
        signature.is_mcp = true;
        McpTool { server, their_name: tool.name.to_string(), signature, input }
    }

    /// What is sent; the server is told of the span that it works for (SEP-414).
    fn params(&self, context: &CallContext, arguments: &Map) -> CallToolRequestParams {
        let params = CallToolRequestParams::new(Cow::Owned(self.their_name.clone()));
        let mut params = params.with_arguments(self.input.sent(arguments));
        if let Some(trace) = context.trace {
            params.set_traceparent(&trace.to_string());
        }
        params
    }

    /// Makes the call; what has been answered is not asked again.
    async fn begin(
        &self,
        context: &CallContext,
        arguments: &Map,
        answered: Vec<(Arc<str>, Value)>,
    ) -> Result<Talk, ToolOutcome> {
        let connection = self.server.connection().await.map_err(|error| ToolOutcome::Unavailable(error.to_string()))?;
        Ok(Talk::begin(connection, self.params(context, arguments), answered))
    }

    /// What comes of a call, or what stands in the way of making it.
    async fn make(&self, context: CallContext, arguments: Map) -> Result<ToolOutcome, ToolOutcome> {
        let waiting = self.server.talks.take(&context.call_id);
        let mut talk = match (waiting, context.ask.clone()) {
            (Some(mut talk), Some(answer)) => {
                if let Some(question) = talk.answer(answer) {
                    return Ok(self.ask(&context, talk, &question));
                }
                talk
            }
            // Nothing waits for the answer: the process was started again meanwhile.
            (_, _) => self.begin(&context, &arguments, context.answers.clone()).await?,
        };
        loop {
            talk.flight.tell(context.progress.clone());
            let next = tokio::select! {
                next = talk.next() => next,
                // The call in flight is dropped, and the server told.
                () = context.cancel.cancelled() => {
                    return Err(ToolOutcome::Error(format!("`{}` was cancelled", self.signature.signature.name)));
                }
            };
            match next {
                Next::Ask(question) => return Ok(self.ask(&context, talk, &question)),
                Next::Ended(ended) => return Ok(self.outcome(*ended)),
                Next::Anew => talk = self.begin(&context, &arguments, talk.answered).await?,
            }
        }
    }

    /// The question is asked in the name of the server, which people may trust or not.
    fn ask(&self, context: &CallContext, talk: Talk, question: &str) -> ToolOutcome {
        let server = &self.server;
        if !server.talks.keep(context.call_id.clone(), talk) {
            return ToolOutcome::Error("too many calls to this server are waiting for answers".to_owned());
        }
        let question = text::lines(question, text::MAX_QUESTION);
        let asker = format!("server `{}`", server.options.name);
        ToolOutcome::Asks(server.options.secrets.mask_text(&text::question_of(&asker, &question)))
    }

    fn outcome(&self, ended: Result<CallToolResult, Trouble>) -> ToolOutcome {
        let secrets = &self.server.options.secrets;
        match ended.map(content::of_tool) {
            Ok(Ok(value)) => ToolOutcome::Value(secrets.mask_value(value)),
            Ok(Err(words)) | Err(Trouble::Failed(words)) => ToolOutcome::Error(secrets.mask_text(&words)),
            Err(Trouble::Lost(words)) => {
                let words = format!("the MCP server `{}` {words}", self.server.options.name);
                ToolOutcome::Unavailable(secrets.mask_text(&words))
            }
        }
    }
}

impl Tool for McpTool {
    fn signature(&self) -> ToolSignature {
        self.signature.clone()
    }

    fn check(&self, arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
        self.input.check(&self.signature.signature, arguments)
    }

    fn timeout(&self) -> Duration {
        self.server.options.timeout
    }

    fn concurrency(&self) -> Option<usize> {
        self.server.options.concurrency
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move { self.make(context, arguments).await.unwrap_or_else(|outcome| outcome) })
    }
}
