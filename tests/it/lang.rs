//! Programs to explanations and diagnostics.

use playhouse::diagnostic::{Severity, render};
use playhouse::lang::explain::explain;
use playhouse::lang::{ImportRequest, LoadOptions, Loaded, SourceText, load};

use crate::golden;

fn load_case(name: &str, text: &str) -> Loaded {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/lang");
    let mut read = |request: &ImportRequest<'_>| {
        let name = resolve(request);
        let text = std::fs::read_to_string(folder.join(&name)).map_err(|_| "there is no such file".to_owned())?;
        Ok(SourceText { name, text })
    };
    let root = SourceText { name: name.to_owned(), text: text.to_owned() };
    load(vec![root], &mut read, &LoadOptions::default())
}

/// The imported path relative to the folder of all cases.
fn resolve(request: &ImportRequest<'_>) -> String {
    let mut parts: Vec<&str> = request.from.split('/').collect();
    parts.pop();
    for part in request.path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

#[test]
fn programs() {
    golden::check("lang", &["md", "pb"], |name, text| {
        let loaded = load_case(name, text);
        let diagnostics = render(&loaded.diagnostics, &loaded.program.sources, false);
        format!("{}\n{diagnostics}", explain(&loaded.program))
    });
}

#[test]
fn older_programs_load_without_errors() {
    for (name, path) in golden::cases("lang/older", &["md", "pb"]) {
        let loaded = load_case(&format!("older/{name}"), &std::fs::read_to_string(path).unwrap());
        let errors = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        assert_eq!(errors.count(), 0, "{name}: {}", render(&loaded.diagnostics, &loaded.program.sources, false));
    }
}
