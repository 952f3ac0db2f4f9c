//! Recording, replaying, recording again: what is asked, what is kept, what goes.

use std::fs;

use super::{ANSWERS, DESK, desk, entries, lines, live, server};
use crate::http_server::Answer;

#[test]
fn a_recorded_test_needs_neither_model_nor_tools() {
    let model = server(&ANSWERS);
    let done = live(desk(), &model, "late.test.md --record");
    let done = done.stdout(
        "ok late.test.md\n  recorded with openai:m: made 4 of 4 requests and 1 of 1 calls\n1 passed, 0 failed\n",
    );
    assert_eq!(model.requests().len(), 4);
    let (url, n_connections) = (model.url(), model.n_connections());
    fs::remove_file(done.path("order.txt")).unwrap();
    // The server would be there; nobody comes.
    let again = done.then().line("test late.test.md").variable("OPENAI_BASE_URL", &url);
    again.stdout("ok late.test.md\n1 passed, 0 failed\n").code(0);
    assert_eq!(model.n_connections(), n_connections);
    drop(model);
    done.then().line("test --repeat 5").stdout("ok late.test.md\n1 passed, 0 failed\n");
}

#[test]
fn the_file_holds_each_text_once_and_what_each_answer_cost() {
    let model = server(&ANSWERS);
    let done = live(desk(), &model, "late.test.md --record");
    let text = done.read("late.cassette.jsonl");
    let all = lines(&text);
    assert_eq!((&all[0]["cassette"], &all[0]["model"]), (&1.into(), &"openai:m".into()));
    let blocks = entries(&text, "block");
    let mut hashes: Vec<&str> = blocks.iter().map(|line| line["block"].as_str().unwrap()).collect();
    let n_blocks = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), n_blocks);
    let playbooks = blocks.iter().filter(|line| line["text"].as_str().unwrap().starts_with("PLAYBOOK Order("));
    assert_eq!(playbooks.count(), 1);
    let requests = entries(&text, "key");
    let told = |member: &str| requests.iter().map(|line| line[member].to_string()).collect::<Vec<_>>().join(" ");
    assert_eq!(told("at"), r#""Order:01" "Order:01" "Bye:01" "Order:04""#);
    assert_eq!(told("for"), r#""turn" "turn" "turn" "turn""#);
    assert_eq!(
        (told("run"), told("n"), told("end")),
        ("1 1 1 1".into(), "1 1 1 1".into(), r#""stop" "stop" "stop" "stop""#.into())
    );
    for request in &requests {
        assert_eq!(
            (&request["usage"]["prompt_tokens"], &request["usage"]["completion_tokens"]),
            (&100.into(), &20.into())
        );
        assert!(request["ms"].is_u64(), "{request}");
    }
    let calls = entries(&text, "call");
    assert_eq!(calls.len(), 1);
    assert_eq!((&calls[0]["call"], &calls[0]["result"]), (&"LoadFile".into(), &"shipped".into()));
    assert_eq!(calls[0]["args"].to_string(), r#"{"path":"order.txt"}"#);
    assert_eq!(entries(&text, "tool")[0]["tool"]["name"], "LoadFile");
    // Neither where it was recorded nor when.
    for word in ["127.0.0.1", "http", "202"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn what_a_changed_line_costs_is_told_and_only_that_is_asked_again() {
    let model = server(&ANSWERS);
    let done = live(desk(), &model, "late.test.md --record");
    fs::write(done.path("program.md"), DESK.replace("a pleasure", "a pleasure, in one word")).unwrap();
    let miss = done.then().line("test late.test.md").code(1);
    let miss = miss.stdout(
        "FAILED late.test.md\n  \
         late.test.md: no recording for request 3, Bye:01; the nearest (3) differs in PLAYBOOK\n    \
         - 01 Tell the user that it was a pleasure\n    \
         + 01 Tell the user that it was a pleasure, in one word\n    \
         1 of 4 requests is affected: playhouse test late.test.md --record\n\
         0 passed, 1 failed\n",
    );
    let before = miss.read("late.cassette.jsonl");
    let n_requests = model.requests().len();
    let mended = live(miss.then(), &model, "late.test.md --record");
    let mended = mended.stdout_contains("1 of 4 requests and 0 of 1 calls, 1 entry removed\n");
    assert_eq!(model.requests().len(), n_requests + 1);
    let after = mended.read("late.cassette.jsonl");
    assert!(before.contains("it was a pleasure\\n") && !after.contains("it was a pleasure\\n"), "{after}");
    assert_eq!(entries(&after, "key").len(), 4);
    drop(model);
    mended.then().line("test").code(0);
}

#[test]
fn nothing_is_asked_where_nothing_is_missing_and_everything_where_all_is_wanted() {
    let model = server(&ANSWERS);
    let done = live(desk(), &model, "late.test.md --record");
    let before = done.read("late.cassette.jsonl");
    let done = live(done.then(), &model, "--record=missing");
    let done = done.stdout_contains("0 of 4 requests and 0 of 1 calls\n");
    assert_eq!(done.read("late.cassette.jsonl"), before);
    assert_eq!(model.requests().len(), 4);
    fs::write(done.path("order.txt"), "lost").unwrap();
    let done = live(done.then(), &model, "--record=all");
    let done = done.stdout_contains("4 of 4 requests and 1 of 1 calls, 5 entries removed\n");
    assert_eq!(model.requests().len(), 8);
    assert!(done.read("late.cassette.jsonl").contains("\"result\":\"lost\""));
    let wrong = done.then().line("test --record=some").code(2);
    wrong.stderr_contains("possible values: missing, all");
}

#[test]
fn another_model_or_temperature_is_another_question() {
    let model = server(&ANSWERS);
    let done = live(desk(), &model, "late.test.md --record");
    let warm = done.then().file("playhouse.toml", "temperature = 0.5\n").line("test").code(1);
    let warm = warm.stdout_contains(
        "the nearest (1) differs in what is sent with the messages: the model, temperature, max_tokens, extra_body or the \
         schema\n",
    );
    let warm = live(warm.then(), &model, "--record").stdout_contains("4 of 4 requests and 0 of 1 calls");
    assert_eq!(model.requests()[4].body["temperature"], 0.5);
    let other = warm.then().line("test --record --model openai:other").variable("OPENAI_BASE_URL", &model.url());
    other.done().stdout_contains("recorded with openai:other: made 4 of 4 requests");
}

/// As a run would: the program's own, then the file beside it, then the environment.
#[test]
fn the_model_that_records_is_chosen_as_that_of_a_run() {
    let model = server(&ANSWERS);
    let with = |run: crate::run::Run| run.line("test --record").variable("OPENAI_BASE_URL", &model.url()).done();
    let by = |id: &str| format!("recorded with {id}: made 4 of 4");
    with(desk()).stdout_contains(&by("openai:gpt-4.1-mini"));
    with(desk().variable("PLAYHOUSE_MODEL", "openai:c")).stdout_contains(&by("openai:c"));
    with(desk().file("playhouse.toml", "model = \"openai:b\"\n").variable("PLAYHOUSE_MODEL", "openai:c"))
        .stdout_contains(&by("openai:b"));
    let front = DESK.replace("limits", "model: openai:a\nlimits");
    with(desk().program(&front).file("playhouse.toml", "model = \"openai:b\"\n")).stdout_contains(&by("openai:a"));
    let none = desk().line("test --record").code(1);
    none.stdout_contains("there is no model to record: name one, as in --model openai:NAME");
}

#[test]
fn a_model_that_fails_leaves_no_recording() {
    let model = server(&ANSWERS[..2]);
    let done = live(desk(), &model, "late.test.md --record").code(1);
    let done = done.stdout_contains("late.test.md: the model failed during the recording: ");
    let done = done.stdout_contains("nothing was written");
    assert!(!done.path("late.cassette.jsonl").exists());
    drop(model);
    // Nor does it spoil one that is there.
    let good = server(&ANSWERS);
    let done = live(done.then(), &good, "--record");
    let before = done.read("late.cassette.jsonl");
    let bad = server(&ANSWERS[..2]);
    live(done.then(), &bad, "--record=all").code(1);
    assert_eq!(done.read("late.cassette.jsonl"), before);
}

/// A server that is busy once is asked again, as in a run; the recording does not tell of it.
#[test]
fn a_request_that_was_made_again_is_recorded_once() {
    let n = std::sync::atomic::AtomicUsize::new(0);
    let model = crate::http_server::start_with(move |request| {
        if n.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1 {
            return Answer::json(503, &serde_json::json!({"error": {"message": "busy"}}));
        }
        let last = super::last_message(request);
        super::pieces(ANSWERS.iter().find(|(when, _)| last.contains(when)).unwrap().1)
    });
    let done = live(desk().file("playhouse.toml", "[limits]\nretry_delay_ms = 1\n"), &model, "--record").code(0);
    assert_eq!(model.requests().len(), 5);
    let text = done.read("late.cassette.jsonl");
    assert_eq!(entries(&text, "key").len(), 4);
    assert!(!text.contains("busy"), "{text}");
}

#[test]
fn a_recording_can_be_made_of_a_new_test_and_blessed_at_once() {
    let model = server(&ANSWERS);
    let bare = "# Late\n\n- program: program.md\n- model: recorded\n\n## User\n\n> 4334, please\n";
    let done = live(desk().file("late.test.md", bare), &model, "--record --bless");
    let done = done.stdout_contains("blessed late.test.md\n  recorded with openai:m: made 4 of 4");
    assert!(done.read("late.test.md").contains("> It is shipped.\n"));
    drop(model);
    done.then().line("test").stdout("ok late.test.md\n1 passed, 0 failed\n");
}

#[test]
#[cfg(unix)]
fn whoever_is_killed_while_writing_leaves_the_old_file() {
    let model = server(&ANSWERS);
    let done = live(desk(), &model, "late.test.md --record");
    let before = done.read("late.cassette.jsonl");
    // Of another model, so that it is not the same text, which would not be written.
    let run = done.then().line("test late.test.md --record=all --model openai:other");
    let run = run.variable("OPENAI_BASE_URL", &model.url());
    // Whoever writes more than a kilobyte or two gets a signal in the middle of it.
    let status = run.command(&["sh", "-c", "ulimit -f 2; exec \"$@\"", "sh"]).output().unwrap();
    assert!(!status.status.success(), "{status:?}");
    assert!(before.len() > 2_048);
    assert_eq!(done.read("late.cassette.jsonl"), before);
    assert_eq!(model.requests().len(), 8);
    done.then().line("test").code(0);
}
