//! Spans as OpenTelemetry's protocol has them (OTLP, protobuf).

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span as SpanWire, Status};
use playhouse_vm::protocol::Timestamp;
use prost::Message;

use crate::otel::context::{SpanId, TraceId};
use crate::otel::names;
use crate::otel::spans::{Attribute, Span, SpanEvent};
use crate::secrets::Secrets;

/// The flag of a trace that is recorded (W3C Trace Context).
const SAMPLED: u32 = 1;

/// A request that exports these spans of this service; no secret is in it.
pub fn encode(spans: &[Span], service: Option<&str>, secrets: &Secrets) -> Vec<u8> {
    let service = Attribute::from(service.unwrap_or(names::SERVICE));
    let version = Attribute::from(env!("CARGO_PKG_VERSION"));
    let attributes = [(names::SERVICE_NAME, service), (names::SERVICE_VERSION, version)];
    let resource = Resource { attributes: wire_attributes(&attributes, secrets), ..Resource::default() };
    let scope = InstrumentationScope {
        name: "playhouse".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let spans = spans.iter().map(|span| wire_span(span, secrets)).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, schema_url: String::new() }];
    let resource_spans = vec![ResourceSpans { resource: Some(resource), scope_spans, schema_url: String::new() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

fn wire_span(span: &Span, secrets: &Secrets) -> SpanWire {
    let kind = if span.is_client { SpanKind::Client } else { SpanKind::Internal };
    let link = |(trace, id): &(TraceId, SpanId)| Link {
        trace_id: trace.bytes().to_vec(),
        span_id: id.bytes().to_vec(),
        flags: SAMPLED,
        ..Link::default()
    };
    let failed = |message: &String| Status { message: secrets.mask_text(message), code: StatusCode::Error.into() };
    SpanWire {
        trace_id: span.trace.bytes().to_vec(),
        span_id: span.id.bytes().to_vec(),
        parent_span_id: span.parent.map(|parent| parent.bytes().to_vec()).unwrap_or_default(),
        flags: SAMPLED,
        name: secrets.mask_text(&span.name),
        kind: kind.into(),
        start_time_unix_nano: nanoseconds(span.start),
        end_time_unix_nano: nanoseconds(span.end),
        attributes: wire_attributes(&span.attributes, secrets),
        events: span.events.iter().map(|event| wire_event(event, secrets)).collect(),
        links: span.link.iter().map(link).collect(),
        status: span.error.as_ref().map(failed),
        ..SpanWire::default()
    }
}

fn wire_event(event: &SpanEvent, secrets: &Secrets) -> Event {
    Event {
        time_unix_nano: nanoseconds(event.time),
        name: event.name.to_owned(),
        attributes: wire_attributes(&event.attributes, secrets),
        dropped_attributes_count: 0,
    }
}

fn wire_attributes(attributes: &[(&'static str, Attribute)], secrets: &Secrets) -> Vec<KeyValue> {
    let wire = |(name, value): &(&'static str, Attribute)| KeyValue {
        key: (*name).to_owned(),
        value: Some(AnyValue { value: Some(wire_value(value, secrets)) }),
        ..KeyValue::default()
    };
    attributes.iter().map(wire).collect()
}

fn wire_value(value: &Attribute, secrets: &Secrets) -> Any {
    match value {
        Attribute::Text(text) => Any::StringValue(secrets.mask_text(text)),
        Attribute::Number(number) => Any::IntValue(*number),
        Attribute::Float(number) => Any::DoubleValue(*number),
        Attribute::Truth(truth) => Any::BoolValue(*truth),
        Attribute::Texts(texts) => {
            let text = |text: &String| AnyValue { value: Some(Any::StringValue(secrets.mask_text(text))) };
            Any::ArrayValue(ArrayValue { values: texts.iter().map(text).collect() })
        }
    }
}

fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.0).unwrap_or(0).saturating_mul(1_000_000)
}
