//! Runs the real binary, in a folder of its own that also holds its sessions.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use regex::Regex;
use tempfile::TempDir;

/// One run of the binary, before it.
pub(crate) struct Run {
    folder: Rc<TempDir>,
    /// The folder in it where it runs.
    inside: String,
    arguments: Vec<String>,
    stdin: String,
    variables: Vec<(String, String)>,
}

/// One run of the binary, after it.
pub(crate) struct Done {
    folder: Rc<TempDir>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Run {
    /// A run in an empty folder.
    pub(crate) fn new() -> Run {
        Run::in_folder(Rc::new(tempfile::tempdir().unwrap()))
    }

    fn in_folder(folder: Rc<TempDir>) -> Run {
        Run { folder, inside: String::new(), arguments: Vec::new(), stdin: String::new(), variables: Vec::new() }
    }

    /// Writes a file into the folder.
    pub(crate) fn file(self, name: &str, text: &str) -> Run {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes `program.md`.
    pub(crate) fn program(self, text: &str) -> Run {
        self.file("program.md", text)
    }

    /// Writes `script.jsonl`.
    pub(crate) fn script(self, text: &str) -> Run {
        self.file("script.jsonl", text)
    }

    /// Writes `tools.json`.
    pub(crate) fn tools(self, text: &str) -> Run {
        self.file("tools.json", text)
    }

    /// Adds arguments.
    pub(crate) fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Run {
        self.arguments.extend(arguments.into_iter().map(str::to_owned));
        self
    }

    /// Adds arguments, separated by spaces.
    pub(crate) fn line(self, arguments: &str) -> Run {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        self.args(arguments)
    }

    /// Runs in this folder inside of it.
    pub(crate) fn inside(mut self, folder: &str) -> Run {
        folder.clone_into(&mut self.inside);
        self
    }

    /// What standard input holds.
    pub(crate) fn stdin(mut self, text: &str) -> Run {
        self.stdin = text.to_owned();
        self
    }

    /// Sets a variable of the environment, which holds nothing of ours otherwise.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Run {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The process, running, with all its ends open.
    pub(crate) fn spawn(&self) -> Child {
        self.spawn_with(Stdio::piped())
    }

    /// The process, running, with this standard input.
    pub(crate) fn spawn_with(&self, stdin: Stdio) -> Child {
        self.command(&[]).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The command with its folder and environment, behind the words of another one that runs it.
    pub(crate) fn command(&self, behind: &[&str]) -> Command {
        let folder = self.folder.path();
        let binary = env!("CARGO_BIN_EXE_playhouse");
        let mut words = behind.iter().chain([&binary]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(&self.arguments).current_dir(folder.join(&self.inside)).env_clear();
        command.env("HOME", folder).env("XDG_STATE_HOME", folder.join("state")).env("TZ", "UTC");
        // Whatever runs on this machine, no test meets it by chance.
        command.env("PLAYHOUSE_LOCAL_PORTS", "0,0,0");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The text of a file in the folder; what went wrong if there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_else(|error| error.to_string())
    }

    /// Another run in the same folder.
    pub(crate) fn beside(&self) -> Run {
        Run::in_folder(self.folder.clone())
    }

    /// Runs it to its end.
    pub(crate) fn done(self) -> Done {
        let mut child = self.spawn();
        let mut stdin = child.stdin.take().unwrap();
        // A process that ends early reads no more: that is no fault of the test.
        let _ = stdin.write_all(self.stdin.as_bytes());
        drop(stdin);
        let mut stderr = child.stderr.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let mut stdout = String::new();
        child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = child.wait().unwrap().code();
        Done { folder: self.folder, stdout, stderr: reader.join().unwrap(), code }
    }

    /// Runs it, and compares standard output.
    #[track_caller]
    pub(crate) fn stdout(self, expected: &str) -> Done {
        self.done().stdout(expected)
    }

    /// Runs it, and compares the exit code.
    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Done {
        self.done().code(expected)
    }
}

impl Done {
    /// Compares standard output.
    #[track_caller]
    pub(crate) fn stdout(self, expected: &str) -> Done {
        assert_eq!(self.stdout, expected, "standard error:\n{}", self.stderr);
        self
    }

    /// Standard output must hold this.
    #[track_caller]
    pub(crate) fn stdout_contains(self, part: &str) -> Done {
        assert!(self.stdout.contains(part), "standard output has no {part:?}:\n{}", self.stdout);
        self
    }

    /// Standard error must hold this.
    #[track_caller]
    pub(crate) fn stderr_contains(self, part: &str) -> Done {
        assert!(self.stderr.contains(part), "standard error has no {part:?}:\n{}", self.stderr);
        self
    }

    /// Compares the exit code.
    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Done {
        assert_eq!(self.code, Some(expected), "standard output:\n{}\nstandard error:\n{}", self.stdout, self.stderr);
        self
    }

    /// The text of a file in the folder.
    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Another run in the same folder.
    pub(crate) fn then(&self) -> Run {
        Run::in_folder(self.folder.clone())
    }
}

/// What a command has printed, without what differs from run to run.
pub(crate) fn masked(text: &str) -> String {
    let times = Regex::new(r"\d{4}-\d\d-\d\d[T ][\d:]+(?:Z|\+00:00)?").unwrap();
    let lengths = Regex::new(r"\b\d+ ms\b").unwrap();
    lengths.replace_all(&times.replace_all(text, "TIME"), "MS ms").into_owned()
}
