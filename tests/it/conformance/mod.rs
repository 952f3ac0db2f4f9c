//! The conformance cases: plans in a scripted world, through real sessions; parts of components.
//!
//! Every `*.json` in `tests/cases/conformance` and in the folder that `PLAYHOUSE_CASES` names is run; a failing case
//! is one line, and each file has a line of counts: `cargo test --test it conformance -- --nocapture`.
#![allow(clippy::print_stdout, reason = "each file's counts are what one wants to know")]

mod case;
mod components;
mod dates;
mod judge;
mod lifecycle;
mod matchers;
mod world;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::conformance::case::{Case, System};
use crate::conformance::components::ComponentCase;
use crate::conformance::judge::Tolerated;

/// What came of a file.
#[derive(Default)]
struct Counts {
    n_passed: usize,
    n_failed: usize,
    tolerated: Tolerated,
}

/// How often our own cases pass for less than they ask for.
const TOLERATED: Tolerated = Tolerated { n_stopped_before: 1, n_refused_for_error: 15, n_refused_as_a_whole: 0 };

#[test]
fn conformance() {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/conformance");
    let mut n_failed = 0;
    let mut n_passed = 0;
    let mut tolerated = Tolerated::default();
    for folder in [Some(ours.clone()), others()].into_iter().flatten() {
        let files = json_files(&folder);
        assert!(!files.is_empty(), "there are no cases in {}", folder.display());
        for file in files {
            let counts = run_file(&file);
            n_failed += counts.n_failed;
            n_passed += counts.n_passed;
            if folder == ours {
                tolerated.add(counts.tolerated);
            }
        }
    }
    assert!(n_passed > 0, "no case was run");
    assert_eq!(n_failed, 0, "failing cases are listed above");
    assert_eq!(tolerated, TOLERATED, "cases pass for less than they ask for, more or less often than was agreed");
}

#[allow(clippy::disallowed_methods, reason = "how a test run is told of more cases")]
fn others() -> Option<PathBuf> {
    std::env::var_os("PLAYHOUSE_CASES").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    files
}

/// Runs a file's cases, and prints what failed and how many passed.
fn run_file(path: &Path) -> Counts {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (counts, lines) = run_text(&name, &text);
    for line in lines {
        println!("{line}");
    }
    counts
}

/// The counts, and the lines that tell them.
fn run_text(name: &str, text: &str) -> (Counts, Vec<String>) {
    let mut counts = Counts::default();
    let mut lines = Vec::new();
    let refused = |why: String| (Counts { n_failed: 1, ..Counts::default() }, vec![format!("{name}: {why}")]);
    let file: Json = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => return refused(format!("the file is no JSON: {error}")),
    };
    let Some(cases) = file["cases"].as_array() else { return refused("the file has no `cases`".to_owned()) };
    let system = match file["system"].as_str().unwrap_or_default() {
        "plan_jmp" => Some(System::Jmp),
        "plan_branch" => Some(System::Branch),
        "dataflow" => Some(System::Dataflow),
        // Their cases have a form of their own.
        "components" => None,
        other => return refused(format!("unknown system `{other}`")),
    };
    let unread = |error| vec![format!("a case of the form that the README describes, got one that is not: {error}")];
    for case in cases {
        let title = |key: &str| case[key].as_str().unwrap_or("?").to_owned();
        let mismatches = match system {
            Some(system) => match serde_json::from_value::<Case>(case.clone()) {
                Ok(case) => {
                    let (mismatches, tolerated) = judge::run(system, &case);
                    counts.tolerated.add(tolerated);
                    mismatches
                }
                Err(error) => unread(error),
            },
            None => match serde_json::from_value::<ComponentCase>(case.clone()) {
                Ok(case) => components::run(&case),
                Err(error) => unread(error),
            },
        };
        if mismatches.is_empty() {
            counts.n_passed += 1;
        } else {
            counts.n_failed += 1;
            let told = mismatches.join("; ").replace('\n', "\\n");
            lines.push(format!("{name} {} ({}): expected {told}", title("id"), title("title")));
        }
    }
    lines.push(format!("{name}: {} passed, {} failed", counts.n_passed, counts.n_failed));
    (counts, lines)
}

#[test]
fn the_runner_can_fail() {
    let text = include_str!("failing.json");
    let files: Vec<Json> = serde_json::from_str(text).unwrap();
    let mut told = String::new();
    for (index, file) in files.iter().enumerate() {
        let (counts, lines) = run_text(&format!("{index}.json"), &file.to_string());
        assert_eq!(counts.n_passed, 0, "{lines:?}");
        assert_ne!(counts.n_failed, 0, "{lines:?}");
        told.extend(lines.iter().map(|line| format!("{line}\n")));
    }
    crate::golden::compare("conformance_runner/failing.golden", &told);
}
