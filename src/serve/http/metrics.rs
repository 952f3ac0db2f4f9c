//! Figures for Prometheus.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::serve::http::Server;

/// What is counted since the process began.
#[derive(Default)]
pub(crate) struct Metrics {
    /// By the first digit of their status.
    pub(super) requests: [AtomicU64; 6],
    pub(super) streams: AtomicU64,
}

pub(super) async fn metrics(State(server): State<Arc<Server>>) -> impl IntoResponse {
    let Metrics { requests, streams } = &server.metrics;
    let mut text = String::new();
    let mut put = |name: &str, kind: &str, help: &str, values: &[(String, u64)]| {
        text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        for (labels, value) in values {
            text.push_str(&format!("{name}{labels} {value}\n"));
        }
    };
    let by_class: Vec<(String, u64)> = requests
        .iter()
        .enumerate()
        .skip(1)
        .map(|(class, count)| (format!("{{class=\"{class}xx\"}}"), count.load(Ordering::Relaxed)))
        .collect();
    put("playhouse_requests_total", "counter", "Requests, by the class of their status.", &by_class);
    let streams = streams.load(Ordering::Relaxed);
    put("playhouse_streams_total", "counter", "Streams of events that were opened.", &[(String::new(), streams)]);
    let live = server.residents.sessions().len() as u64;
    put("playhouse_sessions_live", "gauge", "Sessions in memory.", &[(String::new(), live)]);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}
