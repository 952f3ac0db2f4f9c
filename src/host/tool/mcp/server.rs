//! A server: its connection, begun again when it is lost, and its tools.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use playhouse_lang::expr::scan_name;
use rmcp::ServiceError;
use tokio::sync::{Mutex, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::error::{McpError, McpFault, Trouble, advice, of_request};
use super::options::McpOptions;
use super::talk::Talks;
use crate::child::Starts;
use crate::tool::registry::pause;

/// Starts within [`WINDOW`] at most.
const MAX_STARTS: usize = 5;

/// See [`MAX_STARTS`].
const WINDOW: Duration = Duration::from_secs(30);

/// An MCP server. It is connected to again when a call finds the connection lost; its process or session ends with
/// [`McpServer::close`], or when the server and all of its tools are dropped.
pub struct McpServer {
    pub(super) options: McpOptions,
    state: Mutex<State>,
    /// Counts the changes of its tools.
    pub(super) changes: watch::Sender<u64>,
    /// That count before the tools were last read.
    pub(super) n_read: AtomicU64,
    /// Calls that wait for a person's answer.
    pub(super) talks: Talks,
    pub(super) closed: CancellationToken,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    starts: Starts,
    /// Starts that failed since one did not.
    n_failed: u32,
}

impl McpServer {
    /// Connects to a server.
    ///
    /// # Errors
    /// It cannot be reached or started, or is no MCP server; the error names it, the cause and what to do.
    pub async fn connect(options: McpOptions) -> Result<Arc<McpServer>, McpError> {
        let (changes, _) = watch::channel(0);
        let server = McpServer {
            options,
            state: Mutex::default(),
            changes,
            n_read: AtomicU64::new(0),
            talks: Talks::default(),
            closed: CancellationToken::new(),
        };
        let name = &server.options.name;
        if name.is_empty() || scan_name(name) != name.len() {
            let cause = "has a name that programs cannot use: letters, digits and `_` only, no digit first".to_owned();
            return Err(server.error((McpFault::Configuration, cause)));
        }
        server.connection().await?;
        Ok(Arc::new(server))
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.options.name
    }

    /// The version of the protocol that is spoken with it, such as `2026-07-28`; none without a connection.
    pub async fn protocol_version(&self) -> Option<String> {
        let state = self.state.lock().await;
        state.connection.as_ref().map(|connection| connection.version().as_str().to_owned())
    }

    /// Ends its process or session. Calls in flight fail, later ones too.
    pub async fn close(&self) {
        self.closed.cancel();
        self.talks.clear();
        let connection = self.state.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// The connection, a new one if the old one was lost.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        let mut state = self.state.lock().await;
        let closed = || self.error((McpFault::Closed, "has been closed".to_owned()));
        if self.closed.is_cancelled() {
            return Err(closed());
        }
        if let Some(connection) = &state.connection
            && connection.is_live()
        {
            return Ok(connection.clone());
        }
        let lost = state.connection.take();
        if state.starts.pause(MAX_STARTS, WINDOW).is_some() {
            let why = match &lost {
                Some(lost) => lost.post_mortem().await.map(|why| format!("; the last time it {why}")),
                None => None,
            };
            let seconds = WINDOW.as_secs();
            let cause = format!("was started {MAX_STARTS} times within {seconds} s{}", why.unwrap_or_default());
            // Kept, so that the next error can tell it too.
            state.connection = lost;
            return Err(self.error((McpFault::TooManyStarts, cause)));
        }
        if state.n_failed > 0 {
            tokio::select! {
                () = sleep(pause(state.n_failed)) => {}
                // It waits for the state, which is held here.
                () = self.closed.cancelled() => return Err(closed()),
            }
        }
        state.starts.note();
        let started = tokio::select! {
            started = Connection::start(&self.options, &self.changes) => started,
            () = self.closed.cancelled() => return Err(closed()),
        };
        match started {
            Ok(connection) => {
                let connection = Arc::new(connection);
                state.n_failed = 0;
                state.connection = Some(connection.clone());
                if lost.is_some() {
                    tracing::info!(server = &*self.options.name, "connected again");
                    self.changes.send_modify(|n_changes| *n_changes += 1);
                }
                Ok(connection)
            }
            Err(cause) => {
                state.n_failed = state.n_failed.saturating_add(1);
                state.connection = lost;
                Err(self.error(cause))
            }
        }
    }

    /// The error of a cause, without secrets.
    pub(super) fn error(&self, (fault, cause): (McpFault, String)) -> McpError {
        let at = match fault {
            McpFault::NoConnection | McpFault::Http(_) | McpFault::NoServer | McpFault::TimedOut => {
                format!(" (at {})", self.options.place())
            }
            McpFault::Configuration
            | McpFault::NoCommand
            | McpFault::Exited
            | McpFault::Protocol
            | McpFault::Names
            | McpFault::TooManyStarts
            | McpFault::Closed => String::new(),
        };
        let cause = self.options.secrets.mask_text(&format!("{cause}{at}"));
        McpError { server: self.options.name.clone(), fault, cause, advice: advice(fault).to_owned() }
    }

    /// A request that is not a call of a tool: within the time, and told as an error of the server.
    pub(super) async fn ask<T>(
        &self,
        connection: &Connection,
        request: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, McpError> {
        match tokio::time::timeout(self.options.start_timeout, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => match of_request(&error) {
                Trouble::Failed(words) => Err(self.error((McpFault::Protocol, format!("refused: {words}")))),
                Trouble::Lost(words) => {
                    connection.give_up();
                    let words = connection.post_mortem().await.unwrap_or(words);
                    Err(self.error((McpFault::Exited, words)))
                }
            },
            Err(_) => {
                let seconds = self.options.start_timeout.as_secs_f64();
                Err(self.error((McpFault::TimedOut, format!("gave no answer within {seconds} s"))))
            }
        }
    }
}
