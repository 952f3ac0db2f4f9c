//! Tools: what they may touch, what becomes of those that fail, canned ones.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::tz::{Offset, TimeZone};
use playhouse::host::clock::{Clock, TestClock};
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::llm::embedded::Embedded;
use playhouse::host::tool::arguments::check_arguments;
use playhouse::host::tool::builtin::{self, Ground};
use playhouse::host::tool::policy::{Operator, Policies, Program, ToolPolicy};
use playhouse::host::tool::registry::{AddToolError, Registry};
use playhouse::host::tool::workspace::command::Commands;
use playhouse::host::tool::{ArgumentFault, CallContext, Tool, ToolFuture, ToolOutcome, canned};
use playhouse::lang::program::{AgentId, Parameter, PlaybookId, Signature, Type, TypeKind};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::{
    CallId, CallKind, CallOutcome, EffectClass, FrameId, Location, Place, StartCall, Timestamp, ToolSignature,
};
use playhouse::vm::protocol::{Origin, Tracked};
use tokio_util::sync::CancellationToken;

/// A call of a tool with arguments that a model wrote.
pub(crate) fn start(call: u64, name: &str, arguments: &[(&str, Value)]) -> StartCall {
    let tracked = |(name, value): &(&str, Value)| (Arc::from(*name), Tracked::new(value.clone(), Origin::MODEL));
    StartCall {
        call: CallId(call),
        attempt: 1,
        kind: CallKind::Tool,
        name: name.into(),
        arguments: arguments.iter().map(tracked).collect(),
        effect: EffectClass::Write,
        answers: Vec::new(),
        result_name: None,
        is_result_secret: false,
        place: Place {
            frame: FrameId(1),
            agent: AgentId(0),
            location: Location::Line { playbook: PlaybookId(0), step: None },
            depth: 0,
            turn: None,
        },
        skill: None,
    }
}

async fn call(registry: &Registry, start: &StartCall) -> Result<Value, String> {
    match registry.begin(&"s1".into(), start, CancellationToken::new(), None, None).outcome.await.0 {
        CallOutcome::Value { value, .. } => Ok(value),
        CallOutcome::Error(text) => Err(text.to_string()),
        CallOutcome::Needs { question, .. } => Err(format!("needs {question}")),
        CallOutcome::Interrupted => Err("interrupted".into()),
    }
}

/// Adds built-in tools without documents; commands run in no sandbox.
pub(crate) fn add_builtins(
    registry: &Registry,
    directory: &WorkingDirectory,
    clock: Arc<dyn Clock>,
    max_bytes: usize,
    is_wanted: impl Fn(&str) -> bool,
) {
    let commands = Commands::default();
    let ground = Ground { directory, clock: &clock, max_bytes, indexes: &[], commands: &commands };
    builtin::add_builtins(registry, &ground, is_wanted).unwrap();
}

fn builtins(folder: &Path, max_bytes: usize) -> Registry {
    let registry = Registry::new();
    let zone = TimeZone::fixed(Offset::from_hours(-8).unwrap());
    let clock = TestClock::new(Timestamp(1_795_301_285_000)).in_zone(zone);
    let directory = WorkingDirectory::open(folder).unwrap();
    add_builtins(&registry, &directory, Arc::new(clock), max_bytes, |_| true);
    registry
}

async fn load(registry: &Registry, path: &str) -> Result<Value, String> {
    call(registry, &start(1, "LoadFile", &[("path", path.into())])).await
}

async fn save(registry: &Registry, path: &str, text: &str) -> Result<Value, String> {
    call(registry, &start(1, "SaveFile", &[("path", path.into()), ("text", text.into())])).await
}

#[tokio::test]
async fn files_are_written_read_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let tools = builtins(folder.path(), 1_000);
    assert_eq!(save(&tools, "notes/a.txt", "one").await, Ok("notes/a.txt".into()));
    assert_eq!(save(&tools, "notes/a.txt", "two").await, Ok("notes/a.txt".into()));
    assert_eq!(save(&tools, "b.json", "{\"x\": 1}").await, Ok("b.json".into()));
    assert_eq!(load(&tools, "./notes/../notes/a.txt").await, Ok("two".into()));
    assert_eq!(load(&tools, "b.json").await, Ok("{\"x\": 1}".into()), "JSON stays text");
    let names = |names: &[&str]| Ok(Value::list(names.iter().map(|name| Value::str(*name)).collect()));
    assert_eq!(call(&tools, &start(1, "ListFiles", &[])).await, names(&["b.json", "notes/"]));
    assert_eq!(call(&tools, &start(1, "ListFiles", &[("path", "notes".into())])).await, names(&["a.txt"]));
    assert_eq!(call(&tools, &start(1, "ListFiles", &[("path", Value::Null)])).await, names(&["b.json", "notes/"]));
}

#[tokio::test]
async fn a_text_in_a_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let tools = builtins(folder.path(), 1_000);
    save(&tools, "a.txt", "one\n  two = 2\none\n").await.unwrap();
    let edit = async |old: &str, new: &str, all: bool| {
        let arguments = [("path", "a.txt".into()), ("old", old.into()), ("new", new.into()), ("all", all.into())];
        call(&tools, &start(1, "EditFile", &arguments)).await
    };
    assert_eq!(edit("two = 2\n", "three\n", false).await, Ok(Value::Int(1)));
    assert_eq!(load(&tools, "a.txt").await, Ok("one\n  three\none\n".into()));
    let fault = edit("one", "four", false).await.unwrap_err();
    assert_eq!(
        fault,
        "cannot edit `a.txt`: `old` occurs 2 times; give more of the text around the one you mean, or `all`"
    );
    assert_eq!(edit("one", "four", true).await, Ok(Value::Int(2)));
    let fault = edit("\tthree\n", "x", false).await.unwrap_err();
    let nearest = "`old` does not occur exactly like this; the nearest is line 2: `three`. Spaces and line ends count";
    assert_eq!(fault, format!("cannot edit `a.txt`: {nearest}"));
    let fault = edit("something else", "x", true).await.unwrap_err();
    assert!(fault.ends_with("`old` does not occur, and no line is like it; load the file and copy from it"), "{fault}");
    assert!(edit("", "x", true).await.unwrap_err().contains("`old` is empty"));
    assert!(edit("four", &"x".repeat(2_000), true).await.unwrap_err().contains("larger than 1000 bytes"));
    assert_eq!(load(&tools, "a.txt").await, Ok("four\n  three\nfour\n".into()));
}

#[tokio::test]
async fn files_and_lines_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let tools = builtins(folder.path(), 1_000);
    for (path, text) in [
        ("src/b.py", "import os\nprint(1)\n"),
        ("src/a/c.py", "print(2)\n"),
        ("src/a/notes.md", "print less\n"),
        ("built/d.py", "print(3)\n"),
        (".gitignore", "built\n"),
    ] {
        save(&tools, path, text).await.unwrap();
    }
    std::fs::write(folder.path().join("src/binary.py"), b"print\xff\n").unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("src/etc")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("src/e.py")).unwrap();
    let find = async |arguments: &[(&str, Value)]| call(&tools, &start(1, "FindFiles", arguments)).await;
    let names = |names: &[&str]| Ok(Value::list(names.iter().map(|name| Value::str(*name)).collect()));
    let all = names(&["src/a/c.py", "src/b.py", "src/binary.py", "src/e.py"]);
    assert_eq!(find(&[("pattern", "*.py".into())]).await, all);
    assert_eq!(
        find(&[("pattern", "/a/*".into()), ("path", "src".into())]).await,
        names(&["src/a/c.py", "src/a/notes.md"])
    );
    assert_eq!(find(&[("pattern", "*.rs".into())]).await, names(&[]));
    assert!(find(&[("pattern", "a[".into())]).await.unwrap_err().starts_with("the pattern `a[` cannot be read"));
    for path in ["..", "/etc", "src/etc", "nowhere"] {
        let fault = find(&[("pattern", "*".into()), ("path", path.into())]).await.unwrap_err();
        assert!(fault.starts_with(&format!("cannot find files in `{path}`: ")), "{fault}");
    }
    let search = async |arguments: &[(&str, Value)]| call(&tools, &start(1, "SearchFiles", arguments)).await;
    let found = search(&[("pattern", "^print|root".into()), ("glob", "*.py".into())]).await;
    assert_eq!(found, Ok("src/a/c.py:1: print(2)\nsrc/b.py:2: print(1)\n".into()), "no link leads out");
    let found = search(&[("pattern", "less$".into()), ("path", "src/a".into())]).await;
    assert_eq!(found, Ok("src/a/notes.md:1: print less\n".into()));
    let found = search(&[("pattern", "os".into()), ("path", "src/b.py".into())]).await;
    assert_eq!(found, Ok("src/b.py:1: import os\n".into()));
    save(&tools, "many.txt", &"x\n".repeat(490)).await.unwrap();
    save(&tools, "more.txt", &"x\n".repeat(490)).await.unwrap();
    let Ok(Value::Str(found)) = search(&[("pattern", "^x$".into())]).await else { panic!("no text") };
    assert_eq!(found.lines().count(), 501);
    assert!(found.ends_with("… there are more than 500 lines; search for less, or in fewer files\n"));
    assert!(
        search(&[("pattern", "(".into())]).await.unwrap_err().starts_with("the regular expression `(` cannot be read")
    );
}

#[tokio::test]
async fn no_path_leads_out() {
    let outer = tempfile::tempdir().unwrap();
    std::fs::write(outer.path().join("secret.txt"), "secret").unwrap();
    let folder = outer.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(folder.join("sub")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("../secret.txt", folder.join("link.txt")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        symlink(outer.path(), folder.join("absolute")).unwrap();
        symlink("../new.txt", folder.join("dangling.txt")).unwrap();
        symlink("sub", folder.join("inside")).unwrap();
    }
    let tools = builtins(&folder, 1_000);
    let absolute = outer.path().join("secret.txt").display().to_string();
    let outside = "it is outside the working directory; paths are relative to that folder";
    for path in [
        "../secret.txt",
        "sub/../../secret.txt",
        "sub/../../work/../secret.txt",
        "link.txt",
        "up/secret.txt",
        "absolute/secret.txt",
        &absolute,
    ] {
        assert_eq!(load(&tools, path).await, Err(format!("cannot load `{path}`: {outside}")));
        let saved = save(&tools, path, "mine").await;
        assert!(saved.as_ref().is_err_and(|fault| fault.contains("cannot save")), "{path}: {saved:?}");
    }
    assert!(save(&tools, "dangling.txt", "mine").await.is_err());
    assert!(save(&tools, "../new.txt", "mine").await.is_err());
    for path in ["..", "up", "absolute", "/"] {
        assert!(call(&tools, &start(1, "ListFiles", &[("path", path.into())])).await.is_err(), "{path}");
    }
    // A link that stays inside is a folder like any other.
    assert_eq!(save(&tools, "inside/a.txt", "text").await, Ok("inside/a.txt".into()));
    assert_eq!(load(&tools, "sub/a.txt").await, Ok("text".into()));
    assert_eq!(std::fs::read_to_string(outer.path().join("secret.txt")).unwrap(), "secret");
    assert_eq!(std::fs::read_dir(outer.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn files_that_are_no_texts_or_too_large_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("image"), [b'a', 0xff]).unwrap();
    std::fs::write(folder.path().join("large"), [b'a'; 11]).unwrap();
    std::fs::write(folder.path().join("fits"), [b'a'; 10]).unwrap();
    let tools = builtins(folder.path(), 10);
    assert_eq!(load(&tools, "image").await, Err("cannot load `image`: it is not text (byte 1 is not UTF-8)".into()));
    let large = "it is larger than 10 bytes (limits.value_bytes); use a part of it";
    assert_eq!(load(&tools, "large").await, Err(format!("cannot load `large`: {large}")));
    assert_eq!(save(&tools, "new", "aaaaaaaaaaa").await, Err(format!("cannot save `new`: {large}")));
    assert_eq!(load(&tools, "fits").await, Ok("aaaaaaaaaa".into()));
    assert_eq!(load(&tools, "none").await, Err("cannot load `none`: there is no such file or folder".into()));
    let no_file = "cannot load `.`: it is not a file; `ListFiles` shows what a folder holds";
    assert_eq!(load(&tools, ".").await, Err(no_file.into()));
}

#[tokio::test]
async fn now_has_the_local_offset() {
    let folder = tempfile::tempdir().unwrap();
    let tools = builtins(folder.path(), 10);
    let now = call(&tools, &start(1, "Now", &[])).await.unwrap();
    assert!(now.as_str().unwrap().starts_with("2026-11-21T14:48:0"), "{now}");
    assert!(now.as_str().unwrap().ends_with("-08:00"), "{now}");
}

/// Does what its name says.
struct Odd(&'static str);

impl Tool for Odd {
    fn signature(&self) -> ToolSignature {
        assert!(self.0 != "PanicSignature", "who am I");
        let number = |name: &str, default| Parameter {
            name: name.into(),
            ty: Type { kind: TypeKind::Int, optional: false },
            default,
            description: "".into(),
            span: None,
        };
        let parameters = match self.0 {
            "Count" => vec![number("from", None), number("to", None), number("step", Some(Value::Int(1)))],
            "Echo" => ["from", "to"].map(|name| Parameter { ty: Type::ANY, ..number(name, None) }).into(),
            _ => Vec::new(),
        };
        let signature = Signature { name: self.0.into(), parameters, returns: Type::ANY, summary: "".into() };
        ToolSignature::new(signature, EffectClass::Write)
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn check(&self, arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
        assert!(self.0 != "PanicCheck", "what is this");
        check_arguments(&self.signature().signature, arguments)
    }

    fn begun(&self, _: &str, call: &StartCall) {
        assert!(self.0 != "PanicBegun", "so soon, with {:?}", call.argument_map());
    }

    fn replayed(&self, _: &StartCall, _: &dyn playhouse::host::llm::Llm) {
        assert!(self.0 != "PanicBegun", "so late");
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        match self.0 {
            "PanicEarly" => panic!("early"),
            "PanicLate" => Box::pin(async {
                tokio::task::yield_now().await;
                panic!("late {}", 1)
            }),
            "Hang" => Box::pin(async move {
                context.cancel.cancelled().await;
                std::future::pending().await
            }),
            "Asks" => Box::pin(async move {
                match context.ask {
                    Some(answer) => ToolOutcome::Value(answer),
                    None => ToolOutcome::Needs("may I?".into()),
                }
            }),
            "Chatty" => Box::pin(async move {
                for number in 0..100 {
                    let _ = context.progress.try_send(Value::Int(number));
                }
                ToolOutcome::Secret(Value::from(context.call_id.to_string()))
            }),
            _ => Box::pin(async move { ToolOutcome::Value(Value::map(arguments)) }),
        }
    }
}

fn odd() -> Registry {
    let registry = Registry::new();
    for name in ["PanicEarly", "PanicLate", "PanicCheck", "PanicBegun", "Hang", "Asks", "Chatty", "Echo", "Count"] {
        registry.add(Arc::new(Odd(name))).unwrap();
    }
    registry
}

#[tokio::test]
async fn a_panic_is_an_error_of_the_call() {
    let tools = odd();
    let fault = |name: &str, cause: &str| Err(format!("`{name}` failed because of a bug in it: {cause}"));
    assert_eq!(call(&tools, &start(1, "PanicEarly", &[])).await, fault("PanicEarly", "early"));
    assert_eq!(call(&tools, &start(2, "PanicLate", &[])).await, fault("PanicLate", "late 1"));
    assert_eq!(call(&tools, &start(3, "PanicCheck", &[])).await, fault("PanicCheck", "what is this"));
    assert_eq!(call(&tools, &start(4, "PanicBegun", &[])).await, fault("PanicBegun", "so soon, with {}"));
    // Nor is it the end of a session that is resumed.
    tools.replayed("s1", &start(4, "PanicBegun", &[]), &Embedded);
}

#[test]
fn a_tool_that_panics_when_it_is_asked_what_it_is_is_refused() {
    let tools = odd();
    let before = tools.signatures();
    let broken = || Arc::new(Odd("PanicSignature"));
    let refused = AddToolError::Broken("who am I".into());
    assert_eq!(tools.add(broken()), Err(refused.clone()));
    assert_eq!(tools.replace(broken()), Err(refused.clone()));
    assert_eq!(tools.signatures(), before);
    // Of several the others are added.
    assert_eq!(tools.replace_all("Other", vec![broken(), Arc::new(Odd("Other"))]), Err(refused));
    assert_eq!(tools.signatures().len(), before.len() + 1);
}

/// Cannot be reached, and counts how often that was tried.
#[derive(Default)]
struct Away(AtomicUsize);

impl Tool for Away {
    fn signature(&self) -> ToolSignature {
        let signature =
            Signature { name: "Away".into(), parameters: Vec::new(), returns: Type::ANY, summary: "".into() };
        ToolSignature::new(signature, EffectClass::Write)
    }

    fn call(&self, _: CallContext, _: Map) -> ToolFuture<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { ToolOutcome::Unavailable("away".into()) })
    }
}

#[tokio::test(start_paused = true)]
async fn only_an_operator_can_have_a_writing_tool_called_again() {
    let safe = || vec![("*".into(), ToolPolicy { effect: Some(EffectClass::ReadOnly), ..ToolPolicy::default() })];
    let by_program = Policies { program: Program(safe()), ..Policies::default() };
    let by_operator = Policies { operator: Operator(safe()), ..Policies::default() };
    for (policies, n_attempts) in [(by_program, 1), (by_operator, 3)] {
        let away = Arc::new(Away::default());
        let tools = Registry::with_policies(policies);
        tools.add(away.clone()).unwrap();
        assert_eq!(call(&tools, &start(1, "Away", &[])).await, Err("away".into()));
        assert_eq!(away.0.load(Ordering::Relaxed), n_attempts);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_given_up() {
    let tools = odd();
    let cancel = CancellationToken::new();
    let begun = tools.begin(&"s1".into(), &start(1, "Hang", &[]), cancel.clone(), None, None);
    let (outcome, _) = begun.outcome.await;
    assert_eq!(outcome, CallOutcome::Error("`Hang` gave no answer within 2 s".into()));
    assert!(cancel.is_cancelled());
}

#[tokio::test]
async fn approvals_secrets_and_news() {
    let tools = odd();
    assert_eq!(call(&tools, &start(1, "Asks", &[])).await, Err("needs may I?".into()));
    let again = StartCall { answers: vec![("may I?".into(), Value::Bool(true))], attempt: 2, ..start(1, "Asks", &[]) };
    assert_eq!(call(&tools, &again).await, Ok(Value::Bool(true)));
    let mut begun = tools.begin(&"s1".into(), &start(7, "Chatty", &[]), CancellationToken::new(), None, None);
    assert_eq!(begun.outcome.await.0, CallOutcome::Value { value: "s1/7".into(), secret: true });
    let mut n_news = 0;
    while begun.progress.recv().await.is_some() {
        n_news += 1;
    }
    assert_eq!(n_news, 8, "what does not fit is dropped");
}

#[tokio::test]
async fn all_faults_of_the_arguments_are_told_together() {
    let tools = odd();
    let wrong = start(1, "Count", &[("from", "1".into()), ("until", Value::Int(3))]);
    assert_eq!(
        call(&tools, &wrong).await,
        Err("`until` is not a parameter; `from` must be int, not str; `to` is missing; \
             the parameters are Count(from: int, to: int, step: int)"
            .into())
    );
    let right = start(1, "Count", &[("from", Value::Int(1)), ("to", Value::Int(3))]);
    let given = call(&tools, &right).await.unwrap();
    assert_eq!(given.to_json(), r#"{"from":1,"to":3,"step":1}"#);
    assert_eq!(call(&tools, &start(1, "Gone", &[])).await, Err("there is no tool named `Gone` now".into()));
    assert!(check_arguments(&tools.signatures()[0].signature, Map::new()).is_ok());
}

#[tokio::test]
async fn a_secret_that_a_tool_sends_back_is_masked() {
    let tools = odd();
    let mut echo = start(1, "Echo", &[]);
    let secret = Value::from_json(r#"["hush-4711", 3]"#).unwrap();
    echo.arguments = vec![
        ("from".into(), Tracked::new(secret, Origin::ARGUMENT).secret_if(true)),
        ("to".into(), Tracked::new("to hush-4711".into(), Origin::MODEL)),
    ];
    assert_eq!(call(&tools, &echo).await.unwrap().to_json(), r#"{"from":["***",3],"to":"to ***"}"#);
}

#[test]
fn two_tools_cannot_have_one_name() {
    let tools = odd();
    let n_tools = tools.signatures().len();
    let error = tools.add(Arc::new(Odd("Count"))).unwrap_err();
    assert_eq!(error.to_string(), "there are two tools named `Count`; rename or leave out one of them");
    assert_eq!(tools.signatures().len(), n_tools);
}

fn canned_tools(text: &str, folder: &Path) -> Result<Registry, String> {
    let directory = WorkingDirectory::open(folder).unwrap();
    let registry = Registry::new();
    for tool in canned::from_text(text, &directory)? {
        registry.add(tool).map_err(|error| error.to_string())?;
    }
    Ok(registry)
}

const CANNED: &str = r#"{
  "GetOrder": {
    "description": "Looks an order up.",
    "args": ["id", "verbose"], "required": ["id"], "effect": "read_only",
    "responses": [
      {"return": {"status": "first"}},
      {"when": {"id": "404"}, "error": "no such order"},
      {"return": "text \"kept\""},
      {"when": {"id": "5", "verbose": true}, "return": null}
    ]
  },
  "Log": {"responses": [{"return": 1}], "log": "calls.txt", "args": {"n": "int"}, "delay_ms": 5000},
  "Only": {"responses": [{"when": {"a": 1}, "return": 1}]}
}"#;

#[tokio::test(start_paused = true)]
async fn canned_tools_answer_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let tools = canned_tools(CANNED, folder.path()).unwrap();
    let signatures = tools.signatures();
    assert_eq!(signatures[0].effect, EffectClass::ReadOnly);
    assert_eq!(signatures[1].effect, EffectClass::Write);
    assert_eq!(&*signatures[0].signature.summary, "Looks an order up.");
    let order = |call: u64, id: &str| start(call, "GetOrder", &[("id", id.into())]);
    assert_eq!(call(&tools, &order(1, "404")).await, Err("no such order".into()));
    assert_eq!(call(&tools, &order(2, "1")).await.unwrap().to_json(), r#"{"status":"first"}"#);
    let verbose = start(3, "GetOrder", &[("id", "5".into()), ("verbose", true.into())]);
    assert_eq!(call(&tools, &verbose).await, Ok(Value::Null));
    assert_eq!(call(&tools, &order(4, "5")).await, Ok("text \"kept\"".into()));
    assert_eq!(call(&tools, &order(5, "1")).await, Ok("text \"kept\"".into()));
    let missing = call(&tools, &start(6, "GetOrder", &[("ID", "1".into())])).await.unwrap_err();
    assert!(missing.starts_with("`ID` is not a parameter; `id` is missing"), "{missing}");
    let none = call(&tools, &start(7, "Only", &[("a", Value::Int(2))])).await;
    assert_eq!(none, Err("no canned response fits these arguments".into()));
    let mistyped = call(&tools, &start(8, "Only", &[("a", "1".into())])).await;
    assert_eq!(mistyped, Err("no canned response fits these arguments; `a` is \"1\", and `when` has 1".into()));
}

#[tokio::test]
async fn a_resumed_session_goes_on_with_the_next_canned_answer() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"{"Next": {"responses": [{"return": 1}, {"return": 2}, {"return": 3}], "effect": "idempotent"}}"#;
    let tools = canned_tools(text, folder.path()).unwrap();
    // Before the crash: call 1 had ended, call 2 had only been started.
    tools.replayed("s1", &start(1, "Next", &[]), &Embedded);
    tools.replayed("s1", &start(2, "Next", &[]), &Embedded);
    let again = StartCall { attempt: 2, ..start(2, "Next", &[]) };
    assert_eq!(call(&tools, &again).await, Ok(Value::Int(2)));
    assert_eq!(call(&tools, &start(3, "Next", &[])).await, Ok(Value::Int(3)));
    assert_eq!(call(&tools, &start(4, "Next", &[])).await, Ok(Value::Int(3)));
}

#[tokio::test(start_paused = true)]
async fn canned_tools_log_before_they_answer() {
    let folder = tempfile::tempdir().unwrap();
    let tools = canned_tools(CANNED, folder.path()).unwrap();
    for (number, n) in [(1, 5), (2, 6)] {
        let began = tokio::time::Instant::now();
        assert_eq!(call(&tools, &start(number, "Log", &[("n", Value::Int(n))])).await, Ok(Value::Int(1)));
        assert!(began.elapsed() >= Duration::from_secs(5));
    }
    let log = std::fs::read_to_string(folder.path().join("calls.txt")).unwrap();
    assert_eq!(log, "s1/1 Log {\"n\":5}\ns1/2 Log {\"n\":6}\n");
    let wrong = call(&tools, &start(3, "Log", &[("n", "5".into())])).await.unwrap_err();
    assert!(wrong.starts_with("`n` must be int | None, not str"), "{wrong}");
}

#[test]
fn wrong_files_of_canned_tools_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let error = |text: &str| canned_tools(text, folder.path()).err().unwrap();
    assert_eq!(
        error(r#"{"A": {"responses": [{"return": 1, "error": "x"}]}}"#),
        "tool `A`: response 1 must have either `return` or `error`"
    );
    assert_eq!(
        error(r#"{"A": {"args": ["a"], "required": ["b"], "responses": []}}"#),
        "tool `A`: `required` names `b`, which is not among `args`"
    );
    assert!(error(r#"{"A": {"response": []}}"#).contains("unknown field `response`"));
    let path = folder.path().join("tools.json");
    std::fs::write(&path, "[]").unwrap();
    let directory = WorkingDirectory::open(folder.path()).unwrap();
    let error = canned::load(&path, &directory).err().unwrap().to_string();
    assert!(error.contains("tools.json: invalid type: sequence, expected a map"), "{error}");
    assert!(error.contains("a tool is written `\"Name\": {\"args\""), "{error}");
}

#[tokio::test]
async fn dot_folders_are_not_for_tools() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join(".runtime/org")).unwrap();
    std::fs::write(folder.path().join(".runtime/org/config.yaml"), "key: secret").unwrap();
    std::os::unix::fs::symlink(".runtime", folder.path().join("link")).unwrap();
    let tools = builtins(folder.path(), 1_000);
    for path in [".runtime/org/config.yaml", "a/../.runtime/org/config.yaml", "link/org/config.yaml"] {
        let reserved = "folders of the working directory that begin with a dot are reserved, as `.runtime` is";
        assert_eq!(load(&tools, path).await, Err(format!("cannot load `{path}`: {reserved}")));
        assert_eq!(save(&tools, path, "mine").await, Err(format!("cannot save `{path}`: {reserved}")));
    }
    assert!(save(&tools, ".new/a.txt", "mine").await.is_err());
    for path in [".runtime", "link", "link/org"] {
        assert!(call(&tools, &start(1, "ListFiles", &[("path", path.into())])).await.is_err(), "{path}");
    }
    // Their names are no secret, and a file's name may begin with a dot.
    let names = Value::list([".runtime/", "link"].map(Value::str).to_vec());
    assert_eq!(call(&tools, &start(1, "ListFiles", &[])).await, Ok(names));
    assert_eq!(save(&tools, ".notes", "mine").await, Ok(".notes".into()));
    assert_eq!(load(&tools, ".notes").await, Ok("mine".into()));
    assert_eq!(std::fs::read_to_string(folder.path().join(".runtime/org/config.yaml")).unwrap(), "key: secret");
}
