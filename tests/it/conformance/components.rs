//! Cases of components: configurations, values against types, merging, paths, look-ups, answers of models.

use std::fs;
use std::sync::Arc;

use playhouse::diagnostic::Severity;
use playhouse::host::component::llm::{self, LlmParameter};
use playhouse::host::component::lookup::{ResourceEntry, WantedResource, lookup};
use playhouse::host::component::merge::override_config;
use playhouse::host::component::message::Message;
use playhouse::host::component::runtime::runtime_path;
use playhouse::host::component::{ComponentConfig, Fault, Identity};
use playhouse::host::directory::WorkingDirectory;
use playhouse::span::FileId;
use playhouse::value::{Map, Value};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::conformance::case::present;
use crate::conformance::lifecycle;
use crate::conformance::matchers::equal;

/// One case. `id`, `title`, `basis` and `note` are for people.
#[derive(Debug, Deserialize)]
pub(crate) struct ComponentCase {
    kind: String,
    input: Json,
    expect: Expect,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    ok: bool,
    #[serde(default, deserialize_with = "present")]
    value: Option<Json>,
    #[serde(default)]
    error_contains_all: Vec<String>,
    /// Of a configuration: group, artifact, version.
    identity: Option<[String; 3]>,
}

/// What came of a case.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) value: Option<Json>,
    pub(super) identity: Option<[String; 3]>,
    pub(super) complaints: Vec<String>,
}

/// Runs a case; each mismatch is written `WHAT, got WHAT`.
pub(crate) fn run(case: &ComponentCase) -> Vec<String> {
    let input = case.input.clone();
    let outcome = match case.kind.as_str() {
        "load_config" => with(input, load_config),
        "validate_param" => with(input, validate_param),
        "validate_response" => with(input, validate_response),
        "merge_config" => with(input, merge_config),
        "runtime_path" => with(input, path),
        "resource_lookup" => with(input, look_up),
        "sandbox" => with(input, sandbox),
        "llm_response" => with(input, llm_response),
        "message" => with(input, message),
        "reply" => with(input, reply),
        "lifecycle" => with(input, lifecycle::run),
        other => Err(format!("a kind that the README names, got `{other}`")),
    };
    match outcome {
        Ok(outcome) => mismatches(&case.expect, &outcome),
        Err(problem) => vec![problem],
    }
}

fn with<T: DeserializeOwned>(input: Json, run: impl FnOnce(T) -> Result<Outcome, String>) -> Result<Outcome, String> {
    let input = serde_json::from_value(input);
    run(input.map_err(|error| format!("an input of the form that the README describes, got another: {error}"))?)
}

fn mismatches(expect: &Expect, got: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    let told = got.complaints.join("; ");
    if expect.ok != got.complaints.is_empty() {
        found.push(if expect.ok { format!("it to be fine, got {told}") } else { "an error, got none".to_owned() });
    }
    for wanted in expect.error_contains_all.iter().filter(|wanted| !told.contains(wanted.as_str())) {
        found.push(format!("an error that contains {wanted:?}, got {told:?}"));
    }
    if let Some(wanted) = &expect.value {
        let got = got.value.as_ref();
        if !got.is_some_and(|got| equal(wanted, got)) {
            found.push(format!("the value {wanted}, got {}", got.map_or("nothing".to_owned(), Json::to_string)));
        }
    }
    if expect.identity.is_some() && expect.identity != got.identity {
        found.push(format!("the identity {:?}, got {:?}", expect.identity, got.identity));
    }
    found
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadConfig {
    config: String,
}

fn load_config(input: LoadConfig) -> Result<Outcome, String> {
    let (config, complaints) = read(&input.config);
    let identity = config.map(|config| {
        let Identity { group_id, artifact_id, version } = config.identity;
        [group_id, artifact_id, version].map(|text| text.to_string())
    });
    Ok(Outcome { identity, complaints, ..Outcome::default() })
}

/// The configuration, and what is wrong with it.
fn read(text: &str) -> (Option<ComponentConfig>, Vec<String>) {
    let (config, findings) = ComponentConfig::read(FileId(0), text);
    let errors = findings.into_iter().filter(|finding| finding.severity == Severity::Error);
    (config, errors.map(|finding| finding.message).collect())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Validate {
    config: String,
    command: String,
    #[serde(default, deserialize_with = "present")]
    param: Option<Json>,
    #[serde(default, deserialize_with = "present")]
    response: Option<Json>,
}

fn validate_param(input: Validate) -> Result<Outcome, String> {
    validate(&input, |config| config.check_parameter(&input.command, input.param.as_ref().map(value).as_ref()))
}

fn validate_response(input: Validate) -> Result<Outcome, String> {
    validate(&input, |config| config.check_response(&input.command, input.response.as_ref().map(value).as_ref()))
}

fn validate(input: &Validate, check: impl FnOnce(&ComponentConfig) -> Vec<Fault>) -> Result<Outcome, String> {
    let (config, complaints) = read(&input.config);
    let config = config.ok_or_else(|| format!("a configuration, got {}", complaints.join("; ")))?;
    let complaints = check(&config).iter().map(Fault::to_string).collect();
    Ok(Outcome { complaints, ..Outcome::default() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MergeConfig {
    component: Json,
    #[serde(rename = "override")]
    outer: Option<Json>,
}

/// Keys that are not applied are for a warning: they are no error of a case.
fn merge_config(input: MergeConfig) -> Result<Outcome, String> {
    let mut component = members(&input.component);
    if let Some(outer) = &input.outer {
        override_config(&mut component, &members(outer));
    }
    Ok(Outcome { value: Some(json(&Value::map(component))), ..Outcome::default() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuntimePath {
    working_directory: String,
    group_id: Json,
    artifact_id: Json,
    version: Json,
    instance_id: Option<Json>,
}

fn path(input: RuntimePath) -> Result<Outcome, String> {
    let identity = Identity {
        group_id: text(&input.group_id).into(),
        artifact_id: text(&input.artifact_id).into(),
        version: text(&input.version).into(),
    };
    let instance_id = input.instance_id.as_ref().map(text);
    Ok(match runtime_path(&identity, instance_id.as_deref()) {
        Ok(path) => {
            let path = format!("{}/{}", input.working_directory, path.display());
            Outcome { value: Some(Json::from(path)), ..Outcome::default() }
        }
        Err(error) => Outcome { complaints: vec![error.to_string()], ..Outcome::default() },
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LookUp {
    manager: Vec<ManagerEntry>,
    want: Want,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManagerEntry {
    key: String,
    resource_type: String,
    id: Option<Json>,
    name: Option<Json>,
}

/// A section of a plugin's `resources`; what else it has is not asked for.
#[derive(Deserialize)]
struct Want {
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<Json>,
    name: Option<Json>,
}

fn look_up(input: LookUp) -> Result<Outcome, String> {
    let shared = |value: &Option<Json>| value.as_ref().map(|value| Arc::from(text(value)));
    let entry = |entry: &ManagerEntry| ResourceEntry {
        kind: entry.resource_type.as_str().into(),
        id: shared(&entry.id),
        name: shared(&entry.name),
    };
    let entries: Vec<ResourceEntry> = input.manager.iter().map(entry).collect();
    let want = &input.want;
    let wanted =
        WantedResource { kind: want.kind.as_deref().map(Arc::from), id: shared(&want.id), name: shared(&want.name) };
    Ok(match lookup(&entries, &wanted) {
        Ok(position) => Outcome { value: Some(Json::from(input.manager[position].key.as_str())), ..Outcome::default() },
        Err(error) => Outcome { complaints: vec![error.to_string()], ..Outcome::default() },
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sandbox {
    path: String,
}

/// A folder of the same name stands for `/wd`.
fn sandbox(input: Sandbox) -> Result<Outcome, String> {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().canonicalize().unwrap().join("wd");
    fs::create_dir(&root).unwrap();
    let path = match input.path.strip_prefix("/wd") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", root.display()),
        Some(_) | None => input.path,
    };
    let directory = WorkingDirectory::open(&root).unwrap();
    let complaints = directory.resolve(&path).err().map(|refused| refused.to_string());
    Ok(Outcome { complaints: complaints.into_iter().collect(), ..Outcome::default() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LlmCase {
    #[serde(default)]
    param: LlmParameter,
    #[serde(default)]
    response: Json,
}

fn llm_response(input: LlmCase) -> Result<Outcome, String> {
    Ok(Outcome { complaints: llm::check_response(&input.param, &input.response), ..Outcome::default() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageCase {
    message: Json,
}

fn message(input: MessageCase) -> Result<Outcome, String> {
    let complaints = Message::from_json(&value(&input.message)).err().unwrap_or_default();
    Ok(Outcome { complaints, ..Outcome::default() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyCase {
    plugin_name: String,
    message: Json,
    command_returns: Json,
}

fn reply(input: ReplyCase) -> Result<Outcome, String> {
    let reply = Message::from_json(&value(&input.message)).and_then(|message| {
        message.reply(&input.plugin_name, value(&input.command_returns)).map_err(|complaint| vec![complaint])
    });
    Ok(match reply {
        Ok(reply) => Outcome { value: Some(json(&reply.to_json())), ..Outcome::default() },
        Err(complaints) => Outcome { complaints, ..Outcome::default() },
    })
}

fn value(json: &Json) -> Value {
    Value::from_json(&json.to_string()).unwrap()
}

fn json(value: &Value) -> Json {
    serde_json::from_str(&value.to_json()).unwrap()
}

fn members(json: &Json) -> Map {
    if let Value::Map(members) = value(json) { Arc::unwrap_or_clone(members) } else { Map::new() }
}

/// The text of a scalar, quotes or not.
fn text(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}
