//! A component's `config.yaml` (spec `components.md`, 4.1 and 4.4), read whole: all findings in one pass, each with its
//! place.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::expr::scan_name;
use playhouse_lang::source::yaml::{self, Node, NodeKind};
use playhouse_lang::span::{FileId, Span};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::EffectClass;
use serde::Deserialize;

use crate::component::check::{Fault, MAX_TOLD, Side, check};
use crate::component::findings::{Findings, MAX_NESTING, head, kind};
use crate::component::identity::{Identity, bad_part, scalar_text};
use crate::component::read::{self, Members, one_of};
use crate::component::read_types::TypeReader;
use crate::component::types::{Description, SharedTypes};
use crate::keys::time_of;

/// Longer files are no configurations, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// Keys of the source document that mean nothing to us.
const OTHER_KEYS: [&str; 6] = ["url", "developers", "licenses", "name", "id", "resources"];

/// A component, as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentConfig {
    /// Which component.
    pub identity: Identity,
    /// Which instance, where the file itself says so.
    pub instance_id: Option<Arc<str>>,
    /// `type`: any text; `plugin` for most.
    pub kind: Arc<str>,
    /// Whether it can be called as a plugin; it then has an `info` and `commands`.
    pub as_plugin: bool,
    /// What it is for.
    pub info: Option<Info>,
    /// What can be called.
    pub commands: Vec<Command>,
    /// `commands` as they are written.
    pub written: Value,
    /// How it is made.
    pub setup: Setup,
    /// What others may override.
    pub config: Map,
    /// Its other keys.
    pub rest: Map,
    /// The types that a `_type_ref` names, wherever in the file.
    pub types: SharedTypes,
}

/// `info`: what a plugin is for. What else is written there is kept.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the fields are the file's keys")]
pub struct Info {
    pub title: Arc<str>,
    pub description: Arc<str>,
    pub description_for_human: Option<Arc<str>>,
    pub description_for_model: Option<Arc<str>>,
    pub prompt: Option<Arc<str>>,
    pub prompt_file_name: Option<Arc<str>>,
    pub prompt_file_path: Option<Arc<str>>,
    pub rest: Map,
}

/// `setup`: how a component is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// The key into the registry of components.
    pub package: Arc<str>,
    /// What else is written there.
    pub rest: Map,
}

impl Setup {
    /// What `command` says that is to be run: a list, or the program alone; none: nothing. A fault names `script` as an
    /// example.
    pub(crate) fn command(&self, script: &str) -> Result<Option<Vec<String>>, String> {
        let words = match self.rest.get("command") {
            None => return Ok(None),
            Some(Value::List(words)) => &words[..],
            Some(word @ Value::Str(text)) if text.split_whitespace().count() == 1 => std::slice::from_ref(word),
            Some(_) => return Err(format!("`setup.command` must be a list, as in [python3, {script}]")),
        };
        let words: Option<Vec<String>> = words.iter().map(|word| Some(scalar_text(word)?.to_string())).collect();
        let words =
            words.ok_or_else(|| format!("`setup.command` must be a list of texts, as in [python3, {script}]"))?;
        Ok(Some(words).filter(|words| !words.is_empty()))
    }
}

/// One command of a plugin. Its effect, approval, time-out and concurrency are ours and optional.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// `command_name`: unique in its file.
    pub name: Arc<str>,
    /// What it does; empty if nothing is said.
    pub description: Arc<str>,
    /// What it takes; none: nothing.
    pub parameter: Option<Description>,
    /// What it gives back; none: anything.
    pub response: Option<Description>,
    /// What it does to the world.
    pub effect: EffectClass,
    /// Whether a person is asked first.
    pub approval: Approval,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// How many calls may run at once.
    pub concurrency: Option<NonZeroUsize>,
    /// What else is written there.
    pub extra: Map,
}

/// Whether a person is asked before a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Never.
    #[default]
    Never,
    /// Before a call that changes something.
    Writes,
    /// Before every call.
    Ask,
}

impl Approval {
    /// Whether a call of a tool with this effect is asked about.
    pub fn asks(self, effect: EffectClass) -> bool {
        match self {
            Approval::Never => false,
            Approval::Writes => effect != EffectClass::ReadOnly,
            Approval::Ask => true,
        }
    }
}

const EFFECTS: [(&str, EffectClass); 3] =
    [("read_only", EffectClass::ReadOnly), ("idempotent", EffectClass::Idempotent), ("write", EffectClass::Write)];

const APPROVALS: [(&str, Approval); 3] =
    [("never", Approval::Never), ("writes", Approval::Writes), ("ask", Approval::Ask)];

impl ComponentConfig {
    /// Reads `text`, which is the file `file`. There is a configuration if no finding is an error; the findings come
    /// in the order of their places.
    pub fn read(file: FileId, text: &str) -> (Option<ComponentConfig>, Vec<Diagnostic>) {
        let mut findings = Findings::new(file);
        let config = read(text, &mut findings);
        let config = config.filter(|_| !findings.has_errors());
        (config, findings.finish())
    }

    /// The command named `name`.
    pub fn command(&self, name: &str) -> Option<&Command> {
        self.commands.iter().find(|command| &*command.name == name)
    }

    /// What this instance is called: `name` of its `config`, its own `name`, or its title.
    pub fn name(&self) -> Option<Arc<str>> {
        let written = self.config.get("name").and_then(scalar_text);
        let own = || self.rest.get("name").and_then(scalar_text);
        written.or_else(own).or_else(|| self.info.as_ref().map(|info| info.title.clone()))
    }

    /// The id of this instance, from its `config`.
    pub fn id(&self) -> Option<Arc<str>> {
        self.config.get("id").and_then(scalar_text)
    }

    /// All that keeps `param` from being passed to `command`; none: it may be called.
    pub fn check_parameter(&self, command: &str, param: Option<&Value>) -> Vec<Fault> {
        let command = match self.known(command) {
            Ok(command) => command,
            Err(fault) => return vec![fault],
        };
        let Some(description) = &command.parameter else {
            let is_nothing = |param: &Value| *param == Value::Null || param.as_map().is_some_and(Map::is_empty);
            let is_nothing = param.is_none_or(is_nothing);
            let message = format!("`{}` takes no parameter", command.name);
            return if is_nothing { Vec::new() } else { vec![Fault::new("param", message)] };
        };
        check(description, param, &self.types, Side::Parameter)
    }

    /// All that `response` owes to what `command` promises. What is not promised passes.
    pub fn check_response(&self, command: &str, response: Option<&Value>) -> Vec<Fault> {
        match self.known(command) {
            Ok(Command { response: Some(description), .. }) => {
                check(description, response, &self.types, Side::Response)
            }
            Ok(Command { response: None, .. }) => Vec::new(),
            Err(fault) => vec![fault],
        }
    }

    fn known(&self, name: &str) -> Result<&Command, Fault> {
        self.command(name).ok_or_else(|| {
            let names: Vec<String> =
                self.commands.iter().take(MAX_TOLD).map(|command| format!("`{}`", command.name)).collect();
            let message = format!("there is no command `{name}`; the commands are {}", names.join(", "));
            Fault::new("command", message)
        })
    }
}

fn read(text: &str, findings: &mut Findings) -> Option<ComponentConfig> {
    let file = findings.file;
    if text.len() > MAX_TEXT {
        let message = format!("a configuration has at most {MAX_TEXT} bytes, and this text has {}", text.len());
        findings.error("config-too-large", Span::new(file, 0, 0), message);
        return None;
    }
    // A byte order mark is no part of the first key.
    let begin = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let (root, errors) = yaml::parse(&text[begin..], file, MAX_NESTING, &|at| begin + at);
    errors.into_iter().for_each(|error| findings.add_yaml_error(error));
    let Some(root) = root.filter(|root| !root.is_null()) else {
        if !findings.has_errors() {
            let note = "a component needs `group_id`, `artifact_id`, `version`, `type`, `as_plugin` and `setup`";
            findings.error_with("config-missing-key", Span::new(file, 0, 0), "the file is empty", note);
        }
        return None;
    };
    let members = Members::of(&root, "a component", findings)?;
    Some(component(members, findings))
}

fn component(mut members: Members<'_>, findings: &mut Findings) -> ComponentConfig {
    let mut part = |key, note| {
        let place = members.entry(key).map(|(node, _)| node.span);
        let text = members.required_text(key, note, findings).unwrap_or_default();
        let parts: Vec<&str> = if key == "group_id" { text.split('.').collect() } else { vec![&text] };
        let bad = parts.iter().find_map(|part| bad_part(part));
        if let (Some(span), Some(why), false) = (place, bad, text.is_empty()) {
            let message = format!("`{key}` becomes a path, and a part of `{text}` {why}");
            findings.error("config-bad-identity", span, message);
        }
        text
    };
    let identity = Identity {
        group_id: part("group_id", "who makes the component, as in `org.example`"),
        artifact_id: part("artifact_id", "the component's own name"),
        version: part("version", "its version, as in `0.0.1`"),
    };
    let instance_id = members.text("instance_id", findings);
    let kind = members.required_text("type", "any text; `plugin` for most", findings).unwrap_or_default();
    let as_plugin = members.truth("as_plugin", findings);
    if members.get("as_plugin").is_none() {
        members.miss("as_plugin", "write `as_plugin: true` if it has commands to call, else `as_plugin: false`");
    }
    let is_plugin = as_plugin.unwrap_or(false);
    let info = match members.get("info") {
        Some(node) => Members::of(node, "`info`", findings).map(|members| info(members, findings)),
        None => {
            if is_plugin {
                members.miss("info", "a plugin has a `title` and a `description` there");
            }
            None
        }
    };
    let commands = members.get("commands");
    if commands.is_none() && is_plugin {
        members.miss("commands", "a plugin has at least one, as in `- command_name: search`");
    }
    // What is wrong with it is told while the commands are read.
    let written = commands.map_or(Value::Null, |node| read::value(node, &mut Findings::new(findings.file)));
    let (commands, types) = read_commands(commands, is_plugin, findings);
    let setup = match members.get("setup") {
        Some(node) => Members::of(node, "`setup`", findings).map(|members| setup(members, findings)),
        None => {
            members.miss("setup", "it needs a `package`, which names what is to be made");
            None
        }
    };
    let config = members.map("config", findings);
    let rest = members.rest(&OTHER_KEYS, findings);
    let setup = setup.unwrap_or_default();
    let as_plugin = is_plugin;
    ComponentConfig { identity, instance_id, kind, as_plugin, info, commands, written, setup, config, rest, types }
}

fn info(mut members: Members<'_>, findings: &mut Findings) -> Info {
    Info {
        title: members.required_text("title", "what the plugin is called", findings).unwrap_or_default(),
        description: members
            .required_text("description", "what the plugin is for, for people and models", findings)
            .unwrap_or_default(),
        description_for_human: members.text("description_for_human", findings),
        description_for_model: members.text("description_for_model", findings),
        prompt: members.text("prompt", findings),
        prompt_file_name: members.text("prompt_file_name", findings),
        prompt_file_path: members.text("prompt_file_path", findings),
        rest: members.rest(&[], findings),
    }
}

fn setup(mut members: Members<'_>, findings: &mut Findings) -> Setup {
    let package = members.required_text("package", "it names what is to be made", findings).unwrap_or_default();
    Setup { package, rest: members.rest(&["pip"], findings) }
}

fn read_commands(node: Option<&Node>, is_plugin: bool, findings: &mut Findings) -> (Vec<Command>, SharedTypes) {
    let items = match node.map(|node| (node, &node.kind)) {
        Some((node, NodeKind::List(items))) => {
            if items.is_empty() && is_plugin {
                findings.error("config-empty", node.span, "`commands` is empty; a plugin has at least one");
            }
            items.as_slice()
        }
        Some((node, NodeKind::Scalar(_) | NodeKind::Mapping(_))) => {
            let message = format!("`commands` must be a list of commands, not {}", kind(node));
            let note = "write a `- ` before each `command_name`";
            findings.error_with("config-wrong-kind", head(node), message, note);
            &[]
        }
        Some((_, NodeKind::Unread)) | None => &[],
    };
    let mut types = TypeReader::new(findings);
    let mut commands = Vec::new();
    let mut first: HashMap<Arc<str>, Span> = HashMap::new();
    for item in items {
        let Some(mut members) = Members::of(item, "a command", types.findings) else { continue };
        let name_span = members.entry("command_name").map_or(members.span(), |(node, _)| head(node));
        let command = command(members, &mut types);
        if command.name.is_empty() {
            continue;
        }
        if let Some(before) = first.get(&command.name) {
            let message = format!("there are two commands named `{}`", command.name);
            types.findings.again("config-duplicate-command", (name_span, *before), message, "this is the first");
            continue;
        }
        check_name(&command.name, name_span, types.findings);
        first.insert(command.name.clone(), name_span);
        commands.push(command);
    }
    (commands, types.finish())
}

/// Playbooks call `plugin.command`, so a command's name should be one there.
fn check_name(name: &str, span: Span, findings: &mut Findings) {
    if name.is_empty() || scan_name(name) != name.len() {
        let message = format!("playbooks cannot call a command named `{name}`");
        let note = "a name there is made of letters, digits and `_`, and begins with no digit";
        findings.warning_with("config-command-name", span, message, note);
    }
}

fn command(mut members: Members<'_>, types: &mut TypeReader<'_>) -> Command {
    let name = members.required_text("command_name", "what it is called by; each only once", types.findings);
    let description = members.text("description", types.findings).unwrap_or_default();
    types.in_parameter = true;
    let parameter = members.get("parameter").and_then(|node| types.description(node, "`parameter`"));
    types.in_parameter = false;
    let response = members.get("response").and_then(|node| types.description(node, "`response`"));
    let findings = &mut *types.findings;
    let effect = members.get("effect").and_then(|node| one_of(node, "effect", &EFFECTS, findings));
    let approval = members.get("approval").and_then(|node| one_of(node, "approval", &APPROVALS, findings));
    let timeout = members.get("timeout").and_then(|node| seconds(node, findings));
    let concurrency = members.get("concurrency").and_then(|node| count(node, findings));
    let extra = members.rest(&[], findings);
    Command {
        name: name.unwrap_or_default(),
        description,
        parameter,
        response,
        effect: effect.unwrap_or(EffectClass::Write),
        approval: approval.unwrap_or_default(),
        timeout,
        concurrency,
        extra,
    }
}

fn seconds(node: &Node, findings: &mut Findings) -> Option<Duration> {
    let time = node.scalar().and_then(|scalar| time_of(&scalar.core_value()));
    if time.is_none() {
        findings.error("config-wrong-kind", head(node), "`timeout` must be a number of seconds above 0");
    }
    time
}

fn count(node: &Node, findings: &mut Findings) -> Option<NonZeroUsize> {
    let count = node.scalar().and_then(|scalar| scalar.text.parse().ok());
    if count.is_none() {
        findings.error("config-wrong-kind", head(node), "`concurrency` must be a whole number above 0");
    }
    count
}
