//! Playbooks in programs in Rust: the examples in `examples/embed/`, and what they do not show.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use playhouse::host::config::FileConfig;
use playhouse::host::embed::{Conversation, EndError};
use playhouse::host::launch::{Choices, Launch, LaunchError, StartOptions, Workshop, find_entry};
use playhouse::prelude::*;
use playhouse::value::Value;

#[path = "../../examples/embed/conversation.rs"]
mod conversation;
#[path = "../../examples/embed/events.rs"]
mod events;
#[path = "../../examples/embed/tool.rs"]
mod tool;

/// Each example is a module of this binary, and runs in a process of its own.
#[test]
#[ignore = "run by the tests of what the examples write"]
fn conversation_runs() {
    conversation::main().unwrap();
}

#[test]
#[ignore = "as above"]
fn tool_runs() {
    tool::main().unwrap();
}

#[test]
#[ignore = "as above"]
fn events_runs() {
    events::main().unwrap();
}

#[test]
fn the_conversation_is_had() {
    let written = "Good to see you! May I ask you three things?\nPlease tell me your name.\n\
                   Please tell me the place you live in.\nI like the sound of Bergen.\n\
                   Please tell me what you like to do there on a free day.\n\
                   What I will remember: Ada from Bergen and swimming.\nUntil next time, Ada!\n";
    let said = "Hi, my name is Ada\nI live in Bergen\nswimming\n";
    assert_eq!(output_of("conversation_runs", said), written);
    assert_eq!(
        output_of("conversation_runs", ""),
        written.lines().take(2).map(|line| format!("{line}\n")).collect::<String>()
    );
}

#[test]
fn the_tool_is_called() {
    assert_eq!(output_of("tool_runs", ""), "Please tell me the number of your order.\nOrder 4334: shipped\n");
}

#[test]
fn the_listener_hears_each_line() {
    assert_eq!(output_of("events_runs", ""), "01\n01 $n = 2\n02\n02.01\n02.01 There are 2\n03\nfinished\n");
}

/// What an example writes between the lines of the harness.
fn output_of(test: &str, input: &str) -> String {
    let mut example = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "--test-threads=1", &format!("embed::{test}")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    example.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = example.wait_with_output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    let text = text.split_once(&format!("test embed::{test} ... ")).map(|(_, rest)| rest);
    text.and_then(|rest| rest.split_once("ok\n\ntest result: ok. 1 passed")).unwrap().0.to_owned()
}

/// An example as it is shown: without its head, and without what only this file wants.
pub(crate) fn shown(path: &str) -> String {
    let whole = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    whole.split_once("\n\n").unwrap().1.replace("pub(crate) ", "")
}

/// The front page of the library shows the first example as it is.
#[test]
fn the_front_page_shows_the_conversation() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let block = page.split("//! ```").nth(1).unwrap().lines().skip(1);
    let block: String = block.map(|line| format!("{}\n", line.get(4..).unwrap_or_default())).collect();
    assert_eq!(block, shown("examples/embed/conversation.rs"));
}

fn playhouse() -> Playhouse {
    let mut launch = Launch::new(Workshop::default(), Choices::default());
    launch.configuration = Some(FileConfig::default());
    Playhouse::from(launch)
}

fn program(steps: &str) -> String {
    format!("# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n{steps}- End program\n")
}

/// All that is said; a question of the user ends it, and `answer` is given to every other one.
async fn talk(chat: &mut Conversation, answer: Value) -> Result<String, EndError> {
    let mut said = Vec::new();
    while let Some(turn) = chat.next().await? {
        match turn {
            Turn::Said(text) => said.push(text.to_string()),
            Turn::Asks => break,
            Turn::Approval(question) => {
                said.push(format!("[{}]", question.text));
                chat.answer(question, answer.clone()).await.unwrap();
            }
        }
    }
    Ok(said.join("|"))
}

#[tokio::test]
async fn a_tool_may_leave_arguments_out_be_confirmed_and_fail() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let seen = calls.clone();
    let mail = tool("SendMail", move |given: Map| {
        seen.lock().unwrap().push(Value::map(given.clone()).to_json());
        async move { if given["copies"] == Value::Int(0) { Err("nothing to send".to_owned()) } else { Ok("sent") } }
    });
    let mail = mail.parameter("to", TypeKind::Str).optional("copies", TypeKind::Int, 1).confirmed();
    let playhouse = playhouse().tool(mail);
    let once = program("- $sent = SendMail(\"Ida\")\n- Say \"{$sent}\"\n");
    let loaded = playhouse.load_text("mail.md", &once).await.unwrap();
    let said = talk(&mut loaded.start().await.unwrap(), Value::Bool(true)).await.unwrap();
    assert!(said.starts_with('[') && said.contains("SendMail") && said.ends_with("]|sent"), "{said}");
    assert_eq!(*calls.lock().unwrap(), [r#"{"to":"Ida","copies":1}"#]);
    // Refused: the tool hears nothing of it.
    let _ = talk(&mut loaded.start().await.unwrap(), Value::Bool(false)).await;
    assert_eq!(calls.lock().unwrap().len(), 1);
    loaded.close().await;
    // The compiler knows its parameters.
    let wrong = playhouse.load_text("mail.md", &program("- SendMail(\"Ida\", cc=\"Ada\")\n")).await.err().unwrap();
    let LaunchError::Program { findings, .. } = wrong else { panic!("{wrong}") };
    assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["wrong-arguments"]);
}

#[tokio::test]
async fn a_tool_that_has_the_name_of_another_is_refused() {
    let twin = || tool("Twin", |_| async { Ok(1) });
    let wrong = playhouse().tool(twin()).tool(twin()).load_text("a.md", &program("")).await.err().unwrap();
    assert!(wrong.to_string().contains("two tools named `Twin`"), "{wrong}");
}

#[tokio::test]
async fn a_program_that_fails_is_an_error() {
    let fails = program("- Main()\n- Say \"never\"\n");
    let mut chat = playhouse().load_text("a.md", &fails).await.unwrap().start().await.unwrap();
    let error = talk(&mut chat, Value::Null).await.unwrap_err();
    assert!(matches!(&error, EndError::Failed(fault) if error.to_string() == *fault.message), "{error}");
    chat.close().await;
}

#[tokio::test]
async fn a_session_that_is_kept_goes_on() {
    for place in ["sessions", "all.sqlite"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program.md");
        fs::write(&file, program("- Ask the user for $name\n- Say \"Hello {$name}\"\n")).unwrap();
        let playhouse = playhouse().model("embedded").sessions(folder.path().join(place));
        let loaded = playhouse.load(&file).await.unwrap();
        let entry = find_entry(&loaded.opened().program, "Main").unwrap();
        let options = StartOptions { id: "s1".into(), entry: Some(entry), arguments: Map::new() };
        let mut chat = loaded.start_with(options.clone()).await.unwrap();
        assert!(talk(&mut chat, Value::Null).await.unwrap().contains("name"));
        chat.close().await;
        assert!(matches!(loaded.start_with(options).await, Err(LaunchError::Session(_))));
        let mut chat = playhouse.resume("s1").await.unwrap();
        assert_eq!(&**chat.handle().id(), "s1");
        chat.say("Ada").await.unwrap();
        let mut said = String::new();
        while let Some(turn) = chat.next().await.unwrap() {
            if let Turn::Said(text) = turn {
                said = text.to_string();
            }
        }
        assert_eq!(said, "Hello Ada");
        chat.close().await;
        assert!(playhouse.resume("s2").await.is_err());
    }
    let error = playhouse().resume("s1").await.err().unwrap();
    assert!(error.to_string().contains("`sessions`"), "{error}");
}
