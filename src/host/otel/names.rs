//! The names of OpenTelemetry's GenAI conventions (`semantic-conventions-genai` v0.1.0) and our own. They are all in
//! *Development* there and still move: this is the one place that has them.

/// A span of a stretch of a session: what a person set off.
pub(super) const INVOKE_WORKFLOW: &str = "invoke_workflow";
/// A span of an agent's work.
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
/// A span of a request to a model.
pub(super) const CHAT: &str = "chat";
/// A span of a tool's call.
pub(super) const EXECUTE_TOOL: &str = "execute_tool";
/// A span of a playbook, or a plan.
pub(super) const PLAYBOOK: &str = "playbook";
/// A span of a line.
pub(super) const LINE: &str = "line";

/// What kind of span it is.
pub(super) const OPERATION: &str = "gen_ai.operation.name";
/// The session.
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
/// The session, as OpenInference has it: Phoenix groups traces by it.
pub(super) const SESSION: &str = "session.id";
/// What kind of span it is for OpenInference; without it Phoenix shows UNKNOWN.
pub(super) const KIND: &str = "openinference.span.kind";
/// The program.
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
/// The agent.
pub(super) const AGENT: &str = "gen_ai.agent.name";
/// Who serves the model.
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
/// The model.
pub(super) const MODEL: &str = "gen_ai.request.model";
/// Tokens of the request.
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens of the reply.
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Tokens of the request that came from the provider's cache.
pub(super) const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// Why the model stopped.
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// From the request to the first bytes of the reply, in seconds.
pub(super) const FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
/// What was sent.
pub(super) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
/// What was answered.
pub(super) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
/// The tool.
pub(super) const TOOL: &str = "gen_ai.tool.name";
/// The call, as the tool knows it.
pub(super) const TOOL_CALL: &str = "gen_ai.tool.call.id";
/// What the tool was given.
pub(super) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// What it answered.
pub(super) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
/// The method of the Model Context Protocol.
pub(super) const MCP_METHOD: &str = "mcp.method.name";
/// What went wrong, in one word.
pub(super) const ERROR: &str = "error.type";
/// What a person said, as OpenInference has it.
pub(super) const INPUT: &str = "input.value";
/// What the program said.
pub(super) const OUTPUT: &str = "output.value";
/// The line: `Pay:03`.
pub(super) const OUR_LINE: &str = "playhouse.line";
/// Its words.
pub(super) const OUR_TEXT: &str = "playhouse.text";
/// Who performs it: `interpreter` or `model`.
pub(super) const OUR_BY: &str = "playhouse.by";
/// What a model was asked for, where that is no turn: `classifier`, `plan`.
pub(super) const OUR_PURPOSE: &str = "playhouse.purpose";
/// The server has not counted: the tokens are estimates.
pub(super) const OUR_ESTIMATED: &str = "playhouse.estimated";
/// An event: a trigger fired, or could not be judged. As an attribute: which.
pub(super) const OUR_TRIGGER: &str = "playhouse.trigger";
/// What came of it.
pub(super) const OUR_VERDICT: &str = "playhouse.verdict";

/// Who serves a model that no provider serves.
pub(super) const OURSELVES: &str = "playhouse";
/// The service, if nobody has named it.
#[cfg(feature = "otel")]
pub(super) const SERVICE: &str = "playhouse";
/// The resource's attribute with the service's name.
#[cfg(feature = "otel")]
pub(super) const SERVICE_NAME: &str = "service.name";
/// The resource's attribute with our version.
#[cfg(feature = "otel")]
pub(super) const SERVICE_VERSION: &str = "service.version";
/// Calls of a tool of an MCP server.
pub(super) const MCP_CALL: &str = "tools/call";
