//! Stores through the real binary. What can be told as a transcript is in `tests/cases/cli/store.txt`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use playhouse::vm::protocol::Timestamp;

use super::{message, sqlite};
use crate::journal::begun;
use crate::run::Run;
#[cfg(target_os = "linux")]
use crate::terminal_screen::Screen;

const PROGRAM: &str = "---\nvariables:\n  - name: pin\n    type: str\n    secret: true\n---\n\n# A\n\n## Greet\n\n\
                       ### Triggers\n\n- At the beginning\n\n### Steps\n\n- Say \"Hello.\"\n- Ask the user for $name\n\
                       - If $pin contains \"4711\"\n  - Say \"Bye, {$name}.\"\n";

const SCRIPT: &str = r#"{"reply":"{\"at\":\"02\",\"say\":\"Name?\"}\n{\"at\":\"02\",\"wait\":\"user\"}"}
{"reply":"{\"at\":\"02\",\"set\":{\"name\":\"Mina\"}}"}
"#;

const RUN: &str = "run program.md --model script:script.jsonl --arg pin=hush-4711 --journal our.db --session";

fn talk() -> Run {
    Run::new().program(PROGRAM).script(SCRIPT)
}

/// The process, once it waits for the user.
fn waiting(run: &Run) -> Child {
    let mut child = run.spawn();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        stdout.read_line(&mut String::new()).unwrap();
    }
    child
}

#[test]
fn a_session_is_of_one_process_and_others_are_free() {
    let first = talk().line(RUN).args(["s"]);
    let mut child = waiting(&first);
    let holder = format!("process id {}", child.id());
    let done = first.beside().line(RUN).args(["s"]).code(1).stdout("").stderr_contains(&holder);
    let done = done.then().line(RUN).args(["t"]).stdin("Mina\n").code(0).stdout("Hello.\nName?\nBye, Mina.\n");
    let listed = done.then().line("sessions list --journal our.db").code(0);
    let states: Vec<Vec<&str>> = listed.stdout.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
    assert_eq!(states, [["ID", "STATE"], ["s", "open"], ["t", "finished"]]);
    let done = listed.then().line("sessions show s --journal our.db").code(0).stdout_contains(&holder);
    let done = done.then().line("sessions delete t s --yes --journal our.db").code(1).stderr_contains(&holder);
    let done = done.then().line("sessions show t --journal our.db").code(0);
    // A killed process loses nothing, and the session at once.
    child.kill().unwrap();
    child.wait().unwrap();
    let done = done.then().line("sessions resume s --journal our.db").stdin("Mina\n").code(0).stdout("Bye, Mina.\n");
    let done = done.then().line("sessions delete t s --yes --journal our.db").code(0);
    done.then().line("sessions list --journal our.db").code(0).stderr_contains("no sessions in our.db");
}

#[test]
fn an_exported_session_goes_on_elsewhere() {
    let done = talk().line(RUN).args(["s"]).code(3);
    let export = "sessions export s --journal our.db --with-secrets --output away.jsonl";
    let done = done.then().line(export).code(0).stderr_contains("wrote away.jsonl");
    assert!(!done.read("away.jsonl").contains("hush"));
    assert!(done.read("away.jsonl.secrets").contains("hush-4711"));
    let shown = done.then().line("sessions export s --journal away.jsonl").code(0);
    assert_eq!(shown.stdout, shown.read("away.jsonl"));
    let shown = shown.stderr_contains("secrets are masked");
    let done = shown.then().line("sessions resume s --journal away.jsonl").stdin("Mina\n").code(0);
    let done = done.stdout("Bye, Mina.\n");
    // The one it came from is as it was.
    let done = done.then().line("sessions list --journal our.db").code(0).stdout_contains("waiting");
    let events = done.then().line("sessions export s --journal away.jsonl --format json").code(0);
    let whole: serde_json::Value = serde_json::from_str(&events.stdout).unwrap();
    assert_eq!((&whole["id"], &whole["state"]), (&"s".into(), &"finished".into()));
    let events = whole["events"].as_array().unwrap();
    let names: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((names[0], names[names.len() - 1]), ("session_started", "finished"));
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!(event["seq"], seq);
    }
    assert!(!whole.to_string().contains("hush"));
}

#[test]
fn the_environment_names_a_store() {
    let done = talk().line("run program.md --model script:script.jsonl --arg pin=a4711 --session s");
    let done = done.variable("PLAYHOUSE_SESSIONS", "all.sqlite").code(3);
    let done = done.stderr_contains("to continue: playhouse sessions resume s");
    assert!(done.path("all.sqlite").exists() && !done.path("state").exists());
    let done =
        done.then().variable("PLAYHOUSE_SESSIONS", "all.sqlite").line("sessions resume s").stdin("Mina\n").code(0);
    let again = done.then().variable("PLAYHOUSE_SESSIONS", "all.sqlite").line("sessions list").code(0);
    let again = again.stdout_contains("finished");
    // What a session has said can be said again.
    let run = again.then().variable("PLAYHOUSE_SESSIONS", "all.sqlite");
    let run = run.line("run program.md --model replay:s --arg pin=a4711 --session t").stdin("Mina\n");
    run.code(0).stdout("Hello.\nName?\nBye, Mina.\n");
}

/// A file that may not grow stands for a disk that is full.
#[cfg(unix)]
#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    let long = "ninety thousand words ".repeat(20_000);
    let run = talk().line(RUN).args(["s"]);
    let limit = ["sh", "-c", "trap '' XFSZ; ulimit -f 300; exec \"$@\"", "sh"];
    let mut command = run.command(&limit);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The process may be gone before it has read all of it.
    let _ = child.stdin.take().unwrap().write_all(format!("{long}\n").as_bytes());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("our.db: cannot write the journal: ") && stderr.contains("resume the session"), "{stderr}");
    let done = run.beside().line("sessions list --journal our.db").code(0).stdout_contains("waiting");
    done.then().line("sessions resume s --journal our.db").stdin("Mina\n").code(0).stdout("Bye, Mina.\n");
}

/// SQLite tells by its locks whether it is the last to close a file, and a process loses all its locks on a file when it
/// closes any handle of it that SQLite does not know.
#[cfg(target_os = "linux")]
#[test]
fn a_store_is_not_cleaned_up_under_those_who_have_it_open() {
    use std::os::unix::fs::MetadataExt;
    let done = talk().line(RUN).args(["s"]).code(3);
    let path = done.path("our.db");
    let n_locks = || {
        let id = format!(":{} ", path.metadata().unwrap().ino());
        std::fs::read_to_string("/proc/locks").unwrap().lines().filter(|line| line.contains(&id)).count()
    };
    let mut journal = sqlite::open(&path, "here").unwrap();
    journal.append(Timestamp(1), begun("x")).unwrap();
    assert_eq!(n_locks(), 1);
    // Another session of this process comes and goes.
    drop(sqlite::open(&path, "there").unwrap());
    assert!(sqlite::contains(&path, "here").unwrap());
    assert_eq!(n_locks(), 1);
    let done = done.then().line("sessions list --journal our.db").code(0);
    assert!(done.path("our.db-wal").exists(), "what is written ahead is still in use");
    journal.append(Timestamp(2), message("still here")).unwrap();
    let done = done.then().line("sessions export here --journal our.db").code(0);
    done.stdout_contains("still here");
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_is_asked_before_anything_is_deleted() {
    let done = talk().line(RUN).args(["s"]).code(3);
    for (answer, said, code) in
        [("n", "nothing was deleted", 1), ("", "nothing was deleted", 1), ("y", "deleted session s", 0)]
    {
        let mut screen = Screen::open(done.then().line("sessions delete s --journal our.db"));
        screen.see("delete 1 session permanently: s? [y/N]");
        screen.keys(&format!("{answer}\r"));
        screen.see(said);
        assert_eq!(screen.end(), Some(code));
    }
    done.then().line("sessions list --journal our.db").code(0).stdout("");
}
