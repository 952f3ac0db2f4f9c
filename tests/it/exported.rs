//! Sessions as tests (`sessions export --format test`), by the real binary: every conversation of the examples and of the
//! library is played, its session exported, and the test that comes of it passes, having done the same.

use std::path::{Path, PathBuf};

use playhouse::host::journal::copy;
use playhouse::serve::cli::session_of_test;

use crate::run::Run;

fn conversations(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".test.md"));
    paths.sort();
    paths
}

/// Exports the session of each conversation, and plays what comes of it.
#[track_caller]
fn check(folder: &str, n_least: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut n_exported = 0;
    for path in conversations(folder) {
        let name = path.file_name().unwrap().to_str().unwrap().trim_end_matches(".test.md");
        let records =
            runtime.block_on(session_of_test(&path)).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        if records.is_empty() {
            continue;
        }
        let journal = String::from_utf8(copy::lines(&records)).unwrap();
        let output = format!("{name}.test.md");
        let run = Run::new().file("session.jsonl", &journal);
        let done = run
            .args([
                "sessions",
                "export",
                "test",
                "--journal",
                "session.jsonl",
                "--format",
                "test",
                "--golden",
                "--output",
            ])
            .args([&*output])
            .done();
        assert_eq!(done.code, Some(0), "{}: {}", path.display(), done.stderr);
        let done = done.then().args(["test", &output]).done();
        assert_eq!(done.code, Some(0), "{}: {}", path.display(), done.stdout);
        n_exported += 1;
    }
    assert!(n_exported >= n_least, "{folder}: only {n_exported}");
}

#[test]
fn every_conversation_of_the_examples_replays_as_it_went() {
    check("examples", 20);
}

#[test]
fn every_conversation_of_plans_replays_as_it_went() {
    check("examples/plans", 5);
}

#[test]
fn whatever_people_do_replays_as_it_went() {
    check("tests/cases/exported", 4);
}

#[test]
fn every_conversation_of_the_library_replays_as_it_went() {
    check("playbooks", 6);
}
