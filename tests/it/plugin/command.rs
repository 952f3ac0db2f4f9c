//! Commands of plugins as tools: signatures, schemas, what is checked before and behind a call.

use std::sync::Arc;

use playhouse::host::tool::plugin::Plugin;
use playhouse::host::tool::{Tool, ToolOutcome};
use playhouse::lang::analysis::explain;
use playhouse::value::Value;
use playhouse::vm::protocol::Origin;
use playhouse::vm::protocol::{Approval, EffectClass};

use super::{LONG, context, json, map, open, write_folder};

/// Answers each call with the parameter it got.
pub(crate) const ECHO: &str = "while next; do param=${line#*'\"param\":'}; answer \"${param%%'},\"time\"'*}\"; done";

/// A plugin with these commands, answering by [`ECHO`].
fn echo(commands: &str) -> (tempfile::TempDir, Plugin) {
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path(), commands, ECHO);
    let plugin = open(folder.path()).unwrap_or_else(|error| panic!("{error}"));
    (folder, plugin)
}

fn tool(plugin: &Plugin, name: &str) -> Arc<dyn Tool> {
    let mut tools = plugin.tools().iter();
    tools.find(|tool| &*tool.signature().signature.name == name).unwrap().clone()
}

/// Checks the arguments and makes the call; the faults in the error's place.
async fn make(tool: &dyn Tool, arguments: &str) -> ToolOutcome {
    match tool.check(map(arguments)) {
        Ok(arguments) => tool.call(context("s1/1", LONG).0, arguments).await,
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(|fault| format!("{} {}", fault.path, fault.message)).collect();
            ToolOutcome::Error(faults.join("\n"))
        }
    }
}

const ORDER: &str = "
- command_name: order
  description: Orders
    books.
  effect: idempotent
  approval: writes
  timeout: 7
  parameter:
    type:
      rows:
        type:
          - {name: isbn, type: string}
          - {name: n, type: int, required: false}
      note: {type: string, required: false, description: For the shop., asset_ref_acceptable: true}
      address: {type: string, required: false, accepts: [user]}
";

#[test]
fn a_command_is_a_tool() {
    let (_folder, plugin) = echo(ORDER);
    assert_eq!((&*plugin.name, &*plugin.description), ("Demo", "Shows things."));
    let order = tool(&plugin, "Demo.order");
    let signature = order.signature();
    assert_eq!(
        explain::signature(&signature.signature),
        "Demo.order($rows: list, $note: any | None = null, $address: str | None = null)"
    );
    assert_eq!(&*signature.signature.summary, "Orders books.");
    assert_eq!((signature.effect, signature.approval), (EffectClass::Idempotent, Approval::Ask));
    assert_eq!((order.timeout().as_secs(), order.concurrency()), (7, Some(1)));
    let rule = |name: &str| signature.rule(name).map(|rule| (rule.accepts, rule.takes_assets));
    assert_eq!(rule("rows"), None);
    assert_eq!(rule("note"), Some((Origin::ALL, true)));
    assert_eq!(rule("address"), Some((Origin::USER, false)));
    let expected = r##"{"type":"object","properties":{
        "rows":{"type":"array","items":{"type":"object","properties":{"isbn":{"type":"string"},"n":{"type":"integer"}},
                "required":["isbn"],"additionalProperties":false}},
        "note":{"anyOf":[{"type":"string"},{"type":"string","pattern":"^asset://"}],"description":"For the shop."},
        "address":{"type":"string"}},
        "required":["rows"],"additionalProperties":false}"##;
    assert_eq!(json(&signature.schema.unwrap()), json(expected));
}

#[tokio::test]
async fn all_faults_of_arguments_are_told_before_the_call() {
    let (folder, plugin) = echo(ORDER);
    let order = tool(&plugin, "Demo.order");
    let faults = make(&*order, r#"{"rows": [{"isbn": "a"}, {"isbn": 3, "n": "4"}], "adress": "b"}"#).await;
    let expected = "rows[1].isbn must be string, not 3\n\
                    rows[1].n must be int, not the text \"4\"\n\
                    adress is not known here; there is rows, note, address";
    assert_eq!(faults, ToolOutcome::Error(expected.to_owned()));
    assert!(!folder.path().join("starts").exists(), "nothing has been started");
}

#[tokio::test]
async fn null_is_left_out_where_it_may_be() {
    let (_folder, plugin) = echo(ORDER);
    let order = tool(&plugin, "Demo.order");
    let made = make(&*order, r#"{"rows": [{"isbn": "a"}], "note": null}"#).await;
    assert_eq!(made, ToolOutcome::Value(json(r#"{"rows": [{"isbn": "a"}]}"#)));
    let refused = make(&*order, r#"{"rows": null}"#).await;
    assert!(matches!(&refused, ToolOutcome::Error(fault) if fault.starts_with("rows must not be null")), "{refused:?}");
}

#[tokio::test]
async fn a_parameter_that_is_no_object_is_one_argument() {
    let (_folder, plugin) = echo(
        "
- command_name: say
  parameter: {type: string, accepts: [user, code]}
- command_name: look
  parameter: {type: 'List[Pair]', required: false}
- command_name: pair
  parameter: {type: {_type_ref: Pair, a: {type: int}}}
- command_name: go
",
    );
    let say = tool(&plugin, "Demo.say");
    let signature = say.signature();
    assert_eq!(explain::signature(&signature.signature), "Demo.say($param: str)");
    assert_eq!(signature.rule("param").map(|rule| rule.accepts), Some(Origin::USER.with(Origin::CODE)));
    assert_eq!(make(&*say, r#"{"param": "hello"}"#).await, ToolOutcome::Value("hello".into()));
    assert_eq!(
        make(&*say, r#"{"text": "hello"}"#).await,
        ToolOutcome::Error("text is not a parameter\nparam is missing (string is required)".into())
    );
    let look = tool(&plugin, "Demo.look");
    let expected = r##"{"type":"object","properties":{"param":{"type":"array","items":{"$ref":"#/$defs/Pair"}}},
        "additionalProperties":false,
        "$defs":{"Pair":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],
                         "additionalProperties":false}}}"##;
    assert_eq!(json(&look.signature().schema.unwrap()), json(expected));
    for nothing in ["{}", r#"{"param": null}"#] {
        assert_eq!(make(&*look, nothing).await, ToolOutcome::Value(Value::Null));
    }
    assert_eq!(
        make(&*look, r#"{"param": [{"a": true}]}"#).await,
        ToolOutcome::Error("param[0].a must be int, not true".into())
    );
    let go = tool(&plugin, "Demo.go");
    assert_eq!((go.signature().schema, go.signature().signature.parameters.len()), (None, 0));
    assert_eq!(make(&*go, "{}").await, ToolOutcome::Value(Value::Null));
    assert_eq!(make(&*go, r#"{"a": 1}"#).await, ToolOutcome::Error("a is not a parameter".into()));
}

#[test]
fn what_is_demanded_of_a_part_holds_for_the_argument() {
    let (_folder, plugin) = echo(
        "
- command_name: pay
  parameter:
    accepts: [user, code, model]
    asset_ref_acceptable: true
    type:
      sums:
        type:
          - {name: account, type: string, accepts: [user]}
      text: {type: string}
",
    );
    let signature = tool(&plugin, "Demo.pay").signature();
    let rule = |name: &str| signature.rule(name).map(|rule| (rule.accepts, rule.takes_assets));
    let whole = Origin::USER.with(Origin::CODE).with(Origin::MODEL);
    assert_eq!(rule("sums"), Some((Origin::USER, false)));
    assert_eq!(rule("text"), Some((whole, false)));
    assert_eq!(rule(""), Some((Origin::USER, true)));
}

#[tokio::test]
async fn responses_are_held_against_what_is_promised() {
    let (_folder, plugin) = echo(
        "
- command_name: list
  parameter: {type: Any}
  response:
    type:
      rows: {type: 'List[int]'}
      next: {type: string, optional: true}
",
    );
    let list = tool(&plugin, "Demo.list");
    let good = r#"{"rows": [1], "more": true}"#;
    assert_eq!(make(&*list, &format!("{{\"param\": {good}}}")).await, ToolOutcome::Value(json(good)));
    let expected = "the response of `Demo.list` is not what the plugin promises: `response.rows[1]` must be int, not \
                    the text \"2\"; `response.next` must be string, not 3";
    assert_eq!(
        make(&*list, r#"{"param": {"rows": [1, "2"], "next": 3}}"#).await,
        ToolOutcome::Error(expected.to_owned())
    );
}

#[tokio::test]
async fn a_secret_part_makes_the_response_secret() {
    let (_folder, plugin) = echo(
        "
- command_name: login
  parameter: {type: Any}
  response:
    type:
      user: {type: string}
      token: {type: {_type_ref: Token, value: {type: string, secret: true}, inner: {type: Token, required: false}}}
",
    );
    let login = tool(&plugin, "Demo.login");
    let response = r#"{"user": "ida", "token": {"value": "abc"}}"#;
    assert_eq!(make(&*login, &format!("{{\"param\": {response}}}")).await, ToolOutcome::Secret(json(response)));
    // A fault does not tell what it holds.
    let bad = make(&*login, r#"{"param": {"user": "ida", "token": "abc"}}"#).await;
    assert_eq!(bad, ToolOutcome::Error("the response of `Demo.login` is not what the plugin promises".into()));
}
