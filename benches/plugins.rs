//! What one call of a plugin that is a process, and of an MCP server, costs over a call of a tool in the binary, and
//! how much of that is the peer's.
//!
//! `cargo bench --bench plugins`
//!
//! The peers are this program itself, started with another first argument: one that speaks the message contract, one
//! that is an MCP server by the same SDK as the client. What is theirs is the processor time of all their threads
//! (`schedstat`, Linux only), which they tell when they are asked.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark looks at the clock"
)]

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use criterion::Criterion;
use playhouse::host::clock::SystemClock;
use playhouse::host::secrets::Secrets;
use playhouse::host::tool::mcp::{McpOptions, McpServer, Transport};
use playhouse::host::tool::plugin::{Packages, Plugin, PluginOptions, Surroundings};
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::{CallContext, Tool, ToolFuture, ToolOutcome};
use playhouse::lang::program::{AgentId, Parameter, PlaybookId, Signature, Type};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::{
    CallId, CallKind, CallOutcome, EffectClass, FrameId, Location, Place, StartCall, ToolSignature,
};
use playhouse::vm::protocol::{Origin, Tracked};
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, ListToolsResult};
use rmcp::model::{PaginatedRequestParams, ServerCapabilities, ServerConfig};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

/// What a peer is sent to be asked for its processor time, which it tells in nanoseconds.
const ASKED: &str = "processor time";

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("peer-process") => peer_process(),
        Some("peer-mcp") => peer_mcp(),
        _ => measure(),
    }
}

/// What a peer answers: what it gets, or its processor time.
fn answer(text: &Json) -> Json {
    if text != ASKED {
        return text.clone();
    }
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of_thread = |entry: std::io::Result<std::fs::DirEntry>| -> u64 {
        let stat = std::fs::read_to_string(entry.unwrap().path().join("schedstat")).unwrap_or_default();
        stat.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
    };
    threads.map(of_thread).sum::<u64>().to_string().into()
}

/// The message contract: a call in, its parameter out.
fn peer_process() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Json = serde_json::from_str(&line.unwrap()).unwrap();
        if message["content_type"] != "command" {
            continue;
        }
        let text = answer(&message["content"]["param"]["text"]);
        let reply = json!({
            "sender": message["receiver"], "receiver": message["sender"], "content_type": "command",
            "content": {"command": message["content"]["command"], "response": {"text": text}},
            "thrd_id": message["thrd_id"],
        });
        writeln!(out, "{reply}").unwrap();
        out.flush().unwrap();
    }
}

/// An MCP server with one tool that gives back what it gets.
#[derive(Clone)]
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        let schema = schema.as_object().unwrap().clone();
        Ok(ListToolsResult::with_all_items(vec![rmcp::model::Tool::new("echo", "Echoes.", Arc::new(schema))]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = arguments.get("text").map(answer).unwrap_or_default();
        Ok(CallToolResult::structured(json!({"text": text})).into())
    }
}

fn peer_mcp() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let running = Echo.serve((tokio::io::stdin(), tokio::io::stdout())).await.unwrap();
        running.waiting().await.unwrap();
    });
}

/// The same in the binary.
struct Direct;

impl Tool for Direct {
    fn signature(&self) -> ToolSignature {
        let text = Parameter { name: "text".into(), ty: Type::ANY, default: None, description: "".into(), span: None };
        let signature =
            Signature { name: "direct".into(), parameters: vec![text], returns: Type::ANY, summary: "".into() };
        ToolSignature::new(signature, EffectClass::ReadOnly)
    }

    fn call(&self, _: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move { ToolOutcome::Value(Value::map(arguments)) })
    }
}

const CONFIG: &str = "\
group_id: org.example
artifact_id: echo
version: 1.0
type: plugin
as_plugin: true
info: {title: Echo, description: Echoes.}
commands:
  - command_name: echo
    description: Echoes.
    effect: read_only
    parameter: {type: {text: {type: string}}}
    response: {type: {text: {type: string}}}
setup:
  package: playhouse.process
  command: [\"PROGRAM\", peer-process]
";

fn start(name: &str, text: &str) -> StartCall {
    let text = Tracked::new(Value::str(text), Origin::CODE);
    StartCall {
        call: CallId(1),
        attempt: 1,
        kind: CallKind::Tool,
        name: name.into(),
        arguments: vec![("text".into(), text)],
        effect: EffectClass::ReadOnly,
        answers: Vec::new(),
        result_name: None,
        is_result_secret: false,
        place: Place {
            frame: FrameId(1),
            agent: AgentId(0),
            location: Location::Line { playbook: PlaybookId(0), step: None },
            depth: 0,
            turn: None,
        },
        skill: None,
    }
}

async fn call(registry: &Registry, name: &str, text: &str) -> Value {
    let begun = registry.begin(&"bench".into(), &start(name, text), CancellationToken::new(), None, None);
    let (outcome, _) = begun.outcome.await;
    let CallOutcome::Value { value: Value::Map(members), .. } = outcome else { panic!("{name}: {outcome:?}") };
    members.get("text").cloned().unwrap_or_default()
}

/// The processor time of a peer until now; 0 for what is no peer.
async fn processor_time(registry: &Registry, name: &str) -> u64 {
    call(registry, name, ASKED).await.as_str().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn measure() {
    let mut criterion = Criterion::default().configure_from_args();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let registry = Arc::new(Registry::new());
    registry.add(Arc::new(Direct)).unwrap();
    let plugin = echo_plugin(folder.path(), &program);
    plugin.tools().iter().for_each(|tool| registry.add(tool.clone()).unwrap());
    let command = vec![program.display().to_string(), "peer-mcp".to_owned()];
    let transport = Transport::Command { command, folder: folder.path().to_owned(), environment: Vec::new() };
    let server = runtime.block_on(McpServer::connect(McpOptions::new("server", transport))).unwrap();
    runtime.block_on(server.tools()).unwrap().into_iter().for_each(|tool| registry.add(tool).unwrap());

    let mut group = criterion.benchmark_group("plugins");
    group.measurement_time(Duration::from_secs(5));
    for (title, name) in [
        ("a call of a tool in the binary", "direct"),
        ("a call of a plugin that is a process", "echo.echo"),
        ("a call of an MCP server on its standard input", "server.echo"),
    ] {
        let (peer_ns, n_all) = (AtomicU64::new(0), AtomicU64::new(0));
        let text = "x".repeat(100);
        group.bench_function(title, |bencher| {
            bencher.iter_custom(|n_calls| {
                runtime.block_on(async {
                    let before = processor_time(&registry, name).await;
                    let begun = Instant::now();
                    for _ in 0..n_calls {
                        black_box(call(&registry, name, &text).await);
                    }
                    let elapsed = begun.elapsed();
                    peer_ns.fetch_add(processor_time(&registry, name).await - before, Ordering::Relaxed);
                    n_all.fetch_add(n_calls, Ordering::Relaxed);
                    elapsed
                })
            });
        });
        #[allow(clippy::cast_precision_loss, reason = "microseconds")]
        let us = peer_ns.load(Ordering::Relaxed) as f64 / n_all.load(Ordering::Relaxed).max(1) as f64 / 1000.0;
        println!("{title}: the peer's processor time is {us:.1} µs a call");
    }
    group.finish();
    criterion.final_summary();
    runtime.block_on(async {
        plugin.close().await;
        server.close().await;
    });
}

fn echo_plugin(folder: &Path, program: &Path) -> Plugin {
    let path = folder.join("echo/.config");
    std::fs::create_dir_all(&path).unwrap();
    let config = CONFIG.replace("PROGRAM", &program.display().to_string());
    std::fs::write(path.join("config.yaml"), config).unwrap();
    let surroundings = Surroundings {
        working_directory: folder.to_owned(),
        environment: Vec::new(),
        secrets: Arc::new(Secrets::new()),
        resources: Arc::default(),
        clock: Arc::new(SystemClock),
        value_bytes: 1 << 20,
    };
    let options = PluginOptions {
        folder: folder.join("echo"),
        name: Some("echo".into()),
        instance_id: None,
        config: Map::new(),
        runtime: None,
        surroundings,
    };
    Plugin::open(options, &Packages::default()).unwrap()
}
