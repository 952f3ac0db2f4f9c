//! Figures for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted since the process began.
#[derive(Default)]
pub(crate) struct Metrics {
    /// By the first digit of their status.
    pub(super) requests: [AtomicU64; 6],
    pub(super) streams: AtomicU64,
}

impl Metrics {
    /// All figures; so many sessions are live.
    pub(super) fn text(&self, n_live: usize) -> String {
        let Metrics { requests, streams } = self;
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
        let live = n_live as u64;
        put("playhouse_sessions_live", "gauge", "Sessions in memory.", &[(String::new(), live)]);
        text
    }
}
