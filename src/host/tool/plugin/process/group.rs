//! A process and its children, which end with it: a process group of its own.
//!
//! After a SIGKILL of ours nobody is left to end them: they find their standard input closed. One that does not read it
//! goes on until it notices otherwise.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::host::tool::plugin::process::options::ProcessOptions;

/// A running process, or one that has ended. Dropped, it is killed with all its children.
pub(super) struct Group {
    child: Child,
    /// Its id, which is its group's; none: it has ended and been waited for.
    id: Option<u32>,
}

/// Its three ends.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Group {
    /// Starts the process of a plugin.
    pub(super) fn start(options: &ProcessOptions) -> io::Result<(Group, Pipes)> {
        let no_command = || io::Error::new(io::ErrorKind::InvalidInput, "there is no command");
        let (program, arguments) = options.command.split_first().ok_or_else(no_command)?;
        // A path is one in the plugin's folder; a name is looked for in `PATH`.
        let has_folder = program.contains('/');
        let mut command = if has_folder { Command::new(options.folder.join(program)) } else { Command::new(program) };
        command.args(arguments).current_dir(&options.folder);
        command.env_clear().envs(options.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let id = child.id();
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = Group { child, id };
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((group, Pipes { stdin, stdout, stderr })),
            _ => Err(io::Error::other("it has no pipes")),
        }
    }

    /// Waits for the end of the process. May be given up.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks it to end, and waits so long.
    pub(super) async fn terminate(&mut self, grace: Duration) -> Option<ExitStatus> {
        self.signal(Signal::Terminate);
        self.ended_within(grace).await
    }

    /// Waits so long for its end.
    pub(super) async fn ended_within(&mut self, grace: Duration) -> Option<ExitStatus> {
        tokio::time::timeout(grace, self.child.wait()).await.ok()?.ok()
    }

    /// Ends it and whatever it has started.
    pub(super) async fn kill(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::Kill);
        let status = self.child.wait().await.ok();
        self.id = None;
        status
    }

    fn signal(&mut self, signal: Signal) {
        #[cfg(unix)]
        if let Some(group) = self.id.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
            let signal = match signal {
                Signal::Terminate => rustix::process::Signal::TERM,
                Signal::Kill => rustix::process::Signal::KILL,
            };
            // Nobody may be left of it. The number is not given to another group while one is; after its end it is not
            // given again at once.
            let _ = rustix::process::kill_process_group(group, signal);
        }
        if matches!(signal, Signal::Kill) {
            let _ = self.child.start_kill();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.id.is_some() {
            self.signal(Signal::Kill);
        }
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}
