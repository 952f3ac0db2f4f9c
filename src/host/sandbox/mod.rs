//! Commands that are run for somebody who is not trusted with this machine: confined, with a clean environment, a time
//! limit, and an end for all that they start.
//!
//! Confinement needs code between `fork` and `exec`. There is none of ours: Playhouse starts itself again
//! (`playhouse sandbox-exec`), confines itself, and becomes the command ([`exec`]).

mod bwrap;
mod capture;
pub mod exec;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod landlock;
mod limits;
#[cfg(target_os = "macos")]
mod macos;
pub mod policy;
mod reserved;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod seccomp;
mod system;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub(crate) use crate::sandbox::capture::Captured;
use crate::sandbox::capture::capture;
use crate::sandbox::policy::{Confinement, Means, Policy};
use crate::sandbox::reserved::Fingerprint;
use crate::tasks;

use crate::child::{Child, Outputs, Run, find_program, set_variables};
use crate::secrets::Secrets;
use crate::skills::options::SandboxKind;

/// How long is waited for what a killed process leaves: its children, what stands in its pipes.
const GRACE: Duration = Duration::from_secs(1);

/// With what `sandbox-exec` begins to say that there is no sandbox.
pub const REFUSED: &str = "sandbox-exec: ";

/// What commands run in. Cheap to clone. The default confines nothing.
#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    kind: SandboxKind,
    executable: Option<Arc<Path>>,
    environment: Arc<[(String, String)]>,
}

/// What a sandbox is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Available {
    /// Commands are confined; what that does not keep them from on this system, in words.
    Confined(Vec<String>),
    /// They are not: why, and what can be done.
    Unconfined(String),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// Its time was over.
    TimedOut,
}

/// A command to be run.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) command: &'a [String],
    /// What it may do.
    pub(crate) policy: &'a Policy,
    /// What its environment has beside what all have.
    pub(crate) variables: &'a [(String, String)],
    /// What is masked in its output.
    pub(crate) secrets: &'a Secrets,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) ended: Ended,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    /// Paths in the working directory that no command may change, and that are others now.
    pub(crate) changed: Vec<String>,
}

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// There is nothing to confine it with.
    #[error("{0}")]
    Unconfined(String),
    /// What confines it could not do that.
    #[error("the sandbox cannot be set up: {0}")]
    Refused(String),
    /// It could not be started.
    #[error("the command cannot be started: {0}")]
    Start(#[from] io::Error),
    /// The temporary folder, or the look at what is reserved.
    #[error("internal error: {0}; please report this")]
    Lost(#[from] tokio::task::JoinError),
}

impl Sandbox {
    /// `executable` is `playhouse` itself, which a program that embeds it is not; `environment` that of processes that
    /// are started.
    pub fn new(kind: SandboxKind, executable: Option<Arc<Path>>, environment: Vec<(String, String)>) -> Sandbox {
        Sandbox { kind, executable, environment: environment.into() }
    }

    /// Whether somebody has decided that there is none.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_waived(&self) -> bool {
        self.kind == SandboxKind::None
    }

    /// What it is here. Looks at the system and starts nothing.
    pub fn available(&self) -> Available {
        match self.means() {
            Ok((_, _, lacks)) => Available::Confined(lacks),
            Err(why) => Available::Unconfined(why),
        }
    }

    fn means(&self) -> Result<(Means, &Path, Vec<String>), String> {
        let (means, lacks) = match self.kind {
            SandboxKind::None => return Err("`[skills] sandbox` is \"none\"".to_owned()),
            SandboxKind::System => (Means::System, system::available()?),
            SandboxKind::Bwrap if find_program(bwrap::PROGRAM, &self.environment).is_some() => {
                (Means::Bwrap, Vec::new())
            }
            SandboxKind::Bwrap => {
                return Err("`[skills] sandbox` is \"bwrap\", and there is no `bwrap` in PATH; install bubblewrap \
                            (`apt install bubblewrap`), or take the line out"
                    .to_owned());
            }
        };
        let executable = self.executable.as_deref().ok_or(
            "this program has no `playhouse` to confine commands with; it can name one (`Workshop::executable`)",
        )?;
        Ok((means, executable, lacks))
    }

    /// Runs a command to its end, confined.
    ///
    /// # Errors
    /// It cannot be confined, or not be started.
    pub(crate) async fn run(&self, job: Job<'_>) -> Result<Finished, RunError> {
        let (means, executable, _) = self.means().map_err(RunError::Unconfined)?;
        let temporary = private_folder()?;
        let reserved = reserved::paths(&job.policy.working_directory);
        let path = temporary.path().canonicalize()?;
        let confinement = Confinement { means, policy: job.policy.clone(), temporary: path, reserved };
        let json = serde_json::to_string(&confinement).map_err(io::Error::from)?;
        let words = [executable.display().to_string(), "sandbox-exec".into(), "--policy".into(), json, "--".into()];
        let words: Vec<String> = words.into_iter().chain(job.command.iter().cloned()).collect();
        let finished = self.perform(Job { command: &words, ..job }, temporary).await?;
        let fault = (finished.ended != Ended::Exited(0)).then(|| fault_of(means, &finished.stderr.text)).flatten();
        fault.map_or(Ok(finished), |fault| Err(RunError::Refused(fault)))
    }

    /// The same with nothing that confines it: for whoever was told so.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) async fn run_unconfined(&self, job: Job<'_>) -> Result<Finished, RunError> {
        self.perform(job, private_folder()?).await
    }

    async fn perform(&self, job: Job<'_>, temporary: tempfile::TempDir) -> Result<Finished, RunError> {
        let Job { command, policy, variables, secrets } = job;
        let folder = &policy.working_directory;
        let before = fingerprint(folder).await?;
        let environment = &self.environment_with(temporary.path(), variables);
        let (mut child, Outputs { stdout, stderr }) = Child::start_silent(Run { command, folder, environment })?;
        let enough = CancellationToken::new();
        let most = policy.limits.output_bytes;
        let reading =
            async { tokio::join!(capture(stdout, most, secrets, &enough), capture(stderr, most, secrets, &enough)) };
        let ending = async {
            let in_time = timeout(policy.limits.time, child.ended()).await;
            if in_time.is_err() {
                child.kill().await;
            }
            child.group_gone(GRACE).await;
            in_time.map_or(Ended::TimedOut, Ended::of)
        };
        tokio::pin!(reading, ending);
        let (ended, (stdout, stderr)) = tokio::select! {
            ended = &mut ending => {
                // Whoever has left the group may hold the pipes open for ever.
                let read = timeout(GRACE, &mut reading).await;
                enough.cancel();
                (ended, match read { Ok(read) => read, Err(_) => reading.await })
            }
            read = &mut reading => (ending.await, read),
        };
        let changed = before.changed(&fingerprint(folder).await?);
        Ok(Finished { ended, stdout, stderr, changed })
    }

    /// The environment of processes, with a home folder that is the command's own: it could not read the user's.
    fn environment_with(&self, temporary: &Path, variables: &[(String, String)]) -> Vec<(String, String)> {
        let own = temporary.display().to_string();
        let of_folders = ["HOME", "TMPDIR", "TMP", "TEMP"].map(|name| (name.to_owned(), own.clone()));
        // Git would refresh its index in passing, and that is reserved.
        let of_git = ("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned());
        let mut all = self.environment.to_vec();
        set_variables(&mut all, of_folders.into_iter().chain([of_git]).chain(variables.iter().cloned()));
        all
    }
}

impl Ended {
    fn of(status: Option<ExitStatus>) -> Ended {
        use std::os::unix::process::ExitStatusExt;
        let Some(status) = status else { return Ended::Signalled(0) };
        status.code().map_or_else(|| Ended::Signalled(status.signal().unwrap_or_default()), Ended::Exited)
    }
}

/// What it says on standard error that has not confined a command.
fn fault_of(means: Means, stderr: &str) -> Option<String> {
    if let Some(fault) = stderr.strip_prefix("error: ").and_then(|fault| fault.strip_prefix(REFUSED)) {
        return Some(fault.trim_end().to_owned());
    }
    let fault = stderr.strip_prefix("bwrap: ").filter(|_| means == Means::Bwrap)?;
    let fault = fault.lines().next().unwrap_or_default();
    Some(format!(
        "bubblewrap: {fault}; where the system refuses it, as Ubuntu 24.04 does, take `sandbox = \"bwrap\"` out of \
         `[skills]`, or allow user namespaces (`kernel.apparmor_restrict_unprivileged_userns=0`)"
    ))
}

fn private_folder() -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("playhouse-").tempdir()
}

async fn fingerprint(folder: &Path) -> Result<Fingerprint, RunError> {
    let folder: PathBuf = folder.to_owned();
    Ok(tasks::on_thread(move || Fingerprint::take(&folder)).await?)
}
