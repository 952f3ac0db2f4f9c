//! What is declared in front matter and `playhouse.toml`: plugins, servers, resources, what holds for tools.

use std::path::Path;

use playhouse::host::config::FileConfig;
use playhouse::host::equipment::declaration::{Declarations, of_program, resolve_secrets};
use playhouse::host::tool::policy::{ApprovalPolicy, Operator, Policies, Program, ToolPolicy};
use playhouse::lang::program::{Signature, Type};
use playhouse::lang::{LoadOptions, SourceText, load};
use playhouse::value::Value;
use playhouse::vm::protocol::Origin;
use playhouse::vm::protocol::{Approval, EffectClass, ToolSignature};

use crate::golden;

/// What a configuration and a program declare together.
fn declared(toml: &str, front: &str) -> Result<Declarations, String> {
    let file = FileConfig::from_text(Path::new("dir/playhouse.toml"), toml).map_err(|error| error.to_string())?;
    let text = format!("---\n{front}---\n\n# A\n\n## Main\n\n- Say \"x\"\n");
    let root = SourceText { name: "dir/program.md".to_owned(), text };
    let loaded = load(vec![root], &mut |_| Err("none".to_owned()), &LoadOptions::default());
    Declarations::read(&file.declared, &of_program(&loaded.program.settings, &loaded.program.sources))
        .map_err(|error| error.to_string())
}

const TOML: &str = r#"
[plugins]
dice = "plugins/dice"
mail = { path = "/opt/mail", instance_id = 0, config = { host = "mail.example.org", key = { from_env = "MAIL_KEY" } } }

[mcp.files]
command = "npx"
args = ["server-filesystem", "."]
env = { DEBUG = "1" }
timeout = 12.5

[mcp.docs]
url = "http://127.0.0.1:8000/mcp"
headers = { Authorization = { from_env = "DOCS" } }
protocol = "initialize"
concurrency = 2

[[resources]]
type = "sqlite"
id = "shop"
config = { path = "shop.db" }

[tools]
deny = ["SaveFile"]
"mail.*" = { approval = "writes", timeout = 5 }
"mail.list" = { approval = "never", retries = 0 }
"#;

const FRONT: &str = "\
tools:
  deny: [ListFiles]
  mail.send: {approval: ask, accepts: {to: [user, code]}, concurrency: 1}
plugins:
  dice: {path: ../dice, config: {seed: 7}}
resources:
  - {type: http, config: {hosts: [api.example.org]}}
  - {type: sqlite, id: shop, name: the shop, config: {path: other.db}}
";

#[test]
fn all_forms_are_read() {
    let all = declared(TOML, FRONT).unwrap();
    golden::compare("equipment/declarations.golden", &format!("{all:#?}\n"));
}

#[test]
fn wrong_ones_name_their_place() {
    let table = [
        ("[plugins]\ndice = 3", "", "plugin `dice`: it must be a map, as in `NAME: {path: FOLDER, config: {…}}`"),
        (
            "[plugins]\n\"my dice\" = \"x\"",
            "",
            "plugin `my dice`: `my dice` is not a name; use letters, digits and `_`",
        ),
        ("", "plugins: {dice: {pth: x}}\n", "plugin `dice`: unknown key `pth`; did you mean `path`?"),
        (
            "",
            "plugins: {dice: {config: {}}}\n",
            "plugin `dice`: it has no `path`: the folder that holds `.config/config.yaml`",
        ),
        ("", "mcp: {a: {}}\n", "server `a`: it needs either `command` or `url`"),
        ("", "mcp: {a: {command: x, url: y}}\n", "server `a`: it needs either `command` or `url`"),
        ("[mcp]\na = { command = [1] }", "", "server `a`: `command` must be a list of texts"),
        ("[mcp]\na = { url = \"u\", timeout = 0 }", "", "server `a`: `timeout` must be a number of seconds above 0"),
        ("[mcp]\na = { url = \"u\", concurrency = 0 }", "", "server `a`: `concurrency` must be a whole number above 0"),
        (
            "",
            "mcp: {a: {url: u, protocol: new}}\n",
            "server `a`: `protocol` must be \"auto\", \"initialize\" or \"discover\"",
        ),
        (
            "",
            "resources: {}\n",
            "`resources` must be a list, as in `resources: [{type: sqlite, config: {path: a.db}}]`",
        ),
        (
            "",
            "resources: [{id: a}]\n",
            "resource 1: it has no `type`: disk, documents, http, sqlite, postgres or model",
        ),
        ("", "resources: [{type: a}, {type: a}]\n", "there are two resources `a` with the id `default`"),
        ("", "tools: {a: {approval: maybe}}\n", "tool `a`: `approval` must be \"never\", \"writes\" or \"ask\""),
        (
            "",
            "tools: {a: {accepts: {to: [web]}}}\n",
            "tool `a`: `web` is not a source of values; the sources are user, code, argument, model and tool",
        ),
        (
            "",
            "tools: {a: {accepts: {to: []}}}\n",
            "tool `a`: `to` accepts values from nowhere; name user, code, argument, model or tool",
        ),
        ("[tools]\na = { retries = -1 }", "", "tool `a`: `retries` must be a whole number that is not negative"),
        ("[tools]\nallow = [1]", "", "a list of tools holds names, as in [\"LoadFile\", \"mail.*\"]"),
        ("[tools]\na = { aproval = \"ask\" }", "", "tool `a`: unknown key `aproval`; did you mean `approval`?"),
        (
            "[plugins]\na = \"x\"",
            "plugins: {b: {path: there, replaces: true}}\n",
            "there is no plugin `b` to replace; the program declares `a`",
        ),
        (
            "",
            "plugins: {dice: {path: there, replaces: true}}\n",
            "there is no plugin `dice` to replace; the program declares no plugin",
        ),
        (
            "[plugins]\na = \"x\"",
            "mcp: {a: {url: u}}\n",
            "a plugin is named `a`, too (dir/playhouse.toml:2); rename one of them",
        ),
    ];
    for (toml, front, message) in table {
        let place = if front.is_empty() { "dir/playhouse.toml:2" } else { "dir/program.md:2" };
        // A table's own key has the line of the table.
        let told = declared(toml, front).unwrap_err().replace("playhouse.toml:1:", "playhouse.toml:2:");
        assert_eq!(told, format!("{place}: {message}"), "{toml}{front}");
    }
}

#[test]
fn a_plugin_takes_the_place_of_one_that_is_declared_or_called() {
    let fake = "plugins: {dice: {path: fake, replaces: true}}\n";
    for (toml, front) in [(TOML, fake.to_owned()), ("", format!("{fake}about: rolls dice.roll and no more\n"))] {
        let plugins = declared(toml, &front).unwrap().plugins;
        let dice = plugins.iter().find(|plugin| *plugin.name == *"dice").unwrap();
        assert_eq!(dice.folder, Path::new("dir/fake"));
    }
    let error = declared("", &format!("{fake}about: mydice.roll and dice. No\n")).unwrap_err();
    assert!(error.contains("no plugin `dice` to replace"), "{error}");
}

fn signature(name: &str, effect: EffectClass) -> ToolSignature {
    let signature = Signature { name: name.into(), parameters: Vec::new(), returns: Type::ANY, summary: "".into() };
    ToolSignature::new(signature, effect)
}

#[test]
fn the_closest_name_counts_and_of_two_sources_the_stricter() {
    let policies = declared(TOML, FRONT).unwrap().policies;
    let of = |name: &str, effect| {
        let mut tool = signature(name, effect);
        policies.of(name).apply(&mut tool);
        tool
    };
    assert_eq!(of("mail.read", EffectClass::ReadOnly).approval, Approval::Never);
    assert_eq!(of("mail.delete", EffectClass::Write).approval, Approval::Ask);
    assert_eq!(of("mail.list", EffectClass::Write).approval, Approval::Never);
    let send = of("mail.send", EffectClass::ReadOnly);
    assert_eq!(send.approval, Approval::Ask);
    let accepts = send.rule("to").unwrap().accepts;
    assert_eq!(accepts, Origin::USER.with(Origin::CODE));
    assert_eq!(policies.of("mail.list").retries(), Some(0));
    assert_eq!(policies.of("mail.list").timeout(), Some(std::time::Duration::from_secs(5)));
    assert!(!policies.list.permits("SaveFile"));
    // A program's list holds in the machine.
    assert!(policies.list.permits("ListFiles"));

    let one = |approval, accepts: Origin| {
        let policy =
            ToolPolicy { approval: Some(approval), accepts: vec![("to".into(), accepts)], ..Default::default() };
        vec![("*".into(), policy)]
    };
    let both = Policies {
        operator: Operator(one(ApprovalPolicy::Ask, Origin::USER.with(Origin::MODEL))),
        program: Program(one(ApprovalPolicy::Never, Origin::USER.with(Origin::TOOL))),
        ..Policies::default()
    };
    let mut tool = signature("any", EffectClass::ReadOnly);
    both.of("any").apply(&mut tool);
    assert_eq!(tool.approval, Approval::Ask);
    assert_eq!(tool.rule("to").unwrap().accepts, Origin::USER);
}

/// What becomes of a tool by the words of its author, of the operator and of the program.
fn decided(own: (EffectClass, Approval), operator: &str, program: &str) -> (EffectClass, Approval, bool) {
    let toml = if operator.is_empty() { String::new() } else { format!("[tools]\nt = {{ {operator} }}\n") };
    let front = if program.is_empty() { "title: x\n".into() } else { format!("tools: {{t: {{{program}}}}}\n") };
    let ruling = declared(&toml, &front).unwrap().policies.of("t");
    let mut tool = signature("t", own.0);
    tool.approval = own.1;
    ruling.apply(&mut tool);
    (tool.effect, tool.approval, !ruling.without_effect(&tool).is_empty())
}

#[test]
fn only_the_operators_word_lowers_an_effect() {
    use EffectClass::{Idempotent, ReadOnly, Write};
    let word = |effect: EffectClass| <&str>::from(effect);
    for own in [ReadOnly, Idempotent, Write] {
        for operator in [None, Some(ReadOnly), Some(Idempotent), Some(Write)] {
            for program in [None, Some(ReadOnly), Some(Idempotent), Some(Write)] {
                let toml = operator.map(|effect| format!("effect = \"{}\"", word(effect))).unwrap_or_default();
                let front = program.map(|effect| format!("effect: {}", word(effect))).unwrap_or_default();
                let (effect, _, is_idle) = decided((own, Approval::Never), &toml, &front);
                let without_program = operator.unwrap_or(own);
                let expected = match (without_program, program) {
                    (Write, _) | (_, Some(Write)) => Write,
                    (Idempotent, _) | (_, Some(Idempotent)) => Idempotent,
                    (ReadOnly, Some(ReadOnly) | None) => ReadOnly,
                };
                assert_eq!(effect, expected, "{own:?} {toml} {front}");
                assert_eq!(is_idle, program.is_some_and(|program| program != expected), "{own:?} {toml} {front}");
            }
        }
    }
}

#[test]
fn of_two_words_about_approval_the_stricter_counts() {
    use Approval::{Ask, Never};
    use EffectClass::{Idempotent, ReadOnly, Write};
    let table = [
        // The tool's own word, the operator's, the program's; whether a person is asked.
        ((Write, Never), "", "", Never),
        ((Write, Ask), "", "", Ask),
        ((Write, Ask), "", "approval: never", Ask),
        ((Write, Ask), "", "approval: never, effect: read_only", Ask),
        ((Write, Never), "", "approval: writes", Ask),
        ((Write, Never), "", "approval: writes, effect: read_only", Ask),
        ((ReadOnly, Never), "", "approval: writes", Never),
        ((ReadOnly, Never), "", "approval: writes, effect: write", Ask),
        ((ReadOnly, Never), "", "approval: ask", Ask),
        ((Write, Ask), "approval = \"never\"", "", Never),
        ((Write, Never), "approval = \"never\"", "approval: writes", Ask),
        ((Write, Ask), "approval = \"never\"", "approval: ask", Ask),
        ((Write, Never), "approval = \"writes\"", "effect: read_only", Ask),
        ((Idempotent, Never), "approval = \"writes\"", "effect: read_only, approval: never", Ask),
        ((Write, Never), "approval = \"writes\", effect = \"read_only\"", "", Never),
        ((Write, Never), "approval = \"writes\", effect = \"read_only\"", "effect: write", Ask),
        ((ReadOnly, Ask), "approval = \"writes\"", "", Ask),
        ((ReadOnly, Never), "approval = \"ask\"", "approval: never", Ask),
    ];
    for (own, operator, program, expected) in table {
        let (_, approval, is_idle) = decided(own, operator, program);
        assert_eq!(approval, expected, "{own:?} {operator} | {program}");
        let is_lowering = program.contains("approval: never") || program.contains("effect: read_only");
        assert_eq!(is_idle, is_lowering, "{own:?} {operator} | {program}");
    }
}

#[test]
fn secrets_come_from_the_environment() {
    let value =
        Value::from_json(r#"{"a":[{"from_env":"KEY"}],"b":{"from_env":"KEY","more":1},"c":"from_env"}"#).unwrap();
    let variable = |name: &str| (name == "KEY").then(|| "hush".to_owned());
    let mut told = Vec::new();
    let resolved = resolve_secrets(&value, &variable, &mut |secret| told.push(secret.to_owned())).unwrap();
    assert_eq!(resolved.to_json(), r#"{"a":["hush"],"b":{"from_env":"KEY","more":1},"c":"from_env"}"#);
    assert_eq!(told, ["hush"]);
    let missing = Value::from_json(r#"{"from_env":"OTHER"}"#).unwrap();
    let error = resolve_secrets(&missing, &variable, &mut |_| {}).unwrap_err();
    assert_eq!(error, "the environment variable OTHER is not set");
}

#[cfg(feature = "sqlite")]
#[test]
fn a_resource_that_cannot_be_acquired_is_named_where_it_is_declared() {
    let toml = "[[resources]]\ntype = \"sqlite\"\nid = \"good\"\nconfig = { path = \"good.db\", write = true }\n\n\
                [[resources]]\ntype = \"sqlite\"\nid = \"bad\"\nconfig = { path = \"no/such/bad.db\" }\n";
    let program = "# A\n\n## Main\n\n### Steps\n\n- Say \"x\"\n";
    crate::run::Run::new()
        .program(program)
        .file("playhouse.toml", toml)
        .file("none.json", "[]")
        .line("run program.md --model script:none.json")
        .code(2)
        .stderr_contains("playhouse.toml:6: the resource `bad`");
}
