//! What requests carry: JSON of a known shape, of which all mistakes are told at once.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{self, FromRequest, FromRequestParts, Query, Request};
use axum::http::{HeaderName, Response, StatusCode, header, request};
use axum::response::IntoResponse;
use futures_util::{Stream, StreamExt};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::time::timeout;

use crate::serve::http::problem::{Pointed, Problem};

/// The most bytes of a body, where its route does not take more.
pub(crate) const MAX_BODY: usize = 256 << 10;

/// The most bytes that a route takes.
#[derive(Clone, Copy)]
pub(crate) struct MaxBody(pub(crate) usize);

/// So long a body may take.
const ARRIVES_WITHIN: Duration = Duration::from_secs(30);

/// So often something is sent on a stream of which nothing is to be told.
pub(crate) const PING: Duration = Duration::from_secs(15);

/// A body that was read, or an answer.
pub(crate) struct Typed<T>(pub(crate) T);

/// The named parts of a path.
pub(crate) struct Path<T>(pub(crate) T);

/// A query that was read.
pub(crate) struct Queried<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema, S: Send + Sync> FromRequest<S> for Typed<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Typed<T>, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(Problem::unsupported("send the body as JSON, with `Content-Type: application/json`"));
        }
        let most = request.extensions().get::<MaxBody>().map_or(MAX_BODY, |most| most.0);
        let arrived = timeout(ARRIVES_WITHIN, Bytes::from_request(request, state)).await;
        let late = |_| Problem::bad("the body has not arrived within 30 s; send it again", Vec::new());
        let bytes = arrived.map_err(late)?.map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large(format!("a body has at most {most} bytes")),
            _ => Problem::bad(format!("the body did not arrive: {error}"), Vec::new()),
        })?;
        read(&bytes).map(Typed)
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut request::Parts, state: &S) -> Result<Path<T>, Problem> {
        let path = extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|extract::Path(path)| Path(path)).map_err(|error| Problem::bad(error.body_text(), Vec::new()))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Queried<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut request::Parts, state: &S) -> Result<Queried<T>, Problem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(query)| Queried(query)).map_err(|error| Problem::bad(error.body_text(), Vec::new()))
    }
}

impl<T: Serialize> IntoResponse for Typed<T> {
    fn into_response(self) -> Response<Body> {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => unstored("application/json", bytes),
            Err(error) => Problem::internal(format!("the answer cannot be written: {error}")).into_response(),
        }
    }
}

/// An answer of a type, which nobody is to keep.
pub(crate) fn unstored(kind: &'static str, body: impl IntoResponse) -> Response<Body> {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

/// Server-sent events as they come.
pub(crate) fn event_stream(events: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store, no-transform"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(events.map(Ok::<_, Infallible>))).into_response()
}

/// An event without a name.
pub(crate) fn unnamed_event(json: &Json) -> String {
    format!("data: {json}\n\n")
}

/// An event that says nothing.
pub(crate) fn ping() -> Bytes {
    Bytes::from_static(b": ping\n\n")
}

/// Reads JSON of this shape.
fn read<T: DeserializeOwned + JsonSchema>(bytes: &[u8]) -> Result<T, Problem> {
    if let Ok(read) = serde_json::from_slice(bytes) {
        return Ok(read);
    }
    let json: Json = serde_json::from_slice(bytes)
        .map_err(|error| Problem::bad(format!("this is not JSON: {error}"), Vec::new()))?;
    let mut generator = SchemaGenerator::default();
    let schema = generator.root_schema_for::<T>();
    let mut errors = Vec::new();
    check(&json, &schema, &schema, "", &mut errors);
    let detail = "the body does not have the form that this route takes; /openapi.json has it";
    if !errors.is_empty() {
        return Err(Problem::bad(detail, errors));
    }
    serde_json::from_value(json).map_err(|error| Problem::bad(detail, vec![Pointed::new("", error.to_string())]))
}

/// What is wrong with the shape of a value: types, missing and unknown members. It is what schemas say that are made of
/// types here, so that all mistakes can be told at once; what a type alone knows is told when it reads the value.
fn check(value: &Json, schema: &Schema, root: &Schema, pointer: &str, errors: &mut Vec<Pointed>) {
    let mut wrong = |pointer: String, detail: String| errors.push(Pointed::new(pointer, detail));
    let schema = match schema.get("$ref").and_then(Json::as_str).and_then(|at| root.pointer(at.trim_start_matches('#')))
    {
        Some(found) => found,
        None => schema.as_value(),
    };
    let types: Vec<&str> = match schema.get("type") {
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    let found = type_of(value);
    let fits = |wanted: &&str| *wanted == found || (*wanted == "number" && found == "integer");
    if !types.is_empty() && !types.iter().any(fits) {
        let wanted: Vec<&str> = types.into_iter().filter(|wanted| *wanted != "null").collect();
        return wrong(
            pointer.to_owned(),
            format!("this is {}, but {} is expected", with_article(found), wanted.join(" or ")),
        );
    }
    if let Some(choices) = schema.get("enum").and_then(Json::as_array)
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Json::to_string).collect();
        return wrong(pointer.to_owned(), format!("this must be one of {}", choices.join(", ")));
    }
    if let (Json::Array(items), Some(Ok(inner))) = (value, schema.get("items").map(<&Schema>::try_from)) {
        for (index, item) in items.iter().enumerate() {
            check(item, inner, root, &at(pointer, &index.to_string()), errors);
        }
        return;
    }
    let Json::Object(members) = value else { return };
    let Some(properties) = schema.get("properties").and_then(Json::as_object) else { return };
    let is_closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
    for (name, _) in members.iter().filter(|(name, _)| is_closed && !properties.contains_key(*name)) {
        let known: Vec<&str> = properties.keys().map(String::as_str).collect();
        wrong(at(pointer, name), format!("there is no such field; the fields are {}", known.join(", ")));
    }
    for name in schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str) {
        if !members.contains_key(name) {
            wrong(at(pointer, name), "this field is missing".to_owned());
        }
    }
    for (name, inner) in properties {
        if let (Some(value), Ok(inner)) = (members.get(name), <&Schema>::try_from(inner)) {
            check(value, inner, root, &at(pointer, name), errors);
        }
    }
}

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_f64() => "number",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn with_article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "integer" | "array" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

/// A JSON pointer (RFC 6901) one step further.
pub(crate) fn at(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}
