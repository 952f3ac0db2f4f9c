//! Spans as data, and who takes them.

use std::fmt;
use std::sync::Arc;

use playhouse_vm::protocol::Timestamp;

use crate::otel::context::{SpanId, TraceId, TraceParent};
use crate::secrets::Secrets;

/// Something that took its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Its trace.
    pub trace: TraceId,
    /// Its id.
    pub id: SpanId,
    /// What it is a part of; none: it is the whole trace.
    pub parent: Option<SpanId>,
    /// Its name: `line Pay:03`.
    pub name: String,
    /// Whether somebody else works while it lasts, whom we have asked.
    pub is_client: bool,
    /// When it began.
    pub start: Timestamp,
    /// When it was over.
    pub end: Timestamp,
    /// What is known of it.
    pub attributes: Vec<(&'static str, Attribute)>,
    /// What happened meanwhile.
    pub events: Vec<SpanEvent>,
    /// The stretch before this one.
    pub link: Option<(TraceId, SpanId)>,
    /// It went wrong: why, as far as that may be told.
    pub error: Option<String>,
}

/// Something that happened during a span.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanEvent {
    /// When.
    pub time: Timestamp,
    /// What.
    pub name: &'static str,
    /// What is known of it.
    pub attributes: Vec<(&'static str, Attribute)>,
}

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// Text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Truth(bool),
    /// A list of texts.
    Texts(Vec<String>),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Attribute {
        Attribute::Text(text.to_owned())
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Attribute {
        Attribute::Text(text)
    }
}

impl From<u64> for Attribute {
    fn from(number: u64) -> Attribute {
        Attribute::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl Span {
    /// One that begins; of it nothing is known yet.
    pub(super) fn new(trace: TraceId, id: SpanId, parent: Option<SpanId>, name: String, start: Timestamp) -> Span {
        Span {
            trace,
            id,
            parent,
            name,
            is_client: false,
            start,
            end: start,
            attributes: Vec::new(),
            events: Vec::new(),
            link: None,
            error: None,
        }
    }

    /// Adds what is known of it.
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<Attribute>) {
        self.attributes.push((name, value.into()));
    }

    /// The same span, which is over.
    pub(super) fn ended(mut self, end: Timestamp) -> Span {
        self.end = end.max(self.start);
        self
    }

    /// Takes secrets out of what it tells.
    pub(super) fn mask(&mut self, secrets: &Secrets) {
        for (_, value) in &mut self.attributes {
            if let Attribute::Text(text) = value {
                *text = secrets.mask_text(text);
            }
        }
        self.error = self.error.take().map(|error| secrets.mask_text(&error));
    }

    /// What others are told of it.
    pub(super) fn context(&self) -> TraceParent {
        TraceParent { trace: self.trace, span: self.id, is_sampled: true }
    }
}

/// Who takes spans. Nobody who gives them waits: what does not fit is lost.
pub trait SpanSink: Send + Sync {
    /// Whether what was said is told, too.
    fn captures_messages(&self) -> bool;

    /// Takes spans that are over.
    fn take(&self, spans: Vec<Span>);
}

/// Whether sessions are traced, and whose parts they are.
#[derive(Clone, Default)]
pub struct Traces {
    /// Who takes their spans; none: nobody.
    pub sink: Option<Arc<dyn SpanSink>>,
    /// The span of whoever has started this process.
    pub parent: Option<TraceParent>,
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").field("is_traced", &self.sink.is_some()).field("parent", &self.parent).finish()
    }
}

/// The same sink, and the same parent.
impl PartialEq for Traces {
    fn eq(&self, other: &Traces) -> bool {
        let is_same_sink = match (&self.sink, &other.sink) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        is_same_sink && self.parent == other.parent
    }
}
