//! Plugins that are processes and do as they should.

use std::sync::Arc;
use std::time::Duration;

use playhouse::host::tool::plugin::Component;
use playhouse::value::Value;

use super::{Demo, LONG, call, call_within, context, json};

#[tokio::test]
async fn calls_are_answered_by_one_process() {
    let demo = Demo::new("n=0\nwhile next; do n=$((n + 1)); answer \"{\\\"n\\\": $n}\"; done");
    let plugin = demo.plugin();
    assert_eq!(demo.n_starts(), 0, "it is started by its first call");
    for n in 1..4 {
        assert_eq!(call(&plugin).await, Ok(json(&format!("{{\"n\": {n}}}"))));
    }
    assert_eq!((demo.n_starts(), plugin.dropped()), (1, Vec::new()));
}

#[tokio::test]
async fn any_value_comes_back() {
    let demo = Demo::new("while next; do param=${line#*'\"param\":'}; answer \"${param%%'},\"time\"'*}\"; done");
    let plugin = demo.plugin();
    for value in ["null", "false", "0", "\"\"", "[]", "{}", r#"{"a":[1,{"b":"ü\n\"x\""}],"c":1.5}"#] {
        assert_eq!(call_within(&plugin, "go", json(value), LONG).await, Ok(json(value)));
    }
}

#[tokio::test]
async fn it_is_told_its_configuration_first_and_leaves_when_told() {
    let mut demo = Demo::new("next; echo \"$configure\" >configured; echo \"$line\" >called; answer 1; next");
    demo.options.config = json(r#"{"units": "metric"}"#);
    let plugin = demo.plugin();
    assert_eq!(call(&plugin).await, Ok(Value::Int(1)));
    plugin.close().await;
    let configured = json(&demo.read("configured"));
    let expected = json(&format!(
        r#"{{"event": "configure", "config": {{"units": "metric"}}, "name": "demo", "working_directory": {},
            "commands": [{{"command_name": "go"}}]}}"#,
        Value::from(demo.folder.path().to_string_lossy().into_owned())
    ));
    let field = |value: &Value, name: &str| value.step(&playhouse::value::PathStep::Member(name.into())).cloned();
    assert_eq!(field(&configured, "content"), Some(expected));
    assert_eq!(field(&configured, "sender"), Some(json(r#"{"role": "system"}"#)));
    let called = json(&demo.read("called"));
    assert_eq!(field(&called, "sender"), Some(json(r#"{"role": "cerebrum"}"#)));
    assert_eq!(field(&called, "receiver"), Some(json(r#"{"role": "plugin", "name": "demo"}"#)));
    assert_eq!(field(&called, "content"), Some(json(r#"{"command": "go", "param": null}"#)));
    assert_eq!(field(&called, "id"), Some("s1/1".into()));
    assert_eq!(field(&called, "thrd_id"), Some("s1/1#1".into()));
    assert!(field(&called, "time").is_some_and(|time| time.as_str().is_some_and(|time| time.ends_with('Z'))));
    // `sh` has left by itself: `exit 0` of `next`.
    assert!(plugin.ended().await.unwrap().contains("was closed (exit status: 0)"));
    assert_eq!(call(&plugin).await, Err("plugin `demo` is closed".to_owned()));
}

#[tokio::test]
async fn a_failure_that_is_temporary_says_so() {
    let demo =
        Demo::new(r#"for retry in true '"yes"'; do next; fail busy "later\",\"retry\":$retry,\"x\":\""; done; next"#);
    let plugin = demo.plugin();
    assert_eq!(call(&plugin).await, Err("unavailable: busy: later".to_owned()));
    assert_eq!(call(&plugin).await, Err("busy: later".to_owned()));
    plugin.close().await;
}

#[tokio::test]
async fn failures_and_news_belong_to_their_call() {
    let demo =
        Demo::new("next; tell one; tell two; fail 'no such book' 'isbn 3'; next; fail broken ''; next; answer 1");
    let plugin = demo.plugin();
    let (context, mut news) = context("s1/7", LONG);
    let failed = plugin.command("go", Value::Null, &context).await;
    assert_eq!(failed.unwrap_err().to_string(), "no such book: isbn 3");
    assert_eq!((news.recv().await, news.recv().await), (Some("one".into()), Some("two".into())));
    assert_eq!(call(&plugin).await, Err("broken".to_owned()));
    assert_eq!(call(&plugin).await, Ok(Value::Int(1)));
    assert_eq!(demo.n_starts(), 1);
}

#[tokio::test]
async fn several_calls_run_at_once_where_it_says_so() {
    // Answers when it has two calls, the second one first.
    let script = "next; first=$id; next; answer 2; id=$first; answer 1";
    let mut demo = Demo::new(script);
    demo.options.concurrency = 2;
    let plugin = Arc::new(demo.plugin());
    let one = call_within(&plugin, "go", Value::Int(1), LONG);
    let other = call_within(&plugin, "go", Value::Int(2), LONG);
    let (one, other) = tokio::join!(one, other);
    assert_eq!((one, other), (Ok(Value::Int(1)), Ok(Value::Int(2))));
    // With room for one, the second waits for ever outside.
    let demo = Demo::new(script);
    let plugin = demo.plugin();
    let short = Duration::from_millis(200);
    let (one, other) = tokio::join!(
        call_within(&plugin, "go", Value::Int(1), short),
        call_within(&plugin, "go", Value::Int(2), short)
    );
    assert_eq!((one, other), (Err("late".to_owned()), Err("late".to_owned())));
}

#[tokio::test]
async fn its_environment_is_what_it_is_given() {
    let mut demo = Demo::new("next; env >environment; answer 1");
    demo.options.environment.push(("BOOKS".to_owned(), "a b".to_owned()));
    assert_eq!(call(&demo.plugin()).await, Ok(Value::Int(1)));
    let names = |line: &str| line.split('=').next().unwrap().to_owned();
    let mut found: Vec<String> = demo.read("environment").lines().map(names).collect();
    found.retain(|name| !["PWD", "OLDPWD", "_", "SHLVL"].contains(&&**name));
    found.sort();
    assert_eq!(found, ["BOOKS", "PATH"], "`sh` adds some of its own");
    assert!(demo.read("environment").contains("BOOKS=a b\n"));
}

#[tokio::test]
async fn one_that_cannot_be_started_says_why() {
    let mut demo = Demo::new("");
    demo.options.command = vec!["there-is-no-such-command".to_owned()];
    let error = call(&demo.plugin()).await.unwrap_err();
    assert!(error.starts_with("cannot start `there-is-no-such-command` of plugin `demo`: there is no such"), "{error}");
    demo.options.command = vec!["./plugin.sh".to_owned()];
    let error = call(&demo.plugin()).await.unwrap_err();
    assert!(error.contains("it may not be executed; check its rights"), "{error}");
    let started = demo.plugin().start().await;
    assert!(started.is_err());
}

#[tokio::test]
async fn starting_tells_whether_it_lives() {
    assert_eq!(Demo::new("while next; do answer 1; done").plugin().start().await, Ok(()));
    let error = Demo::new("echo no books >&2; exit 3").plugin().start().await.unwrap_err().to_string();
    assert_eq!(error, "the process of plugin `demo` ended (exit status: 3); it said last:\nno books");
}

#[tokio::test]
async fn the_last_line_needs_no_end() {
    let demo = Demo::new("next; answer 5 | tr -d '\\n'");
    assert_eq!(call(&demo.plugin()).await, Ok(Value::Int(5)));
}
