//! `TOOLS`: what there is to say of the tools that a playbook can reach, beyond the system message's one line for each.

use playhouse_lang::program::{Mode, Parameter, Playbook, Signature, TypeKind};
use playhouse_lang::value::{Map, Value};

use crate::machine::stack::Stack;
use crate::prompt::system::knows;
use crate::protocol::ToolSignature;

impl Stack {
    /// The tools that this playbook's lines name, in goal mode and of a skill all that it may call; one that the system message
    /// tells all of is left out.
    pub(super) fn write_tools(&self, playbook: &Playbook) -> Vec<String> {
        let texts: Vec<&str> =
            self.shown_playbooks().flat_map(|shown| shown.steps.iter().map(|step| &*step.text)).collect();
        let is_free = playbook.mode == Mode::Goal || playbook.skill.is_some();
        let text_names = |name: &str| is_free || texts.iter().any(|text| text.contains(name));
        let is_reached = |tool: &&ToolSignature| {
            let name = &tool.signature.name;
            text_names(name)
                && knows(&self.program, playbook.agent, tool)
                && self.program.refusal(playbook, name).is_none()
        };
        let mut lines = Vec::new();
        let mut told: Option<&str> = None;
        for tool in self.tools.iter().filter(is_reached) {
            let name = &tool.signature.name;
            let plugin = name.split_once('.').map_or(&**name, |(plugin, _)| plugin);
            // What a plugin says of itself stands once, before its tools.
            if let Some(about) = tool.about.as_ref().filter(|_| told != Some(plugin)) {
                lines.push(format!("{plugin}: {}", Value::Str(about.clone()).to_json()));
                told = Some(plugin);
            }
            lines.extend(write_parameters(tool).map(|text| format!("{name} — {text}")));
        }
        lines
    }
}

/// What the parameters are, beyond names, types and defaults.
fn write_parameters(tool: &ToolSignature) -> Option<String> {
    let Signature { parameters, .. } = &tool.signature;
    let Some(schema) = &tool.schema else {
        let described = parameters.iter().filter(|parameter| !parameter.description.is_empty());
        let texts: Vec<String> =
            described.map(|parameter| format!("{}: {}", parameter.name, parameter.description)).collect();
        return (!texts.is_empty()).then(|| texts.join("; "));
    };
    match beyond_signature(schema, parameters) {
        Some(properties) if properties.is_empty() => None,
        Some(properties) => Some(Value::map(properties).to_json()),
        None => Some(schema.to_string()),
    }
}

/// The schemas of single parameters, without what a signature tells: scalar types, which parameters there are, and
/// which of them are required. Nothing if the schema says more than that of the whole.
fn beyond_signature(schema: &str, parameters: &[Parameter]) -> Option<Map> {
    let Ok(Value::Map(whole)) = Value::from_json(schema) else { return None };
    let is_of_signature = |key: &str, value: &Value| match key {
        "type" => value.as_str() == Some("object"),
        "additionalProperties" => *value == Value::Bool(false),
        _ => ["properties", "required", "$schema", "title"].contains(&key),
    };
    if !whole.iter().all(|(key, value)| is_of_signature(key, value)) {
        return None;
    }
    let mut rest = Map::new();
    if let Some(Value::Map(properties)) = whole.get("properties") {
        for (name, property) in properties.iter() {
            let parameter = parameters.iter().find(|parameter| parameter.name == *name)?;
            let property = essence(property);
            let Value::Map(members) = &property else { return None };
            let is_told = |key: &str, value: &Value| key == "type" && value.as_str() == type_name(parameter.ty.kind);
            let members: Map = members
                .iter()
                .filter(|(key, value)| !is_told(key, value))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            if !members.is_empty() {
                rest.insert(name.clone(), Value::map(members));
            }
        }
    }
    Some(rest)
}

/// A schema without titles, and without the word that its objects have no other members than those it lists: a call
/// with others is told so.
fn essence(schema: &Value) -> Value {
    match schema {
        Value::Map(members) => {
            let is_kept = |key: &str, value: &Value| match key {
                "additionalProperties" => *value != Value::Bool(false),
                // The schema of a member of this name is none.
                "title" => !matches!(value, Value::Str(_)),
                _ => true,
            };
            // What stands there is no schema.
            let is_value = |key: &str| ["default", "const", "enum", "examples"].contains(&key);
            let kept = members.iter().filter(|(key, value)| is_kept(key, value));
            let essences =
                kept.map(|(key, value)| (key.clone(), if is_value(key) { value.clone() } else { essence(value) }));
            Value::map(essences.collect())
        }
        Value::List(items) => Value::list(items.iter().map(essence).collect()),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => schema.clone(),
    }
}

/// The name that JSON Schema has for a kind of values.
fn type_name(kind: TypeKind) -> Option<&'static str> {
    match kind {
        TypeKind::Any => None,
        TypeKind::Str | TypeKind::Date | TypeKind::Time | TypeKind::Email => Some("string"),
        TypeKind::Int => Some("integer"),
        TypeKind::Float => Some("number"),
        TypeKind::Bool => Some("boolean"),
        TypeKind::List => Some("array"),
        TypeKind::Dict => Some("object"),
    }
}
