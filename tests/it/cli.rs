//! The command line, through the real binary. What can be told as a transcript is a case in `tests/cases/cli/`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use playhouse::serve::cli::command;
use regex::Regex;

use crate::golden;
use crate::run::Run;

/// `--- NAME` begins a file, `$ playhouse …` is a run, and lines that begin with `< ` before it are its standard
/// input. All runs of a case share a folder; from `$ cd NAME` on they run in that one inside of it. What differs from run to run is written in capitals.
pub(crate) fn transcript(_name: &str, case: &str) -> String {
    let mut run = Run::new();
    let mut file: Option<(String, String)> = None;
    let mut stdin = String::new();
    let (mut text, mut inside) = (String::new(), "");
    for line in case.lines() {
        let is_run = line.strip_prefix("$ playhouse");
        if let Some(name) = line.strip_prefix("--- ") {
            if let Some((name, text)) = file.replace((name.to_owned(), String::new())) {
                run = run.file(&name, &text);
            }
        } else if let Some(arguments) = is_run {
            if let Some((name, text)) = file.take() {
                run = run.file(&name, &text);
            }
            let done = run.inside(inside).args(words(arguments)).stdin(&std::mem::take(&mut stdin)).done();
            text.push_str(&format!("{line}\n{}", done.stdout));
            for line in done.stderr.lines() {
                text.push_str(format!("! {line}").trim_end());
                text.push('\n');
            }
            text.push_str(&format!("= {}\n\n", done.code.unwrap()));
            run = done.then();
        } else if let Some(folder) = line.strip_prefix("$ cd ") {
            inside = folder;
            text.push_str(&format!("{line}\n\n"));
        } else if let Some(message) = line.strip_prefix("< ") {
            stdin.push_str(message);
            stdin.push('\n');
        } else if let Some((_, text)) = &mut file {
            text.push_str(line);
            text.push('\n');
        } else if let Some(name) = line.strip_prefix("cat ") {
            text.push_str(&format!("{line}\n{}\n", in_order(&run.read(name))));
        }
    }
    without_chance(&text)
}

/// Events, the ends of turns last: whether the end of a reply or the user's next line comes first is chance.
fn in_order(events: &str) -> String {
    let (ends, others): (Vec<&str>, Vec<&str>) = events.lines().partition(|line| line.contains("\"turn_finished\""));
    others.into_iter().chain(ends).map(|line| format!("{line}\n")).collect()
}

/// Arguments as a shell splits them, as far as cases need it.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split('\'').enumerate();
    words.flat_map(
        |(index, part)| {
            if index % 2 == 1 { vec![part] } else { part.split_whitespace().collect::<Vec<_>>() }
        },
    )
}

fn without_chance(text: &str) -> String {
    let replacements = [
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)?", "TIME"),
        (r"\d{8}-\d{6}-[a-z0-9]{16}", "ID"),
        (r#""(ms|wall_ms|model_ms|classifier_ms|verdict_ms)":\d+"#, r#""$1":MS"#),
        (r#""(cancel_us|cancel_max_us)":\d+"#, r#""$1":US"#),
        (r#""(seq|prompt_tokens)":\d+"#, r#""$1":N"#),
        (r"process id \d+", "process id PID"),
        (r"(\(|: )\d+ ms\b", "${1}MS ms"),
        (r#" time="\d+\.\d+""#, r#" time="S""#),
    ];
    replacements.iter().fold(text.to_owned(), |text, (pattern, with)| {
        Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned()
    })
}

#[test]
fn transcripts() {
    golden::check("cli", &["txt"], transcript);
}

const HELLO: &str = "# A\n\n## Greet\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- Say \"Hello.\"\n\
                     - Ask the user for $name\n- Say \"Bye, {$name}.\"\n";

const HELLO_SCRIPT: &str = r#"{"reply":"{\"at\":\"02\",\"say\":\"Name?\"}\n{\"at\":\"02\",\"wait\":\"user\"}"}
{"reply":"{\"at\":\"02\",\"set\":{\"name\":\"Mina\"}}"}
"#;

const RUN: [&str; 4] = ["run", "program.md", "--model", "script:script.jsonl"];

fn hello() -> Run {
    Run::new().program(HELLO).script(HELLO_SCRIPT)
}

#[test]
fn each_line_of_standard_input_is_one_message() {
    hello().args(RUN).stdin("Mina\n").stdout("Hello.\nName?\nBye, Mina.\n").code(0);
    // The last line needs no line break.
    hello().args(RUN).stdin("Mina").stdout("Hello.\nName?\nBye, Mina.\n").code(0);
}

#[test]
fn speech_is_there_before_the_answer_is_read() {
    let run = hello().args(RUN);
    let mut child = run.spawn();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "Hello.\nName?\n");
    child.stdin.take().unwrap().write_all(b"Mina\n").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "Bye, Mina.\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let run = hello().args(RUN);
    let mut codes = Vec::new();
    // Another test that starts a process at this moment holds the pipe open in it for an instant: then nothing is wrong.
    for _ in 0..10 {
        let mut child = run.spawn();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        stdout.read_line(&mut line).unwrap();
        drop(stdout);
        let _ = child.stdin.take().unwrap().write_all(b"Mina\n");
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(stderr, "model script:script.jsonl (--model)\n");
        codes.push(child.wait().unwrap().code());
        if codes.last() == Some(&Some(1)) {
            return;
        }
    }
    panic!("the reader was gone, and the run ended with {codes:?}");
}

#[test]
fn a_second_process_is_told_who_holds_the_session() {
    let first = hello().args(RUN).args(["--session", "s"]);
    let mut child = first.spawn();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    stdout.read_line(&mut line).unwrap();
    let holder = format!("process id {}", child.id());
    let done = first.beside().args(RUN).args(["--session", "s"]).stdin("Mina\n").code(1);
    let done = done.stdout("").stderr_contains(&holder);
    done.then().line("sessions list").code(0);
    done.then().line("sessions send s --event photo").code(1).stdout("").stderr_contains(&holder);
    done.then().line("sessions show s").code(0).stdout_contains(&holder);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_session_goes_on_after_its_input_has_ended() {
    let done = hello().args(RUN).args(["--session", "s"]).code(3).stdout("Hello.\nName?\n");
    let done = done.stderr_contains("to continue: playhouse sessions resume s");
    // Its text stays the old one.
    fs::write(done.path("program.md"), HELLO.replace("Bye", "Good night")).unwrap();
    let done = done.then().args(RUN).args(["--session", "s"]).stdin("Mina\n").code(0).stdout("Bye, Mina.\n");
    let done = done.stderr_contains("the program's text has changed since session s began");
    done.then().line("sessions resume s").code(0).stdout("").stderr_contains("the session has already ended");
}

#[test]
fn a_journal_is_private_and_can_lie_anywhere() {
    let done = hello().args(RUN).line("--session s --journal here.jsonl").code(3);
    let done = done.stderr_contains("to continue: playhouse run program.md --session s --journal here.jsonl");
    assert!(!done.path("state").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(done.path("here.jsonl")).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = done.then().args(RUN).line("--journal here.jsonl").code(2);
    let again = again.stderr_contains("already holds a session");
    let wrong = again.then().args(RUN).line("--session t --journal here.jsonl").code(2);
    let wrong = wrong.stderr_contains("this is the journal of session s");
    let run = wrong.then().args(RUN).line("--session s --journal here.jsonl").stdin("Mina\n");
    run.code(0).stdout("Bye, Mina.\n");
}

#[test]
fn secrets_are_masked_wherever_something_is_shown() {
    let program = "# A\n\n## Enter\n\nvariables:\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n\
                   - $copy = $pin\n- Ask the user for $name\n";
    let front = "---\nvariables:\n  - name: pin\n    type: str\n    secret: true\n---\n\n";
    let script = "{\"reply\":\"{\\\"at\\\":\\\"02\\\",\\\"wait\\\":\\\"user\\\"}\"}\n";
    let run = Run::new().program(&format!("{front}{}", program.replace("variables:\n\n", ""))).script(script);
    let done = run.args(RUN).line("--arg pin=hush-4711 --session s --events events.jsonl").code(3);
    let events = done.read("events.jsonl");
    assert!(!events.contains("hush-4711"), "{events}");
    let text = done.then().line("sessions show s").code(0);
    assert!(!text.stdout.contains("hush-4711"), "{}", text.stdout);
    assert!(text.stdout.contains("$pin = \"***\""), "{}", text.stdout);
    let json = done.then().line("sessions show s --format json").code(0);
    assert!(!json.stdout.contains("hush-4711"), "{}", json.stdout);
}

#[test]
fn a_summary_has_all_keys_and_events_are_counted() {
    let done = hello().args(RUN).args(["--summary", "--events", "events.jsonl"]).stdin("Mina\n").code(0);
    for (index, line) in done.read("events.jsonl").lines().enumerate() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["seq"], index + 1);
    }
    let summary: serde_json::Value = serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap();
    let keys: Vec<&str> = summary.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "turns prompt_tokens cached_tokens completion_tokens discarded_tokens cost tool_calls playbook_calls \
                    plan_calls model_questions tail_calls inlined_calls early_starts explicit_lines skipped updates events trigger_evaluations classifier_calls \
                    classifier_ms classifier_tokens verdict_ms trigger_matches match_discarded_tokens cancels cancel_us \
                    cancel_max_us repairs retries max_depth wall_ms model_ms outcome";
    assert_eq!(keys, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(summary["turns"], 2);
    assert_eq!(summary["outcome"], "finished");
}

#[test]
fn findings_are_json_for_programs() {
    let program = "# A\n\n## Größe\n\n### Steps\n\n- Söy; hü\n- GetOrdr(3)\n";
    let done = Run::new().program(program).line("check program.md --format json").code(2);
    assert_eq!(done.stderr, "");
    let findings: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let finding = findings.as_array().unwrap().iter().find(|finding| finding["severity"] == "error").unwrap();
    assert_eq!(finding["code"], "unknown-callee");
    assert_eq!(finding["file"], "program.md");
    assert_eq!((&finding["line"], &finding["column"]), (&8.into(), &3.into()));
    assert_eq!((&finding["end_line"], &finding["end_column"]), (&8.into(), &10.into()));
    for key in ["message", "notes", "fix"] {
        assert!(finding.get(key).is_some(), "{key}");
    }
}

#[test]
fn of_a_test_that_is_no_text_the_next_step_is_said() {
    for command in ["test talk.test.md", "test --list talk.test.md", "test --bless talk.test.md", "eval talk.test.md"] {
        let run = Run::new().line(command);
        fs::write(run.folder().join("talk.test.md"), b"# Gr\xfc\xdfe\n").unwrap();
        let done = run.done();
        let told = format!("{}{}", done.stdout, done.stderr);
        assert!(told.contains("cannot read") && told.contains("; save it as UTF-8"), "{command}: {told}");
    }
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = Run::new().args(["completions", shell]).code(0);
        assert!(done.stdout.contains("sessions"), "{shell}");
        assert!(done.stdout.contains("debug-listen"), "{shell}");
        // What comes later is not offered.
        assert!(!done.stdout.contains("--compare"), "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let done = Run::new().line("man pages").code(0).stdout("");
    let written = fs::read_dir(done.path("pages")).unwrap().map(|entry| entry.unwrap().file_name());
    let written: BTreeSet<String> = written.map(|name| name.into_string().unwrap()).collect();
    let mut expected = BTreeSet::new();
    add_pages(&command(), "playhouse", &mut expected);
    assert!(expected.contains("playhouse-sessions-show.1"), "{expected:?}");
    assert_eq!(written, expected);
    golden::compare("man/playhouse-fmt.1", &done.read("pages/playhouse-fmt.1"));
    done.then().line("man pages/playhouse.1").code(1).stderr_contains("pages/playhouse.1: cannot write");
}

/// The names of the pages of a command that is not hidden, and of those below it.
fn add_pages(command: &clap::Command, name: &str, pages: &mut BTreeSet<String>) {
    pages.insert(format!("{name}.1"));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        add_pages(inner, &format!("{name}-{}", inner.get_name()), pages);
    }
}

#[test]
fn the_log_is_off_until_it_is_asked_for() {
    let quiet = hello().args(RUN).stdin("Mina\n").code(0);
    assert_eq!(quiet.stderr, "model script:script.jsonl (--model)\n");
    hello().args(RUN).stdin("Mina\n").variable("PLAYHOUSE_LOG", "debug").code(0).stderr_contains("asks the model");
    hello().args(RUN).stdin("Mina\n").variable("PLAYHOUSE_LOG", "a=b=c").code(0).stderr_contains("PLAYHOUSE_LOG");
}

#[test]
fn file_tools_stay_below_the_working_directory() {
    let program = "# A\n\n## B\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n\
                   - $text = LoadFile(\"note.txt\")\n- Say \"{$text}\"\n";
    let run = Run::new().program(program).script("").file("inside/note.txt", "from inside");
    let done = run.args(RUN).line("--working-directory inside").code(0).stdout("from inside\n");
    done.then().args(RUN).line("--working-directory nowhere").code(2).stderr_contains("--working-directory");
}

#[test]
fn canned_tools_answer() {
    let program = "# A\n\n## B\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n\
                   - $state = GetState(\"7\")\n- Say \"It is {$state}.\"\n";
    let tools = r#"{"GetState": {"args": ["id"], "responses": [{"when": {"id": "7"}, "return": "shipped"}]}}"#;
    let run = Run::new().program(program).script("").tools(tools);
    let done = run.args(RUN).args(["--tools", "tools.json", "--summary"]).code(0).stdout("It is shipped.\n");
    let done = done.stderr_contains("\"tool_calls\":1");
    done.then().args(RUN).code(2).stderr_contains("there is no playbook or tool `GetState`");
}

#[test]
fn blessing_writes_what_happened() {
    let test = "# T\n\n- program: program.md\n\n## Model\n\n```jsonl\n{\"at\":\"02\",\"wait\":\"user\"}\n```\n\n\
                ## Says\n\n> Something else.\n\n## Outcome\n\nfinished\n";
    let done = Run::new().program(HELLO).file("a.test.md", test).line("test").code(1);
    let done = done.stdout_contains("a.test.md:11: Says differs\n  - > Something else.\n  + > Hello.\n");
    let done = done.stdout_contains("a.test.md:15: Outcome differs\n  - finished\n  + waits for the user\n");
    let done = done.stdout_contains("0 passed, 1 failed\n");
    let done = done.then().line("test --bless").code(0).stdout_contains("  -> Something else.\n  +> Hello.\n");
    assert!(done.stdout.starts_with("blessed a.test.md\n") && done.stdout.ends_with("1 passed, 0 failed\n"));
    assert!(done.read("a.test.md").contains("> Hello.\n\n## Outcome\n\nwaits for the user\n"));
    done.then().line("test --repeat 3").code(0).stdout("ok a.test.md\n1 passed, 0 failed\n");
}

#[test]
fn the_examples_pass_their_conversations() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let done = Run::new().args(["test", examples.to_str().unwrap()]).code(0);
    assert!(done.stdout.ends_with(" 0 failed\n"), "{}", done.stdout);
}

#[test]
fn the_programs_in_the_language_guide_have_no_errors() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/language.md");
    let guide = fs::read_to_string(guide).unwrap();
    let blocks = Regex::new(r"(?ms)^(`{3,})markdown\n(.*?)\n```").unwrap();
    let mut n_blocks = 0;
    for block in blocks.captures_iter(&guide) {
        n_blocks += 1;
        Run::new().program(&format!("{}\n", &block[2])).line("check program.md").code(0);
    }
    assert!(n_blocks > 3, "{n_blocks}");
}

const CLAIM: &str = "# A\n\n## Claim\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- Ask the user for $policy\n\
                     - $adjuster = Assign($policy)\n- SaveFile(\"note.txt\", $adjuster)\n- Say \"{$adjuster} calls.\"\n";

/// What a session was begun with are files, wherever it goes on.
#[test]
fn a_session_goes_on_from_another_folder_with_the_files_it_began_with() {
    let run = Run::new().file("desk/claim.md", CLAIM).file("desk/playhouse.toml", "[tools]\nListFiles.retries = 0\n");
    let run = run.file("tools/claim.json", r#"{"Assign": {"args": ["policy"], "responses": [{"return": "Ida"}]}}"#);
    let begun = run.file("work/x.txt", "").file("elsewhere/x.txt", "");
    let begun = begun.line("run claim.md --tools ../tools/claim.json --working-directory ../work --model embedded");
    let begun = begun.line("--journal ../s.jsonl --session s");
    let folder = begun.folder().to_owned();
    let at = |run: &Run, place: &str, stdin: &str| {
        let mut command = run.command(&[]);
        let command = command.current_dir(folder.join(place)).stdin(std::process::Stdio::piped());
        let mut child =
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(at(&begun, "desk", "").0, Some(3));
    let journal = begun.read("s.jsonl");
    let given = |name: &str| format!("{}", folder.join("desk").join(name).display());
    for path in ["../tools/claim.json", "playhouse.toml", "../work"] {
        assert!(journal.contains(&given(path)), "{path}: {journal}");
    }
    let resume = begun.beside().line("sessions resume s --journal ../s.jsonl");
    for (file, option) in [("tools/claim.json", "--tools FILE"), ("desk/playhouse.toml", "--config FILE")] {
        fs::rename(folder.join(file), folder.join("away")).unwrap();
        let (code, _, told) = at(&resume, "elsewhere", "");
        fs::rename(folder.join("away"), folder.join(file)).unwrap();
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains("which is not there now") && told.contains(option), "{told}");
    }
    let (code, said, told) = at(&resume, "elsewhere", "NF1\n");
    assert_eq!((code, said.as_str()), (Some(0), "Ida calls.\n"), "{told}");
    assert_eq!(fs::read_to_string(folder.join("work/note.txt")).unwrap(), "Ida");
}

/// Journals from before sessions kept the files beside their programs.
#[test]
fn an_older_journal_goes_on_without_such_files() {
    let begun = hello().line("run program.md --model script:script.jsonl --tools t.json --journal s.jsonl --session s");
    let done = begun.file("t.json", "{}").code(3);
    let journal = done.then().read("s.jsonl");
    let kept = Regex::new(r#","given":\{[^}]*\}"#).unwrap();
    assert_eq!(kept.find_iter(&journal).count(), 1, "{journal}");
    let older = done.then().file("s.jsonl", &kept.replace(&journal, ""));
    older.line("sessions resume s --journal s.jsonl").stdin("Mina\n").stdout("Bye, Mina.\n").code(0);
}
