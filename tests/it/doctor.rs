//! `playhouse doctor`, by the real binary: what it finds in surroundings that are made for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use regex::Regex;
use serde_json::{Value, json};

use crate::golden;
use crate::http_server::{Answer, start};
use crate::run::{Done, Run};

const KEY: &str = "sk-nobody-may-see-this";

/// Adds an empty program to the folder `bin`, which is `PATH`.
fn with_program(run: Run, name: &str) -> Run {
    let run = run.file(&format!("bin/{name}"), "#!/bin/sh\n");
    let path = run.folder().join("bin").join(name);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = run.folder().join("bin").display().to_string();
    run.variable("PATH", &folder)
}

/// What it says, with `DIR` for the folder. Features are those of this build, and what the system can confine with is its
/// own.
fn told(done: &Done) -> String {
    assert_eq!(done.stderr, "");
    let folder = done.folder().display().to_string();
    let text = done.stdout.replace(&folder, "DIR");
    let replacements = [
        (r"(playhouse +)\d+\.\d+\.\d+ with cli, dap, .*", "${1}VERSION with FEATURES"),
        (
            r"(?m)^(ok|- )(  sandbox +)commands of skills are (not )?confined.*(Landlock|sandbox-exec|nothing).*",
            "??${2}SYSTEM",
        ),
    ];
    replacements
        .iter()
        .fold(text, |text, (pattern, with)| Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned())
}

#[test]
fn nothing_is_there_and_nothing_is_broken() {
    let done = Run::new().line("doctor").code(0);
    golden::compare("doctor/nothing.golden", &told(&done));
    // It has only looked.
    assert_eq!(fs::read_dir(done.folder()).unwrap().count(), 0);
}

#[test]
fn what_is_there_is_told_without_the_key() {
    let list =
        json!({"object": "list", "data": [{"id": "qwen3:8b", "object": "model"}, {"id": "gemma3", "object": "model"}]});
    let server = start(vec![Answer::json(200, &list)]);
    let url = server.url();
    let port = url.trim_end_matches("/v1").rsplit_once(':').unwrap().1;
    let names = ["python3", "node", "kak", "nvim", "code", "bwrap"];
    let run = names.iter().fold(Run::new(), |run, name| with_program(run, name));
    let run = run
        .file("playhouse.toml", "model = \"openai:gpt-5\"\n\n[skills]\nsandbox = \"bwrap\"\n")
        .variable("OPENAI_API_KEY", KEY)
        .variable("PLAYHOUSE_LOCAL_PORTS", &format!("{port},0,0"))
        .variable("PLAYHOUSE_SESSIONS", "sessions.sqlite");
    let done = run.line("doctor").code(0);
    golden::compare("doctor/all.golden", &told(&done).replace(port, "PORT"));
    assert!(!done.stdout.contains(KEY), "{}", done.stdout);
    let asked: Vec<String> = server.requests().into_iter().map(|request| request.target).collect();
    assert_eq!(asked, ["GET /v1/models"]);
}

/// Whatever is broken is told in one go, beside all else.
#[test]
fn what_is_broken_is_one_in_the_exit_code() {
    let done = Run::new()
        .file("playhouse.toml", "# mine\nmodle = \"embedded\"\n")
        .file("state", "a file")
        .file("store.txt", "a file")
        .variable("PLAYHOUSE_SESSIONS", "store.txt/sessions")
        .variable("PLAYHOUSE_LOCAL_PORTS", "80")
        .line("doctor")
        .code(1);
    golden::compare("doctor/broken.golden", &told(&done));
}

/// The line about this.
fn line<'d>(done: &'d Done, topic: &str) -> &'d str {
    let is_it = |line: &&str| line.get(4..).is_some_and(|rest| rest.starts_with(topic));
    done.stdout.lines().find(is_it).unwrap_or_else(|| panic!("nothing about {topic}:\n{}", done.stdout))
}

#[test]
fn the_model_is_the_one_that_a_run_would_have() {
    let line_of = |run: Run, code| line(&run.line("doctor").code(code), "model").to_owned();
    let unpaid = line_of(Run::new().file("playhouse.toml", "model = \"openai:gpt-5\"\n"), 0);
    assert!(unpaid.starts_with("-   model ") && unpaid.ends_with("or name your server in OPENAI_BASE_URL"), "{unpaid}");
    let local = Run::new().variable("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    let local = line_of(local.variable("PLAYHOUSE_MODEL", "openai:mine"), 0);
    assert!(local.ends_with("openai:mine (PLAYHOUSE_MODEL), on http://127.0.0.1:9/v1"), "{local}");
    let unknown = line_of(Run::new().variable("PLAYHOUSE_MODEL", "gpt-5"), 1);
    assert!(
        unknown.starts_with("!   model ") && unknown.contains("`gpt-5` (PLAYHOUSE_MODEL) is not a model"),
        "{unknown}"
    );
}

#[test]
fn what_confines_commands_is_the_one_that_is_configured() {
    let sandbox = |run: Run, kind: &str| {
        let run = run.file("playhouse.toml", &format!("[skills]\nsandbox = \"{kind}\"\n"));
        line(&run.line("doctor").code(0), "sandbox").to_owned()
    };
    let none = sandbox(Run::new(), "none");
    assert!(none.starts_with("-   sandbox ") && none.ends_with("`[skills] sandbox` is \"none\""), "{none}");
    // A file that nobody may execute is no program.
    let run = with_program(Run::new(), "kak").file("bin/bwrap", "");
    let absent = sandbox(run, "bwrap");
    assert!(absent.starts_with("-   sandbox ") && absent.contains("there is no `bwrap` in PATH"), "{absent}");
}

#[test]
fn programs_get_an_array() {
    let done = Run::new().file("playhouse.toml", "x").line("doctor --format json").code(1);
    let findings: Vec<Value> = serde_json::from_str(&done.stdout).unwrap();
    let of = |topic: &str| findings.iter().find(|finding| finding["topic"] == topic).unwrap();
    assert_eq!(
        *of("key"),
        json!({
            "topic": "key", "state": "absent", "told": "OPENAI_API_KEY is not set",
            "next": "set it if your model server needs a key"
        })
    );
    assert_eq!((&of("state")["state"], &of("state")["next"]), (&json!("ok"), &json!(null)));
    assert_eq!(of("playhouse.toml")["state"], "broken");
}
