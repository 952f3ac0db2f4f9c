//! The tools of a server: read page by page, and again when it says that they have changed.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rmcp::ServiceError;
use rmcp::model::{ErrorCode, PaginatedRequestParams, Tool as ForeignTool};
use tokio::time::sleep;

use super::connection::Connection;
use super::error::{McpError, McpFault};
use super::helpers::{Helper, Work};
use super::server::McpServer;
use super::text;
use super::tool::McpTool;
use crate::tasks;
use crate::tool::Tool;
use crate::tool::registry::Registry;

/// Pages of a list at most.
const MAX_PAGES: usize = 200;

/// Tools of one server at most.
const MAX_TOOLS: usize = 2_000;

/// Between two readings of the list of a server that keeps changing it.
const REFRESH: Duration = Duration::from_millis(200);

impl McpServer {
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
            tools.push(Arc::new(McpTool::new(self.clone(), &name, &tool)));
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
        tasks::spawn(async move {
            while changes.changed().await.is_ok() {
                if !refresh(&server, &registry).await {
                    return;
                }
                sleep(REFRESH).await;
            }
        });
    }

    /// All tools, page by page.
    async fn listed(&self, connection: &Connection) -> Result<Vec<ForeignTool>, McpError> {
        let peer = &connection.peer;
        let page = |params| async move {
            match peer.list_tools(Some(params)).await {
                // A server of resources or prompts only.
                Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                    Ok((Vec::new(), None))
                }
                page => page.map(|page| (page.tools, page.next_cursor)),
            }
        };
        let cause = match self.pages(connection, MAX_TOOLS, page).await? {
            (tools, true) => return Ok(tools),
            (tools, false) if tools.len() == MAX_TOOLS => format!("has more than {MAX_TOOLS} tools"),
            (_, false) => format!("has more than {MAX_PAGES} pages of tools"),
        };
        Err(self.error((McpFault::Protocol, cause)))
    }

    /// A list, page by page, up to `max` entries; and whether that is all of it.
    pub(super) async fn pages<T, F>(
        &self,
        connection: &Connection,
        max: usize,
        page: impl Fn(PaginatedRequestParams) -> F,
    ) -> Result<(Vec<T>, bool), McpError>
    where
        F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
    {
        let (mut entries, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let (more, next) = self.ask(connection, page(params)).await?;
            entries.extend(more);
            if entries.len() > max || next.is_none() {
                let is_whole = entries.len() <= max;
                entries.truncate(max);
                return Ok((entries, is_whole));
            }
            cursor = next;
        }
        Ok((entries, false))
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
