//! What programs and configurations declare beside playbooks: plugins, MCP servers, resources, and what holds for
//! tools. Front matter (YAML) and `playhouse.toml` say it with the same keys; every key is known, every value
//! checked, every fault has its place.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::host::keys::{ConfigError, unknown_key};
use crate::host::resource::prices::{Price, PriceTable};
use crate::host::tool::builtin;
use crate::host::tool::policy::{ApprovalPolicy, Policies, ToolPolicy};
use crate::lang::expr::scan_name;
use crate::lang::program::{FrontMatter, ToolList};
use crate::lang::source::front_matter::DECLARATIONS;
use crate::span::{LineIndex, Sources};
use crate::value::{Map, Value};
use crate::vm::protocol::EffectClass;
use crate::vm::protocol::Origin;

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

/// Which generation of the protocol a server is spoken to in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// The newer one, and the older if the server does not know it.
    #[default]
    Auto,
    /// `initialize`, as servers knew it until 2025.
    Initialize,
    /// `server/discover`, since 2026-07-28.
    Discover,
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
    pub protocol: ProtocolChoice,
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
    /// `disk`, `http`, `sqlite`, `postgres`, `model`.
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
    /// The built-in tools that the program may have: those that its text names, and those that the list of allowed tools
    /// does.
    pub builtins: Vec<&'static str>,
}

/// What a program's files say.
#[derive(Clone, Debug, Default)]
pub struct FromProgram {
    /// What their front matter declares.
    pub written: Vec<Written>,
    /// Their texts.
    pub texts: Vec<Arc<str>>,
}

impl Declarations {
    /// Reads what `playhouse.toml` says, then what a program says; of one name the program's counts.
    ///
    /// # Errors
    /// The first key or value that is wrong, with its place.
    pub fn read(configured: &[Written], program: &FromProgram) -> Result<Declarations, ConfigError> {
        let mut all = Declarations::default();
        for written in configured.iter().chain(&program.written) {
            all.add(written).map_err(|message| ConfigError::File { place: written.place.clone(), message })?;
        }
        all.prices = prices(configured)?;
        let allowed = all.policies.list.allow.clone().unwrap_or_default();
        let is_named = |name: &str| program.texts.iter().any(|text| builtin::is_named(name, text));
        let is_wanted = |name: &&str| allowed.iter().any(|allowed| **allowed == **name) || is_named(name);
        all.builtins = builtin::NAMES.into_iter().filter(is_wanted).collect();
        let names = all.plugins.iter().map(|plugin| (&plugin.name, &plugin.place));
        for server in &all.servers {
            if let Some((_, place)) = names.clone().find(|(name, _)| **name == server.name) {
                let message = format!("a plugin is named `{}`, too ({place}); rename one of them", server.name);
                return Err(ConfigError::File { place: server.place.clone(), message });
            }
        }
        Ok(all)
    }

    fn add(&mut self, written: &Written) -> Result<(), String> {
        match written.key.as_str() {
            "plugins" => {
                for (name, value) in map_of(&written.value, "plugins: {NAME: FOLDER}")? {
                    let plugin =
                        read_plugin(name, value, written).map_err(|fault| format!("plugin `{name}`: {fault}"))?;
                    self.plugins.retain(|known| known.name != plugin.name);
                    self.plugins.push(plugin);
                }
            }
            "mcp" => {
                for (name, value) in map_of(&written.value, "mcp: {NAME: {command: [PROGRAM, ARGUMENT]}}")? {
                    let server =
                        read_server(name, value, written).map_err(|fault| format!("server `{name}`: {fault}"))?;
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
                    let policy = read_policy(value).map_err(|fault| format!("tool `{name}`: {fault}"))?;
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

/// What models cost, as a configuration says.
///
/// # Errors
/// The first price that is none, with its place.
pub fn prices(configured: &[Written]) -> Result<PriceTable, ConfigError> {
    let mut rows = Vec::new();
    for written in configured.iter().filter(|written| written.key == "prices") {
        let wrong = |message| ConfigError::File { place: written.place.clone(), message };
        let read = read_prices(&written.value).map_err(wrong)?;
        PriceTable::new(read.clone()).map_err(|error| wrong(error.to_string()))?;
        rows.extend(read);
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
    let texts = sources.iter().map(|(_, file)| file.text.clone()).collect();
    FromProgram { written: written.collect(), texts }
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

fn read_plugin(name: &str, value: &Value, written: &Written) -> Result<PluginDeclaration, String> {
    let mut plugin = PluginDeclaration {
        name: read_name(name)?,
        folder: PathBuf::new(),
        instance_id: None,
        config: Map::new(),
        place: written.place.clone(),
    };
    if let Value::Str(path) = value {
        plugin.folder = written.folder.join(&**path);
        return Ok(plugin);
    }
    for (key, value) in map_of(value, "NAME: {path: FOLDER, config: {…}}")? {
        match &**key {
            "path" => plugin.folder = written.folder.join(text_of(key, value)?),
            // `instance_id: 0` is the text "0" (source 004).
            "instance_id" => plugin.instance_id = Some(value.to_text().into()),
            "config" => plugin.config = map_of(value, "config: {key: value}")?.clone(),
            _ => return Err(unknown_key(key, ["config", "instance_id", "path"].into_iter())),
        }
    }
    if plugin.folder.as_os_str().is_empty() {
        return Err("it has no `path`: the folder that holds `.config/config.yaml`".to_owned());
    }
    Ok(plugin)
}

fn read_server(name: &str, value: &Value, written: &Written) -> Result<ServerDeclaration, String> {
    const SERVER_KEYS: [&str; 9] =
        ["args", "command", "concurrency", "env", "folder", "headers", "protocol", "timeout", "url"];
    let (mut command, mut url) = (None, None);
    let mut server = ServerDeclaration {
        name: read_name(name)?,
        address: ServerAddress::Command(Vec::new()),
        folder: written.folder.clone(),
        environment: Map::new(),
        headers: Map::new(),
        protocol: ProtocolChoice::default(),
        timeout: None,
        concurrency: None,
        place: written.place.clone(),
    };
    let mut arguments = Vec::new();
    for (key, value) in map_of(value, "NAME: {command: [PROGRAM, ARGUMENT]}, or NAME: {url: ADDRESS}")? {
        match &**key {
            // Text is the program alone, as other clients write it beside `args`.
            "command" => command = Some(texts_of(key, value)?),
            "args" => arguments = texts_of(key, value)?,
            "url" => url = Some(value.clone()),
            "folder" => server.folder = written.folder.join(text_of(key, value)?),
            "env" => server.environment = map_of(value, "env: {NAME: VALUE}")?.clone(),
            "headers" => server.headers = map_of(value, "headers: {NAME: VALUE}")?.clone(),
            "timeout" => server.timeout = Some(seconds_of(key, value)?),
            "concurrency" => server.concurrency = Some(count_of(key, value)?),
            "protocol" => {
                server.protocol = match value.as_str() {
                    Some("auto") => ProtocolChoice::Auto,
                    Some("initialize") => ProtocolChoice::Initialize,
                    Some("discover") => ProtocolChoice::Discover,
                    _ => return Err("`protocol` must be \"auto\", \"initialize\" or \"discover\"".to_owned()),
                }
            }
            _ => return Err(unknown_key(key, SERVER_KEYS.into_iter())),
        }
    }
    server.address = match (command, url) {
        (Some(mut command), None) if !command.is_empty() => {
            command.extend(arguments);
            ServerAddress::Command(command)
        }
        (None, Some(url)) => ServerAddress::Url(url),
        _ => return Err("it needs either `command` or `url`".to_owned()),
    };
    Ok(server)
}

fn read_resource(value: &Value, written: &Written) -> Result<ResourceDeclaration, String> {
    let (mut kind, mut id, mut name, mut config) = (None, "default".into(), None, Map::new());
    for (key, value) in map_of(value, "{type: KIND, config: {…}}")? {
        match &**key {
            "type" => kind = Some(Arc::from(text_of(key, value)?)),
            "id" => id = value.to_text().into(),
            "name" => name = Some(Arc::from(text_of(key, value)?)),
            "config" => config = map_of(value, "config: {key: value}")?.clone(),
            _ => return Err(unknown_key(key, ["config", "id", "name", "type"].into_iter())),
        }
    }
    let kind = kind.ok_or("it has no `type`: disk, http, sqlite, postgres or model")?;
    Ok(ResourceDeclaration { kind, id, name, config, folder: written.folder.clone(), place: written.place.clone() })
}

fn read_prices(value: &Value) -> Result<Vec<(Arc<str>, Price)>, String> {
    let number = |key: &str, value: &Value| match value {
        #[allow(clippy::cast_precision_loss, reason = "prices are small")]
        Value::Int(price) => Ok(*price as f64),
        Value::Float(price) => Ok(*price),
        Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => {
            Err(format!("`{key}` must be a number: the price of a million tokens"))
        }
    };
    let mut prices = Vec::new();
    for (model, value) in map_of(value, "[prices.\"gpt-4.1-mini\"]")? {
        let (mut prompt, mut cached, mut completion) = (None, None, None);
        for (key, value) in map_of(value, "prompt = 0.4, completion = 1.6")? {
            match &**key {
                "prompt" => prompt = Some(number(key, value)?),
                "cached" => cached = Some(number(key, value)?),
                "completion" => completion = Some(number(key, value)?),
                _ => return Err(unknown_key(key, ["cached", "completion", "prompt"].into_iter())),
            }
        }
        let (Some(prompt), Some(completion)) = (prompt, completion) else {
            return Err(format!("model `{model}`: it needs both `prompt` and `completion`, per million tokens"));
        };
        prices.push((model.clone(), Price { prompt, cached, completion }));
    }
    Ok(prices)
}

fn read_policy(value: &Value) -> Result<ToolPolicy, String> {
    const POLICY_KEYS: [&str; 6] = ["accepts", "approval", "concurrency", "effect", "retries", "timeout"];
    let mut policy = ToolPolicy::default();
    for (key, value) in map_of(value, "NAME: {approval: ask}")? {
        match &**key {
            "approval" => {
                policy.approval = Some(match value.as_str() {
                    Some("never") => ApprovalPolicy::Never,
                    Some("writes") => ApprovalPolicy::Writes,
                    Some("ask") => ApprovalPolicy::Ask,
                    _ => return Err("`approval` must be \"never\", \"writes\" or \"ask\"".to_owned()),
                });
            }
            "effect" => {
                let effect: Option<EffectClass> = value.as_str().and_then(|name| name.parse().ok());
                policy.effect = Some(effect.ok_or("`effect` must be \"read_only\", \"idempotent\" or \"write\"")?);
            }
            "timeout" => policy.timeout = Some(seconds_of(key, value)?),
            "concurrency" => policy.concurrency = Some(count_of(key, value)?),
            "retries" => {
                let retries = if let Value::Int(retries) = value { u32::try_from(*retries).ok() } else { None };
                policy.retries = Some(retries.ok_or("`retries` must be a whole number that is not negative")?);
            }
            "accepts" => {
                for (parameter, value) in map_of(value, "accepts: {PARAMETER: [user, code]}")? {
                    policy.accepts.push((parameter.clone(), origin_of(parameter, value)?));
                }
            }
            _ => return Err(unknown_key(key, POLICY_KEYS.into_iter())),
        }
    }
    Ok(policy)
}

/// The sources that a list names: `[user, code]`.
///
/// # Errors
/// A name is none of a source, or there is none.
pub fn origin_of(parameter: &str, value: &Value) -> Result<Origin, String> {
    let names = texts_of(parameter, value)?;
    if names.is_empty() {
        return Err(format!("`{parameter}` accepts values from nowhere; name user, code, argument, model or tool"));
    }
    names.iter().try_fold(Origin::default(), |all, name| {
        let origin = Origin::named(name);
        let wrong = || format!("`{name}` is no source of values; there are user, code, argument, model and tool");
        Ok(all.with(origin.ok_or_else(wrong)?))
    })
}

/// The name of a plugin or server, which stands in front of a dot.
fn read_name(name: &str) -> Result<Arc<str>, String> {
    if name.is_empty() || scan_name(name) != name.len() {
        return Err(format!("`{name}` is no name; use letters, digits and `_`"));
    }
    Ok(name.into())
}

fn map_of<'v>(value: &'v Value, form: &str) -> Result<&'v Map, String> {
    if let Value::Map(members) = value { Ok(members) } else { Err(format!("it must be a map, as in `{form}`")) }
}

pub(super) fn text_of(key: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("`{key}` must be text"))
}

pub(super) fn texts_of(key: &str, value: &Value) -> Result<Vec<String>, String> {
    let wrong = || format!("`{key}` must be a list of texts");
    match value {
        Value::List(items) => {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>().ok_or_else(wrong)
        }
        Value::Str(text) => Ok(vec![text.to_string()]),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Map(_) => Err(wrong()),
    }
}

fn names_of(value: &Value) -> Result<Vec<Arc<str>>, String> {
    let names =
        texts_of("tools", value).map_err(|_| "a list of tools holds names, as in [\"LoadFile\", \"mail.*\"]")?;
    Ok(names.into_iter().map(Arc::from).collect())
}

pub(super) fn seconds_of(key: &str, value: &Value) -> Result<Duration, String> {
    #[allow(clippy::cast_precision_loss, reason = "seconds")]
    let seconds = match value {
        Value::Int(seconds) => Some(*seconds as f64),
        Value::Float(seconds) => Some(*seconds),
        Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => None,
    };
    let duration =
        seconds.filter(|seconds| *seconds > 0.0).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| format!("`{key}` must be a number of seconds above 0"))
}

pub(super) fn count_of(key: &str, value: &Value) -> Result<usize, String> {
    let count = if let Value::Int(count) = value { usize::try_from(*count).ok() } else { None };
    count.filter(|count| *count > 0).ok_or_else(|| format!("`{key}` must be a whole number above 0"))
}
