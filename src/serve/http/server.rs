//! A server, as its routes see it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::host::journal::JournalError;
use crate::host::residents::Residents;
use crate::host::serve_options::Options;
use crate::serve::http::access::cookie::Cookies;
use crate::serve::http::limits::Limits;
use crate::serve::http::metrics::Metrics;
use crate::serve::http::page;

/// Pasts that are walked at one time: each takes a processor.
const WALKS: usize = 4;

/// A server, as its routes see it.
pub struct Server {
    pub(super) residents: Arc<Residents>,
    pub(super) options: Options,
    /// Whether callers need a token; else everybody is admin, and the server serves this machine only.
    pub(super) needs_tokens: AtomicBool,
    /// Callers never need one: the operator says so.
    pub(super) is_open: bool,
    pub(super) port: u16,
    pub(super) cookies: Cookies,
    pub(super) limits: Limits,
    pub(super) metrics: Metrics,
    pub(super) walks: Semaphore,
    pub(super) draining: CancellationToken,
    pub(super) frame_ancestors: String,
    pub(super) import_map_hash: String,
}

impl Server {
    /// A server at an address, for everybody or, where there are tokens, for those who have one. `key` signs its cookies.
    ///
    /// # Errors
    /// The tokens cannot be read.
    pub async fn new(
        residents: Arc<Residents>,
        options: Options,
        (address, is_open): (SocketAddr, bool),
        key: [u8; 64],
    ) -> Result<Arc<Server>, JournalError> {
        let has_tokens = !residents.ledger().tokens().await?.is_empty();
        let frame_ancestors = match options.frame_ancestors.as_slice() {
            [] => "'none'".to_owned(),
            sites => sites.join(" "),
        };
        Ok(Arc::new(Server {
            residents,
            needs_tokens: AtomicBool::new(!is_open && (options.visitors || has_tokens)),
            is_open,
            port: address.port(),
            cookies: Cookies::new(key),
            limits: Limits::new(),
            metrics: Metrics::default(),
            walks: Semaphore::new(WALKS),
            draining: CancellationToken::new(),
            frame_ancestors,
            import_map_hash: page::import_map_hash(),
            options,
        }))
    }

    /// A request was answered.
    pub(super) fn count(&self, status: u16) {
        let class = usize::from(status / 100).min(5);
        self.metrics.requests[class].fetch_add(1, Ordering::Relaxed);
    }
}
