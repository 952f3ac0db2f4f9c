//! A session that is traced: its task tells what is recorded and what the machine does, and gives spans away when what
//! they tell of is flushed.

use std::sync::Arc;

use playhouse_lang::program::Program;
use playhouse_vm::protocol::{CallId, Progress, Timestamp};

use crate::journal::record::{Begun, Record, RecordBody};
use crate::otel::context::TraceParent;
use crate::otel::spans::{Span, SpanSink, Traces};
use crate::otel::tracer::Tracer;
use crate::replay::begun_of;
use crate::replay::error::SessionError;
use crate::replay::told::{Told, tell};

/// The spans of a session with these records, as they were written; `captures`: with what was said.
///
/// # Errors
/// The records hold no session, or the machine does not follow them.
pub fn spans_of(records: &[Record], captures: bool) -> Result<Vec<Span>, SessionError> {
    let mut tracer = tracer_of(records, captures)?;
    tracer.end();
    Ok(tracer.take_finished())
}

/// A tracer that was told all that happened.
fn tracer_of(records: &[Record], captures: bool) -> Result<Tracer, SessionError> {
    let mut tracer = None;
    tell(records, &mut |told| match (told, &mut tracer) {
        (Told::Began(time, begun, program), _) => tracer = Some(Tracer::new(time, begun, program, captures)),
        (Told::Record(record), Some(tracer)) => tracer.recorded(record.timestamp(), &record.body),
        (Told::Moved(_, progress), Some(tracer)) => tracer.moved(progress),
        // It begins before anything else is told.
        (Told::Record(_) | Told::Moved(..), None) => {}
    })?;
    tracer.ok_or(SessionError::Vanished)
}

/// Where whoever has started us records nothing, neither do we.
fn is_recorded(parent: Option<TraceParent>) -> bool {
    parent.is_none_or(|parent| parent.is_sampled)
}

/// Whether a session is traced.
pub(super) enum Tracing {
    /// Nobody wants to know.
    Off,
    /// Nobody wants to know of us, but whom we call may be told of whoever has started us.
    Passes(TraceParent),
    /// Somebody takes its spans.
    On(Box<Tracer>, Arc<dyn SpanSink>),
}

impl Tracing {
    /// Of a session that begins.
    pub(super) fn of_new(traces: &Traces, time: Timestamp, begun: &Begun, program: &Arc<Program>) -> Tracing {
        match &traces.sink {
            Some(sink) if is_recorded(traces.parent) => {
                let tracer = Tracer::new(time, begun, program, sink.captures_messages());
                Tracing::On(Box::new(tracer), sink.clone())
            }
            Some(_) | None => traces.parent.map_or(Tracing::Off, Tracing::Passes),
        }
    }

    /// Of a session with these records, as they were written: what ended before has been told. What it was begun in counts,
    /// not what this process was.
    ///
    /// # Errors
    /// The machine does not follow the records.
    pub(super) fn of_kept(traces: &Traces, pieces: &[Record]) -> Result<Tracing, SessionError> {
        let parent = begun_of(pieces)?.trace_parent.as_deref().and_then(|parent| parent.parse().ok());
        let Some(sink) = traces.sink.as_ref().filter(|_| is_recorded(parent)) else {
            return Ok(parent.map_or(Tracing::Off, Tracing::Passes));
        };
        let mut tracer = tracer_of(pieces, sink.captures_messages())?;
        tracer.take_finished();
        Ok(Tracing::On(Box::new(tracer), sink.clone()))
    }

    pub(super) fn is_on(&self) -> bool {
        matches!(self, Tracing::On(..))
    }

    /// Whether a record must stay by itself: when a reply began is told.
    pub(super) fn keeps_apart(&self, body: &RecordBody) -> bool {
        matches!(self, Tracing::On(tracer, _) if tracer.is_first_piece(body))
    }

    pub(super) fn recorded(&mut self, time: Timestamp, body: &RecordBody) {
        if let Tracing::On(tracer, _) = self {
            tracer.recorded(time, body);
        }
    }

    pub(super) fn moved(&mut self, progress: &Progress) {
        if let Tracing::On(tracer, _) = self {
            tracer.moved(progress);
        }
    }

    /// What has happened is flushed: others may hear of it.
    pub(super) fn flushed(&mut self) {
        if let Tracing::On(tracer, sink) = self {
            let spans = tracer.take_finished();
            if !spans.is_empty() {
                sink.take(spans);
            }
        }
    }

    /// The task ends.
    pub(super) fn end(&mut self) {
        if let Tracing::On(tracer, _) = self {
            tracer.end();
        }
        self.flushed();
    }

    /// What the tool of a call is told.
    pub(super) fn context(&self, call: CallId) -> Option<TraceParent> {
        match self {
            Tracing::Off => None,
            Tracing::Passes(parent) => Some(*parent),
            Tracing::On(tracer, _) => tracer.call_context(call),
        }
    }
}
