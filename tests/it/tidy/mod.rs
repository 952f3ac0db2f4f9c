//! The invariants of DESIGN.md that can be seen in the text of the sources. Every check is a function from texts
//! to offences, and a test shows of each that it can fail.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

mod structure;

/// Files longer than this are hard to read at one sitting.
const MAX_LINES: usize = 600;

/// The same for the pure layers, where everything else stands on it.
const MAX_PURE_LINES: usize = 500;

/// Per layer what it may use besides itself (DESIGN.md, "Layers"). Between packages the compiler holds most of it;
/// inside a package, and where one may use less than its manifest names, only this list does.
const LAYERS: [(&str, &[&str]); 8] = [
    ("span", &[]),
    ("diagnostic", &["span"]),
    ("value", &[]),
    ("lang", &["span", "diagnostic", "value"]),
    ("ide", &["span", "diagnostic", "value", "lang"]),
    ("vm", &["value", "lang"]),
    ("host", &["span", "diagnostic", "value", "lang", "vm"]),
    ("serve", &["span", "diagnostic", "value", "lang", "ide", "vm", "host"]),
];

/// Modules of `lang` that are layers of their own, below it.
const FOUNDATIONS: [&str; 3] = ["span", "diagnostic", "value"];

/// Layers that are packages of their own, `playhouse-…`.
const PACKAGES: [&str; 4] = ["host", "ide", "lang", "vm"];

/// What no layer outside the one named may use of another: `serve` sees the machine's plain data, never a machine.
const FORBIDDEN_ITEMS: [(&str, &str); 1] = [("serve", "vm::Machine")];

/// Layers without I/O, clock, tasks and randomness.
const PURE_LAYERS: [&str; 3] = ["lang", "ide", "vm"];

/// Crates that enter through one place, or through one in each layer.
const CRATE_HOMES: [(&str, &[&str]); 4] = [
    ("granit_parser", &["src/lang/source/yaml.rs"]),
    ("pulldown_cmark", &["src/lang/source/markdown.rs", "src/host/documents/markdown.rs"]),
    ("annotate_snippets", &["src/lang/diagnostic/mod.rs"]),
    (
        "minijinja",
        &["src/vm/prompt", "src/vm/plan/prompts.rs", "src/host/classify/prompt.rs", "src/host/judge/prompt.rs"],
    ),
];

/// Files of `vm` that may name serde's derives, and why.
const SERIALIZED: [(&str, &str); 3] = [
    ("src/vm/reply.rs", "the trace line is what a model writes: a wire form by nature"),
    ("src/vm/reply/", "the same, in its own folder"),
    ("src/vm/prompt", "what a template is given; it goes nowhere else"),
];

/// One text file of the workspace.
struct Source {
    /// Its path from the workspace's folder, with `/`.
    path: String,
    text: String,
    /// Of a Rust file: its text without comments and literals.
    code: String,
    /// Of a Rust file: what `paths` finds, with lines.
    paths: Vec<(usize, String)>,
}

impl Source {
    fn new(path: &str, text: &str) -> Source {
        let code = if path.ends_with(".rs") { code_only(text) } else { String::new() };
        Source { path: path.to_owned(), text: text.to_owned(), paths: paths(path, &code), code }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The layer that a Rust file belongs to: the module or folder directly below `src`, or a foundation of `lang`;
    /// none for `lib.rs` and `main.rs`.
    fn layer(&self) -> Option<&str> {
        let inside = self.path.strip_prefix("src/")?;
        let foundation = inside.strip_prefix("lang/").and_then(|inside| inside.split(['/', '.']).next());
        if let Some(name) = foundation.filter(|name| FOUNDATIONS.contains(name)) {
            return Some(name);
        }
        let first = inside.split('/').next()?;
        let name = first.strip_suffix(".rs").unwrap_or(first);
        (self.is_rust() && !["lib", "main"].contains(&name)).then_some(name)
    }
}

/// All text files of the workspace that are ours.
fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(read_sources);
    &SOURCES
}

fn read_sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["src", "tests", "benches", "examples", "docs", "packaging", "prompts", "playbooks", ".ci", ".cargo"]
    {
        collect(root, &root.join(folder), &mut found);
    }
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path.extension().is_some_and(|extension| extension != "lock") {
            add(root, &path, &mut found);
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue; // What it leads to is found where it is.
        }
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            add(root, &path, found);
        }
    }
}

fn add(root: &Path, path: &Path, found: &mut Vec<Source>) {
    if let Ok(text) = fs::read_to_string(path) {
        let path = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
        found.push(Source::new(&path, &text));
    }
}

/// The text with comments and the insides of string and character literals blanked; line breaks stay.
fn code_only(text: &str) -> String {
    const PATTERN: &str = r##"(?xs) //[^\n]* | /\*.*?\*/ | b?r\#"(?:.*?)"\# | b?r"[^"]*" | b?"(?:\\.|[^"\\])*" | b?'(?:\\.[^']*|[^'\\])' "##;
    static LITERALS: LazyLock<Regex> = LazyLock::new(|| Regex::new(PATTERN).unwrap());
    LITERALS.replace_all(text, blank).into_owned()
}

/// As many spaces as bytes, so that places stay.
fn blank(found: &regex::Captures<'_>) -> String {
    found[0].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// Every path that the code imports or names from our packages or `std`, from the layer on: `vm::protocol::Event`,
/// `std::time::Instant`. Relative imports (`super::…`) are resolved by the file's place.
fn paths(file: &str, code: &str) -> Vec<(usize, String)> {
    static IMPORTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\buse\s+([^;]+);").unwrap());
    static INLINE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b(?:crate|std|super|playhouse_\w+)(?:::\w+)+").unwrap());
    let mut found = Vec::new();
    for import in IMPORTS.captures_iter(code) {
        let tree = import.get(1).unwrap();
        for path in expand(tree.as_str()) {
            found.push((line_of(code, tree.start()), resolve(file, &path)));
        }
    }
    let code = IMPORTS.replace_all(code, blank);
    for path in INLINE.find_iter(&code) {
        found.push((line_of(&code, path.start()), resolve(file, path.as_str())));
    }
    found
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// The paths of a use tree: `a::{b, c::{d, e as f}}` is `a::b`, `a::c::d`, `a::c::e`.
fn expand(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        return vec![tree.split_whitespace().next().unwrap_or("").to_owned()];
    };
    let prefix = &tree[..open];
    let inside = tree[open + 1..].rsplit_once('}').map_or("", |(inside, _)| inside);
    let mut depth = 0;
    let parts = inside.split(|character| {
        depth += i32::from(character == '{') - i32::from(character == '}');
        character == ',' && depth == 0
    });
    let full = |part: &str| expand(part).into_iter().map(|path| format!("{prefix}{path}")).collect::<Vec<_>>();
    parts.filter(|part| !part.trim().is_empty()).flat_map(full).collect()
}

/// The path from the layer on, whichever package it is named in; paths of other crates as they are.
fn resolve(file: &str, path: &str) -> String {
    let inside = file.trim_start_matches("src/").trim_end_matches(".rs");
    let inside = inside.trim_end_matches("/mod").trim_end_matches("/lib");
    let mut module: Vec<&str> = inside.split('/').collect();
    let mut rest = path;
    while let Some(outer) = rest.strip_prefix("super::") {
        module.pop();
        rest = outer;
    }
    let package = PACKAGES.iter().find(|layer| file.starts_with(&format!("src/{layer}/")));
    let full = if rest != path {
        module.into_iter().chain([rest]).collect::<Vec<_>>().join("::")
    } else if let Some(inside) = path.strip_prefix("crate::") {
        package.map_or(inside.to_owned(), |layer| format!("{layer}::{inside}"))
    } else {
        path.strip_prefix("playhouse_").unwrap_or(path).to_owned()
    };
    match full.strip_prefix("lang::") {
        Some(inside) if FOUNDATIONS.iter().any(|name| starts_with_path(inside, name)) => inside.to_owned(),
        Some(_) | None => full,
    }
}

/// Imports against the direction of the layers.
fn layer_offences(sources: &[Source]) -> Vec<String> {
    let mut offences = Vec::new();
    for source in sources {
        let Some(layer) = source.layer() else { continue };
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
            offences.push(format!("{}: `{layer}` is no layer; add it to DESIGN.md and to LAYERS", source.path));
            continue;
        };
        for (line, path) in &source.paths {
            let used = path.split("::").next().unwrap_or("");
            let is_layer = LAYERS.iter().any(|(name, _)| *name == used);
            if is_layer && used != layer && !allowed.contains(&used) {
                offences.push(format!("{}:{line}: `{layer}` must not use `{path}`", source.path));
            }
            if FORBIDDEN_ITEMS.iter().any(|(of, item)| *of == layer && starts_with_path(path, item)) {
                offences.push(format!("{}:{line}: `{layer}` must not touch `{path}`", source.path));
            }
        }
    }
    offences
}

fn starts_with_path(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Words or paths that the files must not name.
fn word_offences(sources: &[Source], concerns: impl Fn(&Source) -> bool, words: &[&str], why: &str) -> Vec<String> {
    let patterns: Vec<Regex> =
        words.iter().map(|word| Regex::new(&format!(r"\b{}\b", regex::escape(word))).unwrap()).collect();
    let mut offences = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust() && concerns(source)) {
        for (word, pattern) in words.iter().zip(&patterns) {
            let named = pattern.find_iter(&source.code).map(|found| line_of(&source.code, found.start()));
            let imported = source.paths.iter().filter(|(_, path)| starts_with_path(path, word)).map(|(line, _)| *line);
            let mut lines: Vec<usize> = named.chain(imported).collect();
            lines.sort_unstable();
            lines.dedup();
            offences.extend(lines.into_iter().map(|line| format!("{}:{line}: `{word}` {why}", source.path)));
        }
    }
    offences
}

/// Whether a file, or a folder that ends with `/`, is of a pure layer.
fn is_pure(path: &str) -> bool {
    PURE_LAYERS.iter().any(|layer| path.starts_with(&format!("src/{layer}/")))
}

fn purity_offences(sources: &[Source]) -> Vec<String> {
    let words = [
        "async",
        "await",
        "tokio",
        "tokio_util",
        "tokio_stream",
        "futures_util",
        "fastrand",
        "std::fs",
        "std::env",
        "std::net",
        "std::process",
        "std::thread",
        "std::time",
        "Instant",
        "SystemTime",
        "thread_local",
    ];
    word_offences(sources, |source| is_pure(&source.path), &words, "has no place in a pure layer")
}

fn serialize_offences(sources: &[Source]) -> Vec<String> {
    let concerns = |source: &Source| {
        source.layer() == Some("vm") && !SERIALIZED.iter().any(|(path, _)| source.path.starts_with(path))
    };
    word_offences(sources, concerns, &["Serialize", "Deserialize"], "makes a wire format of the machine")
}

fn environment_offences(sources: &[Source]) -> Vec<String> {
    let concerns = |source: &Source| {
        source.path.starts_with("src/") && !source.path.starts_with("src/host/config") && source.path != "src/main.rs"
    };
    word_offences(sources, concerns, &["std::env", "env::var", "env::vars", "env::var_os"], "is read in host/config")
}

fn clock_offences(sources: &[Source]) -> Vec<String> {
    let concerns = |source: &Source| source.path.starts_with("src/") && source.path != "src/host/clock.rs";
    let words = ["std::time::Instant", "std::time::SystemTime", "SystemTime", "Timestamp::now", "Zoned::now"];
    word_offences(sources, concerns, &words, "is asked in host/clock.rs")
}

fn task_offences(sources: &[Source]) -> Vec<String> {
    let concerns = |source: &Source| source.path.starts_with("src/") && source.path != "src/host/tasks.rs";
    word_offences(
        sources,
        concerns,
        &["tokio::spawn", "tokio::task::spawn", "spawn_blocking"],
        "is started by host/tasks.rs",
    )
}

fn crate_home_offences(sources: &[Source]) -> Vec<String> {
    let mut offences = Vec::new();
    for (name, homes) in CRATE_HOMES {
        let is_home = |source: &Source| homes.iter().any(|home| source.path.starts_with(home));
        let elsewhere = |source: &Source| source.path.starts_with("src/") && !is_home(source);
        let why = format!("enters through {} only", homes.join(" and "));
        offences.extend(word_offences(sources, elsewhere, &[name], &why));
    }
    offences
}

/// A door that puts together what a session acts through has rules of its own for it.
fn world_offences(sources: &[Source]) -> Vec<String> {
    let concerns = |source: &Source| source.path.starts_with("src/serve/");
    word_offences(
        sources,
        concerns,
        &["session::World", "World", "Equipment::open", "Session::start", "Session::resume"],
        "is launched in host/launch",
    )
}

/// Tests beside the code: the packages build no harness for them, so they would never run.
fn unrun_test_offences(sources: &[Source]) -> Vec<String> {
    let attribute = Regex::new(r"#\[(?:cfg\()?test\b").unwrap();
    let fence = Regex::new(r"^\s*//[/!]\s*```(\w*)").unwrap();
    let mut offences = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust() && source.path.starts_with("src/")) {
        let mut in_block = false;
        for (index, line) in source.text.lines().enumerate() {
            let is_example = fence.captures(line).is_some_and(|found| {
                in_block = !in_block;
                in_block && !["text", "json"].contains(&&found[1])
            });
            if is_example || attribute.is_match(line) {
                offences.push(format!("{}:{}: tests are in tests/it", source.path, index + 1));
            }
        }
    }
    offences
}

/// Rust files without a text that says what they are.
fn module_text_offences(sources: &[Source]) -> Vec<String> {
    let silent = sources.iter().filter(|source| source.is_rust() && !source.text.starts_with("//!"));
    silent.map(|source| format!("{}: does not begin with `//!`", source.path)).collect()
}

fn length_offences(sources: &[Source]) -> Vec<String> {
    let offence = |source: &Source| {
        let most = if is_pure(&source.path) { MAX_PURE_LINES } else { MAX_LINES };
        (source.text.lines().count() > most).then(|| format!("{}: more than {most} lines", source.path))
    };
    sources.iter().filter(|source| source.is_rust()).filter_map(offence).collect()
}

/// Lines of any of our texts that match, outside this file, which has to name what it looks for, and outside
/// the cases of tests, which hold whatever they test.
fn line_offences(sources: &[Source], pattern: &str, what: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    let is_ours =
        |source: &&Source| !source.path.starts_with("tests/it/tidy") && !source.path.starts_with("tests/cases/");
    let mut offences = Vec::new();
    for source in sources.iter().filter(is_ours) {
        for (index, line) in source.text.lines().enumerate() {
            if pattern.is_match(line) {
                offences.push(format!("{}:{}: {what}", source.path, index + 1));
            }
        }
    }
    offences
}

fn trailing_space_offences(sources: &[Source]) -> Vec<String> {
    line_offences(sources, r"[ \t]$", "spaces at the end of the line")
}

fn unfinished_offences(sources: &[Source]) -> Vec<String> {
    line_offences(sources, r"\b(?:todo|unimplemented|dbg)!|\b(?:FIXME|XXX)\b", "unfinished")
}

fn machine_path_offences(sources: &[Source]) -> Vec<String> {
    line_offences(sources, r#"(?:^|[\s"'`(=:])/(?:work|root|home)/"#, "a path of one machine")
}

/// Modules that DESIGN.md does not name, by their path inside `src`.
fn unnamed_module_offences(sources: &[Source], design: &str) -> Vec<String> {
    let modules =
        sources.iter().filter(|source| source.is_rust()).filter_map(|source| source.path.strip_prefix("src/"));
    // A file in a room says itself what it is.
    let rooms = modules.map(|path| match path.rsplit_once('/') {
        Some((room, _)) if room.contains('/') => format!("{room}/"),
        Some(_) | None => path.to_owned(),
    });
    let unnamed: BTreeSet<String> = rooms.filter(|room| !design.contains(&format!("`{room}`"))).collect();
    unnamed.into_iter().map(|room| format!("DESIGN.md does not name `{room}`")).collect()
}

/// Modules that DESIGN.md names and that are not there.
fn gone_module_offences(sources: &[Source], design: &str) -> Vec<String> {
    let named = Regex::new(r"`((?:lang|vm|host|serve)/[a-z_/]*/|[a-z_/]+\.rs)`").unwrap();
    let is_there = |path: &str| match path.ends_with('/') {
        true => sources.iter().any(|source| source.path.starts_with(&format!("src/{path}"))),
        false => sources.iter().any(|source| source.path == format!("src/{path}") || source.path == path),
    };
    let named: BTreeSet<String> = named.captures_iter(design).map(|found| found[1].to_owned()).collect();
    let gone = named.into_iter().filter(|path| !is_there(path));
    gone.map(|path| format!("DESIGN.md names `{path}`, which is not there")).collect()
}

/// Example programs without a scripted conversation.
fn untested_example_offences(sources: &[Source]) -> Vec<String> {
    let has = |path: &str| sources.iter().any(|source| source.path == path);
    let programs = sources.iter().filter_map(|source| {
        let stem = source.path.strip_prefix("examples/")?.strip_suffix(".md")?;
        let others = [".test", ".triggers", ".user", ".judge", ".rules", "README", "SKILL"];
        let is_program = !others.iter().any(|end| stem.ends_with(end));
        // What an example's program looks into is no program.
        (is_program && !stem.contains("handbook/")).then_some((source, stem))
    });
    let plans = sources.iter().filter_map(|source| {
        let path = source.path.strip_prefix("examples/plans/")?;
        let endings = [".jmp.json", ".branch.json", ".yaml"];
        let name = endings.iter().find_map(|ending| path.strip_suffix(ending))?;
        Some((source, &source.path["examples/".len()..][.."plans/".len() + name.len()]))
    });
    let untested = programs.chain(plans).filter(|(_, stem)| !has(&format!("examples/{stem}.test.md")));
    untested.map(|(source, stem)| format!("{} has no examples/{stem}.test.md", source.path)).collect()
}

fn design(sources: &[Source]) -> String {
    sources.iter().find(|source| source.path == "DESIGN.md").map(|source| source.text.clone()).unwrap()
}

#[track_caller]
fn expect_none(offences: &[String]) {
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

macro_rules! holds {
    ($($name:ident: $check:ident;)*) => { $(#[test] fn $name() { expect_none(&$check(sources())); })* };
}

holds! {
    layers_have_one_direction: layer_offences;
    pure_layers_are_pure: purity_offences;
    the_machine_is_not_serialised: serialize_offences;
    only_config_reads_the_environment: environment_offences;
    only_clock_reads_the_time: clock_offences;
    tasks_are_started_in_one_place: task_offences;
    crates_enter_through_one_module: crate_home_offences;
    doors_launch_nothing_themselves: world_offences;
    no_test_is_left_out: unrun_test_offences;
    every_file_says_what_it_is: module_text_offences;
    no_file_is_too_long: length_offences;
    no_line_ends_in_spaces: trailing_space_offences;
    nothing_is_unfinished: unfinished_offences;
    no_path_of_one_machine: machine_path_offences;
    every_example_has_a_conversation: untested_example_offences;
}

#[test]
fn the_design_names_every_module() {
    let sources = sources();
    expect_none(&unnamed_module_offences(sources, &design(sources)));
}

#[test]
fn the_design_names_no_module_that_is_gone() {
    let sources = sources();
    expect_none(&gone_module_offences(sources, &design(sources)));
}

#[test]
fn the_sources_are_found() {
    let sources = sources();
    for path in ["src/lib.rs", "src/vm/protocol/mod.rs", "tests/it/main.rs", "README.md", "Cargo.toml", ".ci/run"] {
        assert!(sources.iter().any(|source| source.path == path), "{path}");
    }
}

/// A check must find `n` offences in a file of this path and text.
#[track_caller]
fn finds(n: usize, check: fn(&[Source]) -> Vec<String>, path: &str, text: &str) {
    let offences = check(&[Source::new(path, text)]);
    assert_eq!(offences.len(), n, "{offences:#?}");
}

#[test]
fn layer_offences_are_found() {
    finds(1, layer_offences, "src/lang/a.rs", "use playhouse_vm::protocol::Event;");
    finds(
        2,
        layer_offences,
        "src/vm/a.rs",
        "use playhouse_lang::{\n    expr,\n    span::{Span, FileId},\n    value,\n};",
    );
    finds(2, layer_offences, "src/vm/a.rs", "use playhouse_host::{\n    llm::Llm,\n    tool::{Tool},\n};");
    finds(1, layer_offences, "src/ide/a.rs", "fn f() { playhouse_host::launch::start(); }");
    finds(1, layer_offences, "src/lang/value.rs", "fn f() { let _ = crate::program::f(); }");
    finds(1, layer_offences, "src/lang/span.rs", "use super::value::Value;\n");
    finds(1, layer_offences, "src/host/llm/a.rs", "use super::super::super::serve::cli;\n");
    finds(1, layer_offences, "src/serve/cli/a.rs", "pub use crate::vm::{view::View, Machine};");
    finds(1, layer_offences, "src/util/a.rs", "fn f() {}");
    finds(1, layer_offences, "src/serve/cli/a.rs", "fn f() { playhouse_vm::Machine::begin(); }");
    finds(0, layer_offences, "src/serve/cli/a.rs", "use crate::vm::protocol::view::View;\nuse crate::vm::MachineLike;");
    finds(0, layer_offences, "src/lang/diagnostic.rs", "use crate::span::Span;\nuse super::span::FileId;");
    finds(
        0,
        layer_offences,
        "src/lang/a.rs",
        "//! [`playhouse_vm`]\nuse super::program;\nconst A: &str = \"playhouse_vm::x\";",
    );
}

#[test]
fn word_offences_are_found() {
    finds(1, purity_offences, "src/vm/a.rs", "async fn f() {}");
    finds(1, purity_offences, "src/lang/a.rs", "use std::{fmt, fs};");
    finds(1, purity_offences, "src/lang/span.rs", "use std::fs;");
    finds(1, purity_offences, "src/lang/a.rs", "fn f() { std::thread::spawn(f); }");
    finds(2, purity_offences, "src/ide/a.rs", "use std::time::Instant;");
    finds(0, purity_offences, "src/host/a.rs", "async fn f() {}");
    finds(0, purity_offences, "src/vm/a.rs", "// async\nconst A: &str = \"tokio\"; // '\nconst B: char = '\"';");
    finds(1, serialize_offences, "src/vm/a.rs", "#[derive(\n    Clone,\n    Serialize,\n)]\nstruct A;");
    finds(0, serialize_offences, "src/vm/reply/a.rs", "#[derive(Serialize)]\nstruct A;");
    finds(1, environment_offences, "src/host/a.rs", "use std::env;");
    finds(1, environment_offences, "src/lib.rs", "fn f() { env::var(\"HOME\"); }");
    finds(0, environment_offences, "src/host/config/mod.rs", "use std::env;");
    finds(1, clock_offences, "src/host/a.rs", "fn f() { jiff::Timestamp::now(); }");
    finds(1, clock_offences, "src/host/a.rs", "use std::time::{Duration, Instant};");
    finds(0, clock_offences, "src/host/a.rs", "use std::time::Duration;\nuse tokio::time::Instant;");
    finds(1, task_offences, "src/host/a.rs", "fn f() { tokio::spawn(async {}); }");
    finds(1, task_offences, "src/host/a.rs", "fn f() { tokio::task::spawn_blocking(f); }");
    finds(0, task_offences, "src/host/tasks.rs", "fn f() { tokio::spawn(async {}); }");
    finds(1, crate_home_offences, "src/lang/source/parse.rs", "use pulldown_cmark::Parser;");
    finds(1, crate_home_offences, "src/serve/cli/a.rs", "fn f() { annotate_snippets::x(); }");
    finds(0, crate_home_offences, "src/vm/prompt/mod.rs", "use minijinja::Environment;");
    finds(1, world_offences, "src/serve/cli/a.rs", "fn f() { let _ = World { llm }; }");
    finds(1, world_offences, "src/serve/cli/a.rs", "fn f() { Session::start(a, b, c); }");
    finds(0, world_offences, "src/serve/cli/a.rs", "fn f(world: &WorldArguments) {}");
}

#[test]
fn line_offences_are_found() {
    finds(1, module_text_offences, "benches/a.rs", "fn main() {}");
    finds(0, module_text_offences, "src/a.rs", "//! What it is.\n");
    finds(1, length_offences, "src/a.rs", &"\n".repeat(MAX_LINES + 1));
    finds(0, length_offences, "src/a.rs", &"\n".repeat(MAX_LINES));
    finds(1, length_offences, "src/lang/a.rs", &"\n".repeat(MAX_PURE_LINES + 1));
    finds(3, unrun_test_offences, "src/vm/a.rs", "#[cfg(test)]\nmod tests {\n    #[test]\n    fn f() {}\n}\n/// ```\n");
    finds(1, unrun_test_offences, "src/a.rs", "/// ```text\n/// a\n/// ```\n/// ```\n/// f();\n/// ```\n");
    finds(0, unrun_test_offences, "tests/it/a.rs", "#[test]\nfn f() {}\n");
    finds(2, trailing_space_offences, "docs/a.md", "a \nb\n\t\n");
    finds(3, unfinished_offences, "src/a.rs", "todo!()\n// FIXME\ndbg!(3);\nfn todo() {}\n");
    finds(2, machine_path_offences, "README.md", "see /work/x and\n\"/root/y\"\nhttps://a.example/work/z\n");
}

#[test]
fn offences_against_the_lists_are_found() {
    let sources = [
        Source::new("src/vm/reply/mod.rs", ""),
        Source::new("examples/a.md", ""),
        Source::new("examples/b.x.test.md", ""),
        Source::new("examples/a.triggers.md", ""),
    ];
    assert_eq!(unnamed_module_offences(&sources, "`vm/reply/`").len(), 0);
    assert_eq!(unnamed_module_offences(&sources, "vm/reply/").len(), 1);
    assert_eq!(gone_module_offences(&sources, "`vm/reply/mod.rs`, `vm/reply/`, `vm/gone/` and `vm/gone.rs`").len(), 2);
    assert_eq!(untested_example_offences(&sources), ["examples/a.md has no examples/a.test.md"]);
}

#[test]
fn use_trees_are_expanded() {
    assert_eq!(expand("a::{b, c::{d, e as f}}"), ["a::b", "a::c::d", "a::c::e"]);
    assert_eq!(expand("a::b"), ["a::b"]);
}
