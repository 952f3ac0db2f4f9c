//! Where traces go, and what is in them: `--otlp`, `[otel]`, and the variables that OpenTelemetry has for it
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>).

use reqwest::Url;
use serde::Deserialize;

use crate::keys::pairs;
use crate::secrets::MASK;

/// `[otel]` of playhouse.toml.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OtelOptions {
    /// The collector: a base URL, to which `/v1/traces` is added where it is missing.
    pub endpoint: Option<String>,
    /// Headers of every request. Their values are never shown.
    #[serde(deserialize_with = "pairs")]
    pub headers: Vec<(String, String)>,
    /// What of a session is told besides what it did.
    pub capture: Capture,
    /// What the service is called.
    pub service_name: Option<String>,
}

/// What of a session is told besides what it did and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capture {
    /// Nothing.
    #[default]
    None,
    /// What was said to models, tools and people, and what they answered; secrets masked.
    Messages,
}

/// What the environment says of traces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtelEnvironment {
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub endpoint: Option<String>,
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`: the whole URL.
    pub traces_endpoint: Option<String>,
    /// `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,name=value`, percent-encoded.
    pub headers: Option<String>,
    /// `OTEL_SERVICE_NAME`.
    pub service_name: Option<String>,
    /// `OTEL_SDK_DISABLED` is `true`.
    pub is_disabled: bool,
    /// `TRACEPARENT`: the span of whoever has started us.
    pub parent: Option<String>,
}

/// Where traces go.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// The whole URL.
    pub url: Url,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// What is told.
    pub capture: Capture,
    /// What the service is called.
    pub service: Option<String>,
}

/// What came of the layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Where traces go; none: nowhere.
    pub target: Option<Target>,
    /// What people should know: that the environment asks for something that is not done.
    pub remark: Option<String>,
}

/// No header is shown.
impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("url", &self.url.as_str())
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// Puts the layers together: `--otlp`, `[otel]`, the environment. What the environment says of endpoints is meant for all
/// programs of the machine: where that is of no use here, it is no mistake of this command.
///
/// # Errors
/// A URL of the command line or the file is of no use, in words with the option's name.
pub fn choose(command_line: Option<&str>, file: &OtelOptions, environment: &OtelEnvironment) -> Result<Chosen, String> {
    if environment.is_disabled {
        let remark = command_line.map(|_| "--otlp: nothing is sent, as OTEL_SDK_DISABLED is true".to_owned());
        return Ok(Chosen { target: None, remark });
    }
    let given = [("--otlp", command_line), ("[otel]: `endpoint`", file.endpoint.as_deref())];
    let given = given.into_iter().find_map(|(name, url)| Some((name, url?)));
    let url = match given {
        Some((name, text)) => Some(url_of(text, true).map_err(|problem| format!("{name}: {problem}"))?),
        None => match of_environment(environment) {
            Ok(url) => url,
            Err(remark) => return Ok(Chosen { target: None, remark: Some(remark) }),
        },
    };
    let Some(url) = url else { return Ok(Chosen::default()) };
    // Headers of the environment are for the endpoint of the environment.
    let headers = match (given, &environment.headers) {
        (None, Some(headers)) if file.headers.is_empty() => headers_of(headers),
        _ => file.headers.clone(),
    };
    let service = file.service_name.clone().or_else(|| environment.service_name.clone());
    Ok(Chosen { target: Some(Target { url, headers, capture: file.capture, service }), remark: None })
}

fn of_environment(environment: &OtelEnvironment) -> Result<Option<Url>, String> {
    let named = match (&environment.traces_endpoint, &environment.endpoint) {
        (Some(url), _) => Some(("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url, false)),
        (None, Some(url)) => Some(("OTEL_EXPORTER_OTLP_ENDPOINT", url, true)),
        (None, None) => None,
    };
    let read = |(name, url, is_base): (&str, &String, bool)| {
        url_of(url, is_base).map_err(|problem| format!("no traces are sent: {name}: {problem}"))
    };
    named.map(read).transpose()
}

/// Reads a URL; of a base the path is completed.
fn url_of(text: &str, is_base: bool) -> Result<Url, String> {
    const PATH: &str = "/v1/traces";
    // A password is not to be shown, also where the rest is no URL.
    let shown = if text.contains('@') { MASK } else { text };
    let wrong = |what: &str| format!("`{shown}` {what}; write it as in http://127.0.0.1:4318");
    let mut url = Url::parse(text.trim()).map_err(|error| wrong(&format!("is not a URL ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("does not begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user name or a password; write an `authorization` into `headers`".to_owned());
    }
    if url.port() == Some(4317) {
        return Err(format!("`{text}`: port 4317 is gRPC, and HTTP is spoken here; use 4318"));
    }
    if is_base && !url.path().ends_with(PATH) {
        let path = format!("{}{PATH}", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    Ok(url)
}

/// Reads `name=value,name=value`; what is none of that is left out, as other programs do.
fn headers_of(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (decoded(name.trim()), decoded(value.trim())))
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

/// Percent-encoded text, decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
