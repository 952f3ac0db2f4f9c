//! A server that is a process of ours, as a transport.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::error::McpFault;
use crate::child::{Child, Pipes, Run, Witness};
use crate::secrets::Secrets;

/// How long a process may take to end by itself when its input has ended.
const UNTIL_TERM: Duration = Duration::from_millis(300);

/// How long it may take when it has been told to.
const UNTIL_KILL: Duration = Duration::from_secs(1);

/// Bytes of one message at most.
const MAX_LINE: usize = 16 * 1024 * 1024;

/// See the module.
pub(super) struct Process {
    pipes: AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>,
    child: Child,
}

impl Process {
    /// Starts it.
    pub(super) fn start(
        name: &Arc<str>,
        run: Run<'_>,
        secrets: &Arc<Secrets>,
    ) -> Result<(Process, Witness), (McpFault, String)> {
        let Some(program) = run.command.first() else {
            return Err((McpFault::Configuration, "has an empty `command`".to_owned()));
        };
        if !run.folder.is_dir() {
            let folder = run.folder.display();
            return Err((McpFault::Configuration, format!("should run in {folder}, which is not a folder")));
        }
        let started = Child::start(name, run, secrets);
        let (child, Pipes { stdin, stdout }, witness) = started.map_err(|error| {
            let cause = if error.kind() == io::ErrorKind::NotFound {
                format!("there is no command `{program}`")
            } else {
                format!("`{program}`: {error}")
            };
            (McpFault::NoCommand, format!("cannot be started: {cause}"))
        })?;
        let pipes = AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(MAX_LINE);
        Ok((Process { pipes, child }, witness))
    }
}

impl Transport<RoleClient> for Process {
    type Error = io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.pipes.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<ServerJsonRpcMessage>> + Send {
        self.pipes.receive()
    }

    // As the protocol wants it: its input ends, then it is asked to end, then it is made to.
    async fn close(&mut self) -> io::Result<()> {
        self.pipes.close().await?;
        if self.child.ended_within(UNTIL_TERM).await.is_none() && self.child.terminate(UNTIL_KILL).await.is_none() {
            let _ = timeout(UNTIL_KILL, self.child.kill()).await;
        }
        Ok(())
    }
}
