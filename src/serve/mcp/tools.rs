//! The tools of a client: one for each playbook that its author made public, and three to go on with a session.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::host::residents::offered::Offered;
use crate::host::tool::arguments::{check_arguments, describe_faults};
use crate::lang::program::{Parameter, Playbook, Program, Signature, Type, TypeKind};
use crate::serve::mcp::result::{Told, Wrong};
use crate::value::Map;

/// The names of tools that every server has.
const TALK: &str = "talk";
const REPLY: &str = "reply";
const WAIT: &str = "wait";

/// Letters of a tool's name: some take 64, and a number may come after it.
const MAX_NAME: usize = 60;

/// All tools of a client.
pub(super) struct Tools {
    programs: Vec<Arc<Offered>>,
    /// Of public playbooks: the tool's name, the program and the playbook's place in it.
    calls: Vec<(String, usize, usize)>,
}

/// What a client wants.
#[derive(Debug)]
pub(super) enum Wanted {
    /// A public playbook with its arguments, as a session.
    Call { program: Arc<str>, playbook: String, arguments: Map },
    /// A session of a program, and what the user says first.
    Begin { program: Arc<str>, message: String },
    /// What the user says in a session.
    Say { session: Arc<str>, message: String },
    /// What comes of a session.
    Wait { session: Arc<str> },
}

/// Arguments of `talk`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Talk {
    /// What the user says, in their words.
    message: String,
    /// The session to go on with; none: a new one.
    session: Option<String>,
    /// The program that a new session is of.
    program: Option<String>,
}

/// Arguments of `reply`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reply {
    /// The session that waits.
    session: String,
    /// The user's answer, in their words.
    message: String,
}

/// Arguments of `wait`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wait {
    /// The session.
    session: String,
}

impl Tools {
    /// Of these programs.
    pub(super) fn of(programs: Vec<Arc<Offered>>) -> Tools {
        let mut taken: HashSet<String> = [TALK, REPLY, WAIT].map(str::to_owned).into();
        let mut calls = Vec::new();
        for (at, offered) in programs.iter().enumerate() {
            let program = &offered.opened.program;
            for (index, playbook) in program.playbooks.iter().enumerate().filter(|(_, playbook)| is_offered(playbook)) {
                let agent = &program.agent(playbook.agent).name;
                let plain = (programs.len() == 1).then(|| tool_name(&playbook.name));
                let longer = tool_name(&format!("{}_{}", offered.name, playbook.name));
                let longest = tool_name(&format!("{}_{agent}_{}", offered.name, playbook.name));
                // Whatever is called alike, the name stays the same as long as the programs do.
                let numbered = (2..).map(|n: usize| format!("{longest}_{n}"));
                let mut names = plain.into_iter().chain([longer, longest.clone()]).chain(numbered);
                if let Some(name) = names.find(|name| taken.insert(name.clone())) {
                    calls.push((name, at, index));
                }
            }
        }
        Tools { programs, calls }
    }

    /// As a client reads them.
    pub(super) fn list(&self) -> Vec<Tool> {
        let output = schema_of::<Told>();
        let calls = self.calls.iter().map(|(name, at, index)| {
            let program = &self.programs[*at].opened.program;
            let playbook = &program.playbooks[*index];
            Tool::new(name.clone(), about(playbook), Arc::new(input_schema(&playbook.parameters)))
        });
        let mut talk = schema_of::<Talk>();
        let names: Vec<&str> = self.programs.iter().map(|offered| &*offered.name).collect();
        match (names.as_slice(), talk.get_mut("properties").and_then(Json::as_object_mut)) {
            ([] | [_], Some(properties)) => _ = properties.remove("program"),
            (names, Some(properties)) => properties["program"]["enum"] = names.iter().copied().collect(),
            (_, None) => {}
        }
        let titles: Vec<String> =
            self.programs.iter().map(|offered| format!("{}: {}", offered.name, offered.title())).collect();
        let talk_about = format!(
            "Talk with a program ({}): begins a session, or continues one, and returns what the program says until it \
             waits again. Pass on the user's own words.",
            titles.join("; ")
        );
        let general = [
            (TALK, talk_about, talk),
            (
                REPLY,
                "Answers a session whose status is `waiting` or `approval`, in the user's own words; ask the user \
                 first. Returns what the program says until it waits again."
                    .to_owned(),
                schema_of::<Reply>(),
            ),
            (
                WAIT,
                "Waits for a session whose status is `running`, for at most 50 seconds, and returns the outcome."
                    .to_owned(),
                schema_of::<Wait>(),
            ),
        ];
        let general = general.map(|(name, about, input)| {
            let is_wait = name == WAIT;
            Tool::new(name, about, Arc::new(input)).annotate(ToolAnnotations::new().read_only(is_wait))
        });
        calls.chain(general).map(|tool| tool.with_raw_output_schema(Arc::new(output.clone()))).collect()
    }

    /// What a call wants; none: no tool has this name.
    pub(super) fn read(&self, name: &str, arguments: JsonObject) -> Option<Result<Wanted, Wrong>> {
        Some(match name {
            TALK => self.talk(arguments),
            REPLY => read(REPLY, arguments).and_then(|Reply { session, message }| say(session, message)),
            WAIT => read(WAIT, arguments).map(|Wait { session }| Wanted::Wait { session: session.into() }),
            _ => {
                let (_, at, index) = self.calls.iter().find(|(own, _, _)| own == name)?;
                call(name, &self.programs[*at], *index, arguments)
            }
        })
    }

    /// The names of all, for those who have asked for one that is not there.
    pub(super) fn names(&self) -> String {
        let calls = self.calls.iter().map(|(name, _, _)| name.as_str());
        calls.chain([TALK, REPLY, WAIT]).collect::<Vec<_>>().join(", ")
    }

    fn talk(&self, arguments: JsonObject) -> Result<Wanted, Wrong> {
        let Talk { message, session, program } = read(TALK, arguments)?;
        if let Some(session) = session {
            return say(session, message);
        }
        let program = match (program, self.programs.as_slice()) {
            (Some(program), all) if all.iter().any(|offered| *offered.name == program) => program.into(),
            (None, [only]) => only.name.clone(),
            (program, all) => {
                let wrong =
                    program.map_or("`program` is missing".to_owned(), |name| format!("there is no program `{name}`"));
                let names: Vec<&str> = all.iter().map(|offered| &*offered.name).collect();
                return Err(Wrong(format!(
                    "{wrong}: say which program to talk with, of {}; or give `session` to continue one",
                    names.join(", ")
                )));
            }
        };
        Ok(Wanted::Begin { program, message: said(message)? })
    }
}

/// A name as clients and their models' servers take it.
fn tool_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().map(plain).take(MAX_NAME).collect()
}

/// Playbooks that a door may call, and that can be called.
fn is_offered(playbook: &Playbook) -> bool {
    playbook.public && !playbook.implicit && !playbook.meeting
}

fn about(playbook: &Playbook) -> String {
    let text = playbook.description.trim();
    let text = if text.is_empty() { &playbook.title } else { text };
    match playbook.returns {
        Some(returns) if returns.kind != TypeKind::Any => format!("{text}\n\nReturns {returns}."),
        Some(_) | None => text.to_owned(),
    }
}

fn call(tool: &str, offered: &Offered, index: usize, arguments: JsonObject) -> Result<Wanted, Wrong> {
    let program: &Program = &offered.opened.program;
    let playbook = &program.playbooks[index];
    let read = arguments.into_iter().map(|(name, value)| Ok((Arc::from(name), serde_json::from_value(value)?)));
    let arguments = read.collect::<Result<Map, serde_json::Error>>().map_err(|error| {
        Wrong(format!("an argument of {tool} is not a value: {error}; send numbers of at most 64 bits"))
    })?;
    let signature = Signature {
        name: tool.into(),
        parameters: playbook.parameters.clone(),
        returns: playbook.returns.unwrap_or(Type::ANY),
        summary: "".into(),
    };
    // Defaults are the session's business, as for everybody who calls the playbook.
    check_arguments(&signature, arguments.clone())
        .map_err(|faults| Wrong(format!("{}; call it again", describe_faults(&signature, &faults))))?;
    let playbook = program.full_name(playbook);
    Ok(Wanted::Call { program: offered.name.clone(), playbook, arguments })
}

fn say(session: String, message: String) -> Result<Wanted, Wrong> {
    Ok(Wanted::Say { session: session.into(), message: said(message)? })
}

fn said(message: String) -> Result<String, Wrong> {
    match message.trim().is_empty() {
        true => Err(Wrong("`message` is empty: give what the user says".to_owned())),
        false => Ok(message),
    }
}

fn read<T: DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<T, Wrong> {
    serde_json::from_value(Json::Object(arguments))
        .map_err(|error| Wrong(format!("{tool}: {error}; call it again with the arguments of its schema")))
}

/// The schema of a type of ours.
fn schema_of<T: JsonSchema>() -> JsonObject {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    let mut object = schema.as_object_mut().map(std::mem::take).unwrap_or_default();
    for name in ["$schema", "title", "description"] {
        object.remove(name);
    }
    object
}

/// The schema of a playbook's arguments.
fn input_schema(parameters: &[Parameter]) -> JsonObject {
    let mut properties = JsonObject::new();
    let mut required = Vec::new();
    for parameter in parameters {
        let mut schema = type_schema(parameter.ty);
        if !parameter.description.is_empty() {
            schema.insert("description".to_owned(), parameter.description.as_ref().into());
        }
        match &parameter.default {
            None => required.push(Json::from(parameter.name.as_ref())),
            Some(default) => _ = schema.insert("default".to_owned(), serde_json::to_value(default).unwrap_or_default()),
        }
        properties.insert(parameter.name.to_string(), schema.into());
    }
    let whole =
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    whole.as_object().cloned().unwrap_or_default()
}

fn type_schema(ty: Type) -> JsonObject {
    let (kind, format) = match ty.kind {
        TypeKind::Any => return JsonObject::new(),
        TypeKind::Str => ("string", None),
        TypeKind::Int => ("integer", None),
        TypeKind::Float => ("number", None),
        TypeKind::Bool => ("boolean", None),
        TypeKind::List => ("array", None),
        TypeKind::Dict => ("object", None),
        TypeKind::Date => ("string", Some("date")),
        // JSON Schema's `time` wants seconds and a zone, ours neither.
        TypeKind::Time => ("string", None),
        TypeKind::Email => ("string", Some("email")),
    };
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), if ty.optional { json!([kind, "null"]) } else { kind.into() });
    if let Some(format) = format {
        schema.insert("format".to_owned(), format.into());
    }
    if let Some(form) = ty.kind.form() {
        schema.insert("description".to_owned(), form.into());
    }
    schema
}
