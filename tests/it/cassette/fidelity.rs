//! A replayed run is the recorded one: replies that were cut, verdicts, questions of tools to the model, runs of a case.

use std::fs;
use std::sync::Arc;

use playhouse::host::cassette::file::Cassette;
use playhouse::host::cassette::recording::{Case, record};
use playhouse::host::cassette::take::{Mode, Take, TakeOptions};
use playhouse::host::config::FileConfig;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::launch::{Choices, Launch, Source, StartOptions, Workshop};
use playhouse::host::llm::script::{Chunks, Script, ScriptEntry};
use playhouse::host::secrets::Secrets;
use playhouse::host::session::{Interest, Notice};
use playhouse::lang::SourceText;
use playhouse::value::Map;
use playhouse::vm::protocol::Wait;
use regex::Regex;

use super::{entries, live, server};
use crate::http_server::{Answer, start_with};
use crate::run::Run;

/// A large group has a playbook of its own.
const TABLE: &str = "\
# Table

## Book

### Triggers

- At the beginning

### Steps

- Ask the user for the $size of the group
- Ask the user for the $day

## Group

### Triggers

- When $size is at least 8

### Steps

- Say \"A second waiter comes along.\"
- Return nothing
";

const TABLE_ANSWERS: [(&str, &str); 3] = [
    ("MEANWHILE", "{\"at\":\"02\",\"say\":\"Which day?\"}\n{\"at\":\"02\",\"wait\":\"user\"}\n"),
    (
        "USER",
        "{\"at\":\"01\",\"set\":{\"size\":9}}\n{\"at\":\"02\",\"say\":\"And the day?\"}\n{\"at\":\"02\",\"wait\":\"user\"}\n",
    ),
    ("PLAYBOOK Book", "{\"at\":\"01\",\"wait\":\"user\"}\n"),
];

fn table() -> Run {
    let test = "# Nine\n\n- program: program.md\n- model: recorded\n\n## User\n\n> we are nine\n\n\
                ## Says\n\n> A second waiter comes along.\n\n> Which day?\n";
    Run::new().program(TABLE).file("nine.test.md", test)
}

#[test]
fn a_reply_that_we_cut_is_kept_as_far_as_it_was_read() {
    let model = server(&TABLE_ANSWERS);
    let done = live(table(), &model, "--record").code(0);
    let text = done.read("nine.cassette.jsonl");
    let replies = entries(&text, "key");
    assert_eq!((replies.len(), &replies[1]["end"]), (3, &"closed".into()));
    assert_eq!(replies[1]["reply"], "{\"at\":\"01\",\"set\":{\"size\":9}}\n");
    drop(model);
    done.then().line("test --repeat 10").code(0);
    // If it is not cut any more, nobody knows what comes then.
    let reply = r#""reply":"{\"at\":\"01\",\"set\":{\"size\":9}}"#;
    let other = text.replace(reply, &reply.replace('9', "3"));
    assert_ne!(other, text);
    fs::write(done.path("nine.cassette.jsonl"), other).unwrap();
    done.then().line("test").code(1).stdout(
        "FAILED nine.test.md\n  \
         nine.test.md: a reply, Book:01, was cut when it was recorded, and is read on now: what comes after that is not \
         recorded\n    \
         playhouse test nine.test.md --record=all\n\
         0 passed, 1 failed\n",
    );
}

/// Whoever judges is a model, too: while it thinks, the reply waits.
const HOTEL: &str = "\
# Hotel

## Talk

### Triggers

- At the beginning

### Steps

- Ask the user how they feel, and store the $mood and the $room
- Tell the user good night

## Comfort

### Triggers

- When the $mood is a bad one

### Steps

- Say \"Have a drink.\"
- Return nothing
";

fn hotel() -> Run {
    let test = "# Night\n\n- program: program.md\n- model: recorded\n\n## User\n\n> awful, room 7\n\n\
                ## Says\n\n> Have a drink.\n\n> Good night.\n";
    Run::new().program(HOTEL).file("night.test.md", test)
}

/// The whole cassette, but for the times.
fn hotel_recorded_in_pieces(n_characters: usize) -> String {
    let model = start_with(move |request| {
        let last = super::last_message(request);
        let reply = if last.starts_with("TRIGGERS") {
            if last.contains("$mood") { "[\"Comfort:T1\"]" } else { "[]" }
        } else if last.contains("MEANWHILE") {
            "{\"at\":\"01\",\"set\":{\"room\":7}}\n{\"at\":\"02\",\"say\":\"Good night.\"}\n{\"at\":\"02\",\"return\":null}"
        } else if last.contains("USER") {
            "{\"at\":\"01\",\"set\":{\"mood\":\"awful\"}}\n{\"at\":\"01\",\"set\":{\"room\":7}}\n{\"at\":\"02\",\"say\":\"Bye\"}"
        } else {
            "{\"at\":\"01\",\"wait\":\"user\"}"
        };
        let characters: Vec<char> = reply.chars().collect();
        let pieces: Vec<String> = characters.chunks(n_characters).map(|piece| piece.iter().collect()).collect();
        Answer::deltas(&pieces.iter().map(String::as_str).collect::<Vec<_>>())
    });
    let done = live(hotel(), &model, "--record").code(0);
    let text = done.read("night.cassette.jsonl");
    drop(model);
    done.then().line("test --repeat 10").code(0);
    Regex::new(r#""ms":\d+"#).unwrap().replace_all(&text, "").into_owned()
}

#[test]
fn verdicts_are_recorded_and_pieces_make_no_difference() {
    let whole = hotel_recorded_in_pieces(1_000);
    let purposes: Vec<String> =
        entries(&whole.replace(",}", "}"), "key").iter().map(|line| line["for"].to_string()).collect();
    assert!(purposes.iter().filter(|purpose| *purpose == "\"classifier\"").count() >= 1, "{purposes:?}");
    assert!(whole.contains("\"end\":\"closed\""), "the trigger cuts the reply");
    for n_characters in [1, 5] {
        assert_eq!(hotel_recorded_in_pieces(n_characters), whole, "{n_characters}");
    }
}

#[test]
fn the_model_that_a_tool_asks_is_recorded_and_not_the_tool() {
    let program = "# A\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n\
                   - $poem = llm_generate(\"Write a poem.\")\n- Say \"{$poem}\"\n";
    let test = "# Poem\n\n- program: program.md\n- model: recorded\n\n## Says\n\n> Roses.\n";
    let model = server(&[("Write a poem.", "Roses.")]);
    let done = live(Run::new().program(program).file("poem.test.md", test), &model, "--record").code(0);
    let text = done.read("poem.cassette.jsonl");
    assert_eq!((entries(&text, "key").len(), entries(&text, "call").len()), (1, 0));
    assert_eq!(entries(&text, "key")[0]["for"], "plan");
    drop(model);
    done.then().line("test").code(0);
    fs::write(done.path("program.md"), program.replace("a poem", "a long poem")).unwrap();
    let miss = done.then().line("test").code(1);
    miss.stdout_contains("no recording for request 1, a question of a plan; the nearest (1) differs in the message\n");
}

const GREETING: &str = "# A\n\n## Greet\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- Greet the user\n";

fn take(cassette: Cassette, run: u32, mode: Mode) -> Arc<Take> {
    let (name, command) = ("late.user.md".to_owned(), "playhouse eval late.user.md --record".to_owned());
    let options = TakeOptions { name, command, run, mode, with_tools: true, secrets: Map::new() };
    Arc::new(Take::new(Arc::new(cassette), options))
}

/// Plays the greeting; gives what is said, or why nothing is.
async fn greet(take: Arc<Take>, replies: &[&str]) -> String {
    let reply = |text: &&str| {
        let text = format!("{{\"at\":\"01\",\"say\":\"{text}\"}}\n{{\"at\":\"01\",\"return\":null}}");
        ScriptEntry { chunks: Chunks::Every(3), ..ScriptEntry::reply(text) }
    };
    let mut launch = Launch::new(Workshop::default(), Choices::default());
    launch.configuration = Some(FileConfig::default());
    launch.llm = Some(Arc::new(Script::from_entries("greet", replies.iter().map(reply).collect())));
    launch.take = Some(take);
    let text = SourceText { name: "program.md".to_owned(), text: GREETING.to_owned() };
    let opened = launch.open(Source::Texts(vec![text])).await.unwrap();
    let options = StartOptions { id: "s".into(), entry: None, arguments: Map::new() };
    let mut session = opened.start(Box::new(MemoryJournal::new()), options).unwrap();
    let mut events = session.subscribe(Interest::Speech);
    let handle = session.spawn();
    let mut said = String::new();
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { continue };
        if let PublicBody::Said { text } = &event.body {
            said.push_str(text);
        } else if let PublicBody::Waiting { on: Wait::User } = &event.body {
            handle.stop().await;
        }
    }
    opened.close().await;
    said
}

/// `eval -k 2`: the same request is another one in another run.
#[tokio::test(start_paused = true)]
async fn each_run_of_a_case_has_answers_of_its_own() {
    let case = Case { rules: &[], text: "", public: "", declared: &[], secrets: &Secrets::new(), is_exact: false };
    let takes = [take(Cassette::default(), 1, Mode::Missing), take(Cassette::default(), 2, Mode::Missing)];
    assert_eq!(greet(takes[0].clone(), &["Hello."]).await, "Hello.");
    assert_eq!(greet(takes[1].clone(), &["Good day."]).await, "Good day.");
    let (cassette, _) = record(&takes, &case).unwrap();
    for (run, expected) in [(1, "Hello."), (2, "Good day."), (1, "Hello.")] {
        let replayed = take(cassette.clone(), run, Mode::Replay);
        assert_eq!(greet(replayed.clone(), &[]).await, expected);
        assert!(replayed.has_used_all() && replayed.misses().is_empty());
    }
    let third = take(cassette.clone(), 3, Mode::Replay);
    assert_eq!(greet(third.clone(), &[]).await, "");
    assert_eq!(
        third.misses(),
        ["late.user.md: no recording for request 1, Greet:01; nothing like it is recorded in run 3\n  \
          playhouse eval late.user.md --record"]
    );
    // A third run is recorded without asking for the others.
    let takes = [1, 2, 3].map(|run| take(cassette.clone(), run, Mode::Missing));
    let replies: [&[&str]; 3] = [&[], &[], &["Hi."]];
    for (take, replies) in takes.iter().zip(replies) {
        greet(take.clone(), replies).await;
    }
    let counts = takes.each_ref().map(|take| take.counts().n_new_requests);
    assert_eq!(counts, [0, 0, 1]);
    assert_eq!(record(&takes, &case).unwrap().0.entries.len(), 3);
}
