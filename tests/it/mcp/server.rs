//! An MCP server in the test's own process, of either generation, over streams in memory or over HTTP.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use futures_util::FutureExt;
use playhouse::host::tool::mcp::{Dial, Generation, Incoming, McpOptions, Outgoing, Transport};
use rmcp::model::*;
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, SubscriptionContext, SubscriptionSink};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The server; all of its clones are one.
#[derive(Clone)]
pub(crate) struct TestServer(Arc<Shared>);

struct Shared {
    tools: RwLock<Vec<Tool>>,
    prompts_and_resources: bool,
    /// What it saw.
    events: mpsc::UnboundedSender<String>,
    n_connections: AtomicUsize,
    /// The connections there are; each ends with its token.
    connections: Mutex<Vec<CancellationToken>>,
    /// Of the older generation, which are told of changes.
    peers: Mutex<Vec<Peer<RoleServer>>>,
    sinks: Mutex<Vec<SubscriptionSink>>,
    /// Calls that have been made, by name.
    calls: Mutex<Vec<String>>,
}

/// What it saw.
pub(crate) type Events = mpsc::UnboundedReceiver<String>;

/// A server on the loopback interface; it ends when this is dropped.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    pub(crate) port: u16,
    runtime: Option<tokio::runtime::Runtime>,
}

impl HttpServer {
    /// Ends it with all of its connections and sessions.
    pub(crate) async fn end(mut self) {
        let runtime = self.runtime.take().unwrap();
        let ended = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(std::time::Duration::from_secs(5)));
        ended.await.unwrap();
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl TestServer {
    pub(crate) fn new(tools: Vec<Tool>) -> (TestServer, Events) {
        TestServer::build(tools, false)
    }

    /// With resources and prompts.
    pub(crate) fn full(tools: Vec<Tool>) -> (TestServer, Events) {
        TestServer::build(tools, true)
    }

    fn build(tools: Vec<Tool>, prompts_and_resources: bool) -> (TestServer, Events) {
        let (events, receiver) = mpsc::unbounded_channel();
        let shared = Shared {
            tools: RwLock::new(tools),
            prompts_and_resources,
            events,
            n_connections: AtomicUsize::new(0),
            connections: Mutex::default(),
            peers: Mutex::default(),
            sinks: Mutex::default(),
            calls: Mutex::default(),
        };
        (TestServer(Arc::new(shared)), receiver)
    }

    /// How to reach it over a stream in memory.
    pub(crate) fn options(&self, generation: Generation) -> McpOptions {
        let mut options = McpOptions::new("test", Transport::Stream(self.dial()));
        options.generation = generation;
        options
    }

    pub(crate) fn dial(&self) -> Dial {
        let server = self.clone();
        Arc::new(move || {
            let server = server.clone();
            async move {
                let (ours, mut near) = tokio::io::duplex(64 * 1024);
                let (mut far, theirs) = tokio::io::duplex(64 * 1024);
                let ended = server.opened();
                // The line between them can be cut; a server that hangs up waits for its calls first.
                tokio::spawn(async move {
                    let carried = tokio::io::copy_bidirectional(&mut near, &mut far);
                    tokio::select! { _ = carried => {}, () = ended.cancelled() => {} }
                });
                tokio::spawn(async move {
                    match server.serve(theirs).await {
                        Ok(running) => drop(running.waiting().await),
                        Err(error) => panic!("{error}"),
                    }
                });
                let (incoming, outgoing) = tokio::io::split(ours);
                Ok((Box::new(incoming) as Incoming, Box::new(outgoing) as Outgoing))
            }
            .boxed()
        })
    }

    fn opened(&self) -> CancellationToken {
        self.0.n_connections.fetch_add(1, Ordering::SeqCst);
        let ended = CancellationToken::new();
        self.0.connections.lock().unwrap().push(ended.clone());
        ended
    }

    /// Serves it over HTTP on the loopback interface.
    pub(crate) async fn http(&self) -> HttpServer {
        self.http_at(0).await
    }

    pub(crate) async fn http_at(&self, port: u16) -> HttpServer {
        let server = self.clone();
        let factory = move || {
            server.0.n_connections.fetch_add(1, Ordering::SeqCst);
            Ok(server.clone())
        };
        // A runtime of its own: it can be ended with all of its connections.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let serving = runtime.spawn(async move {
            let config = StreamableHttpServerConfig::default();
            let service = StreamableHttpService::new(factory, Arc::new(LocalSessionManager::default()), config);
            let router = axum::Router::new().nest_service("/mcp", service);
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async move { axum::serve(listener, router).await });
            address
        });
        let address = serving.await.unwrap();
        HttpServer { url: format!("http://{address}/mcp"), port: address.port(), runtime: Some(runtime) }
    }

    /// All connections over streams break off.
    pub(crate) fn hang_up(&self) {
        self.0.connections.lock().unwrap().drain(..).for_each(|ended| ended.cancel());
    }

    pub(crate) fn n_connections(&self) -> usize {
        self.0.n_connections.load(Ordering::SeqCst)
    }

    /// Has other tools from now on, and says so.
    pub(crate) async fn change(&self, tools: Vec<Tool>) {
        *self.0.tools.write().unwrap() = tools;
        let (peers, sinks) = (self.0.peers.lock().unwrap().clone(), self.0.sinks.lock().unwrap().clone());
        for peer in peers {
            let _ = peer.notify_tool_list_changed().await;
        }
        for sink in sinks {
            let _ = sink.notify_tool_list_changed().await;
        }
    }

    /// The calls that were made.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.0.calls.lock().unwrap().clone()
    }

    fn saw(&self, event: impl Into<String>) {
        let _ = self.0.events.send(event.into());
    }

    /// Asks the user, as the generation wants it.
    async fn ask(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        key: &str,
        params: Json,
    ) -> Result<ElicitResult, CallToolResponse> {
        let params: ElicitRequestParams = serde_json::from_value(params).unwrap();
        let is_new = context.protocol_version().is_some_and(|version| !version.has_initialize());
        if !is_new {
            return context.peer.create_elicitation(params).await.map_err(|error| done(error.to_string()));
        }
        // What was answered before comes back in the state.
        let mut known: serde_json::Map<String, Json> = request
            .request_state
            .as_deref()
            .map_or_else(Default::default, |state| serde_json::from_str(state).unwrap());
        for (key, answer) in request.input_responses.iter().flatten() {
            known.insert(key.clone(), answer.clone());
        }
        if let Some(answer) = known.get(key) {
            return Ok(serde_json::from_value(answer.clone()).unwrap());
        }
        let requests = InputRequests::from([(key.to_owned(), InputRequest::Elicitation(ElicitRequest::new(params)))]);
        Err(InputRequiredResult::new(Some(requests), Some(Json::Object(known).to_string())).into())
    }
}

/// A tool with these properties, of which the first `n_required` are required.
pub(crate) fn tool(name: &'static str, properties: Json, n_required: usize) -> Tool {
    let required: Vec<&String> = properties.as_object().unwrap().keys().take(n_required).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    tool_of(name, schema)
}

/// A tool with this schema.
pub(crate) fn tool_of(name: &'static str, schema: Json) -> Tool {
    Tool::new(name, format!("Does {name}."), Arc::new(schema.as_object().unwrap().clone()))
}

fn said(result: &ElicitResult) -> String {
    format!("{:?} {}", result.action, result.content.clone().unwrap_or(Json::Null))
}

fn done(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

impl ServerHandler for TestServer {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        if self.0.prompts_and_resources {
            capabilities.prompts = Some(PromptsCapability::default());
            capabilities.resources = Some(ResourcesCapability::default());
        }
        ServerConfig::new(capabilities).with_server_info(Implementation::new("test", "1.0"))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.peers.lock().unwrap().push(context.peer);
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let begin: usize = request.and_then(|it| it.cursor).map_or(0, |cursor| cursor.parse().unwrap());
        let tools = self.0.tools.read().unwrap();
        let mut result = ListToolsResult::with_all_items(tools.iter().skip(begin).take(3).cloned().collect());
        result.next_cursor = (begin + 3 < tools.len()).then(|| (begin + 3).to_string());
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.0.calls.lock().unwrap().push(request.name.to_string());
        let form = |message: &str, properties: Json, required: Json| {
            let schema = json!({"type": "object", "properties": properties, "required": required});
            json!({"mode": "form", "message": message, "requestedSchema": schema})
        };
        Ok(match &*request.name {
            "structured" => {
                let mut result = CallToolResult::success(vec![ContentBlock::text("{\"n\": 1}")]);
                result.structured_content = Some(json!({"n": 1, "rows": [{"id": 2}]}));
                result.into()
            }
            "parts" => CallToolResult::success(vec![
                ContentBlock::text("{\"kept\": \"as text\"}"),
                ContentBlock::image("aGk=", "image/png"),
                ContentBlock::embedded_text("file:///a.txt", "inside"),
                ContentBlock::resource_link(Resource::new("file:///b.txt", "b")),
            ])
            .into(),
            "trace" => done(context.meta.get_traceparent().unwrap_or("none")),
            "fails" => CallToolResult::error(vec![ContentBlock::text("no such\u{7} order")]).into(),
            "refuses" => return Err(ErrorData::invalid_params("not today", Some(json!({"why": "rain"})))),
            "slow" => {
                let token = context.meta.get_progress_token().unwrap();
                let news = ProgressNotificationParam::new(token, 1.0).with_total(2.0).with_message("half of key-4711");
                context.peer.notify_progress(news).await.unwrap();
                self.saw("slow runs");
                context.ct.cancelled().await;
                self.saw("slow was cancelled");
                done("never read")
            }
            "hangs" => {
                self.saw("hangs");
                pending().await
            }
            "deletes" => {
                let params = form("Delete everything?", json!({"sure": {"type": "boolean"}}), json!(["sure"]));
                match self.ask(&request, &context, "sure", params).await {
                    Ok(result) => done(said(&result)),
                    Err(wants) => wants,
                }
            }
            "paints" => {
                let params = form(
                    "A colour, please.",
                    json!({"colour": {"type": "string", "enum": ["red", "Blue", "no"]}}),
                    json!(["colour"]),
                );
                match self.ask(&request, &context, "colour", params).await {
                    Ok(result) => done(said(&result)),
                    Err(wants) => wants,
                }
            }
            "registers" => {
                let properties = json!({
                    "name": {"type": "string", "title": "Your name", "minLength": 2},
                    "age": {"type": "integer", "description": "in years", "minimum": 0, "maximum": 150},
                    "news": {"type": "boolean", "default": true},
                    "mail": {"type": "string", "format": "email"},
                });
                let params = form("Who are you?", properties, json!(["name", "age"]));
                match self.ask(&request, &context, "who", params).await {
                    Ok(result) => done(said(&result)),
                    Err(wants) => wants,
                }
            }
            "twice" => {
                let first = form("First?", json!({"a": {"type": "string"}}), json!(["a"]));
                let second = form("Second?", json!({"b": {"type": "string"}}), json!(["b"]));
                let first = match self.ask(&request, &context, "1", first).await {
                    Ok(result) => result,
                    Err(wants) => return Ok(wants),
                };
                match self.ask(&request, &context, "2", second).await {
                    Ok(second) => done(format!("{}; {}", said(&first), said(&second))),
                    Err(wants) => wants,
                }
            }
            "links" => {
                let params = json!({
                    "mode": "url", "message": "Log in.", "url": "https://example.org/log-in",
                    "elicitationId": "e1",
                });
                match self.ask(&request, &context, "link", params).await {
                    Ok(result) => done(said(&result)),
                    Err(wants) => wants,
                }
            }
            _ => done(Json::Object(request.arguments.unwrap_or_default()).to_string()),
        })
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let is_first = request.and_then(|it| it.cursor).is_none();
        let (uri, name) = if is_first { ("note://a", "a") } else { ("note://b", "b") };
        let mut result = ListResourcesResult::with_all_items(vec![
            Resource::new(uri, name).with_mime_type("text/plain").with_size(5),
        ]);
        result.next_cursor = is_first.then(|| "more".to_owned());
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("note://{name}", "notes").with_description("All notes.");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match request.uri.as_str() {
            "note://a" => Ok(ReadResourceResult::new(vec![ResourceContents::text("hello", "note://a")]).into()),
            "note://b" => Ok(ReadResourceResult::new(vec![
                ResourceContents::text("one", "note://b/1"),
                ResourceContents::blob("aGk=", "note://b/2").with_mime_type("image/png"),
            ])
            .into()),
            uri => Err(ErrorData::resource_not_found(format!("there is no {uri}"), None)),
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument = PromptArgument::new("topic").with_required(true);
        let prompt = Prompt::new("greet", Some("Greets."), Some(vec![argument]));
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = Json::Object(request.arguments.unwrap_or_default());
        let message = PromptMessage::new_text(Role::User, format!("{} {arguments}", request.name));
        Ok(GetPromptResult::new(vec![message]).into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.0.sinks.lock().unwrap().push(context.sink().clone());
        self.saw("listens");
        context.cancelled().await;
        Ok(())
    }
}
