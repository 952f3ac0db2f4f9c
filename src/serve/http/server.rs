//! A server, as its routes see it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::host::residents::Residents;
use crate::host::serve_options::ServeOptions;
use crate::serve::http::access::cookie::Cookies;
use crate::serve::http::access::tokens::Access;
use crate::serve::http::answers::live::Answers;
use crate::serve::http::limits::Limits;
use crate::serve::http::metrics::Metrics;
use crate::serve::http::page::Policies;
use crate::vm::protocol::Timestamp;

/// A server, as its routes see it.
pub struct Server {
    pub(super) residents: Arc<Residents>,
    pub(super) options: ServeOptions,
    pub(super) access: Access,
    pub(super) port: u16,
    pub(super) cookies: Cookies,
    pub(super) limits: Limits,
    pub(super) metrics: Metrics,
    pub(super) answers: Answers,
    pub(super) policies: Policies,
    /// When it began to serve.
    pub(super) began: Timestamp,
}

impl Server {
    /// A server at an address. `key` signs its cookies.
    pub fn new(
        residents: Arc<Residents>,
        options: ServeOptions,
        access: Access,
        address: SocketAddr,
        key: [u8; 64],
    ) -> Arc<Server> {
        Arc::new(Server {
            access,
            port: address.port(),
            cookies: Cookies::new(key),
            limits: Limits::new(),
            metrics: Metrics::default(),
            answers: Answers::default(),
            policies: Policies::new(&options.frame_ancestors),
            began: residents.now(),
            residents,
            options,
        })
    }

    /// A request was answered.
    pub(super) fn count(&self, status: u16) {
        let class = usize::from(status / 100).min(5);
        self.metrics.requests[class].fetch_add(1, Ordering::Relaxed);
    }
}
