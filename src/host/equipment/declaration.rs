//! What programs and configurations declare beside playbooks: plugins, MCP servers, resources, and what holds for
//! tools. Front matter (YAML) and `playhouse.toml` say it with the same keys; every key is known, every value
//! checked, every fault has its place.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::expr::{begins_name, continues_name, scan_name};
use playhouse_lang::program::{FrontMatter, ToolList};
use playhouse_lang::source::keys::DECLARATIONS;
use playhouse_lang::source::skill::folder_of;
use playhouse_lang::span::{LineIndex, Sources};
use playhouse_lang::value::{Map, Value};
use serde::Deserialize;

use crate::keys::{ConfigError, as_text, count, read, seconds, texts, texts_of};
use crate::resource::prices::PriceTable;
use crate::skills::known::KnownSkills;
use crate::tool::builtin;
use crate::tool::generation::Generation;
use crate::tool::policy::{Policies, ToolPolicy};

/// Whether this key of a configuration declares something.
pub fn declares(key: &str) -> bool {
    key == "prices" || DECLARATIONS.contains(&key)
}

/// One thing that is written somewhere: a key of `playhouse.toml` below one that [`declares`], or one of front
/// matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// One that [`declares`].
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Where, for people: `playhouse.toml:3`.
    pub place: String,
    /// What its paths are relative to.
    pub folder: PathBuf,
    /// Whose word it is.
    pub source: Source,
}

/// Who declares something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The person who configures.
    Operator,
    /// A program's text.
    Program,
}

/// A plugin that a program uses.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginDeclaration {
    /// What stands in front of the dot.
    pub name: Arc<str>,
    /// Its folder.
    pub folder: PathBuf,
    /// Which of several copies of its files (source 004, "The .runtime folder").
    pub instance_id: Option<Arc<str>>,
    /// What overrides the component's own `config`.
    pub config: Map,
    /// Where it is declared.
    pub place: String,
}

/// How an MCP server is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerAddress {
    /// A process: the command and its arguments.
    Command(Vec<String>),
    /// Streamable HTTP.
    Url(Value),
}

/// An MCP server that a program uses.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerDeclaration {
    /// What stands in front of the dot.
    pub name: Arc<str>,
    /// How it is reached.
    pub address: ServerAddress,
    /// The folder in which its process runs.
    pub folder: PathBuf,
    /// Environment variables of the process; values may be secrets ([`resolve_secrets`]).
    pub environment: Map,
    /// Headers of requests; values may be secrets.
    pub headers: Map,
    /// The generation of the protocol.
    pub protocol: Generation,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// How many calls may run at a time.
    pub concurrency: Option<usize>,
    /// Where it is declared.
    pub place: String,
}

/// A resource that tools share.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceDeclaration {
    /// `disk`, `documents`, `http`, `sqlite`, `postgres`, `model`.
    pub kind: Arc<str>,
    /// Its id; `default` if none is given.
    pub id: Arc<str>,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// What it is made of; values may be secrets.
    pub config: Map,
    /// What its paths are relative to.
    pub folder: PathBuf,
    /// Where it is declared.
    pub place: String,
}

/// All that is declared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declarations {
    /// Plugins, by name once.
    pub plugins: Vec<PluginDeclaration>,
    /// MCP servers, by name once.
    pub servers: Vec<ServerDeclaration>,
    /// Resources, in the order in which they are acquired.
    pub resources: Vec<ResourceDeclaration>,
    /// What holds for tools.
    pub policies: Policies,
    /// The names in `[tools]` of a configuration, with their places. (Those of a program are known to its compiler.)
    pub rules: Vec<(Arc<str>, String)>,
    /// What models cost; only a configuration says so.
    pub prices: PriceTable,
    /// The built-in tools that the program may have, and why: those that its text names, and those that the list of
    /// allowed tools does.
    pub builtins: Vec<(&'static str, String)>,
    /// Those of them that are there for skills alone.
    pub for_skills: Vec<&'static str>,
}

/// What a program's files say.
#[derive(Clone, Debug, Default)]
pub struct FromProgram {
    /// What their front matter declares.
    pub written: Vec<Written>,
    /// Their names and texts.
    pub texts: Vec<(Arc<str>, Arc<str>)>,
    /// The skills that they may name, looked for once.
    pub skills: KnownSkills,
}

impl Declarations {
    /// Reads what `playhouse.toml` says, then what a program says; of one name the program's counts.
    ///
    /// # Errors
    /// The first key or value that is wrong, with its place.
    pub fn read(configured: &[Written], program: &FromProgram) -> Result<Declarations, ConfigError> {
        let mut all = Declarations::default();
        let is_called = |plugin: &str| program.texts.iter().any(|(_, text)| calls(plugin, text));
        for written in configured.iter().chain(&program.written) {
            all.add(written, &is_called)
                .map_err(|message| ConfigError::File { place: written.place.clone(), message })?;
        }
        all.prices = prices(configured)?;
        let allowed = all.policies.list.allow.clone().unwrap_or_default();
        // In the words of a skill nothing is a name of ours.
        let (skills, texts): (Vec<_>, Vec<_>) = program.texts.iter().partition(|(file, _)| folder_of(file).is_some());
        let named = |name: &str| {
            let (file, text, at) =
                texts.iter().find_map(|(file, text)| Some((file, text, builtin::named_at(name, text)?)))?;
            Some(format!("named in {file}:{}", LineIndex::new(text).line_column(at).0))
        };
        let listed = |name: &str| {
            let is_listed = allowed.iter().any(|allowed| **allowed == *name);
            is_listed.then(|| "in the list of allowed tools".to_owned())
        };
        let wanted = |name: &'static str| Some((name, named(name).or_else(|| listed(name))?));
        all.builtins = builtin::names().filter_map(wanted).collect();
        if let Some((file, _)) = skills.first() {
            let is_named = |name: &str| all.builtins.iter().any(|(builtin, _)| *builtin == name);
            all.for_skills = builtin::FOR_SKILLS.into_iter().filter(|name| !is_named(name)).collect();
            let why = format!("expected by the skill {file}");
            all.builtins.extend(all.for_skills.iter().map(|name| (*name, why.clone())));
        }
        let names = all.plugins.iter().map(|plugin| (&plugin.name, &plugin.place));
        for server in &all.servers {
            if let Some((_, place)) = names.clone().find(|(name, _)| **name == server.name) {
                let message = format!("a plugin is named `{}`, too ({place}); rename one of them", server.name);
                return Err(ConfigError::File { place: server.place.clone(), message });
            }
        }
        Ok(all)
    }

    fn add(&mut self, written: &Written, is_called: &dyn Fn(&str) -> bool) -> Result<(), String> {
        match written.key.as_str() {
            "plugins" => {
                for (name, value) in map_of(&written.value, "plugins: {NAME: FOLDER}")? {
                    let plugin = read_plugin(name, value, written);
                    let (plugin, replaces) = plugin.map_err(|fault| format!("plugin `{name}`: {fault}"))?;
                    let is_declared = self.plugins.iter().any(|known| known.name == plugin.name);
                    if replaces && !is_declared && !is_called(name) {
                        return Err(self.nothing_to_replace(name));
                    }
                    self.plugins.retain(|known| known.name != plugin.name);
                    self.plugins.push(plugin);
                }
            }
            "mcp" => {
                for (name, value) in map_of(&written.value, "mcp: {NAME: {command: [PROGRAM, ARGUMENT]}}")? {
                    let server = read_server(name, value, written);
                    let server = server.map_err(|fault| format!("server `{name}`: {fault}"))?;
                    self.servers.retain(|known| known.name != server.name);
                    self.servers.push(server);
                }
            }
            "resources" => {
                let Value::List(items) = &written.value else {
                    return Err(
                        "`resources` must be a list, as in `resources: [{type: sqlite, config: {path: a.db}}]`".into(),
                    );
                };
                for (index, value) in items.iter().enumerate() {
                    let resource =
                        read_resource(value, written).map_err(|fault| format!("resource {}: {fault}", index + 1))?;
                    let same = |known: &ResourceDeclaration| known.kind == resource.kind && known.id == resource.id;
                    if let Some(known) =
                        self.resources.iter().find(|known| same(known) && known.place == resource.place)
                    {
                        return Err(format!("there are two resources `{}` with the id `{}`", known.kind, known.id));
                    }
                    self.resources.retain(|known| !same(known));
                    self.resources.push(resource);
                }
            }
            "tools" => self.add_policies(written)?,
            _ => {}
        }
        Ok(())
    }

    fn nothing_to_replace(&self, name: &str) -> String {
        let known: Vec<String> = self.plugins.iter().map(|plugin| format!("`{}`", plugin.name)).collect();
        let known = if known.is_empty() { "no plugin".to_owned() } else { known.join(", ") };
        format!("there is no plugin `{name}` to replace; the program declares {known}")
    }

    fn add_policies(&mut self, written: &Written) -> Result<(), String> {
        // A program's lists hold in the machine.
        let reads_lists = written.source == Source::Operator;
        let mut list = ToolList::default();
        let nothing = Map::new();
        let members = if let Value::Map(members) = &written.value { members } else { &nothing };
        if reads_lists && !matches!(written.value, Value::Map(_)) {
            list.allow = Some(names_of(&written.value)?);
        }
        for (name, value) in members.iter() {
            match &**name {
                "allow" if reads_lists => list.allow = Some(names_of(value)?),
                "deny" if reads_lists => list.deny = names_of(value)?,
                "allow" | "deny" => {}
                _ => {
                    let policy: ToolPolicy = read(value).map_err(|fault| format!("tool `{name}`: {fault}"))?;
                    match written.source {
                        Source::Operator => {
                            self.policies.operator.0.push((name.clone(), policy));
                            self.rules.push((name.clone(), written.place.clone()));
                        }
                        Source::Program => self.policies.program.0.push((name.clone(), policy)),
                    }
                }
            }
        }
        let listed = list.allow.iter().flatten().chain(&list.deny);
        self.rules.extend(listed.map(|name| (name.clone(), written.place.clone())));
        self.policies.list.restrict(list);
        Ok(())
    }
}

/// Whether a text names a command of this plugin: `NAME.command`.
fn calls(plugin: &str, text: &str) -> bool {
    text.match_indices(plugin).any(|(at, _)| {
        let command = text[at + plugin.len()..].strip_prefix('.');
        command.is_some_and(|command| command.starts_with(begins_name)) && !text[..at].ends_with(continues_name)
    })
}

/// What models cost, as a configuration says.
///
/// # Errors
/// The first price that is none, with its place.
pub fn prices(configured: &[Written]) -> Result<PriceTable, ConfigError> {
    let mut rows = Vec::new();
    for written in configured.iter().filter(|written| written.key == "prices") {
        let wrong = |message| ConfigError::File { place: written.place.clone(), message };
        for (model, value) in map_of(&written.value, "[prices.\"gpt-4.1-mini\"]").map_err(wrong)? {
            let price = read(value).map_err(|fault| wrong(format!("model `{model}`: {fault}")))?;
            PriceTable::new(vec![(model.clone(), price)]).map_err(|error| wrong(error.to_string()))?;
            rows.push((model.clone(), price));
        }
    }
    // Each row has been tried by itself.
    Ok(PriceTable::new(rows).unwrap_or_default())
}

/// What the front matter of a program declares.
pub fn of_program(settings: &FrontMatter, sources: &Sources) -> FromProgram {
    let settings = settings.other.iter().filter(|(key, ..)| DECLARATIONS.contains(&key.as_str()));
    let written = settings.map(|(key, value, span)| {
        let file = sources.get(span.file);
        let name = file.map_or("front matter", |file| &*file.name);
        let line = file.map_or(1, |file| LineIndex::new(&file.text).line_column(span.start as usize).0);
        Written {
            key: key.clone(),
            value: value.clone(),
            place: format!("{name}:{line}"),
            folder: Path::new(name).parent().unwrap_or(Path::new("")).to_owned(),
            source: Source::Program,
        }
    });
    let texts = sources.iter().map(|(_, file)| (file.name.clone(), file.text.clone())).collect();
    FromProgram { written: written.collect(), texts, skills: KnownSkills::default() }
}

/// Puts the values of environment variables into the place of `{from_env: NAME}`, anywhere inside. `secret` is told
/// each of them.
///
/// # Errors
/// A variable is not set, or not named.
pub fn resolve_secrets(
    value: &Value,
    variable: &dyn Fn(&str) -> Option<String>,
    secret: &mut dyn FnMut(&str),
) -> Result<Value, String> {
    Ok(match value {
        Value::Map(members) => match members.get("from_env") {
            Some(name) if members.len() == 1 => {
                let name = name.as_str().ok_or("`from_env` must be the name of an environment variable")?;
                let found = variable(name).ok_or_else(|| format!("the environment variable {name} is not set"))?;
                secret(&found);
                Value::from(found)
            }
            _ => {
                let mut resolved = Map::new();
                for (name, value) in members.iter() {
                    resolved.insert(name.clone(), resolve_secrets(value, variable, secret)?);
                }
                Value::map(resolved)
            }
        },
        Value::List(items) => {
            let resolved = items.iter().map(|item| resolve_secrets(item, variable, secret));
            Value::list(resolved.collect::<Result<_, _>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => value.clone(),
    })
}

/// The name of a plugin or server, which stands in front of a dot.
fn read_name(name: &str) -> Result<Arc<str>, String> {
    if name.is_empty() || scan_name(name) != name.len() {
        return Err(format!("`{name}` is not a name; use letters, digits and `_`"));
    }
    Ok(name.into())
}

/// The keys of a plugin.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a map, as in `NAME: {path: FOLDER, config: {…}}`")]
struct PluginKeys {
    path: String,
    /// `instance_id: 0` is the text "0" (source 004).
    #[serde(deserialize_with = "as_text")]
    instance_id: Option<Arc<str>>,
    config: Map,
    /// It takes the place of one that is declared, or at least called.
    replaces: bool,
}

/// A plugin, and whether it must take another one's place.
fn read_plugin(name: &str, value: &Value, written: &Written) -> Result<(PluginDeclaration, bool), String> {
    let PluginKeys { path, instance_id, config, replaces } = match value.as_str() {
        Some(path) => PluginKeys { path: path.to_owned(), ..PluginKeys::default() },
        None => read(value)?,
    };
    if path.is_empty() {
        return Err("it has no `path`: the folder that holds `.config/config.yaml`".to_owned());
    }
    let folder = written.folder.join(path);
    let place = written.place.clone();
    Ok((PluginDeclaration { name: read_name(name)?, folder, instance_id, config, place }, replaces))
}

/// The keys of a server.
#[derive(Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a map, as in `NAME: {command: [PROGRAM, ARGUMENT]}, or NAME: {url: ADDRESS}`"
)]
struct ServerKeys {
    /// Text is the program alone, as other clients write it beside `args`.
    #[serde(deserialize_with = "texts")]
    command: Option<Vec<String>>,
    #[serde(deserialize_with = "texts")]
    args: Vec<String>,
    url: Option<Value>,
    folder: String,
    env: Map,
    headers: Map,
    protocol: Generation,
    #[serde(deserialize_with = "seconds")]
    timeout: Option<Duration>,
    #[serde(deserialize_with = "count")]
    concurrency: Option<usize>,
}

fn read_server(name: &str, value: &Value, written: &Written) -> Result<ServerDeclaration, String> {
    let name = read_name(name)?;
    let keys: ServerKeys = read(value)?;
    let address = match (keys.command, keys.url) {
        (Some(command), None) if !command.is_empty() => {
            ServerAddress::Command(command.into_iter().chain(keys.args).collect())
        }
        (None, Some(url)) => ServerAddress::Url(url),
        _ => return Err("it needs either `command` or `url`".to_owned()),
    };
    let folder = if keys.folder.is_empty() { written.folder.clone() } else { written.folder.join(keys.folder) };
    let ServerKeys { env: environment, headers, protocol, timeout, concurrency, .. } = keys;
    let place = written.place.clone();
    Ok(ServerDeclaration { name, address, folder, environment, headers, protocol, timeout, concurrency, place })
}

/// The keys of a resource.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map, as in `{type: KIND, config: {…}}`")]
struct ResourceKeys {
    #[serde(rename = "type")]
    kind: Option<Arc<str>>,
    #[serde(default, deserialize_with = "as_text")]
    id: Option<Arc<str>>,
    name: Option<Arc<str>>,
    #[serde(default)]
    config: Map,
}

fn read_resource(value: &Value, written: &Written) -> Result<ResourceDeclaration, String> {
    let ResourceKeys { kind, id, name, config } = read(value)?;
    let kind = kind.ok_or("it has no `type`: disk, documents, http, sqlite, postgres or model")?;
    let id = id.unwrap_or_else(|| "default".into());
    Ok(ResourceDeclaration { kind, id, name, config, folder: written.folder.clone(), place: written.place.clone() })
}

fn names_of(value: &Value) -> Result<Vec<Arc<str>>, String> {
    let names = texts_of(value).ok_or("a list of tools holds names, as in [\"LoadFile\", \"mail.*\"]")?;
    Ok(names.into_iter().map(Arc::from).collect())
}

/// The members of a map that has this form.
fn map_of<'v>(value: &'v Value, form: &str) -> Result<&'v Map, String> {
    if let Value::Map(members) = value { Ok(members) } else { Err(format!("it must be a map, as in `{form}`")) }
}
