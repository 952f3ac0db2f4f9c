//! `config.yaml`: what is wrong with bad ones, what is read of good ones.

use std::fmt::Write as _;

use playhouse::diagnostic::Severity;
use playhouse::host::component::schema::{json_schema, response_schema};
use playhouse::host::component::{Approval, ComponentConfig, DataType};
use playhouse::value::Value;
use playhouse::vm::protocol::EffectClass;
use playhouse::vm::protocol::Origin;

use serde_json::Value as Json;

use crate::component::{plugin, read, sound};
use crate::golden;

#[test]
fn what_is_wrong_is_said() {
    assert!(golden::cases("component/config/bad", &["yaml"]).len() >= 40);
    golden::check("component/config/bad", &["yaml"], |name, text| {
        let (config, findings, shown) = read(name, text);
        assert!(!findings.is_empty(), "{name} is fine");
        let is_refused = findings.iter().any(|finding| finding.severity == Severity::Error);
        assert_eq!(config.is_none(), is_refused, "{name}");
        shown
    });
}

#[test]
fn what_is_right_is_read() {
    golden::check("component/config/good", &["yaml"], |name, text| {
        let (config, _, mut shown) = read(name, text);
        let Some(config) = config else { panic!("{name} is refused: {shown}") };
        describe(&config, &mut shown);
        shown
    });
}

/// All that is known of a component.
fn describe(config: &ComponentConfig, text: &mut String) {
    let json = |value: &playhouse::value::Map| Value::map(value.clone()).to_json();
    let ComponentConfig { identity, instance_id, kind, as_plugin, info, setup, config: inner, rest, .. } = config;
    let ComponentConfig { commands, written: _, types, .. } = config;
    writeln!(text, "{identity}, instance {instance_id:?}, type {kind}, as plugin {as_plugin}").unwrap();
    writeln!(text, "name {:?}, id {:?}", config.name(), config.id()).unwrap();
    writeln!(text, "setup {} {}", setup.package, json(&setup.rest)).unwrap();
    writeln!(text, "config {}\nrest {}", json(inner), json(rest)).unwrap();
    if let Some(info) = info {
        writeln!(text, "for models: {}\nfor people: {}", info.for_model(), info.for_human()).unwrap();
        writeln!(text, "info {} {}", info.title, json(&info.rest)).unwrap();
    }
    for (name, ty) in types {
        let fields: Vec<String> =
            ty.fields(types).unwrap().iter().map(|field| format!("{}: {}", field.name, field.description.ty)).collect();
        writeln!(text, "type {name} = {{{}}}", fields.join(", ")).unwrap();
    }
    for command in commands {
        let signature = command.signature("demo", types);
        writeln!(text, "\n{}: {}", signature.name, signature.summary).unwrap();
        for parameter in &signature.parameters {
            let default = parameter.default.as_ref().map_or(String::new(), |default| format!(" = {default}"));
            writeln!(text, "  ${}: {}{default}  {}", parameter.name, parameter.ty, parameter.description).unwrap();
        }
        writeln!(text, "  -> {}", signature.returns).unwrap();
        let (effect, approval) = (command.effect, command.approval);
        writeln!(text, "  {effect:?}, approval {approval:?}, timeout {:?}", command.timeout).unwrap();
        writeln!(text, "  concurrency {:?}, extra {}", command.concurrency, json(&command.extra)).unwrap();
        if let Some(description) = &command.parameter {
            writeln!(text, "parameter {:#}", json_schema(description, types)).unwrap();
        }
        if let Some(description) = &command.response {
            writeln!(text, "response {:#}", response_schema(description, types)).unwrap();
        }
    }
}

#[test]
fn a_schema_says_what_a_check_says() {
    let config = sound(include_str!("../../cases/component/config/good/everything.yaml"));
    let values = include_str!("../../cases/component/check/everything.cases");
    let mut n_compared = 0;
    for line in values.lines() {
        let Some((command, json)) = line.strip_prefix("param ").and_then(|line| line.split_once(' ')) else { continue };
        let Some(description) = config.command(command).and_then(|command| command.parameter.as_ref()) else {
            continue;
        };
        let value = Value::from_json(json).unwrap();
        let schema = json_schema(description, &config.types);
        let is_valid = is_valid(&schema, &schema, &serde_json::from_str(json).unwrap());
        let is_fine = config.check_parameter(command, Some(&value)).is_empty();
        // Null for what may be absent, and the other form of a reference, are not in the schema: a model that keeps to
        // the schema is right, and one that does not may be.
        assert!(is_fine || !is_valid, "{line}\n{schema:#}");
        n_compared += usize::from(is_fine == is_valid);
    }
    assert!(n_compared > 40, "{n_compared}");
}

/// Whether a value is what a schema says, as far as we write schemas.
fn is_valid(schema: &Json, root: &Json, json: &Json) -> bool {
    let fits = |schema: &Json, json: &Json| is_valid(schema, root, json);
    let members = schema.as_object().unwrap();
    members.iter().all(|(keyword, said)| match keyword.as_str() {
        "description" | "examples" | "$defs" => true,
        "type" => match said.as_str().unwrap() {
            "null" => json.is_null(),
            "string" => json.is_string(),
            "integer" => json.as_f64().is_some_and(|number| number.fract() == 0.0),
            "number" => json.is_number(),
            "boolean" => json.is_boolean(),
            "array" => json.is_array(),
            "object" => json.is_object(),
            other => panic!("{other}"),
        },
        "pattern" => json.as_str().is_none_or(|text| regex::Regex::new(said.as_str().unwrap()).unwrap().is_match(text)),
        "enum" => {
            said.as_array().unwrap().iter().any(|one| one == json || (one.is_number() && one.as_f64() == json.as_f64()))
        }
        "anyOf" => said.as_array().unwrap().iter().any(|schema| fits(schema, json)),
        "$ref" => fits(root.pointer(said.as_str().unwrap().strip_prefix('#').unwrap()).unwrap(), json),
        "items" => json.as_array().is_none_or(|items| items.iter().all(|item| fits(said, item))),
        "required" => json.as_object().is_none_or(|object| {
            said.as_array().unwrap().iter().all(|name| object.contains_key(name.as_str().unwrap()))
        }),
        "properties" => json.as_object().is_none_or(|object| {
            object.iter().all(|(name, value)| said.get(name).is_none_or(|schema| fits(schema, value)))
        }),
        "additionalProperties" => json.as_object().is_none_or(|object| {
            let is_declared = |name: &str| members.get("properties").is_some_and(|it| it.get(name).is_some());
            object.iter().all(|(name, value)| is_declared(name) || (*said != false && fits(said, value)))
        }),
        other => panic!("{other} is new"),
    })
}

#[test]
fn texts_stay_as_they_are_written() {
    let text = plugin("  - command_name: go\n").replace("0.0.1", "1.10")
        + "instance_id: 0\nconfig:\n  inner: {group_id: 1, artifact_id: b, version: 1.10, instance_id: 007, port: 007, n: 1.10}\n  version: 1.10\n";
    let config = sound(&text);
    assert_eq!(config.identity.to_string(), "org.example:demo:1.10");
    assert_eq!(config.instance_id.as_deref(), Some("0"));
    let json = Value::map(config.config.clone()).to_json();
    let inner = r#"{"group_id":"1","artifact_id":"b","version":"1.10","instance_id":"007","port":7,"n":1.1}"#;
    assert_eq!(json, format!(r#"{{"inner":{inner},"version":1.1}}"#));
    // In front of the first key a byte order mark may stand.
    assert_eq!(sound(&format!("\u{feff}{text}")), config);
    assert_eq!(sound(&text.replace('\n', "\r\n")), config);
}

#[test]
fn scalars_are_those_of_the_core_schema() {
    let text = "~ null '' 0 -0 +7 0o17 0xff 1e3 .5 5. -1.5E-2 1_000 0b1 017 .inf .nan -.inf . - + e3 1e 0x 0o8 \
                9223372036854775807 9223372036854775808 -9223372036854775809 1e999 true True TRUE tRUE yes no on \
                2024-01-01 12:30 0.1.2";
    let items: Vec<String> = text.split(' ').map(|item| format!("  - {item}\n")).collect();
    let config =
        sound(&(plugin("  - command_name: go\n") + "config:\n  l:\n" + &items.concat().replace("  -", "    -")));
    let Value::List(values) = &config.config["l"] else { panic!("no list") };
    let told: Vec<String> =
        text.split(' ').zip(values.iter()).map(|(text, value)| format!("{text} {} {value}\n", value.kind())).collect();
    golden::compare("component/config/scalars.golden", &told.concat());
}

#[test]
fn our_own_keys_have_their_defaults() {
    let config = sound(&plugin("  - command_name: go\n    parameter: {type: string}\n"));
    let command = config.command("go").unwrap();
    assert_eq!((command.effect, command.approval), (EffectClass::Write, Approval::Never));
    assert_eq!((command.timeout, command.concurrency), (None, None));
    let parameter = command.parameter.as_ref().unwrap();
    assert_eq!((&parameter.ty, parameter.required, parameter.accepts), (&DataType::Str, true, None));
    assert!(!parameter.secret && !parameter.asset_reference);
    let text = "  - command_name: go\n    parameter: {type: string, accepts: [user, argument]}\n    response: {type: string, secret: true}\n";
    let config = sound(&plugin(text));
    let command = config.command("go").unwrap();
    assert_eq!(command.parameter.as_ref().unwrap().accepts, Some(Origin::USER.with(Origin::ARGUMENT)));
    assert!(command.response.as_ref().unwrap().secret);
}

#[test]
fn a_large_file_is_not_read() {
    let (config, findings, _) = read("config.yaml", &format!("#{}", " ".repeat(1 << 20)));
    assert!(config.is_none());
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].code, "config-too-large");
}
