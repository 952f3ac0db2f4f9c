//! Traces: what a session did as spans, live and later, to a collector that is there and to one that is not.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at a few kinds of many")]

mod secrets;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span as Wire;
use playhouse::host::journal::copy;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::Record;
use playhouse::host::otel::context::TraceParent;
use playhouse::host::otel::export::Exporter;
use playhouse::host::otel::options::{Capture, OtelEnvironment, OtelOptions, Target, choose};
use playhouse::host::otel::spans::{Span, SpanSink, Traces};
use playhouse::host::otel::wire::encode;
use playhouse::host::secrets::Secrets;
use playhouse::host::session::{Session, spans_of};
use playhouse::host::tool::{CallContext, Tool, ToolFuture, ToolOutcome};
use playhouse::lang::program::{Parameter, Signature, Type};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::{EffectClass, ToolSignature};
use prost::Message as _;
use tokio::time::Instant;

use crate::golden;
use crate::http_server::{self, Answer, ServerHandle};
use crate::played::Case;
use crate::run::Run;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Keeps what it is given.
#[derive(Default)]
struct Kept {
    spans: Mutex<Vec<Span>>,
    captures: bool,
}

impl SpanSink for Kept {
    fn captures_messages(&self) -> bool {
        self.captures
    }

    fn take(&self, spans: Vec<Span>) {
        self.spans.lock().unwrap().extend(spans);
    }
}

/// Plays a case that is traced: the spans that were told, and the records as they were written.
fn traced(mut case: Case, captures: bool, parent: Option<&str>) -> (Vec<Span>, Vec<Record>) {
    let kept = Arc::new(Kept { captures, ..Kept::default() });
    case.options.traces = Traces { sink: Some(kept.clone()), parent: parent.map(|parent| parent.parse().unwrap()) };
    let records = case.play();
    let spans = std::mem::take(&mut *kept.spans.lock().unwrap());
    (spans, records)
}

fn decoded(bytes: &[u8]) -> ExportTraceServiceRequest {
    ExportTraceServiceRequest::decode(bytes).unwrap()
}

fn wire_spans(request: &ExportTraceServiceRequest) -> Vec<Wire> {
    request.resource_spans.iter().flat_map(|of| &of.scope_spans).flat_map(|of| of.spans.clone()).collect()
}

fn shown(value: &AnyValue) -> String {
    match value.value.as_ref().unwrap() {
        Any::StringValue(text) => {
            let text = text.replace('\n', "\\n");
            // Of a long one the beginning and the end.
            let (head, tail) = (text.floor_char_boundary(100), text.ceil_char_boundary(text.len().saturating_sub(300)));
            if tail > head { format!("{} […] {}", &text[..head], &text[tail..]) } else { text }
        }
        Any::IntValue(number) => number.to_string(),
        Any::DoubleValue(number) => number.to_string(),
        Any::BoolValue(truth) => truth.to_string(),
        Any::ArrayValue(items) => format!("[{}]", items.values.iter().map(shown).collect::<Vec<_>>().join(", ")),
        other => panic!("{other:?}"),
    }
}

fn attributes(attributes: &[KeyValue]) -> BTreeMap<&str, String> {
    attributes.iter().map(|pair| (&*pair.key, shown(pair.value.as_ref().unwrap()))).collect()
}

/// A request as a collector sees it: a tree for each trace, times in milliseconds from the beginning.
fn tree(bytes: &[u8]) -> String {
    let request = decoded(bytes);
    let mut text = String::new();
    for of in &request.resource_spans {
        writeln!(text, "{:?}", attributes(&of.resource.as_ref().unwrap().attributes)).unwrap();
    }
    let mut spans = wire_spans(&request);
    spans.sort_by_key(|span| (span.start_time_unix_nano, span.end_time_unix_nano, span.name.clone()));
    let begin = spans.first().map_or(0, |span| span.start_time_unix_nano);
    let ids: HashMap<Vec<u8>, usize> =
        spans.iter().enumerate().map(|(index, span)| (span.span_id.clone(), index)).collect();
    assert_eq!(ids.len(), spans.len(), "an id comes twice");
    let roots = spans.iter().filter(|span| !ids.contains_key(&span.parent_span_id));
    for (index, root) in roots.enumerate() {
        let link = if root.links.is_empty() { "" } else { ", linked to the one before" };
        writeln!(text, "\ntrace {}{link}", index + 1).unwrap();
        write_span(&mut text, root, &spans, 0, begin);
    }
    text
}

fn write_span(text: &mut String, span: &Wire, all: &[Wire], depth: usize, begin: u64) {
    let indent = "  ".repeat(depth);
    let at = |nano: u64| (nano - begin) / 1_000_000;
    let kind = if span.kind == 3 { " (client)" } else { "" };
    let (start, end) = (at(span.start_time_unix_nano), at(span.end_time_unix_nano));
    writeln!(text, "{indent}{}{kind} {start}..{end}", span.name).unwrap();
    if let Some(status) = &span.status {
        writeln!(text, "{indent}  ! {} {:?}", status.code, status.message).unwrap();
    }
    for (name, value) in attributes(&span.attributes) {
        writeln!(text, "{indent}  - {name}: {value}").unwrap();
    }
    for event in &span.events {
        writeln!(text, "{indent}  * {} {} {:?}", at(event.time_unix_nano), event.name, attributes(&event.attributes))
            .unwrap();
    }
    for child in all.iter().filter(|child| child.parent_span_id == span.span_id) {
        assert_eq!(child.trace_id, span.trace_id);
        write_span(text, child, all, depth + 1, begin);
    }
}

fn encoded(spans: &[Span]) -> Vec<u8> {
    encode(spans, Some("desk"), &Secrets::new())
}

fn by_id(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| *span.id.bytes());
    spans
}

/// What is told live is what is exported later, to the last byte, and as often as it is exported.
#[test]
fn traces() {
    golden::check("otel", &["txt"], |name, text| {
        let captures = Case::new(text).section("capture").is_some();
        let parent = Case::new(text).section("traceparent").map(|parent| parent.trim().to_owned());
        let (live, records) = traced(Case::new(text), captures, parent.as_deref());
        let later = spans_of(&records, captures).unwrap();
        assert_eq!(by_id(live), by_id(later.clone()), "{name}");
        assert_eq!(encoded(&later), encoded(&spans_of(&records, captures).unwrap()), "{name}");
        tree(&encoded(&later))
    });
}

const DESK: &str = include_str!("../../cases/otel/desk.txt");

/// However a journal joins the pieces of replies, the ids are the same; so are they of another session's never.
#[test]
fn ids_are_those_of_the_session() {
    let (live, records) = traced(Case::new(DESK), false, None);
    let joined = playhouse::host::journal::tail::joined(records.clone(), false);
    assert!(joined.len() < records.len());
    let ids = |spans: &[Span]| {
        let mut ids: Vec<_> = spans.iter().map(|span| (span.name.clone(), span.trace, span.id, span.parent)).collect();
        ids.sort_by_key(|(_, _, id, _)| *id.bytes());
        ids
    };
    assert_eq!(ids(&spans_of(&joined, false).unwrap()), ids(&live));
    let lines = String::from_utf8(copy::lines(&records)).unwrap().replace("\"session\":\"s1\"", "\"session\":\"s2\"");
    let other: Vec<Record> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let others = spans_of(&other, false).unwrap();
    assert_eq!(others.len(), live.len());
    assert!(others.iter().all(|span| live.iter().all(|known| known.id != span.id && known.trace != span.trace)));
}

/// A session that is stopped and goes on in another process: each process tells what it has seen the end of, and together
/// that is what is exported later.
#[test]
fn a_session_in_two_processes() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let kept = Arc::new(Kept::default());
        let journal = MemoryJournal::new();
        let mut told = Vec::new();
        for (index, says) in ["", "+5000 It is 4334"].into_iter().enumerate() {
            let i = DESK.find("--- says").unwrap();
            let mut case = Case::new(&format!("{}--- says\n{says}\n", &DESK[..i]));
            case.options.traces.sink = Some(kept.clone());
            let session = match index {
                0 => case.start(&journal),
                _ => Session::resume(case.world(), Box::new(journal.clone())).await.unwrap(),
            };
            case.converse(session).await;
            told.push(std::mem::take(&mut *kept.spans.lock().unwrap()));
        }
        let later = spans_of(&journal.written(), false).unwrap();
        assert!(told.iter().all(|spans| !spans.is_empty()));
        assert_eq!(by_id(told.concat()), by_id(later));
    });
}

/// Says what its call was told of its span.
struct Trace;

impl Tool for Trace {
    fn signature(&self) -> ToolSignature {
        let parameter =
            Parameter { name: "order_id".into(), ty: Type::ANY, default: None, description: "".into(), span: None };
        let signature =
            Signature { name: "GetOrder".into(), parameters: vec![parameter], returns: Type::ANY, summary: "".into() };
        ToolSignature::new(signature, EffectClass::ReadOnly)
    }

    fn call(&self, context: CallContext, _: Map) -> ToolFuture<'_> {
        let trace = context.trace.map_or("none".to_owned(), |trace| trace.to_string());
        Box::pin(std::future::ready(ToolOutcome::Value(Value::from(trace))))
    }
}

/// What came of the only call of a tool.
fn result(records: &[Record]) -> String {
    let mut ended = records.iter().filter_map(|record| {
        let json = serde_json::to_value(record).unwrap();
        (json["type"] == "call_ended").then(|| json["value"].as_str().unwrap().to_owned())
    });
    ended.next_back().unwrap()
}

/// A tool is told of its own span; without a collector of whoever has started us; else of nobody.
#[test]
fn tools_are_told_of_their_span() {
    let case = || {
        let begin = DESK.find("--- tools").unwrap();
        let end = DESK.find("--- script").unwrap();
        let mut case = Case::new(&format!("{}{}", &DESK[..begin], &DESK[end..]));
        case.tools.push(Arc::new(Trace));
        case
    };
    let (spans, records) = traced(case(), false, None);
    let span = spans.iter().find(|span| span.name == "execute_tool GetOrder").unwrap();
    let context = TraceParent { trace: span.trace, span: span.id, is_sampled: true };
    assert_eq!(result(&records), context.to_string());
    assert_eq!(result(&case().play()), "none");
    let mut passes = case();
    passes.options.traces.parent = Some(PARENT.parse().unwrap());
    assert_eq!(result(&passes.play()), PARENT);
    // Whoever has started us records nothing.
    let unsampled = PARENT.replace("-01", "-00");
    let (spans, records) = traced(case(), false, Some(&unsampled));
    assert!(spans.is_empty());
    assert_eq!(result(&records), unsampled);
}

/// `HttpGet`, `HttpPost` and plugins pass it on; servers of the Model Context Protocol are in `mcp::tools`.
#[tokio::test]
async fn servers_and_plugins_are_told() {
    use playhouse::host::resource::http::{Http, HttpConfig};
    use playhouse::host::resource::{Label, Resource as _};
    use playhouse::host::tool::http::add_http_tools;
    use playhouse::host::tool::plugin::Component as _;
    use playhouse::host::tool::registry::Registry;

    let server = http_server::start(vec![Answer::text("a"), Answer::text("b"), Answer::text("c")]);
    let config =
        HttpConfig { hosts: vec!["*:*".to_owned()], networks: vec!["127.0.0.1".to_owned()], ..HttpConfig::default() };
    let http = Arc::new(Http::new(Label::default(), &config).unwrap());
    http.acquire().await.unwrap();
    let registry = Registry::new();
    add_http_tools(&registry, &[http]).unwrap();
    let url = Value::from(server.url());
    for (name, trace) in [("HttpGet", Some(PARENT)), ("HttpPost", Some(PARENT)), ("HttpGet", None)] {
        let mut arguments = vec![("url", url.clone())];
        if name == "HttpPost" {
            arguments.push(("body", Value::str("x")));
        }
        let call = crate::tool::start(1, name, &arguments);
        let trace = trace.map(|trace| trace.parse().unwrap());
        registry.begin(&"s1".into(), &call, Default::default(), None, trace).outcome.await;
    }
    let told: Vec<_> =
        server.requests().iter().map(|request| request.header("traceparent").map(str::to_owned)).collect();
    assert_eq!(told, [Some(PARENT.to_owned()), Some(PARENT.to_owned()), None]);

    let demo = crate::plugin::Demo::new("while next; do echo \"$line\" >>calls; answer null; done");
    let plugin = demo.plugin();
    let (context, _news) = crate::plugin::context("s1/1", crate::plugin::LONG);
    for trace in [Some(PARENT.parse().unwrap()), None] {
        plugin.command("ping", Value::Null, &CallContext { trace, ..context.clone() }).await.unwrap();
    }
    plugin.close().await;
    let calls = demo.read("calls");
    let told: Vec<bool> = calls.lines().map(|line| line.contains(&format!("\"traceparent\":\"{PARENT}\""))).collect();
    assert_eq!(told, [true, false], "{calls}");
}

/// What a `traceparent` is, and what it is not.
#[test]
fn trace_parents() {
    let parent: TraceParent = PARENT.parse().unwrap();
    assert_eq!(parent.to_string(), PARENT);
    assert!(parent.is_sampled);
    assert!(!PARENT.replace("-01", "-02").parse::<TraceParent>().unwrap().is_sampled);
    // A later version may have more.
    assert!(PARENT.replacen("00", "01", 1).parse::<TraceParent>().is_ok());
    assert!(format!("{}-what", PARENT.replacen("00", "01", 1)).parse::<TraceParent>().is_ok());
    for wrong in [
        "",
        "00",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what",
        "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
    ] {
        assert!(wrong.parse::<TraceParent>().is_err(), "{wrong}");
    }
}

/// Which layer wins, what becomes of URLs, and what is said of those that are of no use.
#[test]
fn where_traces_go() {
    let file = |endpoint: Option<&str>| OtelOptions { endpoint: endpoint.map(str::to_owned), ..OtelOptions::default() };
    let environment =
        |endpoint: &str| OtelEnvironment { endpoint: Some(endpoint.to_owned()), ..OtelEnvironment::default() };
    let url = |line: Option<&str>, file: &OtelOptions, environment: &OtelEnvironment| {
        choose(line, file, environment)
            .map(|chosen| (chosen.target.map(|target| target.url.to_string()), chosen.remark))
    };
    let goes_to = |url: &str| Ok((Some(url.to_owned()), None));
    let none = OtelEnvironment::default();
    assert_eq!(url(None, &file(None), &none), Ok((None, None)));
    let all = environment("http://c:4318");
    assert_eq!(url(Some("http://a:4318"), &file(Some("http://b:4318")), &all), goes_to("http://a:4318/v1/traces"));
    assert_eq!(url(None, &file(Some("http://b:4318/")), &all), goes_to("http://b:4318/v1/traces"));
    assert_eq!(url(None, &file(None), &all), goes_to("http://c:4318/v1/traces"));
    assert_eq!(url(Some("https://x/otel/v1/traces"), &file(None), &none), goes_to("https://x/otel/v1/traces"));
    let own = OtelEnvironment { traces_endpoint: Some("http://d:4318/here".to_owned()), ..all.clone() };
    assert_eq!(url(None, &file(None), &own), goes_to("http://d:4318/here"));
    let off = OtelEnvironment { is_disabled: true, ..all.clone() };
    assert_eq!(url(None, &file(Some("http://b:4318")), &off), Ok((None, None)));
    let said = url(Some("http://a:4318"), &file(None), &off).unwrap().1.unwrap();
    assert_eq!(said, "--otlp: nothing is sent, as OTEL_SDK_DISABLED is true");

    for (text, says) in [
        ("http://a:4317", "--otlp: `http://a:4317`: port 4317 is gRPC, and HTTP is spoken here; use 4318"),
        ("a:4318", "--otlp: `a:4318` does not begin with http:// or https://; write it as in http://127.0.0.1:4318"),
        ("", "--otlp: `` is not a URL (relative URL without a base); write it as in http://127.0.0.1:4318"),
        (
            "http://ann:hush-4711@a:4318",
            "--otlp: it holds a user name or a password; write an `authorization` into `headers`",
        ),
    ] {
        assert_eq!(url(Some(text), &file(None), &none), Err(says.to_owned()));
    }
    // What the environment says is meant for others, too: no mistake of this command.
    let (target, remark) = url(None, &file(None), &environment("http://c:4317")).unwrap();
    assert_eq!(target, None);
    assert_eq!(
        remark.unwrap(),
        "no traces are sent: OTEL_EXPORTER_OTLP_ENDPOINT: `http://c:4317`: port 4317 is gRPC, and HTTP is spoken here; use \
         4318"
    );
    let headers = OtelEnvironment { headers: Some("a=b%20c, d=e=f,nothing,=x".to_owned()), ..all };
    let target = choose(None, &file(None), &headers).unwrap().target.unwrap();
    assert_eq!(target.headers, [("a".to_owned(), "b c".to_owned()), ("d".to_owned(), "e=f".to_owned())]);
    // Keys of one collector are not sent to another one.
    let target = choose(Some("http://a:4318"), &file(None), &headers).unwrap().target.unwrap();
    assert!(target.headers.is_empty());
    assert!(!format!("{target:?}").contains("b c"));
}

fn target(url: &str) -> Target {
    let url = format!("{url}/traces").parse().unwrap();
    Target { url, headers: vec![("x-key".to_owned(), "hush-4711".to_owned())], capture: Capture::None, service: None }
}

fn some_spans() -> Vec<Span> {
    // The session has a runtime of its own.
    std::thread::spawn(|| traced(Case::new(DESK), false, None).0).join().unwrap()
}

fn received(server: &ServerHandle) -> Vec<Vec<Wire>> {
    server.requests().iter().map(|request| wire_spans(&decoded(&request.bytes))).collect()
}

/// A collector gets what there is: together after five seconds, at once where there is much, and the rest at the end.
#[tokio::test]
async fn a_collector_gets_all() {
    let server = http_server::start_with(|_| Answer::body(200, "application/x-protobuf", ""));
    let exporter = Exporter::open(&target(&server.url()), Arc::default()).unwrap();
    let spans = some_spans();
    let many: Vec<Span> = spans.iter().cycle().take(600).cloned().collect();
    exporter.take(many);
    server.wait_for_requests(1).await;
    assert_eq!(received(&server)[0].len(), 512);
    assert_eq!(exporter.close().await, None);
    assert_eq!(received(&server).iter().map(Vec::len).collect::<Vec<_>>(), [512, 88]);
    let request = &server.requests()[0];
    assert_eq!(request.target, "POST /v1/traces");
    assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    assert_eq!(request.header("x-key"), Some("hush-4711"));
    assert_eq!(exporter.close().await, None);
}

/// What may succeed another time is sent again; what may not is lost, and told once.
#[tokio::test]
async fn what_is_refused() {
    let busy = || Answer::body(503, "text/plain", "").header("retry-after", "0");
    let server = http_server::start(vec![busy(), Answer::body(200, "text/plain", "")]);
    let exporter = Exporter::open(&target(&server.url()), Arc::default()).unwrap();
    exporter.take(some_spans());
    assert_eq!(exporter.close().await, None);
    assert_eq!(server.requests().len(), 2);

    let server = http_server::start(vec![Answer::body(404, "text/plain", "")]);
    let exporter = Exporter::open(&target(&server.url()), Arc::default()).unwrap();
    let first = exporter.first_loss();
    exporter.take(some_spans().into_iter().take(3).collect());
    let said = exporter.close().await.unwrap();
    let reason = "it answers 404 Not Found; check the path of the URL";
    assert_eq!(said, format!("3 of 3 spans were not delivered to {}/traces: {reason}", server.url()));
    assert_eq!(first.await.as_deref(), Some(reason));
    assert_eq!(server.requests().len(), 1);
}

/// A collector that never answers holds the end up for five seconds and no longer; what does not fit is lost meanwhile.
#[test]
fn a_hanging_collector() {
    let server = http_server::start_with(|_| Answer::silence());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let said = runtime.block_on(async {
        let exporter = Exporter::open(&target(&server.url()), Arc::default()).unwrap();
        let spans = some_spans();
        let n_many = 512 + 2_048 + 100;
        exporter.take(spans.iter().cycle().take(512).cloned().collect());
        server.wait_for_requests(1).await;
        exporter.take(spans.iter().cycle().take(n_many - 512).cloned().collect());
        // From here on nobody but the clock can do anything.
        tokio::time::pause();
        let began = Instant::now();
        let said = exporter.close().await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 5);
        said
    });
    let reason = "they came faster than they could be sent (more than 2048 waited)";
    assert_eq!(said, format!("2660 of 2660 spans were not delivered to {}/traces: {reason}", server.url()));
}

const PROGRAM: &str = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Say \"Hi.\"\n- Ask the user for $name:str\n- Say \"Bye, {$name}.\"\n";
const SCRIPT: &str = "{\"reply\":\"{\\\"at\\\":\\\"02\\\",\\\"say\\\":\\\"Name?\\\"}\\n{\\\"at\\\":\\\"02\\\",\\\"wait\\\":\\\"user\\\"}\"}\n{\"reply\":\"{\\\"at\\\":\\\"02\\\",\\\"set\\\":{\\\"name\\\":\\\"Mina\\\"}}\"}\n";

fn program() -> Run {
    Run::new().program(PROGRAM).script(SCRIPT)
}

/// The real binary: by option, by file, by environment; what is sent is what is exported later.
#[test]
fn the_binary_sends() {
    let server = http_server::start_with(|_| Answer::body(200, "application/x-protobuf", ""));
    let base = server.url().trim_end_matches("/v1").to_owned();
    let run = program().line(&format!("run program.md --model script:script.jsonl --session s1 --otlp {base}"));
    let done = run.variable("TRACEPARENT", PARENT).variable("OTEL_SERVICE_NAME", "desk").stdin("Mina\n").done();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Hi.\nName?\nBye, Mina.\n"), "{}", done.stderr);
    let sent: Vec<Wire> = received(&server).concat();
    assert!(sent.iter().all(|span| span.trace_id == PARENT.parse::<TraceParent>().unwrap().trace.bytes()));
    let service = decoded(&server.requests()[0].bytes).resource_spans[0].resource.clone().unwrap();
    assert_eq!(attributes(&service.attributes)["service.name"], "desk");
    assert!(server.requests().iter().all(|request| request.target == "POST /v1/traces"));

    let exported = |done: crate::run::Done, file: &str| {
        let done = done.then().line(&format!("sessions export s1 --format otlp --output {file}")).done();
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let bytes = std::fs::read(done.folder().join(file)).unwrap();
        (done, bytes)
    };
    let (done, first) = exported(done, "one.otlp");
    let (done, second) = exported(done, "two.otlp");
    assert_eq!(first, second);
    let sorted = |mut spans: Vec<Wire>| {
        spans.sort_by_key(|span| span.span_id.clone());
        spans
    };
    assert_eq!(sorted(sent), sorted(wire_spans(&decoded(&first))));

    // The file, for a session that goes on; the environment, which asks for gRPC.
    let run = done.then().file("playhouse.toml", &format!("[otel]\nendpoint = \"{base}\"\ncapture = \"messages\"\n"));
    let n_before = server.requests().len();
    let run = run.line("run program.md --model script:script.jsonl --session s2").stdin("").done().then();
    assert!(server.requests().len() > n_before);
    let n_before = server.requests().len();
    let done = run.line("sessions resume s2 --message Mina").stdin("").done();
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let sent: Vec<Wire> = received(&server)[n_before..].concat();
    assert!(
        sent.iter()
            .any(|span| attributes(&span.attributes).get("output.value").map(String::as_str) == Some("Bye, Mina."))
    );
    let n_before = server.requests().len();
    let off = done.then().variable("OTEL_SDK_DISABLED", "TRUE");
    let done = off.line("run program.md --model script:script.jsonl").stdin("Mina\n").done();
    assert_eq!((done.code, server.requests().len()), (Some(0), n_before));
}

/// A collector that is not there is told once, on standard error, after all else; the session is as it would be.
#[test]
fn a_dead_collector() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let run = program().line(&format!("run program.md --model script:script.jsonl --otlp http://{address}"));
    let done = run.stdin("Mina\n").done();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Hi.\nName?\nBye, Mina.\n"));
    let warnings: Vec<&str> = done.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    let [warning] = warnings[..] else { panic!("{}", done.stderr) };
    assert!(warning.starts_with("warning: traces: ") && warning.contains("Connection refused"), "{warning}");

    let wrong = program().line("run program.md --model script:script.jsonl --otlp http://127.0.0.1:4317").done();
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("port 4317 is gRPC"), "{}", wrong.stderr);
    let misspelt = program().file("playhouse.toml", "model = \"embedded\"\n[otel]\nendpont = \"http://a\"\n");
    let done = misspelt.line("run program.md").done();
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr.contains("playhouse.toml:2: [otel]: unknown key `endpont`; did you mean `endpoint`?"),
        "{}",
        done.stderr
    );
}

/// A collector that is dead changes nothing of what a session does.
#[test]
fn a_dead_collector_changes_nothing() {
    const TURNS: usize = 200;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let program = "--- program\n# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- While $on is true\n  - Ask the user \
                   for $name:str\n  - Say \"Hello.\"\n\n--- arguments\n{\"on\": true}\n";
    let reply = |index: usize| {
        let (set, ask) = (
            "{\\\"at\\\":\\\"01.01\\\",\\\"set\\\":{\\\"name\\\":\\\"x\\\"}}\\n",
            "{\\\"at\\\":\\\"01.01\\\",\\\"say\\\":\\\"Name?\\\"}\\n{\\\"at\\\":\\\"01.01\\\",\\\"wait\\\":\\\"user\\\"}",
        );
        format!("{{\"reply\": \"{}\"}}\n", if index.is_multiple_of(2) { ask } else { set })
    };
    let script: String = (0..TURNS).map(reply).collect();
    let text = format!("{program}--- script\n{script}--- says\n{}", "Mina\n".repeat(TURNS));
    let played = |is_traced: bool| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut case = Case::new(&text);
            let exporter = Arc::new(Exporter::open(&target(&dead), Arc::default()).unwrap());
            if is_traced {
                case.options.traces.sink = Some(exporter.clone());
            }
            let journal = MemoryJournal::new();
            case.converse(case.start(&journal)).await;
            (journal.written().len(), spans_of(&journal.written(), false).unwrap().len())
        })
    };
    let (without, with) = (played(false), played(true));
    assert_eq!(without, with);
    assert!(with.1 > TURNS, "{with:?}");
}
