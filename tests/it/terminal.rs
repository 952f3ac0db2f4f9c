//! A conversation on a terminal, through the real binary.
#![cfg(target_os = "linux")]

use std::fs;

use regex::Regex;

use crate::golden;
use crate::run::Run;
use crate::terminal_screen::Screen;

const RUN: &str = "run program.md --model script:script.jsonl --classifier off";

/// A program that says what it hears, six times.
fn echo() -> Run {
    let mut program = "# Echo\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n".to_owned();
    let mut script = String::new();
    for n in 1..=6 {
        program.push_str(&format!("- Ask the user for $line{n}\n- Say \"Heard: {{$user_message}}.\"\n"));
        let line = format!("{:02}", 2 * n - 1);
        script.push_str(&reply(&format!(r#"{{"at":"{line}","wait":"user"}}"#), ""));
        script.push_str(&reply(&format!(r#"{{"at":"{line}","set":{{"line{n}":{n}}}}}"#), ""));
    }
    Run::new().program(&program).script(&script).line(RUN)
}

/// An entry of a script.
fn reply(text: &str, more: &str) -> String {
    format!("{{\"reply\":{}{more}}}\n", serde_json::to_string(text).unwrap())
}

/// What differs from run to run.
fn without_chance(text: &str) -> String {
    let replacements = [(r"\d{8}-\d{6}-[a-z0-9]{16}", "ID"), (r"\d+\.\d s of model time", "N s of model time")];
    replacements
        .iter()
        .fold(text.to_owned(), |text, (pattern, with)| Regex::new(pattern).unwrap().replace_all(&text, *with).into())
}

#[test]
fn a_line_can_be_edited() {
    let mut screen = Screen::open(echo());
    // Home, delete, end, back and over: `xMima` becomes `Mina`.
    screen.prompt();
    screen.keys("xMima\x1b[H\x1b[3~\x1b[F\x1b[D\x7fn\r");
    screen.see("Heard: Mina.");
    // Characters that take two columns, and one that is two code points.
    screen.prompt();
    screen.keys("日本x\x1b[D\x1b[D語\x1b[C\x1b[C\x7f!\r");
    screen.see("Heard: 日語本!.");
    screen.prompt();
    screen.keys("e\u{301}a");
    screen.see_on_line("> e\u{301}a");
    screen.keys("\x7f\x7fb\r");
    screen.see("Heard: b.");
    // A word, the line.
    screen.prompt();
    screen.keys("one two\x17three\x01zero \r");
    screen.see("Heard: zero one three.");
}

#[test]
fn lines_are_found_again_also_by_another_run() {
    let run = echo();
    let again = run.beside().line(RUN);
    let third = run.beside().line(RUN);
    let history = run.folder().join("state/playhouse/history");
    let mut screen = Screen::open(run);
    screen.line("first");
    screen.see("Heard: first.");
    screen.line(" private");
    screen.see("Heard:  private.");
    screen.line("second");
    screen.see("Heard: second.");
    screen.prompt();
    screen.keys("\x1b[A\x1b[A");
    screen.see_on_line("> first");
    screen.keys("\x03");
    screen.line("/quit");
    assert_eq!(screen.end(), Some(3));
    let kept = fs::read_to_string(&history).unwrap();
    assert!(!kept.contains("private") && kept.contains("second"), "{kept}");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    let mut screen = Screen::open(again);
    screen.prompt();
    screen.keys("\x12sec");
    screen.see("`sec': second");
    screen.keys("\r");
    screen.see("Heard: second.");
    // A folder that cannot be made: no history, and no word of it.
    fs::remove_dir_all(history.parent().unwrap().parent().unwrap()).unwrap();
    fs::write(history.parent().unwrap().parent().unwrap(), "a file").unwrap();
    let mut screen = Screen::open(third.line("--journal elsewhere.jsonl"));
    screen.line("hello");
    screen.see("Heard: hello.");
    screen.prompt();
    screen.keys("\x1b[A");
    screen.see_on_line("> hello");
}

#[test]
fn several_lines_can_be_pasted_as_one_message() {
    let mut screen = Screen::open(echo());
    screen.prompt();
    screen.keys("\x1b[200~one\r\ntwo\n\x1b[201~");
    screen.see("two");
    screen.keys("\r");
    screen.see("Heard: one\ntwo.");
    assert!(!screen.contents().contains("Heard: two"), "{}", screen.contents());
}

#[test]
fn lines_that_come_together_are_not_lost() {
    let mut screen = Screen::open(echo());
    screen.prompt();
    screen.keys("one\rtwo\rthree\r");
    screen.see("Heard: one.");
    screen.see("Heard: two.");
    screen.see("Heard: three.");
}

#[test]
fn a_first_interrupt_at_the_prompt_only_warns() {
    let mut screen = Screen::open(echo());
    screen.prompt();
    screen.keys("half a line");
    screen.see_on_line("> half a line");
    screen.keys("\x03");
    screen.prompt();
    assert!(!screen.contents().contains("half a line"), "{}", screen.contents());
    screen.keys("\x03");
    screen.see("press Ctrl-C again to leave");
    screen.line("hello");
    screen.see("Heard: hello.");
    screen.prompt();
    screen.keys("\x03");
    screen.see("Heard: hello.\n\n> \npress Ctrl-C again to leave\n> ");
    screen.keys("\x03");
    assert_eq!(screen.end(), Some(3));
    golden::compare("terminal/left.golden", &without_chance(&screen.contents()));
}

#[test]
fn the_end_of_input_leaves() {
    let mut screen = Screen::open(echo());
    screen.prompt();
    screen.keys("\x04");
    assert_eq!(screen.end(), Some(3));
    assert!(screen.contents().contains("standard input has ended; to continue: playhouse sessions resume "));
}

/// A program that speaks slowly. What the session makes of a message meanwhile is `on_user_message`.
fn slow(on_user_message: &str) -> Run {
    let program = "# Slow\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Tell the user a story\n\
                   - Ask the user for $name\n- Say \"Bye, {$user_message}.\"\n";
    let story = format!("{{\"at\":\"01\",\"say\":\"Once upon a time, {}.\"}}\n", "there was a king ".repeat(30).trim());
    let wait = "{\"at\":\"02\",\"wait\":\"user\"}";
    let script = reply(&format!("{story}{wait}"), r#","chunks":[45,20,20,20,20,20,20],"delay_ms":300"#)
        + &reply("{\"at\":\"02\",\"set\":{\"name\":\"Ann\"}}", r#","when":"Ann""#)
        + &reply("{\"at\":\"01\",\"say\":\"As you like.\"}\n{\"at\":\"02\",\"wait\":\"user\"}", r#","when":"stop""#)
        + &reply(wait, r#","repeat":true"#);
    let config = format!("[limits]\non_user_message = \"{on_user_message}\"\n");
    Run::new().program(program).script(&script).file("playhouse.toml", &config).line(RUN)
}

#[test]
fn what_is_typed_while_the_program_speaks_is_the_next_message() {
    let mut screen = Screen::open(slow("queue"));
    screen.see("Once upon");
    screen.keys("Ann\r");
    screen.see("Bye, Ann.");
    assert_eq!(screen.end(), Some(0));
}

#[test]
fn half_a_line_is_there_when_the_program_waits() {
    let mut screen = Screen::open(slow("queue"));
    screen.see("Once upon");
    screen.keys("A");
    screen.see_on_line("> A");
    screen.keys("nn\r");
    screen.see("Bye, Ann.");
    assert_eq!(screen.end(), Some(0));
}

#[test]
fn questions_are_answered_while_the_program_speaks() {
    let mut screen = Screen::open(slow("interrupt"));
    screen.see("Once upon");
    screen.keys("/stack\r");
    screen.see("  Slow.Main, line 01 (begin)\n    | Tell the user a story");
    screen.line("Ann");
    screen.see("Bye, Ann.");
    assert_eq!(screen.contents().matches("king").count(), 30, "{}", screen.contents());
}

#[test]
fn a_session_that_is_resumed_shows_where_it_was_and_begins_no_other() {
    let run = echo().line("--session s");
    let again = run.beside().line("sessions resume s");
    let mut screen = Screen::open(run);
    screen.line("hello");
    screen.see("Heard: hello.");
    screen.line("/quit");
    assert_eq!(screen.end(), Some(3));
    let mut screen = Screen::open(again);
    screen.prompt();
    assert!(screen.contents().contains("> hello\nHeard: hello.\n"), "{}", screen.contents());
    screen.line("/restart");
    screen.see("use `playhouse run FILE`");
    screen.prompt();
    screen.keys("\x04");
    assert_eq!(screen.end(), Some(3));
}

#[test]
fn a_message_can_interrupt() {
    let mut screen = Screen::open(slow("interrupt"));
    screen.see("Once upon");
    screen.keys("stop\r");
    screen.see("As you like.");
    assert!(screen.contents().matches("king").count() < 30, "{}", screen.contents());
    screen.line("Ann");
    screen.see("Bye, Ann.");
}

#[test]
fn an_interrupt_cancels_and_a_second_one_leaves() {
    let mut screen = Screen::open(slow("queue"));
    screen.see("Once upon");
    screen.keys("\x03");
    screen.see("interrupted; press Ctrl-C again to leave");
    screen.prompt();
    screen.keys("\x03");
    assert_eq!(screen.end(), Some(3));
    let session = Regex::new(r"playhouse (sessions resume \S+)").unwrap();
    let contents = screen.contents();
    assert!(session.is_match(&contents), "{contents}");
    assert!(contents.contains("the session is saved"), "{contents}");
}

#[test]
fn a_sign_shows_that_something_is_done_and_goes_without_a_trace() {
    let program = "# Wait\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $order = GetOrder(\"7\")\n\
                   - Tell the user about $order\n";
    let script = reply("{\"at\":\"02\",\"say\":\"It is on its way.\"}", r#","delay_ms":700"#);
    let tools = r#"{"GetOrder": {"args": ["id"], "responses": [{"return": "shipped"}], "delay_ms": 700}}"#;
    let run = || Run::new().program(program).script(&script).tools(tools).line(RUN).line("--tools tools.json");
    let mut screen = Screen::open(run());
    screen.see("calling GetOrder");
    screen.see("thinking");
    assert_eq!(screen.end(), Some(0));
    golden::compare("terminal/sign.golden", &without_chance(&screen.contents()));
    assert!(screen.written.contains('\x1b'));
    // Without colours it stands still, and nothing but text is written; a line is still edited.
    let mut screen = Screen::open(run().variable("NO_COLOR", "1"));
    screen.see("… calling GetOrder");
    assert_eq!(screen.end(), Some(0));
    assert!(!screen.written.contains('\x1b'), "{:?}", screen.written);
    golden::compare("terminal/sign.golden", &without_chance(&screen.contents()));
    let mut screen = Screen::open_as(run(), "dumb");
    screen.see("… calling GetOrder");
    assert_eq!(screen.end(), Some(0));
    assert!(!screen.written.contains('\x1b'), "{:?}", screen.written);
}

#[test]
fn a_call_that_fails_is_told_with_the_way_to_see_more() {
    let program = "# Wait\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $order = GetOrder(\"7\")\n\
                   - Say \"That is all.\"\n";
    let tools = r#"{"GetOrder": {"args": ["id"], "responses": [{"error": "no such order"}]}}"#;
    let run = || Run::new().program(program).tools(tools).line("run program.md --model embedded --tools tools.json");
    let mut screen = Screen::open(run());
    screen.see("GetOrder failed: no such order");
    screen.see("(PLAYHOUSE_LOG=playhouse=debug shows more, also what plugins write to standard error)");
    assert_eq!(screen.end(), Some(0));
    // In a script a failed call is the program's own matter.
    let done = run().done().code(0);
    assert!(!done.stderr.contains("failed"), "{}", done.stderr);
}

#[test]
fn colours_are_sparing_and_can_be_switched_off() {
    let mut screen = Screen::open(echo());
    screen.line("hello");
    screen.see("Heard: hello.");
    assert!(screen.written.contains("\x1b[1;36m> "), "{:?}", screen.written);
    assert!(screen.written.contains("\x1b[2mmodel script"), "{:?}", screen.written);
    let mut screen = Screen::open(echo().variable("NO_COLOR", "1"));
    screen.prompt();
    screen.keys("hallo\x1b[D\x1b[D\x1b[D\x1b[D\x7fhe\x1b[3~\r");
    screen.see("Heard: hello.");
    assert!(!Regex::new("\x1b\\[[0-9;]*m").unwrap().is_match(&screen.written), "{:?}", screen.written);
    // A terminal that knows no more than text edits its lines itself.
    let mut screen = Screen::open_as(echo(), "dumb");
    screen.prompt();
    screen.keys("helll\x7fo\n");
    screen.see("Heard: hello.");
    screen.prompt();
    assert!(!screen.written.contains('\x1b'), "{:?}", screen.written);
    screen.keys("\x04");
    assert_eq!(screen.end(), Some(3));
}

/// A program that speaks by itself while it waits.
#[test]
fn a_line_that_is_being_edited_outlives_what_the_program_says() {
    let program = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Ask the user for $name\n\
                   - Say \"Bye, {$user_message}.\"\n\n\
                   ## Remind\n### Triggers\n- After 2 seconds of silence\n### Steps\n- Say \"Are you there?\"\n";
    let wait = "{\"at\":\"01\",\"wait\":\"user\"}";
    let script = reply(wait, "")
        + &reply("{\"at\":\"01\",\"set\":{\"name\":\"Ann\"}}", r#","when":"Ann""#)
        + &reply(wait, r#","repeat":true"#);
    let mut screen = Screen::open(Run::new().program(program).script(&script).line(RUN));
    screen.prompt();
    screen.keys("An");
    screen.see_on_line("> An");
    screen.see("Are you there?");
    screen.see_on_line("> An");
    assert_eq!(screen.contents().matches("> An").count(), 1, "{}", screen.contents());
    screen.keys("n\r");
    screen.see("Bye, Ann.");
    assert_eq!(screen.end(), Some(0));
}

/// Two agents, a call, an inlined one, a shadowed name, a secret.
const DESK: &str = "---\nvariables:\n  - name: pin\n    type: int\n    secret: true\n---\n\n\
# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $pin = 4711\n- $name = \"Bob\"\n- $city = \"Rome\"\n\
- $text = \"line one\"\n- Greet(\"Ann\", 3)\n- Say \"Bye.\"\n\n\
## Greet($name, $times)\n### Steps\n- $city = \"Paris\"\n- Ask the user, in the kindest words there are and without \
any hurry whatsoever, for their $mood and for everything else that may come to mind\n- Say \"So, {$mood}.\"\n\n\
## Calm\n### Triggers\n- When $mood is \"bad\"\n### Steps\n- Say \"Oh.\"\n\n\
# Stock\n\n## Count\npublic: true\n### Steps\n- Say \"3\"\n";

fn desk() -> Run {
    let script = reply("{\"at\":\"05>02\",\"wait\":\"user\"}", "")
        + &reply("{\"at\":\"05>02\",\"set\":{\"mood\":\"good\"}}", "");
    Run::new().program(DESK).script(&script).line(RUN)
}

/// What a person asks is answered from the machine's state, and the program does not hear of it.
#[test]
fn questions_are_answered_without_the_program() {
    let run = desk();
    let mut shown = String::new();
    for command in [
        "/help",
        "/stack",
        "/vars",
        "/vars $name",
        "/vars pin",
        "/vars nme",
        "/vars xyzzy",
        "/why",
        "/why calm",
        "/stak",
        "/stack now",
        "/etc",
        "/2",
    ] {
        let mut screen = Screen::open(run.beside().line(RUN));
        screen.line(command);
        // `/2` is no word: the program gets it.
        if command == "/2" {
            screen.see("So, good.");
            continue;
        }
        screen.prompt();
        shown.push_str(&format!("{}\n", without_chance(&screen.contents())));
        screen.line("//etc");
        screen.see("So, good.");
        assert_eq!(screen.end(), Some(0));
        assert!(!screen.contents().contains("4711"), "{}", screen.contents());
    }
    let records = fs::read_dir(run.folder().join("state/playhouse/sessions")).unwrap();
    let journals: Vec<String> = records.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    assert!(journals.iter().any(|journal| journal.contains("\"/etc\"")), "{journals:?}");
    assert!(!journals.iter().any(|journal| journal.contains("/stack") || journal.contains("/why")));
    golden::compare("terminal/questions.golden", &shown);
}

#[test]
fn names_are_completed() {
    let mut screen = Screen::open(desk());
    screen.prompt();
    screen.keys("/st\t");
    screen.see_on_line("> /stack");
    screen.keys("\x15/vars $na\t");
    screen.see_on_line("> /vars $name");
    screen.keys("\x15/why c\t");
    screen.see_on_line("> /why Calm:T1");
    screen.keys("\x15/\t\t");
    screen.see("/stack    /vars");
    screen.keys("\x15hello\t\r");
    screen.see("So, good.");
}

const HELLO: &str = "# A\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Say \"One.\"\n- Ask the user for \
                     $name\n- Say \"Bye, {$name}.\"\n";

fn hello() -> Run {
    let script =
        reply("{\"at\":\"02\",\"wait\":\"user\"}", "") + &reply("{\"at\":\"02\",\"set\":{\"name\":\"Ann\"}}", "");
    Run::new().program(HELLO).script(&script).line(RUN)
}

#[test]
fn a_program_that_is_saved_is_loaded_for_the_next_session() {
    let run = hello().line("--watch");
    let path = run.folder().join("program.md");
    let mut screen = Screen::open(run);
    screen.prompt();
    screen.keys("half");
    screen.see_on_line("> half");
    // An editor that writes another file and renames it.
    fs::write(path.with_extension("new"), HELLO.replace("One.", "Two.").replace("Bye", "See you")).unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();
    screen.see("reloaded; this session keeps its text");
    screen.see_on_line("> half");
    screen.keys("\x15Ann\r");
    // The session keeps its text; the next one begins at once.
    screen.see("Bye, Ann.");
    screen.see("Two.");
    screen.prompt();
    // An editor that writes into the file, with an error.
    fs::write(&path, HELLO.replace("Say \"One.\"", "Nothing(3)")).unwrap();
    screen.see("there is no playbook or tool `Nothing`");
    screen.see("not reloaded");
    screen.line("Ann");
    screen.see("See you, Ann.");
    screen.see("waiting for a change of the program");
    screen.prompt();
    fs::write(&path, HELLO.replace("One.", "Three.")).unwrap();
    screen.see("Three.");
    screen.prompt();
    fs::write(&path, HELLO.replace("One.", "Four.")).unwrap();
    screen.see("(/restart starts it now)\n> ");
    screen.line("/restart");
    screen.see("Four.");
    screen.prompt();
    screen.keys("\x04");
    assert_eq!(screen.end(), Some(3));
    golden::compare("terminal/watch.golden", &without_chance(&screen.contents()));
}

#[test]
fn what_is_imported_is_watched_too_and_errors_can_be_mended() {
    let program = "!import part.md\n\n# A\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Greet()\n\
                   - Ask the user for $name\n";
    let script = reply("{\"at\":\"02\",\"wait\":\"user\"}", "");
    let run = Run::new().program(program).script(&script).line(RUN).line("--watch");
    let part = run.folder().join("part.md");
    // A file that is not there yet.
    let mut screen = Screen::open(run);
    screen.see("waiting for a change of the program");
    fs::write(&part, "## Greet\n### Steps\n- Say \"Hello.\"\n").unwrap();
    screen.see("Hello.");
    screen.prompt();
    fs::write(&part, "## Greet\n### Steps\n- Say \"Hello, you.\"\n").unwrap();
    screen.see("reloaded; this session keeps its text");
    screen.line("/restart");
    screen.see("Hello, you.");
}

#[test]
fn watching_is_for_terminals() {
    hello().line("--watch").code(2).stderr_contains("--watch is for conversations");
}
