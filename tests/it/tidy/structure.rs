//! How the layers are laid out: folders, circles of imports, the order of rooms.

use std::collections::{BTreeMap, BTreeSet};

use super::{FOUNDATIONS, Source, expect_none, is_pure, sources, starts_with_path};

/// How many folders and Rust files a folder of the pure layers holds at most.
const MAX_ENTRIES: usize = 15;

/// How many modules of a layer may be in circles of imports.
const MODULES_IN_CIRCLES: [(&str, usize); 4] = [("lang", 0), ("vm", 0), ("host", 0), ("serve", 0)];

/// How many methods these types of `vm` have at most. What any of its methods may touch no type protects: the numbers
/// go down, never up.
const METHODS: [(&str, usize); 2] = [("Machine", 49), ("Interpreter", 99)];

/// What may know of turns, besides the room of turns itself: the machine, and the limits of time it has for them.
const KNOW_TURNS: [&str; 2] = ["vm::machine::limits", "vm::machine::state"];

/// The rooms of the layers: each may use those before it. Rooms that stand in one line know nothing of each other.
/// A file that stands loose in a layer's folder is a room, too.
const ROOMS: [(&str, &[&[&str]]); 4] = [
    (
        "lang",
        &[
            &["span"],
            &["value"],
            &["diagnostic"],
            &["signature", "graph"],
            &["expr"],
            &["source"],
            &["plan"],
            &["program"],
            &["english"],
            &["lower"],
            &["analysis"],
            &["evaluation"],
            &["files"],
            &["lib"],
        ],
    ),
    (
        "host",
        &[
            &[
                "clock", "frames", "keys", "library", "net", "patterns", "secrets", "settings", "stats", "summary",
                "tasks", "text", "walk",
            ],
            &["child", "component", "events", "journal", "serve_options"],
            &["cassette", "skills"],
            &["directory", "ledger", "llm", "otel", "program"],
            &["sandbox"],
            &["documents"],
            &["classify", "plan", "resource"],
            &["tool"],
            &["equipment", "replay"],
            &["config_file", "debug", "stored", "travel", "why"],
            &["backtest", "checks", "coverage", "profile", "session"],
            &["graph", "judge"],
            &["config", "debuggee", "mutants", "sessions"],
            &["launch"],
            &["embed", "eval", "residents"],
            &["engine"],
            &["lib"],
        ],
    ),
    ("serve", &[&["show"], &["report"], &["dap", "lsp"], &["http", "mcp"], &["cli"], &["lib"]]),
    ("serve::cli", &[&["machinery"], &["commands"], &["lib"]]),
];

/// Rooms in one line that may use each other, as long as their modules stand in no circle.
const TOGETHER: [&str; 2] = ["http", "mcp"];

/// Folders of the pure layers that hold too much.
fn folder_offences(sources: &[Source]) -> Vec<String> {
    let mut entries: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_rust() && is_pure(&source.path)) {
        let mut path = &*source.path;
        while let Some((folder, _)) = path.rsplit_once('/') {
            entries.entry(folder).or_default().insert(path);
            path = folder;
        }
    }
    let full = entries.iter().filter(|(folder, held)| is_pure(&format!("{folder}/")) && held.len() > MAX_ENTRIES);
    full.map(|(folder, held)| format!("{folder}: holds {}, more than {MAX_ENTRIES}", held.len())).collect()
}

/// The module that a file is: `lang::program::step`; the layer itself for its `lib.rs` or `mod.rs`.
fn module_of(path: &str) -> String {
    let inside = path.trim_start_matches("src/").trim_end_matches(".rs");
    inside.trim_end_matches("/mod").trim_end_matches("/lib").replace('/', "::")
}

/// The modules of a layer that each one imports. The root of a layer declares, and so knows, what stands in it.
fn imports<'a>(sources: &'a [Source], layer: &str) -> BTreeMap<String, BTreeSet<(usize, &'a str, String)>> {
    let folder = format!("src/{}/", layer.replace("::", "/"));
    let files = || sources.iter().filter(|source| source.is_rust() && source.path.starts_with(&folder));
    let modules: BTreeSet<String> = files().map(|source| module_of(&source.path)).collect();
    let target = |from: &str, path: &str| {
        let is_foundation = FOUNDATIONS.iter().any(|name| starts_with_path(path, name));
        let inside = path.strip_prefix("self::").unwrap_or(path);
        let child = format!("{from}::{}", inside.split("::").next().unwrap_or(""));
        let mut path = match is_foundation {
            true => format!("lang::{path}"),
            false if modules.contains(&child) => format!("{from}::{inside}"),
            false => path.to_owned(),
        };
        while !modules.contains(&path) {
            path.truncate(path.rfind("::")?);
        }
        Some(path)
    };
    let of_file = |source: &'a Source| {
        let module = module_of(&source.path);
        let named = source.paths.iter().filter_map(|(line, path)| Some((*line, &*source.path, target(&module, path)?)));
        let mut imported: BTreeSet<_> = named.filter(|(_, _, to)| *to != module).collect();
        if module == layer {
            imported.extend(modules.iter().filter(|to| **to != module).map(|to| (0, &*source.path, to.clone())));
        }
        (module, imported)
    };
    files().map(of_file).collect()
}

/// The modules of a layer that import each other, directly or not.
fn modules_in_circles(sources: &[Source], layer: &str) -> Vec<String> {
    let imports = imports(sources, layer);
    let reaches_itself = |module: &&String| {
        let mut seen = BTreeSet::new();
        let mut pending = vec![*module];
        while let Some(next) = pending.pop() {
            let found = imports.get(next).into_iter().flatten().map(|(_, _, to)| to);
            pending.extend(found.filter(|to| seen.insert(*to)));
        }
        seen.contains(module)
    };
    imports.keys().filter(reaches_itself).cloned().collect()
}

fn circle_offences(sources: &[Source]) -> Vec<String> {
    let mut offences = Vec::new();
    for (layer, most) in MODULES_IN_CIRCLES {
        let found = modules_in_circles(sources, layer);
        if found.len() > most {
            offences.push(format!(
                "{} modules import each other, of {most} allowed: {}",
                found.len(),
                found.join(", ")
            ));
        }
    }
    offences
}

/// Imports inside of layers against the order of their rooms.
fn room_offences(sources: &[Source]) -> Vec<String> {
    let mut offences = Vec::new();
    for (layer, rooms) in ROOMS {
        let place = |module: &str| {
            let inside = module.strip_prefix(layer).and_then(|inside| inside.strip_prefix("::"));
            let room = inside.map_or("lib", |inside| inside.split("::").next().unwrap_or(""));
            (rooms.iter().position(|line| line.contains(&room)), room.to_owned())
        };
        for (module, imported) in imports(sources, layer) {
            let (own, room) = place(&module);
            if own.is_none() {
                offences.push(format!("`{room}` is no room of `{layer}`; add it to DESIGN.md and to ROOMS"));
            }
            let wrong = imported.iter().filter(|(_, _, to)| {
                let (used, other) = place(to);
                let is_beside = used == own && other != room && !TOGETHER.contains(&&*other);
                used > own || is_beside
            });
            offences.extend(wrong.map(|(line, file, to)| format!("{file}:{line}: `{room}` must not use `{to}`")));
        }
    }
    offences
}

/// How many functions stand in `impl` blocks of this type of `vm`.
fn methods(sources: &[Source], name: &str) -> usize {
    let header = format!("impl {name} ");
    let mut n = 0;
    for source in sources.iter().filter(|source| source.path.starts_with("src/vm/")) {
        let mut is_inside = false;
        for line in source.code.lines() {
            is_inside = line.starts_with(&header) || (is_inside && !line.starts_with('}'));
            let Some(item) = line.strip_prefix("    ").filter(|item| is_inside && !item.starts_with(' ')) else {
                continue;
            };
            n += usize::from(item.split_whitespace().take(3).any(|word| word == "fn"));
        }
    }
    n
}

#[test]
fn the_machine_has_no_more_methods() {
    for (name, most) in METHODS {
        let n = methods(sources(), name);
        assert!(n <= most, "`{name}` has {n} methods, of {most} allowed: give them to a part of it");
    }
}

#[test]
fn methods_of_the_machine_are_counted() {
    let text = "impl Machine {\n    pub(crate) fn a(&self) {\n        let f = |n| n;\n    }\n\n    fn b() {}\n}\n\nfn c() {}\n";
    let sources = [Source::new("src/vm/walk.rs", text), Source::new("src/host/walk.rs", text)];
    assert_eq!((methods(&sources, "Machine"), methods(&sources, "Interpreter")), (2, 0));
}

/// Modules that know of turns and should not.
fn turn_offences(sources: &[Source]) -> Vec<String> {
    let is_turns = |module: &str| starts_with_path(module, "vm::turn");
    let others = imports(sources, "vm")
        .into_iter()
        .filter(|(module, _)| module != "vm" && !is_turns(module) && !KNOW_TURNS.contains(&&**module));
    let wrong = others.flat_map(|(_, imported)| imported).filter(|(_, _, to)| is_turns(to));
    wrong.map(|(line, file, to)| format!("{file}:{line}: only the machine knows `{to}`")).collect()
}

#[test]
fn only_the_machine_knows_turns() {
    expect_none(&turn_offences(sources()));
}

#[test]
fn knowledge_of_turns_is_found() {
    let turn = Source::new("src/vm/turn/state.rs", "pub(crate) struct Turn;\n");
    let walk = Source::new("src/vm/walk/mod.rs", "use crate::turn::state::Turn;\n");
    assert_eq!(turn_offences(&[turn, walk]), ["src/vm/walk/mod.rs:1: only the machine knows `vm::turn::state`"]);
}

#[test]
fn no_folder_is_too_full() {
    expect_none(&folder_offences(sources()));
}

#[test]
fn modules_do_not_import_each_other() {
    expect_none(&circle_offences(sources()));
}

#[test]
fn rooms_have_one_direction() {
    expect_none(&room_offences(sources()));
}

#[test]
fn circles_of_imports_are_found() {
    let circle = [
        Source::new("src/lang/lib.rs", "mod expr;"),
        Source::new("src/lang/span.rs", ""),
        Source::new("src/lang/expr/mod.rs", "mod tree;\npub use crate::expr::tree::Expr;"),
        Source::new("src/lang/expr/tree.rs", "use crate::span::Span;\nuse crate::expr::text::show;"),
        Source::new("src/lang/expr/text.rs", "use super::{Expr, tree};"),
        Source::new("src/lang/expr/lexer.rs", "use crate::expr::Expr;"),
    ];
    let found = modules_in_circles(&circle, "lang");
    assert_eq!(found, ["lang::expr", "lang::expr::text", "lang::expr::tree"]);
    let n_most = MODULES_IN_CIRCLES.iter().map(|(_, most)| most).max().unwrap() + 2;
    let text = |n: usize| format!("use crate::m{};", (n + 1) % n_most);
    let ring: Vec<Source> = (0..n_most).map(|n| Source::new(&format!("src/lang/m{n}.rs"), &text(n))).collect();
    assert_eq!(circle_offences(&ring).len(), 1);
    // The root knows all modules, so whoever uses what stands in it is in a circle.
    let root = [Source::new("src/vm/lib.rs", ""), Source::new("src/vm/walk.rs", "use crate::Machine;")];
    assert_eq!(modules_in_circles(&root, "vm"), ["vm", "vm::walk"]);
    // What a module re-exports of its children it imports, however it is written.
    let family = [
        Source::new("src/host/llm/mod.rs", "mod wire;\npub use wire::Chunk;"),
        Source::new("src/host/llm/wire.rs", "use super::Llm;"),
        Source::new("src/host/tool/mod.rs", "pub use self::call::Call;"),
        Source::new("src/host/tool/call.rs", "use crate::tool::Tool;"),
    ];
    assert_eq!(modules_in_circles(&family, "host").len(), 4);
}

#[test]
fn offences_against_rooms_and_folders_are_found() {
    let sources = [
        Source::new("src/lang/lib.rs", "pub use crate::program::Program;"),
        Source::new("src/lang/expr/mod.rs", "use crate::program::Program;"),
        Source::new("src/lang/program/mod.rs", "use crate::expr::Expr;\nuse crate::Loaded;"),
        Source::new("src/lang/attic.rs", ""),
    ];
    let offences = room_offences(&sources);
    assert_eq!(offences.len(), 3, "{offences:#?}");
    let host = [
        Source::new("src/host/lib.rs", "pub mod llm;"),
        Source::new("src/host/clock.rs", ""),
        Source::new("src/host/llm/mod.rs", "use crate::clock::Clock;\nuse crate::tool::Tool;"),
        Source::new("src/host/tool/mod.rs", "use crate::llm::Llm;"),
        Source::new("src/host/text.rs", "use crate::clock::Clock;"),
    ];
    let offences = room_offences(&host);
    assert_eq!(
        offences,
        [
            "src/host/llm/mod.rs:2: `llm` must not use `host::tool`",
            "src/host/text.rs:1: `text` must not use `host::clock`"
        ]
    );
    let file = |n: usize| Source::new(&format!("src/lang/expr/m{n}.rs"), "");
    assert_eq!(folder_offences(&(0..MAX_ENTRIES).map(file).collect::<Vec<_>>()).len(), 0);
    assert_eq!(folder_offences(&(0..=MAX_ENTRIES).map(file).collect::<Vec<_>>()).len(), 1);
}
