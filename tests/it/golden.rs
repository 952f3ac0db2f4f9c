//! Golden files: a case is a text, its expected output stands beside it. `BLESS=1 cargo test` rewrites.

use std::fs;
use std::path::{Path, PathBuf};

/// All cases below `tests/cases/<folder>` with one of `extensions`, sorted, with their paths from there.
pub(crate) fn cases(folder: &str, extensions: &[&str]) -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(folder);
    let mut found = Vec::new();
    let mut pending = vec![root.clone()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // What cases import is no case.
                if path.ends_with("parts") {
                    continue;
                }
                pending.push(path);
            } else if path.extension().is_some_and(|end| extensions.iter().any(|wanted| end == *wanted)) {
                found.push((path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(), path));
            }
        }
    }
    found.sort();
    found
}

/// Compares what `run` makes of each case's text with the golden file beside it, and shows every difference.
pub(crate) fn check(folder: &str, extensions: &[&str], run: impl Fn(&str, &str) -> String) {
    let mut failures = String::new();
    let cases = cases(folder, extensions);
    assert!(!cases.is_empty(), "there is no case in tests/cases/{folder}");
    for (name, path) in cases {
        let actual = run(&name, &fs::read_to_string(&path).unwrap());
        let golden = path.with_extension("golden");
        if is_blessing() {
            fs::write(&golden, &actual).unwrap();
            continue;
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if expected != actual {
            failures.push_str(&difference(&name, &expected, &actual));
        }
    }
    assert!(failures.is_empty(), "{failures}\nif this is right: BLESS=1 cargo test");
}

/// Compares one text with the golden file `tests/cases/<path>`.
pub(crate) fn compare(path: &str, actual: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(path);
    if is_blessing() {
        fs::create_dir_all(golden.parent().unwrap()).unwrap();
        fs::write(&golden, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    let shown = difference(path, &expected, actual);
    assert!(expected == actual, "{shown}\nif this is right: BLESS=1 cargo test");
}

/// How a text differs from the golden one of this name.
pub(crate) fn difference(name: &str, expected: &str, actual: &str) -> String {
    let mut options = diffy::DiffOptions::new();
    options.set_original_filename(format!("{name}: expected")).set_modified_filename("actual");
    options.create_patch(expected, actual).to_string()
}

/// Whether golden files are rewritten instead of compared.
#[allow(clippy::disallowed_methods, reason = "how a test run is told to bless")]
pub(crate) fn is_blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// A golden file without a case beside it and without a test that names it is never compared with anything.
#[test]
fn every_golden_file_is_compared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let tests: String =
        files_below(&root.join("it"), "rs").iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    // Names as `compare` is given them; what stands in braces is filled in there.
    let named: Vec<Vec<&str>> = tests
        .split('"')
        .filter(|text| text.ends_with(".golden") && !text.contains('\n'))
        .map(|text| text.split(['{', '}']).step_by(2).collect())
        .collect();
    let is_named = |path: &str| {
        named.iter().any(|pieces| {
            let mut rest = Some(path);
            for (index, piece) in pieces.iter().enumerate() {
                let after = |text: &str, at: usize| (index > 0 || at == 0).then(|| text[at + piece.len()..].to_owned());
                let found = rest.and_then(|text| text.find(piece).map(|at| (text, at)));
                let Some(next) = found.and_then(|(text, at)| after(text, at)) else { return false };
                rest = path.get(path.len() - next.len()..);
            }
            rest == Some("")
        })
    };
    let cases = root.join("cases");
    let mut stale = Vec::new();
    for path in files_below(&cases, "golden") {
        let stem = path.with_extension("");
        let has_case = files_below(path.parent().unwrap(), "")
            .into_iter()
            .any(|other| other != path && other.with_extension("") == stem);
        let name = path.strip_prefix(&cases).unwrap().to_str().unwrap();
        if !has_case && !is_named(name) {
            stale.push(name.to_owned());
        }
    }
    assert!(stale.is_empty(), "nothing is compared with {}", stale.join(", "));
}

/// All files below a folder that end so; with no extension: all.
fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if extension.is_empty() || path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    found
}
