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
        "what judges triggers in words; else the session's model if it is a live one, or `rules`",
        &["off", "model", "rules"],
        "model:openai:gpt-4.1-mini",
    ),
    open("import", "a file that is brought in, or a list of them; paths are relative to this one", &[], "[other.md]"),
    open(
        "limits",
        "bounds of a session, by the names of `[limits]` in `playhouse.toml`; else those that stand there",
        &[],
        "{turns: 200, tokens: 100000}",
    ),
    open("mcp", "MCP servers by name; their tools are called as `NAME.tool`", &[], "{docs: {url: \"https://…\"}}"),
    open(
        "model",
        "the model of a session, if the command line names none; else that of `playhouse.toml`, or one that is found",
        &["auto", "embedded"],
        "openai:gpt-4.1-mini",
    ),
    open("name", "the agent's name in a file without a heading; else the file's", &[], "Help desk"),
    closed("playhouse", "whether this file is a playbook for editors and `playhouse fmt`; else its text tells", TRUTH),
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
        "whether a playbook that others ran above goes on with its chat or begins a new one; else `continue`",
        &["continue", "fresh"],
    ),
    open(
        "skills",
        "Agent Skills by their names, as `playhouse skills list` shows them, or maps with `name`, `mode` (`steps`, `guide`, \
         `goal`) and `strict`; they are brought in like files",
        &[],
        "[pdf-forms, {name: tea, strict: true}]",
    ),
    closed(
        "starts_in_think",
        "whether replies of the model begin inside a think block; else what is known of the model, or `false`",
        TRUTH,
    ),
    open(
        "tools",
        "which tools are called (`allow`, `deny`), and rules for single ones; else all",
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
    open("tools", "the only tools that its playbooks call, or `deny` and a list; else all", &[], SOME_TOOLS),
    open("variables", VARIABLES, &[], A_VARIABLE),
];

/// Those of a playbook's metadata.
pub const PLAYBOOK: &[Key] = &[
    old("cli_entry"),
    closed("execution_mode", "`react` is goal mode, though there are steps; else steps are done in order", &["react"]),
    old("export"),
    old("exported"),
    old("hidden"),
    open(
        "limits",
        "how many `tokens`, `turns` and `seconds` it may take with all it calls, and what it then gives (`return`) or is \
         replaced by (`call`); else no limits, and at one it fails",
        &[],
        "{turns: 6, seconds: 120, return: \"enough\"}",
    ),
    old("meeting"),
    old("model"),
    old("optional_attendees"),
    closed("public", "whether other agents and MCP clients may call it; else `false`", TRUTH),
    old("required_attendees"),
    closed("strict", "whether a reply that leaves lines out is cut, or this is only told; else `true`", TRUTH),
    open("tools", "the only tools that it calls, or `deny` and a list; else those of its agent", &[], SOME_TOOLS),
];

const TRUTH: &[&str] = &["true", "false"];

const SOME_TOOLS: &str = "[mail.send, Now]";

const VARIABLES: &str =
    "names with what they are at first: a value, or a map with `type`, `value`, `secret` and `description`";

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
