//! The keys of front matter and metadata: one table, for readers and editors.

use crate::diagnostic::spelling::nearest;

/// A key that means something where its list says.
#[derive(Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What it does, with its unit, and after `;` what holds without it or what else there is to know. None: it is one of
    /// older programs, recognised but not supported.
    pub about: Option<&'static str>,
    /// The values that are words of ours.
    pub values: &'static [&'static str],
    /// One of the other values; none: there are no others.
    pub example: Option<&'static str>,
}

/// Those of front matter; others are for people and other programs.
pub const FRONT_MATTER: &[Key] = &[
    open(
        "classifier",
        "the classifier, which judges triggers in words; default: the session's model if it is live, otherwise `rules`",
        &["off", "model", "rules"],
        "model:openai:gpt-4.1-mini",
    ),
    open("import", "a file to import, or a list of them; paths are relative to this file", &[], "[other.md]"),
    open(
        "limits",
        "the limits of a session, by the names of `[limits]` in `playhouse.toml`; default: the limits there",
        &[],
        "{turns: 200, tokens: 100000}",
    ),
    open("mcp", "MCP servers by name; their tools are called as `NAME.tool`", &[], "{docs: {url: \"https://…\"}}"),
    open(
        "model",
        "the model of a session, unless the command line names one; default: that of `playhouse.toml`, or one found",
        &["auto", "embedded"],
        "openai:gpt-4.1-mini",
    ),
    open("name", "the agent's name in a file without a heading; default: the name of the file", &[], "Help desk"),
    closed(
        "playhouse",
        "whether this file is a playbook, for editors and `playhouse fmt`; default: its text decides",
        TRUTH,
    ),
    open(
        "plugins",
        "plugins by name, each a folder or a map with `path`; their commands are called as `NAME.command`",
        &[],
        "{dice: ../dice}",
    ),
    open(
        "resources",
        "what tools work on, opened before the first line: `http`, `sqlite`, `postgres`, `model`, `disk`",
        &[],
        "[{type: sqlite, config: {path: shop.db}}]",
    ),
    closed(
        "resume",
        "whether a playbook that others ran above continues its chat or begins a new one; default: `continue`",
        &["continue", "fresh"],
    ),
    open(
        "skills",
        "Agent Skills by their names, as `playhouse skills list` shows them, or maps with `name`, `mode` (`steps`, `guide`, \
         `goal`) and `strict`; they are imported like files",
        &[],
        "[pdf-forms, {name: tea, strict: true}]",
    ),
    closed(
        "starts_in_think",
        "whether the model's replies begin inside a think block; default: what is known of the model, or `false`",
        TRUTH,
    ),
    open(
        "tools",
        "which tools the program may call (`allow`, `deny`), and rules for single tools; default: all",
        &[],
        "{deny: [SaveFile], mail.send: {approval: ask}}",
    ),
    open("variables", VARIABLES, &[], A_VARIABLE),
];

/// Those of an agent's metadata; any other `key: value` line is description.
pub const AGENT: &[Key] = &[
    old("hidden"),
    old("limits"),
    old("mcp"),
    old("model"),
    old("remote"),
    old("startup_mode"),
    open("tools", "the only tools that its playbooks may call, or `deny` and a list; default: all", &[], SOME_TOOLS),
    open("variables", VARIABLES, &[], A_VARIABLE),
];

/// Those of a playbook's metadata.
pub const PLAYBOOK: &[Key] = &[
    old("cli_entry"),
    closed(
        "execution_mode",
        "`react` is goal mode, even if there are steps; default: the steps are done in order",
        &["react"],
    ),
    old("export"),
    old("exported"),
    old("hidden"),
    open(
        "limits",
        "how many `tokens`, `turns` and `seconds` it may take with all its calls, and what it then returns (`return`) or \
         calls instead (`call`); default: no limits, and it fails at a limit",
        &[],
        "{turns: 6, seconds: 120, return: \"enough\"}",
    ),
    old("meeting"),
    old("model"),
    old("optional_attendees"),
    closed("public", "whether other agents and MCP clients may call it; default: `false`", TRUTH),
    old("required_attendees"),
    closed("strict", "whether a reply that skips lines is cut, or this is only reported; default: `true`", TRUTH),
    open(
        "tools",
        "the only tools that it may call, or `deny` and a list; default: those of its agent",
        &[],
        SOME_TOOLS,
    ),
];

const TRUTH: &[&str] = &["true", "false"];

const SOME_TOOLS: &str = "[mail.send, Now]";

const VARIABLES: &str =
    "names with their first values: a value, or a map with `type`, `value`, `secret` and `description`";

const A_VARIABLE: &str = "{cart: {type: list, value: []}}";

/// The keys of front matter that each file of a program brings its own of: what is declared beside playbooks.
pub const DECLARATIONS: [&str; 4] = ["mcp", "plugins", "resources", "tools"];

/// A key with no values but these.
const fn closed(name: &'static str, about: &'static str, values: &'static [&'static str]) -> Key {
    Key { name, about: Some(about), values, example: None }
}

/// A key with more values than these.
const fn open(name: &'static str, about: &'static str, values: &'static [&'static str], example: &'static str) -> Key {
    Key { name, about: Some(about), values, example: Some(example) }
}

/// A key of older programs.
const fn old(name: &'static str) -> Key {
    Key { name, about: None, values: &[], example: None }
}

/// The key of this name.
pub fn find(keys: &'static [Key], name: &str) -> Option<&'static Key> {
    keys.iter().find(|key| key.name == name)
}

/// The key that this name was probably meant to be; none: it is one, or nothing like any.
pub(crate) fn meant(keys: &'static [Key], name: &str) -> Option<&'static str> {
    if find(keys, name).is_some() { None } else { nearest(name, keys.iter().map(|key| key.name)) }
}
