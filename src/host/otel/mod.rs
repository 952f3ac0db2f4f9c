//! Traces for OpenTelemetry: what a session did, as spans (spec `evaluate.md`, section 9).
//!
//! A trace is a pure function of a session's records: what is sent while it runs and what is exported later are made by
//! the same [`tracer::Tracer`], with the same ids. Each stretch, from what somebody says to where the program waits for a
//! person again, is a trace of its own.

pub mod context;

pub mod names;

pub mod options;

pub mod spans;

pub mod tracer;

mod content;

mod work;

#[cfg(feature = "otel")]
pub mod export;

#[cfg(feature = "otel")]
pub mod wire;
