//! Plugin folders: names, overrides, the user's copy below `.runtime`, packages.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use playhouse::host::tool::plugin::{
    Component, ComponentError, Packages, Plugin, PluginError, PluginOptions, identifier,
};
use playhouse::host::tool::{CallContext, ToolOutcome};
use playhouse::value::{Map, Value};

use super::{LONG, context, json, map, open, options, write_folder};

const COMMANDS: &str = "- command_name: go\n";

/// Says how it is configured.
const TELL: &str = "next; config=${configure#*'\"config\":'}; answer \"${config%%,'\"name\"'*}\"; next";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path(), COMMANDS, TELL);
    folder
}

async fn go(plugin: &Plugin) -> ToolOutcome {
    plugin.tools()[0].call(context("s1/1", LONG).0, Map::new()).await
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

fn names(plugin: &Plugin) -> Vec<String> {
    plugin.tools().iter().map(|tool| tool.signature().signature.name.to_string()).collect()
}

#[test]
fn its_name_is_the_first_that_is_given() {
    let folder = folder();
    let config = folder.path().join(".config/config.yaml");
    assert_eq!(names(&open(folder.path()).unwrap()), ["Demo.go"], "its title");
    edit(&config, "config: {", "name: book shop\nconfig: {");
    assert_eq!(names(&open(folder.path()).unwrap()), ["book_shop.go"], "its name");
    edit(&config, "config: {", "config: {name: 2nd-hand, ");
    assert_eq!(names(&open(folder.path()).unwrap()), ["_2nd_hand.go"], "the name of its config");
    let declared = PluginOptions { name: Some("books".into()), ..options(folder.path()) };
    assert_eq!(names(&Plugin::open(declared, &Packages::default()).unwrap()), ["books.go"]);
}

#[test]
fn foreign_names_become_names_of_the_language() {
    for (foreign, own) in [
        ("books", Some("books")),
        ("list-all books", Some("list_all_books")),
        ("Bücher", Some("Bücher")),
        ("3d", Some("_3d")),
        ("a.b/c", Some("a_b_c")),
        ("--", None),
        ("", None),
    ] {
        assert_eq!(identifier(foreign).as_deref(), own, "{foreign}");
    }
}

#[test]
fn commands_that_would_be_called_the_same_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path(), "- command_name: list-all\n- command_name: list all\n", TELL);
    let error = open(folder.path()).err().unwrap().to_string();
    assert!(error.ends_with("its commands `list-all` and `list all` are both called `Demo.list_all`"), "{error}");
}

#[tokio::test]
async fn its_config_is_overridden_and_nothing_else() {
    let folder = folder();
    let overridden = PluginOptions { config: map(r#"{"greeting": null, "deep": {"a": 1}}"#), ..options(folder.path()) };
    let plugin = Plugin::open(overridden, &Packages::default()).unwrap();
    assert_eq!(go(&plugin).await, ToolOutcome::Value(json(r#"{"greeting": null, "deep": {"a": 1}}"#)));
    plugin.close().await;
}

#[tokio::test]
async fn the_users_copy_is_the_base_of_its_config_only() {
    let (folder, work) = (folder(), tempfile::tempdir().unwrap());
    let dir = Arc::new(Dir::open_ambient_dir(work.path(), ambient_authority()).unwrap());
    let mut options = PluginOptions { runtime: Some(dir), ..options(folder.path()) };
    Plugin::open(options.clone(), &Packages::default()).unwrap();
    let copy = work.path().join(".runtime/org/example/demo/0.1.0/0/config.yaml");
    edit(&copy, "greeting: hello", "greeting: hi");
    // What is run is the component's own, whatever stands in the copy.
    edit(&copy, "plugin.sh", "other.sh");
    edit(&copy, "command_name: go", "command_name: other");
    options.config = map(r#"{"more": 1}"#);
    let plugin = Plugin::open(options.clone(), &Packages::default()).unwrap();
    assert_eq!(names(&plugin), ["Demo.go"]);
    assert_eq!(go(&plugin).await, ToolOutcome::Value(json(r#"{"greeting": "hi", "more": 1}"#)));
    options.instance_id = Some("second".into());
    let plugin = Plugin::open(options.clone(), &Packages::default()).unwrap();
    assert_eq!(go(&plugin).await, ToolOutcome::Value(json(r#"{"greeting": "hello", "more": 1}"#)));
    assert!(work.path().join(".runtime/org/example/demo/0.1.0/second/config.yaml").exists());
    options.instance_id = Some("../out".into());
    let error = Plugin::open(options, &Packages::default()).err().unwrap();
    assert!(matches!(error, PluginError::Runtime { .. }), "{error}");
}

#[tokio::test]
async fn an_edit_of_its_config_counts_unless_its_user_has_edited_the_copy() {
    let (folder, work) = (folder(), tempfile::tempdir().unwrap());
    let dir = Arc::new(Dir::open_ambient_dir(work.path(), ambient_authority()).unwrap());
    let options = PluginOptions { runtime: Some(dir), ..options(folder.path()) };
    let own = folder.path().join(".config/config.yaml");
    let copy = work.path().join(".runtime/org/example/demo/0.1.0/0/config.yaml");
    let opened = async |greeting: &str| {
        let plugin = Plugin::open(options.clone(), &Packages::default()).unwrap();
        assert_eq!(go(&plugin).await, ToolOutcome::Value(json(&format!("{{\"greeting\": \"{greeting}\"}}"))));
        plugin.close().await;
        plugin.warnings.concat()
    };
    assert_eq!(opened("hello").await, "");
    edit(&own, "greeting: hello", "greeting: good day");
    assert_eq!(opened("good day").await, "");
    assert!(fs::read_to_string(&copy).unwrap().contains("greeting: good day"));
    edit(&copy, "greeting: good day", "greeting: hi");
    assert_eq!(opened("hi").await, "");
    edit(&own, "greeting: good day", "greeting: welcome");
    let told = opened("hi").await;
    assert!(
        told.contains("its `config` does not count: that of .runtime/org/example/demo/0.1.0/0/config.yaml"),
        "{told}"
    );
    // What was copied before there were hashes may be somebody's edit.
    fs::remove_file(copy.with_file_name(".copied")).unwrap();
    assert_eq!(opened("hi").await, told);
    fs::remove_dir_all(copy.parent().unwrap()).unwrap();
    assert_eq!(opened("welcome").await, "");
}

#[test]
fn what_is_no_plugin_says_why() {
    let folder = folder();
    let none = folder.path().join("none");
    let error = open(&none).err().unwrap().to_string();
    assert!(error.contains("none/.config/config.yaml: cannot read it: "), "{error}");
    assert!(error.ends_with("a plugin is a folder with .config/config.yaml"), "{error}");
    fs::create_dir(&none).unwrap();
    fs::write(none.join("plugin.py"), "").unwrap();
    let error = open(&none).err().unwrap().to_string();
    let told =
        format!("if it is written with playhouse-sdk, write the file: python3 {}/plugin.py declare", none.display());
    assert!(error.ends_with(&told), "{error}");
    let config = folder.path().join(".config/config.yaml");
    let cases = [
        ("[sh, plugin.sh]", "[]", "`setup.command` is missing"),
        ("[]", "sh plugin.sh", "`setup.command` must be a list, as in [python3, plugin.py]"),
        ("sh plugin.sh", "[sh], concurrency: 0", "`setup.concurrency` must be 1 or more"),
        ("concurrency: 0", "environment: {A: [1]}", "`setup.environment.A` must be text"),
        (
            "playhouse.process",
            "org.example.books",
            "`setup.package` is `org.example.books`, which is not known; there is `playhouse.process`",
        ),
        ("as_plugin: true", "as_plugin: false", "org.example:demo:0.1.0 says `as_plugin: false`"),
        ("version: 0.1.0", "verson: 0.1.0", "`version` is missing; here is `verson`"),
    ];
    for (from, to, told) in cases {
        edit(&config, from, to);
        let error = open(folder.path()).err().unwrap().to_string();
        assert!(error.contains(told), "{error}");
        assert!(error.contains("config.yaml"), "{error}");
    }
}

/// A component of an embedding program.
struct Shelf(Map);

impl Component for Shelf {
    fn command<'a>(
        &'a self,
        command: &'a str,
        param: Value,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, ComponentError>> {
        let result = match command {
            "go" => Ok(Value::list(vec![param, Value::map(self.0.clone())])),
            other => Err(ComponentError::Asks(format!("really {other}?"))),
        };
        std::future::ready(result).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

#[tokio::test]
async fn an_embedding_program_has_packages_of_its_own() {
    let folder = folder();
    edit(&folder.path().join(".config/config.yaml"), "playhouse.process", "shelf");
    let mut packages = Packages::default();
    packages.add("shelf", Arc::new(|parts| Ok(Arc::new(Shelf(parts.config)))));
    let plugin = Plugin::open(options(folder.path()), &packages).unwrap();
    assert_eq!(go(&plugin).await, ToolOutcome::Value(json(r#"[null, {"greeting": "hello"}]"#)));
    assert_eq!(plugin.tools()[0].concurrency(), None);
    assert_eq!(plugin.start().await, Ok(()));
}
