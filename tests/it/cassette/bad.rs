//! Cassettes that cannot be used: nothing of them is, and each message says what to do.

use std::fs;
use std::path::Path;

use playhouse::host::cassette::file::Cassette;

use super::{ANSWERS, LATE, desk, live, server};
use crate::run::Done;

fn recorded() -> (Done, String) {
    let model = server(&ANSWERS);
    let done = live(desk(), &model, "--record").code(0);
    let text = done.read("late.cassette.jsonl");
    (done, text)
}

#[test]
fn a_file_comes_back_as_it_was() {
    let (_, text) = recorded();
    assert_eq!(Cassette::from_text(Path::new("late.cassette.jsonl"), &text).unwrap().render(), text);
}

#[test]
fn a_damaged_file_is_not_used() {
    let (done, text) = recorded();
    let all: Vec<&str> = text.lines().collect();
    let (last, n) = (all.last().unwrap(), all.len());
    let next = "nothing of the recording is used: restore the file, or delete it";
    let found = |line: &str| all.iter().position(|other| other.contains(line)).unwrap() + 1;
    let block = found("PLAYBOOK Order()");
    let cases: [(String, String); 10] = [
        (
            text.replace("\"cassette\":1", "\"cassette\":2"),
            "late.cassette.jsonl: the recording has format 2, and this version reads up to 1; take a newer version"
                .to_owned(),
        ),
        (
            String::new(),
            format!(
                "late.cassette.jsonl:1: this is not the header of a recording: EOF while parsing a value at line 1 column 0; {next}"
            ),
        ),
        ("{}\n".to_owned(), format!("late.cassette.jsonl:1: this is not the header of a recording; {next}")),
        (
            format!("{text}{last}\n"),
            format!("late.cassette.jsonl:{}: this entry is already in line {n}; {next}", n + 1),
        ),
        (
            format!("{text}<<<<<<< HEAD\n"),
            format!("late.cassette.jsonl:{}: this line is not JSON: expected value at line 1 column 1; {next}", n + 1),
        ),
        (
            format!("{text}{{}}\n"),
            format!("late.cassette.jsonl:{}: this line is not a `block`, `tool`, `key` or `call`; {next}", n + 1),
        ),
        (
            text.replace("Ask the user for $order_id", "Ask for $order_id"),
            format!("late.cassette.jsonl:{block}: the text of this block is another one than was recorded; {next}"),
        ),
        (
            text.replace(&format!("{}\n", all[block - 1]), ""),
            format!("late.cassette.jsonl:{}: no block ", found("\"at\":\"Order:01\"") - 1),
        ),
        (text.replace("\"run\":1,", "\"run\":1,\"speed\":3,"), "unknown field `speed`".to_owned()),
        (
            text.replace("\"result\":\"shipped\"", "\"result\":\"shipped\",\"error\":\"x\""),
            "a call has one of `result`, `secret`, `error`, `needs` and `end`".to_owned(),
        ),
    ];
    for (text, message) in cases {
        fs::write(done.path("late.cassette.jsonl"), &text).unwrap();
        for arguments in ["test", "test --record --model openai:m"] {
            let failed = done.then().line(arguments).code(1);
            failed
                .stdout_contains("FAILED late.test.md\n  ")
                .stdout_contains(&message)
                .stdout_contains("0 passed, 1 failed");
        }
        // It is left to whoever may want to mend it.
        assert_eq!(done.read("late.cassette.jsonl"), text);
    }
}

#[test]
fn a_recorded_test_has_no_replies_of_its_own() {
    let test = LATE.replace("## User", "## Model\n\n```jsonl\n{\"at\":\"01\",\"wait\":\"user\"}\n```\n\n## User");
    let done = desk().file("late.test.md", &test).line("test").code(1);
    let done = done.stdout_contains("a reply in a conversation with the model recorded");
    done.stdout_contains("late.test.md:10:1");
    let done = desk().file("late.test.md", &LATE.replace("recorded", "recorder")).line("test").code(1);
    done.stdout_contains("`recorder` can't answer in a test")
        .stdout_contains("write `- model: embedded` or `- model: recorded`");
}

#[test]
fn without_a_recording_the_command_that_makes_one_is_told() {
    desk().line("test").code(1).stdout(
        "FAILED late.test.md\n  \
         late.test.md: there is no recording yet (late.cassette.jsonl); make one: playhouse test late.test.md --record\n\
         0 passed, 1 failed\n",
    );
    desk().line("test --model openai:m").code(2).stderr_contains("--record");
    desk().line("test --record --repeat 3").code(2).stderr_contains("cannot be used with");
}

#[test]
fn what_is_wrong_with_the_configuration_has_its_place() {
    let wrong = |toml: &str, message: &str| {
        desk()
            .file("late.test.md", &LATE.replace("recorded", "embedded"))
            .file("playhouse.toml", toml)
            .line("test")
            .code(1)
            .stdout_contains(message);
    };
    wrong(
        "[record]\nredact = [\n  \"email\",\n  \"phon\",\n]\n",
        "playhouse.toml:4: `redact`: there is no pattern `phon`; did you mean `phone`?",
    );
    wrong("[record]\nredacted = []\n", "playhouse.toml:2: unknown key `redacted`; did you mean `redact`?");
    wrong(
        "[record]\nredact = \"email\"\n",
        "playhouse.toml:2: `redact` must be a list, as in [\"email\", \"/REGEX/\"]",
    );
    wrong("[record]\nredact = [3]\n", "playhouse.toml:2: `redact`: write text in quotes");
    wrong("record = 3\n", "playhouse.toml:1: `record` must be a table");
}
