//! Messages between the interpreter, plugins, users and the system (source 004, "For Message creation"; spec
//! `components.md`, 4.5). Only their form is judged here: a message's text is data.

use std::sync::Arc;

use playhouse_lang::value::{Map, Value};

/// The content type of calls and of their answers.
pub const COMMAND: &str = "command";

/// Keys of a content that belong to calls and answers.
const RESERVED: [&str; 3] = ["command", "param", "response"];

/// A type of the host's language, as it is written, and whether a value is of it in messages between languages.
type HostType = (&'static str, fn(&Value) -> bool);

const HOST_TYPES: [HostType; 7] = [
    ("<class 'dict'>", |value| matches!(value, Value::Map(_))),
    ("<class 'list'>", |value| matches!(value, Value::List(_))),
    ("<class 'str'>", |value| matches!(value, Value::Str(_))),
    // JSON has one kind of number: one that is larger than 64 bits comes as a float.
    ("<class 'int'>", |value| {
        matches!(value, Value::Int(_)) || matches!(value, Value::Float(number) if number.fract() == 0.0)
    }),
    ("<class 'float'>", |value| matches!(value, Value::Float(_) | Value::Int(_))),
    ("<class 'bool'>", |value| matches!(value, Value::Bool(_))),
    ("<class 'NoneType'>", |value| matches!(value, Value::Null)),
];

/// Who sends or is sent to, as it is written in messages. Case-sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Role {
    /// What decides: the interpreter.
    Cerebrum,
    /// A plugin.
    Plugin,
    /// A person.
    User,
    /// Errors, the beginning, the end.
    System,
}

impl Role {
    /// As it is written in messages.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A sender or a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Party {
    /// Its role.
    pub role: Role,
    /// Its id, if it has one.
    pub id: Option<Arc<str>>,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// Its other fields, kept as they are.
    pub rest: Map,
}

impl Party {
    /// One of which only the role is known.
    pub fn new(role: Role) -> Party {
        Party { role, id: None, name: None, rest: Map::new() }
    }

    /// One with a name.
    pub fn named(role: Role, name: &str) -> Party {
        Party { name: Some(name.into()), ..Party::new(role) }
    }

    fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("role".into(), Value::str(self.role.name()));
        put(&mut members, "id", self.id.as_ref());
        put(&mut members, "name", self.name.as_ref());
        members.extend(self.rest.clone());
        Value::map(members)
    }
}

/// A message that is formed as the contract demands.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who sent it.
    pub sender: Party,
    /// For whom it is.
    pub receiver: Party,
    /// A MIME type, [`COMMAND`], or a type of the host's language such as `<class 'dict'>`.
    pub content_type: Arc<str>,
    /// What it says.
    pub content: Value,
    /// When, as text.
    pub time: Option<Arc<str>>,
    /// Its own id.
    pub id: Option<Arc<str>>,
    /// The id of the exchange that it belongs to: an answer has that of its call.
    pub thrd_id: Option<Arc<str>>,
    /// Other fields, kept as they are.
    pub rest: Map,
}

/// What a message is to somebody who waits for answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exchange<'a> {
    /// A call of a command with its parameter.
    Call(&'a str, &'a Value),
    /// The answer of a command.
    Response(&'a str, &'a Value),
    /// A question to a person, with which the work on a call ends for now.
    Question(&'a str),
    /// News of a call that is not done yet.
    News(&'a str),
    /// Anything else.
    Other,
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn from_json(json: &Value) -> Result<Message, Vec<String>> {
        let Value::Map(members) = json else {
            return Err(vec![format!("a message must be a map, not {}", json.kind())]);
        };
        let mut faults = Vec::new();
        let sender = party(members, "sender", &mut faults);
        let receiver = party(members, "receiver", &mut faults);
        let content_type = content_type(members, &mut faults);
        let content = members.get("content").cloned();
        match (&content, &content_type) {
            (Some(content), Some(content_type)) => check_content(content_type, content, &mut faults),
            (Some(_), None) => {}
            (None, _) => faults.push("`content` is missing".to_owned()),
        }
        let [time, id, thrd_id] = ["time", "id", "thrd_id"].map(|key| text(members, key, key, &mut faults));
        let is_known =
            |key: &str| ["sender", "receiver", "content_type", "content", "time", "id", "thrd_id"].contains(&key);
        let rest = members.iter().filter(|(key, _)| !is_known(key));
        let rest = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
        match (sender, receiver, content_type, content) {
            (Some(sender), Some(receiver), Some(content_type), Some(content)) if faults.is_empty() => {
                Ok(Message { sender, receiver, content_type, content, time, id, thrd_id, rest })
            }
            _ => Err(faults),
        }
    }

    /// As it is sent.
    pub fn to_json(&self) -> Value {
        let mut members = Map::new();
        members.insert("sender".into(), self.sender.to_value());
        members.insert("receiver".into(), self.receiver.to_value());
        members.insert("content_type".into(), Value::Str(self.content_type.clone()));
        members.insert("content".into(), self.content.clone());
        put(&mut members, "time", self.time.as_ref());
        put(&mut members, "id", self.id.as_ref());
        put(&mut members, "thrd_id", self.thrd_id.as_ref());
        members.extend(self.rest.clone());
        Value::map(members)
    }

    /// A call of `command` of the plugin named `plugin`.
    pub fn call(plugin: &str, command: &str, param: Value) -> Message {
        let content = members([("command", Value::str(command)), ("param", param)]);
        Message::between(Party::new(Role::Cerebrum), Party::named(Role::Plugin, plugin), COMMAND, content)
    }

    /// Something that the system tells the plugin named `plugin`: `configure`, `cancel`, `exit`. `fields` are what
    /// there is to say besides.
    pub fn event(plugin: &str, event: &str, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Message {
        let content = members([("event", Value::str(event))].into_iter().chain(fields));
        Message::between(Party::new(Role::System), Party::named(Role::Plugin, plugin), "<class 'dict'>", content)
    }

    /// The end: the plugin named `plugin` is to leave.
    pub fn exit(plugin: &str) -> Message {
        Message::event(plugin, "exit", [])
    }

    /// News of a call of the plugin named `plugin` that is not done yet.
    pub fn progress(plugin: &str, thrd_id: &str, text: &str) -> Message {
        let sender = Party::named(Role::Plugin, plugin);
        let message = Message::between(sender, Party::new(Role::Cerebrum), "text/plain", Value::str(text));
        Message { thrd_id: Some(thrd_id.into()), ..message }
    }

    /// The answer of the plugin of this name to this call.
    ///
    /// # Errors
    /// It is no call, or one for somebody else.
    pub fn reply(&self, plugin_name: &str, returned: Value) -> Result<Message, String> {
        self.check_is_for(plugin_name)?;
        let command = self.called()?;
        let content = members([("command", Value::str(command)), ("response", returned)]);
        let sender = Party::named(Role::Plugin, plugin_name);
        let reply = Message::between(sender, self.sender.clone(), COMMAND, content);
        Ok(Message { thrd_id: self.thrd_id.clone(), ..reply })
    }

    /// The answer to this call where the command has failed: the loop goes on.
    ///
    /// # Errors
    /// It is no call.
    pub fn failure(&self, error: &str, detail: &str) -> Result<Message, String> {
        self.called()?;
        Ok(self.refusal(error, detail))
    }

    /// What the system tells the sender of a message that nobody takes.
    pub fn refusal(&self, error: &str, detail: &str) -> Message {
        let content = members([("error", Value::str(error)), ("detail", Value::str(detail))]);
        let reply = Message::between(Party::new(Role::System), self.sender.clone(), "<class 'dict'>", content);
        Message { thrd_id: self.thrd_id.clone(), ..reply }
    }

    /// What it is to somebody who waits for answers. Plain text is a question if it is for the user.
    pub fn exchange(&self) -> Exchange<'_> {
        let content = match (&*self.content_type, &self.content) {
            (COMMAND, Value::Map(content)) => content,
            (mime, Value::Str(text)) if mime.starts_with("text/plain") => {
                return if self.receiver.role == Role::User { Exchange::Question(text) } else { Exchange::News(text) };
            }
            _ => return Exchange::Other,
        };
        let command = content.get("command").and_then(Value::as_str).unwrap_or_default();
        match (content.get("param"), content.get("response")) {
            (Some(param), None) => Exchange::Call(command, param),
            (None, Some(response)) => Exchange::Response(command, response),
            (Some(_), Some(_)) | (None, None) => Exchange::Other,
        }
    }

    /// Nobody answers what is for another plugin. A receiver that has no name is whoever gets the message.
    fn check_is_for(&self, plugin_name: &str) -> Result<(), String> {
        let Party { role, name, .. } = &self.receiver;
        if *role == Role::Plugin && name.as_ref().is_none_or(|name| **name == *plugin_name) {
            return Ok(());
        }
        let name = name.as_ref().map_or_else(String::new, |name| format!(" `{name}`"));
        Err(format!("it is for the {}{name}, not for the plugin `{plugin_name}`", role.name()))
    }

    fn called(&self) -> Result<&str, String> {
        match self.exchange() {
            Exchange::Call(command, _) => Ok(command),
            Exchange::Response(command, _) => Err(format!("it is the answer of `{command}`, not a call")),
            Exchange::Question(_) | Exchange::News(_) | Exchange::Other => {
                Err(format!("it is not a call: its content_type is `{}`", self.content_type))
            }
        }
    }

    fn between(sender: Party, receiver: Party, content_type: &str, content: Value) -> Message {
        let content_type = content_type.into();
        Message { sender, receiver, content_type, content, time: None, id: None, thrd_id: None, rest: Map::new() }
    }
}

fn members(of: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::map(of.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

fn put(members: &mut Map, key: &str, text: Option<&Arc<str>>) {
    if let Some(text) = text {
        members.insert(key.into(), Value::Str(text.clone()));
    }
}

fn party(message: &Map, key: &str, faults: &mut Vec<String>) -> Option<Party> {
    let members = match message.get(key) {
        Some(Value::Map(members)) => members,
        Some(other) => {
            faults.push(format!("`{key}` must be a map with a `role`, not {}", other.kind()));
            return None;
        }
        None => {
            faults.push(format!("`{key}` is missing"));
            return None;
        }
    };
    let role = needed(members, "role", &format!("{key}.role"), faults);
    let role = role.and_then(|name| {
        let role = name.parse::<Role>();
        role.map_err(|_| {
            faults.push(format!("`{key}.role` is {}; it must be cerebrum, plugin, user or system", Value::Str(name)))
        })
        .ok()
    });
    let [id, name] = ["id", "name"].map(|field| text(members, field, &format!("{key}.{field}"), faults));
    let rest = members.iter().filter(|(key, _)| !["role", "id", "name"].contains(&&***key));
    let rest = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
    Some(Party { role: role?, id, name, rest })
}

/// Text that may be missing or null.
fn text(members: &Map, key: &str, path: &str, faults: &mut Vec<String>) -> Option<Arc<str>> {
    match members.get(key) {
        Some(Value::Str(text)) => Some(text.clone()),
        None | Some(Value::Null) => None,
        Some(other) => {
            faults.push(format!("`{path}` must be text, not {}", other.kind()));
            None
        }
    }
}

/// Text that must be there.
fn needed(members: &Map, key: &str, path: &str, faults: &mut Vec<String>) -> Option<Arc<str>> {
    match members.get(key) {
        Some(Value::Str(text)) => return Some(text.clone()),
        Some(other) => faults.push(format!("`{path}` must be text, not {}", other.kind())),
        None => faults.push(format!("`{path}` is missing")),
    }
    None
}

fn content_type(members: &Map, faults: &mut Vec<String>) -> Option<Arc<str>> {
    let text = needed(members, "content_type", "content_type", faults)?;
    if is_content_type(&text) {
        return Some(text);
    }
    let known: Vec<&str> = HOST_TYPES.iter().map(|(name, _)| *name).collect();
    let message = "it must be command, a MIME type such as text/plain, or one of";
    faults.push(format!("`content_type` is {}; {message} {}", Value::Str(text), known.join(" ")));
    None
}

fn is_content_type(text: &str) -> bool {
    text == COMMAND || host_type(text).is_some() || is_mime(text)
}

fn host_type(text: &str) -> Option<fn(&Value) -> bool> {
    HOST_TYPES.iter().find(|(name, _)| *name == text).map(|(_, fits)| *fits)
}

/// `type/subtype`, perhaps with parameters (RFC 2045, section 5.1).
fn is_mime(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
    };
    let name = text.split(';').next().unwrap_or_default().trim_end();
    let parameters = text.split(';').skip(1);
    name.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
        && parameters.into_iter().all(|parameter| {
            parameter.split_once('=').is_some_and(|(key, value)| is_token(key.trim()) && !value.trim().is_empty())
        })
}

fn check_content(content_type: &str, content: &Value, faults: &mut Vec<String>) {
    if content_type == COMMAND {
        return check_command(content, faults);
    }
    if let Value::Map(members) = content
        && let Some(key) = RESERVED.iter().find(|key| members.contains_key(**key))
    {
        faults.push(format!("`content.{key}` is for calls and their answers, whose content_type is command"));
    }
    if host_type(content_type).is_some_and(|fits| !fits(content)) {
        faults.push(format!("`content` is {}, and `content_type` says {content_type}", content.kind()));
    }
}

fn check_command(content: &Value, faults: &mut Vec<String>) {
    let Value::Map(members) = content else {
        return faults.push(format!("`content` of a command must be a map, not {}", content.kind()));
    };
    if needed(members, "command", "content.command", faults).is_some_and(|name| name.is_empty()) {
        faults.push("`content.command` is empty".to_owned());
    }
    match (members.contains_key("param"), members.contains_key("response")) {
        (true, false) | (false, true) => {}
        (true, true) => {
            faults.push("`content` has `param` and `response`; a call has the one, its answer the other".to_owned());
        }
        (false, false) => {
            faults.push("`content` has neither `param`, as a call, nor `response`, as an answer".to_owned());
        }
    }
}
