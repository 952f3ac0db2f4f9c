//! Sessions launched without a command line: what a server, an editor or a library's user does.

use std::path::PathBuf;
use std::sync::Arc;

use playhouse::host::config::FileConfig;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::address::Place;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::launch::{
    Allowed, Choices, Launch, LaunchError, Level, Ready, Source, StartOptions, Trust, Wanted, Workshop,
};
use playhouse::host::llm::embedded::Embedded;
use playhouse::host::session::{Interest, Notice, Session};
use playhouse::lang::SourceText;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::Outcome;
use tempfile::TempDir;

const GREETING: &str = "\
# Greeter
## Greet($name)
### Triggers
- At the beginning
### Steps
- Say \"Good day, $name\"
- End program
";

fn texts(text: &str) -> Source<'static> {
    Source::Texts(vec![SourceText { name: "program.md".to_owned(), text: text.to_owned() }])
}

fn launch() -> Launch {
    let mut launch = Launch::new(Workshop::default(), Choices::default());
    launch.configuration = Some(FileConfig::default());
    launch
}

/// What it says, and how it ends.
async fn run(mut session: Session) -> (String, Option<Outcome>) {
    let mut events = session.subscribe(Interest::Speech);
    let handle = session.spawn();
    let mut said = Vec::new();
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { continue };
        if let PublicBody::Said { text } = &event.body {
            said.push(text.to_string());
        } else if let PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User } = &event.body {
            handle.stop().await;
        }
    }
    (said.join("|"), handle.outcome().await.unwrap().outcome.clone())
}

fn options(id: &str, name: &str) -> StartOptions {
    let arguments = Map::from_iter([(Arc::from("name"), Value::from(name.to_owned()))]);
    StartOptions { id: id.into(), entry: None, arguments }
}

#[tokio::test]
async fn an_open_program_begins_any_number_of_sessions() {
    let opened = launch().open(texts(GREETING)).await.unwrap();
    let told: Vec<_> = opened.remarks.iter().map(|remark| (remark.level, remark.code)).collect();
    assert_eq!(told, [(Level::Note, "model")]);
    for name in ["Ada", "Grace"] {
        let session = opened.start(Box::new(MemoryJournal::new()), options(name, name)).unwrap();
        let (said, outcome) = run(session).await;
        assert_eq!(said, format!("Good day, {name}"));
        assert!(matches!(outcome, Some(Outcome::Done { .. })), "{outcome:?}");
    }
    opened.close().await;
}

#[tokio::test]
async fn what_is_wrong_is_told_as_data() {
    let error = |opened: Result<_, LaunchError>| opened.err().expect("it cannot be opened");
    let wrong = error(launch().open(texts("# A\n## B\n### Steps\n- Nope()\n")).await);
    let LaunchError::Program { findings, .. } = wrong else { panic!("{wrong}") };
    assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["unknown-callee"]);
    let choices = Choices { model: Some("nope".to_owned()), ..Choices::default() };
    let wrong = error(Launch { choices, ..launch() }.open(texts(GREETING)).await);
    assert!(matches!(wrong, LaunchError::Config(_)), "{wrong}");
    let choices = Choices { tools: vec![PathBuf::from("nowhere.json")], ..Choices::default() };
    let wrong = error(Launch { choices, ..launch() }.open(texts(GREETING)).await);
    assert!(matches!(wrong, LaunchError::Equipment(_)), "{wrong}");
}

fn wanted(folder: &TempDir, playbook: Option<&str>) -> Wanted {
    let file = folder.path().join("program.md");
    Wanted {
        files: vec![file],
        playbook: playbook.map(str::to_owned),
        arguments: Map::new(),
        max_replans: None,
        session: Some("s1".into()),
        place: Place::at(&folder.path().join("sessions")),
        migrate: false,
    }
}

#[tokio::test]
async fn a_kept_session_goes_on_and_another_one_begins() {
    let folder = tempfile::tempdir().unwrap();
    let text = "# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Ask for $name\n- Say \"Hello $name\"\n- End program\n";
    std::fs::write(folder.path().join("program.md"), text).unwrap();
    let launch = Launch { llm: Some(Arc::new(Embedded)), ..launch() };
    let wrong = launch.prepare(wanted(&folder, Some("Nope")), None).await.err();
    assert!(matches!(&wrong, Some(LaunchError::NoEntry { known, .. }) if known == &["Main"]), "{wrong:?}");
    let begin = async |ready: Ready| {
        let (opened, session) = ready.begin().await;
        let ended = run(session.unwrap()).await;
        opened.close().await;
        ended
    };
    let ready = launch.prepare(wanted(&folder, None), None).await.unwrap();
    let (said, outcome) = begin(ready).await;
    assert!(said.contains("name") && outcome.is_none(), "{said}");
    // It is kept, so it goes on with the text that it has.
    std::fs::write(folder.path().join("program.md"), text.replace("Hello", "Goodbye")).unwrap();
    let ready = launch.prepare(wanted(&folder, None), None).await.unwrap();
    assert_eq!(&**ready.id(), "s1");
    assert!(ready.opened().text.files[0].text.contains("Hello"));
    assert!(begin(ready).await.1.is_none());
}

#[tokio::test]
async fn a_program_of_others_names_nothing_that_the_operator_has_not_allowed() {
    let program = |front: &str| format!("---\n{front}\n---\n{GREETING}");
    let cases = [
        ("plugins: {mail: ./mail}", "plugins", Allowed { commands: true, ..Allowed::default() }),
        (
            "mcp: {files: {command: [sh, -c, id]}}",
            "the server `files`",
            Allowed { commands: true, ..Allowed::default() },
        ),
        ("mcp: {web: {url: 'http://10.0.0.1/'}}", "the server `web`", Allowed { servers: true, ..Allowed::default() }),
        (
            "resources: [{type: disk, config: {path: /etc}}]",
            "a resource of the type `disk`",
            Allowed { files: true, ..Allowed::default() },
        ),
        (
            "resources: [{type: documents, config: {path: /etc/a}}]",
            "a resource of the type `documents`",
            Allowed { files: true, ..Allowed::default() },
        ),
        (
            "resources: [{type: documents, config: {path: a, base_url: 'http://10.0.0.1'}}]",
            "`base_url` of a resource of the type `documents`",
            Allowed { files: true, servers: true, ..Allowed::default() },
        ),
        (
            "resources: [{type: http, config: {hosts: ['*'], networks: [127.0.0.0/8]}}]",
            "the network 127.0.0.0/8",
            Allowed { networks: vec!["127.0.0.0/8".parse().unwrap()], ..Allowed::default() },
        ),
        (
            "resources: [{type: http, config: {hosts: ['*'], headers: {x: {from_env: HOME}}}}]",
            "the environment variable HOME",
            Allowed { variables: vec!["HOME".to_owned()], ..Allowed::default() },
        ),
        (
            "tools: {RunCommand: {approval: ask}}",
            "the tool `RunCommand`",
            Allowed { commands: true, ..Allowed::default() },
        ),
        ("model: 'replay:s1'", "`replay:s1`", Allowed { files: true, ..Allowed::default() }),
        ("classifier: 'script:/etc/passwd'", "`script:/etc/passwd`", Allowed { files: true, ..Allowed::default() }),
    ];
    let open = async |front: &str, trust: Trust| {
        let workshop = Workshop { trust, ..Workshop::default() };
        match (Launch { workshop, ..launch() }).open(texts(&program(front))).await {
            Ok(opened) => {
                opened.close().await;
                String::new()
            }
            Err(error) => error.to_string(),
        }
    };
    for (front, named, allowed) in cases {
        let refusal = format!("a program may not name {named} here");
        let told = open(front, Trust::Only(Allowed::default())).await;
        assert!(told.contains(&refusal), "{front}: {told}");
        for trust in [Trust::Only(allowed), Trust::Everything] {
            let told = open(front, trust).await;
            assert!(!told.contains("may not name"), "{front}: {told}");
        }
    }
}
