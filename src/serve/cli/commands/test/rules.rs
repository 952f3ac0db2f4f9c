//! Rules that hold for the conversations of a program: files beside it that name it.

use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::host::checks::Written;
use crate::serve::cli::machinery::rules_file::{RulesFile, rules_beside};
use crate::span::Sources;

/// The rules of a program.
#[derive(Default)]
pub(super) struct Rules {
    /// All of them, by file.
    pub(super) written: Vec<Written>,
    /// What is wrong with the files.
    pub(super) findings: Vec<Diagnostic>,
}

/// The rules beside a program; their texts go into `sources`. A file that cannot be read holds none, and one that names
/// another program concerns us only where what is wrong with it may hide that.
pub(super) fn rules_of(program: &Path, sources: &mut Sources) -> Rules {
    let mut rules = Rules::default();
    let same = |path: &Path| std::fs::canonicalize(path).ok();
    for path in rules_beside(program).unwrap_or_default() {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let file = sources.add(path.display().to_string(), text.as_str());
        match RulesFile::parse(file, &text) {
            Ok(read) if same(&path.with_file_name(&read.program)) == same(program) => rules.written.extend(read.rules),
            Ok(_) => {}
            Err(findings) => rules.findings.extend(findings),
        }
    }
    rules
}
