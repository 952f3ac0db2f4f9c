//! Rules (`*.rules.md`): checks of all runs of a program. The format is `docs/checks.md`.

use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::host::launch::folder_of;
use crate::lang::evaluation::checks::Written;
use crate::lang::files::case_file::lines::{Fence, Line, Reader, Section, split};
use crate::span::{FileId, Sources};

/// How the names of files of rules end.
pub(crate) const RULES: &str = ".rules.md";

/// What can stand in the list at the top.
const KEYS: &str = "`program` and `tools`";

/// One file of rules. Paths are relative to its folder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RulesFile {
    /// The program's path.
    pub(crate) program: String,
    /// The path of a file of canned tools: a program that calls tools loads only where they are known.
    pub(crate) tools: Option<String>,
    /// The rules, in the order written.
    pub(crate) rules: Vec<Written>,
}

impl RulesFile {
    /// Reads a file's text. The spans of the findings lie in `file`.
    ///
    /// # Errors
    /// All findings, in the order of their lines; the first note of each says what to do.
    pub(crate) fn parse(file: FileId, text: &str) -> Result<RulesFile, Vec<Diagnostic>> {
        let (lines, sections) = split(text);
        let mut reader = Reader::new(file);
        let top = reader.top(&lines, KEYS, &[]);
        for item in &top.items {
            reader.unknown_key(item, KEYS);
        }
        if !top.settings.is_empty() {
            let first = lines.iter().copied().find(|line| line.text().starts_with("- setting"));
            reader.report(
                first.unwrap_or(Line::EMPTY),
                "unknown-key",
                "rules cannot set anything",
                format!("keys are {KEYS}"),
            );
        }
        let rules: Vec<Written> = sections.iter().flat_map(|section| read_section(&mut reader, section)).collect();
        if rules.is_empty() && reader.findings.is_empty() {
            let line = lines.last().copied().unwrap_or(Line::EMPTY);
            let next = "add a section (`## …`) with one check per line, as in `- never Refund`";
            reader.report(line, "no-rules", "the file has no rules", next);
        }
        reader.finish(RulesFile { program: top.program, tools: top.tools, rules }).whole()
    }
}

/// Prose, and bullets, which are checks: `Section:1`, `Section:2`, ….
fn read_section(reader: &mut Reader, section: &Section<'_>) -> Vec<Written> {
    let title = section.heading.text().trim_start_matches('#').trim();
    let (mut rules, mut fence) = (Vec::new(), Fence::default());
    let mut is_after_rule = false;
    for &line in &section.lines {
        if fence.holds(line) {
            is_after_rule = false;
            continue;
        }
        let is_rule = line.raw.starts_with("- ");
        if is_rule {
            rules.extend(reader.read_check(line, &format!("{title}:{}", rules.len() + 1)));
        } else if line.raw.starts_with('#') {
            reader.report(line, "unknown-heading", "another heading in a section", "begin sections with `## `");
        } else if !line.text().is_empty() && (is_after_rule || line.text().trim_start().starts_with("- ")) {
            // It would be prose, and the rule would say less than it seems to.
            let next = "write a rule on one line that begins with `- `, and an empty line before prose";
            reader.report(line, "unexpected-text", "this line continues a rule", next);
        }
        is_after_rule = is_rule || (is_after_rule && !line.text().is_empty());
    }
    rules
}

/// The files of rules beside a program, by name.
///
/// # Errors
/// The folder cannot be read.
fn rules_beside(program: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder_of(program))?.collect::<Result<Vec<_>, _>>()?;
    let names = entries.into_iter().map(|entry| entry.file_name());
    let mut rules: Vec<PathBuf> =
        names.filter(|name| name.to_string_lossy().ends_with(RULES)).map(|name| program.with_file_name(name)).collect();
    rules.sort();
    Ok(rules)
}

/// The rules of a program.
#[derive(Default)]
pub(crate) struct Rules {
    /// All of them, by file.
    pub(crate) written: Vec<Written>,
    /// What is wrong with the files.
    pub(crate) findings: Vec<Diagnostic>,
}

/// The rules beside a program; their texts go into `sources`. A file that cannot be read holds none, and one that names
/// another program concerns us only where what is wrong with it may hide that.
pub(crate) fn rules_of(program: &Path, sources: &mut Sources) -> Rules {
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

/// Reads a schema that a check names: it stands beside the file that holds the check, by default the one at `path`.
pub(crate) fn read_schema(path: &Path, sources: &Sources) -> impl FnMut(FileId, &str) -> Result<String, String> {
    move |file, schema| {
        let beside = sources.get(file).map_or(path, |file| Path::new(&*file.name)).with_file_name(schema);
        std::fs::read_to_string(beside).map_err(|cause| format!("cannot read: {cause}"))
    }
}
