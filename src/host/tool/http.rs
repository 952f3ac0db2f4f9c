//! `HttpGet` and `HttpPost` on the resource `http`.

use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::program::{Type, TypeKind};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{EffectClass, ToolSignature};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::resource::http::{Http, HttpError, HttpRequest};
use crate::tool::arguments::{Among, check_arguments, join_faults, parameter, tool};
use crate::tool::registry::{AddToolError, Registry};
use crate::tool::{ArgumentFault, CallContext, Tool, ToolFuture, ToolOutcome};

/// Headers that belong to the connection, to its other end or to the call's key, never to a caller.
const FORBIDDEN: [&str; 15] = [
    "host",
    "content-length",
    "connection",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "keep-alive",
    "expect",
    "proxy-authorization",
    "proxy-connection",
    "accept-encoding",
    "forwarded",
    "x-forwarded-for",
    IDEMPOTENCY_KEY,
];

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The name of the tool that fetches.
pub const HTTP_GET: &str = "HttpGet";

/// The name of the tool that sends.
pub const HTTP_POST: &str = "HttpPost";

/// Adds `HttpGet` and `HttpPost` on these resources; nothing if there are none. A call that names no resource means the
/// first one.
///
/// # Errors
/// One of the names is taken.
pub fn add_http_tools(registry: &Registry, resources: &[Arc<Http>]) -> Result<(), AddToolError> {
    for method in [Method::GET, Method::POST] {
        let Some(resources) = Among::new("resource", resources, |_| String::new()) else { return Ok(()) };
        registry.add(Arc::new(HttpTool { method, resources }))?;
    }
    Ok(())
}

struct HttpTool {
    /// GET, which only reads, or POST.
    method: Method,
    resources: Among<Http>,
}

impl HttpTool {
    /// The resource that a call means, and the call's headers.
    fn read(&self, arguments: &Map) -> Result<(&Arc<Http>, HeaderMap), Vec<ArgumentFault>> {
        let http = self.resources.find(arguments).map_err(|fault| vec![fault])?;
        Ok((http, read_headers(http, arguments.get("headers"))?))
    }

    async fn ask(&self, context: CallContext, arguments: Map) -> ToolOutcome {
        let (http, mut headers) = match self.read(&arguments) {
            Ok(read) => read,
            Err(faults) => return ToolOutcome::Error(join_faults(&faults)),
        };
        let is_get = self.method == Method::GET;
        let mut body = Vec::new();
        if !is_get {
            if let Some(given) = arguments.get("body").filter(|body| **body != Value::Null) {
                let content_type;
                (body, content_type) = match given.as_str() {
                    Some(text) => (text.as_bytes().to_vec(), "text/plain; charset=utf-8"),
                    None => (given.to_json().into_bytes(), "application/json"),
                };
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(content_type));
            }
            // A session's id may hold what no header may.
            if let Ok(key) = HeaderValue::from_str(&context.call_id) {
                headers.insert(HeaderName::from_static(IDEMPOTENCY_KEY), key);
            }
        }
        if let Some(trace) = context.trace
            && let Ok(value) = HeaderValue::from_str(&trace.to_string())
        {
            headers.entry(HeaderName::from_static("traceparent")).or_insert(value);
        }
        let method = self.method.clone();
        let url = arguments.get("url").and_then(Value::as_str).unwrap_or_default().to_owned();
        let answer = tokio::select! {
            answer = http.request(HttpRequest { method, url, headers, body }) => answer,
            () = context.cancel.cancelled() => return ToolOutcome::Error("the request was cancelled".to_owned()),
        };
        match answer {
            Ok(answer) if is_get && matches!(answer.status, 429 | 503) => {
                ToolOutcome::Unavailable(format!("the server is busy and answers with status {}", answer.status))
            }
            Ok(answer) => {
                let members = [
                    ("status", Value::Int(i64::from(answer.status))),
                    ("headers", answer.headers),
                    ("body", answer.body),
                ];
                ToolOutcome::Value(Value::map(members.into_iter().map(|(name, value)| (name.into(), value)).collect()))
            }
            Err(HttpError::Unavailable(cause)) => ToolOutcome::Unavailable(cause),
            Err(error @ (HttpError::Refused(_) | HttpError::RedirectRefused { .. } | HttpError::Failed(_))) => {
                ToolOutcome::Error(error.to_string())
            }
        }
    }
}

impl Tool for HttpTool {
    fn signature(&self) -> ToolSignature {
        let mut parameters = vec![parameter("url", TypeKind::Str, None, "the whole address, with its scheme")];
        if self.method == Method::POST {
            let body = "what is sent: text as it is, null for nothing, anything else as JSON";
            parameters.push(parameter("body", Type::ANY, None, body));
        }
        parameters.push(parameter("headers", TypeKind::Dict, Some(Value::map(Map::new())), "further headers"));
        parameters.extend(self.resources.parameter("which resource makes the request"));
        let is_get = self.method == Method::GET;
        let (name, effect) = if is_get { (HTTP_GET, EffectClass::ReadOnly) } else { (HTTP_POST, EffectClass::Write) };
        let summary = format!(
            "Sends a {} request to an allowed server and returns {{status, headers, body}}; a JSON body is a value.",
            self.method
        );
        tool(name, parameters, TypeKind::Dict, &summary, effect)
    }

    fn check(&self, arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
        let arguments = check_arguments(&self.signature().signature, arguments)?;
        self.read(&arguments)?;
        Ok(arguments)
    }

    fn timeout(&self) -> Duration {
        // The resource's own time-out is the first to speak, as it names the server; a read may be tried three times.
        let longest = self.resources.all().map(Http::timeout).max().unwrap_or_default();
        let n_attempts = if self.method == Method::GET { 3 } else { 1 };
        longest * n_attempts + Duration::from_secs(5)
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(self.ask(context, arguments))
    }
}

fn read_headers(http: &Http, headers: Option<&Value>) -> Result<HeaderMap, Vec<ArgumentFault>> {
    let mut read = HeaderMap::new();
    let mut faults = Vec::new();
    let Some(Value::Map(headers)) = headers else { return Ok(read) };
    for (name, value) in headers.iter() {
        let mut fault = |message: &str| faults.push(ArgumentFault::new(format!("headers.{name}"), message));
        let text = match value {
            Value::Null | Value::List(_) | Value::Map(_) => {
                fault("must be text or a number");
                continue;
            }
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => value.to_text(),
        };
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&text)) {
            (Err(_), _) => fault("is not a header name"),
            (Ok(_), Err(_)) => fault("has a value that is not allowed in a header"),
            (Ok(name), Ok(_)) if FORBIDDEN.contains(&name.as_str()) => fault("is set by the program itself"),
            (Ok(name), Ok(_)) if http.sets_header(&name) => fault("is set by the resource"),
            (Ok(name), Ok(value)) => {
                read.insert(name, value);
            }
        }
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}
