//! Forks on disk, through the real binary: the original is not touched, and secrets stay where they are.

use std::fs;
use std::path::Path;

use crate::run::Run;

const PROGRAM: &str = "\
# Desk

variables:
  pin: {type: str, value: \"\", secret: true}

Greets people.

## Greet

### Triggers

- At the beginning

### Steps

- Ask the user for $name
- Say \"Hello, {$name}.\"
";

const SCRIPT: &str = r#"{"reply":"{\"at\":\"01\",\"say\":\"Who are you?\"}\n{\"at\":\"01\",\"wait\":\"user\"}"}
{"reply":"{\"at\":\"01\",\"set\":{\"name\":\"Mina\"}}"}
"#;

const RUN: &str = "run program.md --model script:script.jsonl --session s --arg pin=hush-4711";

/// All that a folder holds of the session `s`.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let of_s = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("s."));
    let mut files: Vec<_> =
        of_s.map(|entry| (entry.path().display().to_string(), fs::read(entry.path()).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn the_original_is_not_touched() {
    let run = Run::new().program(PROGRAM).script(SCRIPT).line(RUN).stdin("Mina\n");
    let done = run.code(0);
    let folder = done.path("state/playhouse/sessions");
    let before = files(&folder);
    assert_eq!(before.len(), 2, "a journal and its secrets");
    let commands = ["replay s", "replay s --to 2.1", "replay s --format json", "diff s s", "fork s --at 2 --id t"];
    for command in commands {
        let done = done.then().line(&format!("sessions {command}")).code(0);
        assert!(!done.stdout.contains("hush-4711") && !done.stderr.contains("hush-4711"), "{command}: {}", done.stdout);
    }
    assert_eq!(files(&folder), before);
    // The fork has secrets of its own beside it, and nobody else may read it.
    let journal = fs::read_to_string(folder.join("t.jsonl")).unwrap();
    assert!(!journal.contains("hush-4711") && journal.contains("\"forked_from\":{\"session\":\"s\""), "{journal}");
    assert!(fs::read_to_string(folder.join("t.jsonl.secrets")).unwrap().contains("hush-4711"));
    #[cfg(unix)]
    for name in ["t.jsonl", "t.jsonl.secrets"] {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    let on = done.then().line("sessions resume t --model script:script.jsonl");
    on.stdin("Mina\n").code(0).stdout("Hello, Mina.\n");
    assert_eq!(files(&folder), before);
}

/// A session whose process was killed while it wrote, and one whose secrets have gone, can be looked at. Without the
/// secrets there is no fork.
#[test]
fn a_fork_without_the_secrets_is_refused() {
    let run = Run::new().program(PROGRAM).script(SCRIPT).line(RUN).stdin("Mina\n");
    let done = run.code(0);
    let journal = done.path("state/playhouse/sessions/s.jsonl");
    fs::remove_file(journal.with_extension("jsonl.secrets")).unwrap();
    let mut text = fs::read_to_string(&journal).unwrap();
    text.truncate(text.len() - 5);
    fs::write(&journal, &text).unwrap();
    done.then().line("sessions replay s").code(0).stdout_contains("Who are you?");
    let refused = done.then().line("sessions fork s --at 2 --id t").code(2);
    let refused = refused.stderr_contains("the secret values of the journal are missing (record 1 has one)");
    assert!(!journal.with_file_name("t.jsonl").exists(), "{}", refused.stdout);
}

/// An edit inside of what an event set off has its place in the file, too.
#[test]
fn an_edit_in_the_middle_of_something_is_kept() {
    let done = Run::new().program(PROGRAM).script(SCRIPT).line(RUN).stdin("Mina\n").code(0);
    let listed = done.then().line("sessions replay s").code(0).stdout;
    let line = listed.lines().find(|line| line.contains("turn 2 is over")).unwrap();
    let point = line.split(' ').next().unwrap();
    assert!(!point.ends_with(".0") && listed.contains("says \"Hello, Mina.\""), "{listed}");
    let forked = done.then().line(&format!("sessions fork s --at {point} --set name=Nora --id t")).code(0);
    assert_eq!(forked.stdout, "t\n");
    let past = forked.then().line("sessions replay t").code(0);
    assert!(past.stdout.contains("$name = \"Nora\" in frame 1, while it was paused"), "{}", past.stdout);
    assert!(past.stdout.contains("$name = \"Nora\" (was \"Mina\")\n"), "{}", past.stdout);
    assert!(past.stdout.contains("says \"Hello, Nora.\"") && !past.stdout.contains("Hello, Mina"), "{}", past.stdout);
    // What the file holds is what was forked: going on adds nothing to what has happened.
    let resumed = past.then().line("sessions resume t --model script:script.jsonl").code(0).stdout("");
    assert_eq!(resumed.then().line("sessions replay t").code(0).stdout, past.stdout);
    let difference = past.then().line("sessions diff s t").code(0);
    assert!(difference.stdout.starts_with(&format!("t was forked from s at {point}\n")), "{}", difference.stdout);
    assert!(difference.stdout.ends_with("  $name in others of Desk: \"Mina\" | \"Nora\"\n"), "{}", difference.stdout);
}
