//! What others may change of a component, which resource is meant, what a model owes.

use std::sync::Arc;

use playhouse::host::component::llm::{LlmParameter, LlmResponse, check_response};
use playhouse::host::component::lookup::{LookupError, ResourceEntry, WantedResource, lookup};
use playhouse::host::component::merge::override_config;
use playhouse::value::{Map, Value};
use serde_json::json;

use crate::component::{plugin, sound};

fn map(json: &serde_json::Value) -> Map {
    let Value::Map(map) = Value::from_json(&json.to_string()).unwrap() else { panic!("no map") };
    Arc::unwrap_or_clone(map)
}

/// The component after an override, and which keys were not applied.
fn merged(component: &serde_json::Value, outer: &serde_json::Value) -> (String, Vec<String>) {
    let mut component = map(component);
    let ignored = override_config(&mut component, &map(outer));
    (Value::map(component).to_json(), ignored.iter().map(ToString::to_string).collect())
}

#[test]
fn only_config_is_overridden() {
    let component = json!({"group_id": "g", "version": "1.10", "setup": {"package": "p"}, "config": {"a": {"b": 1, "c": [1]}, "d": 2}});
    let outer = json!({"group_id": "g", "setup": {"package": "evil"}, "name": "n", "instance_id": 0,
                       "config": {"a": {"c": [2], "e": null}, "d": null, "f": {"g": 1}}});
    let (after, ignored) = merged(&component, &outer);
    let expected = json!({"group_id": "g", "version": "1.10", "setup": {"package": "p"},
                          "config": {"a": {"b": 1, "c": [2], "e": null}, "d": null, "f": {"g": 1}}});
    assert_eq!(after, expected.to_string());
    assert_eq!(ignored, ["setup", "name"]);
}

#[test]
fn what_is_no_mapping_is_no_override() {
    for config in [json!([1]), json!("x"), json!(1), json!(true)] {
        let (after, ignored) = merged(&json!({"config": {"a": 1}}), &json!({"config": config}));
        assert_eq!((after.as_str(), ignored), ("{\"config\":{\"a\":1}}", vec!["config".to_owned()]));
    }
    assert_eq!(merged(&json!({"config": {"a": 1}}), &json!({"config": null})).0, "{\"config\":{\"a\":1}}");
    assert_eq!(merged(&json!({"config": null}), &json!({"config": {"a": 1}})).0, "{\"config\":{\"a\":1}}");
    assert_eq!(merged(&json!({}), &json!({"config": {"a": 1}})).0, "{\"config\":{\"a\":1}}");
}

#[test]
fn a_section_of_another_component_changes_nothing() {
    let component = json!({"group_id": "g", "artifact_id": "a", "version": "1", "config": {"a": 1}});
    let (after, ignored) = merged(&component, &json!({"group_id": "g", "version": "2", "config": {"a": 2}}));
    assert_eq!(after, component.to_string());
    assert_eq!(ignored, ["group_id", "version", "config"]);
    // A version that was read as a number is the text that it is.
    assert!(merged(&component, &json!({"version": 1, "config": {"a": 2}})).0.contains("\"a\":2"));
}

#[test]
fn the_outermost_wins() {
    let mut config = sound(&(plugin("  - command_name: go\n") + "config: {a: {x: 1}, b: 1, c: 1}\n"));
    let identity = config.identity.clone();
    assert_eq!(config.override_config(&map(&json!({"config": {"a": {"y": 2}, "b": 2}}))), []);
    let outer = json!({"group_id": "org.example", "artifact_id": "demo", "version": "0.0.1", "config": {"b": 3}, "as_plugin": false});
    assert_eq!(config.override_config(&map(&outer)), [Arc::from("as_plugin")]);
    assert_eq!(Value::map(config.config.clone()).to_json(), "{\"a\":{\"x\":1,\"y\":2},\"b\":3,\"c\":1}");
    assert_eq!((config.identity, config.as_plugin), (identity, true));
}

#[test]
fn the_first_resource_that_agrees_is_meant() {
    let entry = |kind: &str, id: Option<&str>, name: Option<&str>| ResourceEntry {
        kind: kind.into(),
        id: id.map(Arc::from),
        name: name.map(Arc::from),
    };
    let entries =
        [entry("model", Some("m1"), Some("gpt")), entry("model", Some("m2"), Some("glm")), entry("disk", None, None)];
    let find = |kind: Option<&str>, id: Option<&str>, name: Option<&str>| {
        let shared = |text: Option<&str>| text.map(Arc::from);
        lookup(&entries, &WantedResource { kind: shared(kind), id: shared(id), name: shared(name) })
    };
    assert_eq!(find(Some("model"), None, None), Ok(0));
    assert_eq!(find(Some("model"), Some("default"), None), Ok(0));
    assert_eq!(find(Some("model"), Some("default"), Some("glm")), Ok(1));
    assert_eq!(find(None, Some("m2"), None), Ok(1));
    assert_eq!(find(None, None, Some("glm")), Ok(1));
    assert_eq!(find(Some("disk"), Some("default"), None), Ok(2));
    assert!(find(Some("disk"), Some("m1"), None).is_err());
    assert!(find(Some("model"), Some("m1"), Some("glm")).is_err());
    assert!(find(Some("Model"), None, None).is_err());
    assert_eq!(find(None, Some("default"), None), Err(LookupError::NothingWanted));
    assert_eq!(find(None, None, None), Err(LookupError::NothingWanted));
    let told = find(Some("websocket"), Some("w"), None).unwrap_err().to_string();
    let known = "(type `model`, id `m1`, name `gpt`), (type `model`, id `m2`, name `glm`), (type `disk`)";
    assert_eq!(told, format!("there is no resource with type `websocket`, id `w`; there are {known}"));
    assert!(lookup(&[], &WantedResource { id: Some("a".into()), ..WantedResource::default() }).is_err());
}

#[test]
fn a_model_owes_content_and_what_was_asked_for() {
    let faults = |param: serde_json::Value, response: serde_json::Value| {
        check_response(&serde_json::from_value(param).unwrap(), &response).join("; ")
    };
    for fine in [
        json!({"content": ""}),
        json!({"content": "x", "input_token_len": null, "cost": null, "seed": 7}),
        json!({"content": "x", "input_token_len": 0, "output_token_len": 3, "cost": 0.5}),
    ] {
        assert_eq!(faults(json!({}), fine), "");
    }
    assert_eq!(faults(json!({}), json!("text")), "a model's response is an object with `content`, not text");
    assert_eq!(faults(json!({}), json!({"content": null})), "`content` must be text, not null");
    let wanted = "`input_token_len` must be a number of tokens, not -1; `cost` must be a number, not text";
    assert_eq!(faults(json!({}), json!({"content": "x", "input_token_len": -1, "cost": "free"})), wanted);
    let asked = json!({"messages": [], "require_token_len": true, "require_cost": true});
    let told = faults(asked.clone(), json!({"content": "x", "output_token_len": 3}));
    let tokens = "`input_token_len` is missing; token lengths were asked for (`require_token_len`)";
    assert_eq!(told, format!("{tokens}; `cost` is missing; it was asked for (`require_cost`)"));
    assert_eq!(faults(asked, json!({"content": "x", "input_token_len": 1, "output_token_len": 3, "cost": 0})), "");
}

#[test]
fn fields_of_one_model_or_another_are_kept() {
    let json = json!({"prompt": "hi", "max_tokens": 5, "temperature": 0.5, "require_token_len": true, "require_cost": false, "seed": 7});
    let parameter: LlmParameter = serde_json::from_value(json.clone()).unwrap();
    assert_eq!((parameter.prompt.as_deref(), &parameter.rest["seed"]), (Some("hi"), &json!(7)));
    assert_eq!(serde_json::to_value(&parameter).unwrap(), json);
    let nulls = json!({"prompt": null, "max_tokens": null, "temperature": null, "require_token_len": null});
    assert_eq!(serde_json::from_value::<LlmParameter>(nulls).unwrap(), LlmParameter::default());
    let json = json!({"content": "x", "output_token_len": 3, "model": "m"});
    let response: LlmResponse = serde_json::from_value(json.clone()).unwrap();
    assert_eq!((response.output_token_len, &response.rest["model"]), (Some(3), &json!("m")));
    assert_eq!(serde_json::to_value(&response).unwrap(), json);
}
