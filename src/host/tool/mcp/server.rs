//! A server: its connection, begun again when it is lost, and its tools.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError, Weak};
use std::time::Duration;

use rmcp::ServiceError;
use rmcp::model::{ErrorCode, PaginatedRequestParams, Tool as ForeignTool};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::error::{Trouble, advice, of_request};
use super::helpers::{Helper, Work};
use super::talk::Talks;
use super::text;
use super::tool::McpTool;
use super::{McpError, McpFault, McpOptions};
use crate::host::tool::Tool;
use crate::host::tool::registry::Registry;
use crate::lang::expr::scan_name;

/// Starts within [`WINDOW`] at most.
const MAX_STARTS: usize = 5;

/// See [`MAX_STARTS`].
const WINDOW: Duration = Duration::from_secs(30);

/// Tools of one server at most.
const MAX_TOOLS: usize = 2_000;

/// Pages of a list at most.
pub(super) const MAX_PAGES: usize = 200;

/// Between two readings of the list of a server that keeps changing it.
const REFRESH: Duration = Duration::from_millis(200);

/// An MCP server. It is connected to again when a call finds the connection lost; its process or session ends with
/// [`McpServer::close`], or when the server and all of its tools are dropped.
pub struct McpServer {
    pub(super) options: McpOptions,
    state: Mutex<State>,
    /// Counts the changes of its tools.
    changes: watch::Sender<u64>,
    /// That count before the tools were last read.
    n_read: AtomicU64,
    /// Calls that wait for a person's answer.
    pub(super) talks: Talks,
    /// What has been warned of: once is enough.
    warned: Lock<HashSet<String>>,
    closed: CancellationToken,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    /// When it was started, of late.
    starts: VecDeque<Instant>,
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
            warned: Lock::default(),
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

    /// All of its tools, `NAME.tool`; and if it has resources or prompts, tools to list and read those.
    ///
    /// # Errors
    /// It does not give the list, or two tools would have the same name.
    pub async fn tools(self: &Arc<Self>) -> Result<Vec<Arc<dyn Tool>>, McpError> {
        let connection = self.connection().await?;
        // What changes while the list is read may be missing in it.
        let n_changes = *self.changes.borrow();
        let listed = self.listed(&connection).await?;
        self.n_read.store(n_changes, Ordering::Relaxed);
        let mut names: HashMap<String, String> = HashMap::new();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for tool in listed {
            let name = text::identifier(&tool.name);
            let shown = text::words(&tool.name, 200);
            if name.is_empty() {
                return Err(self.error((McpFault::Names, "has a tool without a name".to_owned())));
            }
            if let Some(other) = names.insert(name.clone(), shown.clone()) {
                let cause = format!("has two tools, `{other}` and `{shown}`, that would both be named `{name}`");
                return Err(self.error((McpFault::Names, cause)));
            }
            let (tool, faults) = McpTool::new(self.clone(), &name, &tool);
            for fault in faults {
                self.warn_once(&format!("`{}.{name}`: {fault}", self.options.name));
            }
            tools.push(Arc::new(tool));
        }
        let capabilities = connection.peer.peer_info().map(|info| info.capabilities.clone()).unwrap_or_default();
        for work in Work::ALL {
            if work.is_of(&capabilities) {
                let mut name = work.name().to_owned();
                while names.contains_key(&name) {
                    name.push('_');
                }
                tools.push(Arc::new(Helper::new(self.clone(), &name, work)));
            }
        }
        Ok(tools)
    }

    /// From now on the registry has the server's tools as they are: they are read again when it says that they have
    /// changed, and when it was connected to again. Ends with the server or the registry.
    pub fn follow(self: &Arc<Self>, registry: &Arc<Registry>) {
        let mut changes = self.changes.subscribe();
        if *changes.borrow() != self.n_read.load(Ordering::Relaxed) {
            changes.mark_changed();
        }
        let (server, registry) = (Arc::downgrade(self), Arc::downgrade(registry));
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                if !refresh(&server, &registry).await {
                    return;
                }
                sleep(REFRESH).await;
            }
        });
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
        while state.starts.front().is_some_and(|start| start.elapsed() > WINDOW) {
            state.starts.pop_front();
        }
        if state.starts.len() >= MAX_STARTS {
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
        state.starts.push_back(Instant::now());
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
        let cause = self.options.secrets.text(&format!("{cause}{at}"));
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

    /// All tools, page by page.
    async fn listed(&self, connection: &Connection) -> Result<Vec<ForeignTool>, McpError> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let request = async {
                match connection.peer.list_tools(Some(params)).await {
                    // A server of resources or prompts only.
                    Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => Ok(None),
                    result => result.map(Some),
                }
            };
            let Some(page) = self.ask(connection, request).await? else { return Ok(tools) };
            tools.extend(page.tools);
            if tools.len() > MAX_TOOLS {
                let cause = format!("has more than {MAX_TOOLS} tools");
                return Err(self.error((McpFault::Protocol, cause)));
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(self.error((McpFault::Protocol, format!("has more than {MAX_PAGES} pages of tools"))))
    }

    fn warn_once(&self, warning: &str) {
        let warning = self.options.secrets.text(warning);
        if self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(warning.clone()) {
            tracing::warn!("{warning}");
        }
    }
}

/// Reads the tools again; whether there is anybody left to do it for.
async fn refresh(server: &Weak<McpServer>, registry: &Weak<Registry>) -> bool {
    let Some(server) = server.upgrade() else { return false };
    let tools = server.tools().await;
    let Some(registry) = registry.upgrade() else { return false };
    let name = &*server.options.name;
    match tools {
        Ok(tools) => {
            if let Err(taken) = registry.replace_all(&format!("{name}."), tools) {
                tracing::warn!(server = name, "{taken}");
            }
        }
        Err(error) => tracing::warn!("its tools stay as they were: {error}"),
    }
    !server.closed.is_cancelled()
}

/// Before another start: 0.2 s, 0.4 s, … up to 5 s.
fn pause(n_failed: u32) -> Duration {
    Duration::from_millis((100_u64 << n_failed.min(6)).min(5_000))
}
