//! A server that is a process of ours: its own process group, a clean environment, its standard error always read.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use super::error::McpFault;
use super::options::Mask;
use super::text;

/// What is shown of the end of standard error, in characters.
const TAIL: usize = 2 * 1024;

/// What is kept of it, in bytes: more, so that no secret is cut in two before it is masked.
const KEPT: usize = 2 * TAIL;

/// How long a process may take to end by itself when its input has ended.
const UNTIL_TERM: Duration = Duration::from_millis(300);

/// How long it may take when it has been told to.
const UNTIL_KILL: Duration = Duration::from_secs(1);

/// Bytes of one message at most.
const MAX_LINE: usize = 16 * 1024 * 1024;

/// The process as a transport.
pub(super) struct Process {
    pipes: AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>,
    group: Group,
}

/// What is known of the process. Cheap to clone.
#[derive(Clone)]
pub(super) struct Witness {
    tail: Arc<Mutex<Vec<u8>>>,
    /// How it ended.
    ended: watch::Receiver<Option<ExitStatus>>,
    /// Whether all of its standard error has been read.
    silent: watch::Receiver<bool>,
    mask: Mask,
}

/// The process and all that it started.
struct Group {
    leader: Option<Pid>,
    ended: watch::Receiver<Option<ExitStatus>>,
}

impl Process {
    /// Starts it.
    pub(super) fn start(
        name: &Arc<str>,
        command: &[String],
        folder: &Path,
        environment: &[(String, String)],
        mask: &Mask,
    ) -> Result<(Process, Witness), (McpFault, String)> {
        let Some((program, arguments)) = command.split_first() else {
            return Err((McpFault::Configuration, "has an empty `command`".to_owned()));
        };
        if !folder.is_dir() {
            let folder = folder.display();
            return Err((McpFault::Configuration, format!("is to run in {folder}, which is no folder")));
        }
        let child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut child = child.map_err(|error| {
            let cause = if error.kind() == io::ErrorKind::NotFound {
                format!("there is no command `{program}`")
            } else {
                format!("`{program}`: {error}")
            };
            (McpFault::NoCommand, format!("cannot be started: {cause}"))
        })?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err((McpFault::Exited, "was started without pipes".to_owned()));
        };
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (ended_sender, ended) = watch::channel(None);
        let (silent_sender, silent) = watch::channel(false);
        let tail = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(read_errors(stderr, tail.clone(), silent_sender, name.clone(), mask.clone()));
        tokio::spawn(reap(child, leader, ended_sender));
        let pipes = AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(MAX_LINE);
        let process = Process { pipes, group: Group { leader, ended: ended.clone() } };
        Ok((process, Witness { tail, ended, silent, mask: mask.clone() }))
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
        if !self.group.ends_within(UNTIL_TERM).await {
            self.group.signal(Signal::TERM);
            if !self.group.ends_within(UNTIL_KILL).await {
                self.group.signal(Signal::KILL);
                self.group.ends_within(UNTIL_KILL).await;
            }
        }
        Ok(())
    }
}

impl Group {
    async fn ends_within(&mut self, limit: Duration) -> bool {
        timeout(limit, self.ended.wait_for(Option::is_some)).await.is_ok()
    }

    fn signal(&self, signal: Signal) {
        // After the leader has been waited for, its number may be another's.
        if let (Some(leader), None) = (self.leader, *self.ended.borrow()) {
            // It may have ended this moment.
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

impl Witness {
    /// How it ended, if it does so soon, and the last words that it wrote to standard error.
    pub(super) async fn last_words(&mut self, limit: Duration) -> (Option<ExitStatus>, String) {
        let ended = timeout(limit, self.ended.wait_for(Option::is_some)).await;
        let status = ended.ok().and_then(Result::ok).and_then(|status| *status);
        if status.is_some() {
            // What it wrote may still be on its way.
            let _ = timeout(limit, self.silent.wait_for(|silent| *silent)).await;
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let words = self.mask.text(&text::lines(&String::from_utf8_lossy(&tail), KEPT));
        let n_before = words.chars().count().saturating_sub(TAIL);
        (status, words.chars().skip(n_before).collect())
    }
}

/// Waits for the process, then ends what it left after.
async fn reap(mut child: Child, leader: Option<Pid>, ended: watch::Sender<Option<ExitStatus>>) {
    let Ok(status) = child.wait().await else { return };
    if let Some(leader) = leader {
        let _ = kill_process_group(leader, Signal::KILL);
    }
    let _ = ended.send(Some(status));
}

async fn read_errors(
    mut stderr: ChildStderr,
    tail: Arc<Mutex<Vec<u8>>>,
    silent: watch::Sender<bool>,
    name: Arc<str>,
    mask: Mask,
) {
    let mut buffer = [0; 4 * 1024];
    // The line that has not ended yet.
    let mut line = Vec::new();
    while let Ok(n_bytes @ 1..) = stderr.read(&mut buffer).await {
        let news = &buffer[..n_bytes];
        {
            let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            tail.extend_from_slice(news);
            let n_old = tail.len().saturating_sub(KEPT);
            tail.drain(..n_old);
        }
        for &byte in news {
            if byte == b'\n' || line.len() >= TAIL {
                log(&name, &mask, &line);
                line.clear();
            }
            if byte != b'\n' {
                line.push(byte);
            }
        }
    }
    if !line.is_empty() {
        log(&name, &mask, &line);
    }
    let _ = silent.send(true);
}

fn log(name: &str, mask: &Mask, line: &[u8]) {
    let words = mask.text(&text::words(&String::from_utf8_lossy(line), text::MAX_SUMMARY));
    tracing::debug!(server = name, "{words}");
}
