//! The server that a client talks with: it lists tools, and a call of one is a request to a session.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    RequestStateCodec, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use crate::host::ledger::Served;
use crate::host::residents::{Beginning, Residents};
use crate::host::serve_options::Approvals;
use crate::host::session::{Deed, approval};
use crate::serve::http::access::caller::Caller;
use crate::serve::http::wire::A_COLLEAGUE;
use crate::serve::mcp::ask::{Sealed, filled};
use crate::serve::mcp::follow::{Exchange, Request, Shared};
use crate::serve::mcp::result::Wrong;
use crate::serve::mcp::tools::{Tools, Wanted};
use crate::value::Map;
use crate::vm::protocol::CallId;

const INSTRUCTIONS: &str = "Each tool other than `talk`, `reply` and `wait` runs a playbook. Every call is a session, \
    which the result names. `status` says what state it is in, `next` what to do: while it is `running`, call `wait`; \
    when it is `waiting`, ask the user and call `reply` with their words. Pass on to the user what was `said`.";

/// What clients talk with.
pub(crate) struct McpServer {
    shared: Shared,
    /// Who asks where nobody says it.
    local: Option<Caller>,
}

impl McpServer {
    /// For those whom requests name, or for `local`.
    pub(crate) fn new(
        residents: Arc<Residents>,
        approvals: Approvals,
        key: &[u8; 64],
        local: Option<Caller>,
    ) -> McpServer {
        // 64 bytes are never too few.
        let seal = RequestStateCodec::new_unchecked(key.to_vec());
        McpServer { shared: Shared { residents, approvals, seal, ending: CancellationToken::new() }, local }
    }

    /// To be cancelled before requests end that nobody has cancelled.
    pub(super) fn ending(&self) -> CancellationToken {
        self.shared.ending.clone()
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let parts = context.extensions.get::<http::request::Parts>();
        let named = parts.and_then(|parts| parts.extensions.get::<Caller>()).or(self.local.as_ref());
        let unknown = "internal error: the caller was not identified; please report this";
        named.cloned().ok_or_else(|| ErrorData::internal_error(unknown, None))
    }

    fn tools(&self, caller: &Caller) -> Tools {
        Tools::of(caller.programs(&self.shared.residents))
    }

    async fn begin(
        &self,
        caller: &Caller,
        program: Arc<str>,
        playbook: Option<String>,
        arguments: Map,
    ) -> Result<Served, Wrong> {
        let owner = caller.name.clone();
        let beginning = Beginning { program, id: None, playbook, arguments, owner, labels: "{}".to_owned() };
        Ok(self.shared.residents.begin(beginning).await?.0)
    }

    async fn perform(&self, wanted: Wanted, request: Request<'_>) -> Result<CallToolResponse, Wrong> {
        match wanted {
            Wanted::Call { program, playbook, arguments } => {
                let served = self.begin(request.caller, program, Some(playbook), arguments).await?;
                request.follow(&served, None, Exchange::begun_with(None)).await
            }
            Wanted::Begin { program, message } => {
                let served = self.begin(request.caller, program, None, Map::new()).await?;
                request.follow(&served, None, Exchange::begun_with(Some(message))).await
            }
            Wanted::Say { session, message } => {
                let served = request.caller.find(&self.shared.residents, &session).await?;
                let (standing, _) = self.shared.residents.standing(&served).await?;
                if standing.state.is_over() {
                    return Err(Wrong(format!("the session {session} is over; begin another one")));
                }
                if !request.model_may(standing.asked.as_ref()) {
                    return Err(Wrong(format!(
                        "{A_COLLEAGUE} To learn the outcome, call `wait` with the session {session}"
                    )));
                }
                let deed = match &standing.asked {
                    Some(asked) => Deed::Approve(CallId(asked.call), approval(&message)),
                    None => Deed::Message { text: message.into(), id: None },
                };
                let mark = request.deliver(&served, deed).await?.unwrap_or(standing.mark);
                request.follow(&served, Some(mark), Exchange::from(mark)).await
            }
            Wanted::Wait { session } => {
                let served = request.caller.find(&self.shared.residents, &session).await?;
                let (standing, _) = self.shared.residents.standing(&served).await?;
                let request = Request { is_patient: true, ..request };
                request.follow(&served, None, Exchange::from(standing.mark)).await
            }
        }
    }

    /// Another round of a request: its answer goes to the session that has asked.
    async fn go_on(&self, params: CallToolRequestParams, request: Request<'_>) -> Result<CallToolResponse, Wrong> {
        let state = params.request_state.unwrap_or_default();
        let sealed = Sealed::open(&self.shared.seal, &request.whom(), &state)?;
        let filled = filled(params.input_responses)?;
        let served = request.caller.find(&self.shared.residents, &sealed.session).await?;
        let (standing, _) = self.shared.residents.standing(&served).await?;
        let before = sealed.mark().unwrap_or(standing.mark);
        let mark = match sealed.question(standing.clone()) {
            // It was answered before: here is what has come of it.
            None => before,
            Some(question) => {
                let Some(deed) = question.deed(&filled, before).filter(|_| request.person_may(standing.asked.as_ref()))
                else {
                    return Ok(request.stopped(&served, standing, Vec::new()));
                };
                request.deliver(&served, deed).await?.unwrap_or(before)
            }
        };
        request.follow(&served, Some(mark), Exchange::from(mark)).await
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let this = Implementation::new("playhouse", env!("CARGO_PKG_VERSION")).with_title("Playhouse");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(this)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools(&self.caller(&context)?).list()))
    }

    async fn call_tool(
        &self,
        mut params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let tools = self.tools(&caller);
        let name = params.name.clone();
        let wanted = tools.read(&name, params.arguments.take().unwrap_or_default()).ok_or_else(|| {
            ErrorData::invalid_params(format!("there is no tool `{name}`; the tools are {}", tools.names()), None)
        })?;
        let request =
            Request { shared: &self.shared, caller: &caller, context: &context, tool: &name, is_patient: false };
        let done = match (params.request_state.is_some(), wanted) {
            (true, _) => self.go_on(params, request).await,
            (false, Ok(wanted)) => self.perform(wanted, request).await,
            (false, Err(wrong)) => Err(wrong),
        };
        Ok(done.unwrap_or_else(|wrong| wrong.answer().into()))
    }
}
