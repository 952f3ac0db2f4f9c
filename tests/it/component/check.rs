//! Values against the types that a component declares.

use std::fmt::Write as _;
use std::sync::Arc;

use playhouse::host::component::AssetReference;
use playhouse::value::{Map, PathStep, Value};

use crate::component::{plugin, sound};
use crate::golden;

/// Each case is a line: `param` or `response`, a command, and JSON or nothing. The golden has the faults below it.
#[test]
fn all_faults_are_told() {
    golden::check("component/check", &["cases"], |name, text| {
        let component = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/component/config/good");
        let component = std::fs::read_to_string(component.join(name).with_extension("yaml")).unwrap();
        let config = sound(&component);
        let mut told = String::new();
        for line in text.lines() {
            writeln!(told, "{line}").unwrap();
            if line.starts_with('#') {
                continue;
            }
            let mut parts = line.splitn(3, ' ');
            let (side, command) = (parts.next().unwrap(), parts.next().unwrap_or_default());
            let value = parts.next().map(|json| Value::from_json(json).unwrap());
            let faults = match side {
                "param" => config.check_parameter(command, value.as_ref()),
                "response" => config.check_response(command, value.as_ref()),
                _ => panic!("{line}"),
            };
            faults.iter().for_each(|fault| writeln!(told, "    {fault}").unwrap());
        }
        told
    });
}

/// `{"next": {"next": … end}}`, so many times.
fn chain(n: usize, end: Value) -> Value {
    (0..n).fold(end, |inner, _| Value::map(Map::from_iter([(Arc::from("next"), inner)])))
}

#[test]
fn deep_values_are_checked_to_a_depth_and_no_further() {
    let text =
        "  - command_name: go\n    parameter:\n      type: {_type_ref: chain, next: {type: chain, required: false}}\n";
    let config = sound(&plugin(text));
    assert_eq!(config.check_parameter("go", Some(&chain(100, Value::map(Map::new())))), []);
    let faults = config.check_parameter("go", Some(&chain(100, Value::Int(1))));
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].path, format!("param{}", ".next".repeat(100)));
    let faults = config.check_parameter("go", Some(&chain(1_000, Value::map(Map::new()))));
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].message, "is nested deeper than 200 levels");
}

/// Tried one by one, the alternatives of these types would be tried two to the power of the depth times.
#[test]
fn unions_of_unions_are_checked_once_per_value() {
    let text = "  - command_name: go\n    parameter:\n      type:\n        _type_ref: a\n        next: {type: \"Union[a, b, None]\"}\n    response:\n      type:\n        _type_ref: b\n        next: {type: \"Union[b, a, None]\"}\n";
    let config = sound(&plugin(text));
    assert_eq!(config.check_parameter("go", Some(&chain(100, Value::Null))), []);
    let faults = config.check_parameter("go", Some(&chain(100, Value::Int(1))));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].path, "param.next");
}

#[test]
fn of_very_many_faults_the_number_is_told() {
    let config = sound(&plugin("  - command_name: go\n    parameter: {type: \"List[int]\"}\n"));
    let faults = config.check_parameter("go", Some(&Value::list(vec![Value::Null; 10_000])));
    assert_eq!(faults.len(), 51);
    assert_eq!(faults[49].path, "param[49]");
    assert_eq!(faults[50].to_string(), "param: 9950 more faults are not listed");
}

#[test]
fn long_values_are_cut_in_messages() {
    let config = sound(&plugin("  - command_name: go\n    parameter: {type: string, enum: [a]}\n"));
    let faults = config.check_parameter("go", Some(&Value::str("é".repeat(100_000))));
    assert!(faults[0].message.len() < 200, "{faults:?}");
    let config = sound(&plugin("  - command_name: go\n    parameter: {type: int}\n"));
    let faults = config.check_parameter("go", Some(&Value::str("é\"".repeat(100_000))));
    assert!(faults[0].message.len() < 200, "{faults:?}");
}

#[test]
fn references_to_assets_have_two_forms() {
    let member = |name: &str| PathStep::Member(name.into());
    let reference = |id: &str, path: Vec<PathStep>| Some(AssetReference { id: id.into(), path });
    let read = |json: &str| AssetReference::read(&Value::from_json(json).unwrap());
    assert_eq!(read("\"asset://a\""), reference("a", vec![]));
    assert_eq!(read("\"asset://a/\""), reference("a", vec![]));
    assert_eq!(read("\"asset://a/b/0/c\""), reference("a", vec![member("b"), PathStep::Index(0), member("c")]));
    assert_eq!(read("\"asset://a/007\""), reference("a", vec![member("007")]));
    assert_eq!(
        read("{\"asset_id\": \"a\", \"field_path\": [\"b\", 1]}"),
        reference("a", vec![member("b"), PathStep::Index(1)])
    );
    assert_eq!(read("{\"asset_id\": \"a\", \"field_path\": null}"), reference("a", vec![]));
    for other in [
        "\"asset://\"",
        "\"asset:///b\"",
        "\"asset://a//b\"",
        "\"Asset://a\"",
        "\"see asset://a\"",
        "{\"asset_id\": 1}",
        "{\"asset_id\": \"\"}",
        "{\"asset_id\": \"a\", \"field_path\": \"b\"}",
        "{\"asset_id\": \"a\", \"field_path\": [-1]}",
        "{\"asset_id\": \"a\", \"field_path\": [null]}",
        "{\"asset_id\": \"a\", \"other\": 1}",
        "{\"field_path\": []}",
        "[\"asset://a\"]",
        "null",
    ] {
        assert_eq!(read(other), None, "{other}");
    }
    let asset = Value::from_json("{\"b\": [{\"0\": 5}]}").unwrap();
    assert_eq!(read("\"asset://a/b/0/0\"").unwrap().member(&asset), Ok(&Value::Int(5)));
    assert_eq!(read("\"asset://a/b/1\"").unwrap().member(&asset), Err(1));
    assert_eq!(read("\"asset://a\"").unwrap().member(&asset), Ok(&asset));
}
