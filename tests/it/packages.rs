//! What the manifests of the pure packages may ask for: exactly the dependencies that DESIGN.md lists ("Layers").

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;

/// Of one package the dependencies that its row in DESIGN.md does not list, and the listed ones that are not there.
fn dependency_offences(package: &str, manifest: &str, design: &str) -> Vec<String> {
    let Some(row) = design.lines().find(|line| line.starts_with(&format!("| `{package}`"))) else {
        return vec![format!("DESIGN.md has no row for `{package}`")];
    };
    let quoted = Regex::new("`([^`]+)`").unwrap();
    // The first two are its name and its folder.
    let listed: BTreeSet<String> = quoted.captures_iter(row).skip(2).map(|found| found[1].to_owned()).collect();
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut there = BTreeSet::new();
    for (section, names) in &manifest {
        match section.as_str() {
            "dependencies" => there.extend(names.as_table().unwrap().keys().cloned()),
            // Of these the packages have none; a check that did not see them would be worth nothing.
            "dev-dependencies" | "build-dependencies" | "target" => {
                there.insert(format!("[{section}]"));
            }
            _ => {}
        }
    }
    let unlisted = there.difference(&listed).map(|name| format!("{package}: DESIGN.md does not list `{name}`"));
    let gone = listed.difference(&there).map(|name| format!("{package}: DESIGN.md lists `{name}`, which is not there"));
    unlisted.chain(gone).collect()
}

#[test]
fn the_design_lists_the_dependencies_of_the_pure_packages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    for (package, folder) in [("playhouse-ide", "src/ide"), ("playhouse-lang", "src/lang"), ("playhouse-vm", "src/vm")]
    {
        let offences = dependency_offences(package, &read(&format!("{folder}/Cargo.toml")), &read("DESIGN.md"));
        assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
    }
}

#[test]
fn dependencies_against_the_list_are_found() {
    let design = "| `a` | `src/a` | nothing |\n| `b` | `src/b` | `a`, `c` |\n";
    let offences = |text: &str| dependency_offences("b", text, design);
    let listed = "[package]\nname = \"b\"\n[dependencies]\na = { path = \"../a\" }\nc.workspace = true\n";
    assert_eq!(offences(listed), Vec::<String>::new());
    assert_eq!(offences(&format!("{listed}tokio = \"1\"\n")), ["b: DESIGN.md does not list `tokio`"]);
    let elsewhere = format!("{listed}[target.'cfg(unix)'.dependencies]\nc = \"1\"\n");
    assert_eq!(offences(&elsewhere), ["b: DESIGN.md does not list `[target]`"]);
    assert_eq!(offences("[dependencies]\nc = \"1\"\n"), ["b: DESIGN.md lists `a`, which is not there"]);
    assert_eq!(dependency_offences("d", "", design), ["DESIGN.md has no row for `d`"]);
}
