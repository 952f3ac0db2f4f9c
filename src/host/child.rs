//! A process of ours and its children, which end with it: a process group of its own, a clean environment, its standard
//! error always read, masked, logged, and its end kept for messages.
//!
//! After a SIGKILL of ours nobody is left to end them: they find their standard input closed. One that does not read it
//! goes on until it notices otherwise.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::secrets::Secrets;
use crate::tasks;

/// Tells a process that we start how many of us have started each other.
pub(crate) const DEPTH: &str = "PLAYHOUSE_DEPTH";

/// So many may: a program whose plugin or MCP server is `playhouse` with the same program would never come to an end.
const MAX_DEPTH: u32 = 3;

/// What stands for a file in a command that is declared for many.
pub(crate) const FILE: &str = "{file}";

/// What is kept of standard error, in bytes.
const KEPT: usize = 2 << 10;

/// How often it is looked whether a group of processes is gone.
const POLL: Duration = Duration::from_millis(2);

/// What is shown of one line of it, in bytes.
const LINE: usize = 8 << 10;

/// Where a program is that processes with this environment find by its name.
pub fn find_program(name: &str, environment: &[(String, String)]) -> Option<PathBuf> {
    let (_, folders) = environment.iter().find(|(variable, _)| variable == "PATH")?;
    let mut found = folders.split(':').map(|folder| Path::new(folder).join(name));
    found.find(|path| path.is_file() && access(path, Access::EXEC_OK).is_ok())
}

/// Sets variables of an environment, in place of those of the same names.
pub(crate) fn set_variables(
    environment: &mut Vec<(String, String)>,
    variables: impl IntoIterator<Item = (String, String)>,
) {
    for (name, value) in variables {
        environment.retain(|(known, _)| *known != name);
        environment.push((name, value));
    }
}

/// When something was started of late: what ends again and again is not started for ever.
#[derive(Default)]
pub(crate) struct Starts(VecDeque<Instant>);

impl Starts {
    /// How long it is not to be started any more, as it was so often within so much time; none: it may be now.
    pub(crate) fn pause(&mut self, most: usize, window: Duration) -> Option<Duration> {
        let now = Instant::now();
        self.0.retain(|start| now.duration_since(*start) < window);
        let first = self.0.front().filter(|_| self.0.len() >= most)?;
        Some(window.saturating_sub(now.duration_since(*first)))
    }

    /// It is started now.
    pub(crate) fn note(&mut self) {
        self.0.push_back(Instant::now());
    }
}

/// A command to be run. One with a `/` is a path in `folder`; a name is looked for in `PATH`.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) command: &'a [String],
    pub(crate) folder: &'a Path,
    /// All of its environment.
    pub(crate) environment: &'a [(String, String)],
}

/// A running process, or one that has ended. Dropped, it is killed with all its children.
pub(crate) struct Child {
    /// Its id, which is its group's.
    leader: Option<Pid>,
    ended: watch::Receiver<Option<ExitStatus>>,
}

/// Its ends.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

/// What it writes.
pub(crate) struct Outputs {
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// What is known of the process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Witness {
    tail: Arc<Mutex<String>>,
    ended: watch::Receiver<Option<ExitStatus>>,
    /// Whether all of its standard error has been read.
    silent: watch::Receiver<bool>,
}

impl Child {
    /// Starts it.
    pub(crate) fn start(name: &Arc<str>, run: Run<'_>, secrets: &Arc<Secrets>) -> io::Result<(Child, Pipes, Witness)> {
        let (child, stdin, Outputs { stdout, stderr }) = Child::spawn(run, Stdio::piped())?;
        let stdin = stdin.ok_or_else(no_pipes)?;
        let (silent_sender, silent) = watch::channel(false);
        let tail = Arc::default();
        tasks::spawn(read_errors(name.clone(), stderr, Arc::clone(&tail), secrets.clone(), silent_sender));
        let witness = Witness { tail, ended: child.ended.clone(), silent };
        Ok((child, Pipes { stdin, stdout }, witness))
    }

    /// The same with nothing to read, and with all that it writes for whoever starts it.
    pub(crate) fn start_silent(run: Run<'_>) -> io::Result<(Child, Outputs)> {
        let (child, _, outputs) = Child::spawn(run, Stdio::null())?;
        Ok((child, outputs))
    }

    fn spawn(run: Run<'_>, stdin: Stdio) -> io::Result<(Child, Option<ChildStdin>, Outputs)> {
        let Run { command, folder, environment } = run;
        let no_command = || io::Error::new(io::ErrorKind::InvalidInput, "there is no command");
        let (program, arguments) = command.split_first().ok_or_else(no_command)?;
        let depth = environment.iter().find(|(name, _)| name == DEPTH).and_then(|(_, depth)| depth.parse().ok());
        if depth.is_some_and(|depth: u32| depth > MAX_DEPTH) {
            let circle = "playhouse has started itself again and again: give the program that this command runs a \
                          configuration of its own (`--config`), without this command";
            return Err(io::Error::other(circle));
        }
        let program = if program.contains('/') { folder.join(program) } else { program.into() };
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take();
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else { return Err(no_pipes()) };
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (ended_sender, ended) = watch::channel(None);
        tasks::spawn(reap(child, leader, ended_sender));
        Ok((Child { leader, ended }, stdin, Outputs { stdout, stderr }))
    }

    /// Waits for its end. May be given up.
    pub(crate) async fn ended(&mut self) -> Option<ExitStatus> {
        self.ended.wait_for(Option::is_some).await.ok().and_then(|status| *status)
    }

    /// Waits so long for its end.
    pub(crate) async fn ended_within(&mut self, grace: Duration) -> Option<ExitStatus> {
        timeout(grace, self.ended()).await.ok().flatten()
    }

    /// Asks it to end, and waits so long.
    pub(crate) async fn terminate(&mut self, grace: Duration) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        self.ended_within(grace).await
    }

    /// Ends it and whatever it has started.
    pub(crate) async fn kill(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::KILL);
        self.ended().await
    }

    /// Waits until what it has started is gone, too, at most so long. To be called after its end, with which all of its
    /// group is killed: a signal takes a moment to arrive.
    pub(crate) async fn group_gone(&self, grace: Duration) {
        let Some(leader) = self.leader else { return };
        let gone = async {
            while test_kill_process_group(leader).is_ok() {
                sleep(POLL).await;
            }
        };
        // What is left after that has ended, and nobody has asked how.
        let _ = timeout(grace, gone).await;
    }

    fn signal(&self, signal: Signal) {
        // After the leader has been waited for, its number may be another's.
        if let (Some(leader), None) = (self.leader, *self.ended.borrow()) {
            // It may have ended this moment.
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

impl Witness {
    /// How it ended, if it does so soon, and the last lines that it wrote to standard error.
    pub(crate) async fn last_words(&mut self, limit: Duration) -> (Option<ExitStatus>, String) {
        let ended = timeout(limit, self.ended.wait_for(Option::is_some)).await;
        let status = ended.ok().and_then(Result::ok).and_then(|status| *status);
        if status.is_some() {
            // What it wrote may still be on its way.
            let _ = timeout(limit, self.silent.wait_for(|silent| *silent)).await;
        }
        (status, self.tail.lock().unwrap_or_else(PoisonError::into_inner).trim_end().to_owned())
    }
}

fn no_pipes() -> io::Error {
    io::Error::other("it has no pipes")
}

/// Waits for the process, then ends what it has left.
async fn reap(mut child: tokio::process::Child, leader: Option<Pid>, ended: watch::Sender<Option<ExitStatus>>) {
    let Ok(status) = child.wait().await else { return };
    if let Some(leader) = leader {
        let _ = kill_process_group(leader, Signal::KILL);
    }
    let _ = ended.send(Some(status));
}

/// Reads standard error to its end, so that the process never waits for us.
async fn read_errors(
    name: Arc<str>,
    mut stderr: impl AsyncRead + Unpin,
    tail: Arc<Mutex<String>>,
    secrets: Arc<Secrets>,
    silent: watch::Sender<bool>,
) {
    let mut buffer = vec![0; LINE];
    let mut line = Vec::new();
    let mut is_cut = false;
    while let Ok(n_read @ 1..) = stderr.read(&mut buffer).await {
        for &byte in &buffer[..n_read] {
            if byte == b'\n' {
                tell(&name, &line, is_cut, &tail, &secrets);
                line.clear();
                is_cut = false;
            } else if line.len() < LINE {
                line.push(byte);
            } else {
                is_cut = true;
            }
        }
    }
    if !line.is_empty() {
        tell(&name, &line, is_cut, &tail, &secrets);
    }
    let _ = silent.send(true);
}

fn tell(name: &str, line: &[u8], is_cut: bool, tail: &Mutex<String>, secrets: &Secrets) {
    // Half a secret at the end of what was cut off would not be found.
    let end = if is_cut { line.len().saturating_sub(secrets.longest()) } else { line.len() };
    let text = String::from_utf8_lossy(&line[..end]);
    let text: String = secrets.mask(&text).chars().map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect();
    let text = text.trim_end();
    tracing::debug!(process = name, "stderr: {text}");
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.push_str(text);
    tail.push('\n');
    let mut cut = tail.len().saturating_sub(KEPT);
    while !tail.is_char_boundary(cut) {
        cut += 1;
    }
    tail.drain(..cut);
}
