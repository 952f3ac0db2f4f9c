//! What `docs/triggers.md` shows is what happens: its programs, its table of wordings and its transcript.
//! (`docs/language.md` and `docs/configuration.md` are held by `cli` and `config`.)

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::Regex;

use crate::run::Run;

fn guide() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/triggers.md")).unwrap()
}

/// The fenced blocks that begin with `language`, each with the name behind it.
fn blocks(guide: &str, language: &str) -> Vec<(String, String)> {
    let fence = Regex::new(&format!(r"(?ms)^```{language}(?: ([\w.]+))?\n(.*?\n)```$")).unwrap();
    let name = |block: &regex::Captures<'_>| block.get(1).map_or(String::new(), |name| name.as_str().to_owned());
    fence.captures_iter(guide).map(|block| (name(&block), block[2].to_owned())).collect()
}

#[test]
fn the_programs_in_the_guide_to_triggers_have_no_findings() {
    let programs = blocks(&guide(), "markdown");
    assert!(programs.len() > 2, "{}", programs.len());
    for (_, program) in programs {
        Run::new().program(&program).line("check program.md").code(0).stderr_contains("0 errors, 0 warnings");
    }
}

#[test]
fn triggers_are_read_as_the_guide_says() {
    let row = Regex::new(r"(?m)^\| `([^`|]+)` \| `([^`|]+)` \|$").unwrap();
    let guide = guide();
    let rows: Vec<(&str, &str)> = row.captures_iter(&guide).map(|row| row.extract::<2>().1.into()).collect();
    assert!(rows.len() > 40, "{}", rows.len());
    let triggers: String = rows.iter().map(|(text, _)| format!("- {text}\n")).collect();
    let steps = "### Steps\n\n- Return 1\n";
    let program = format!("# Desk\n\n## Watch\n\n### Triggers\n\n{triggers}\n{steps}\n## GetOrder\n\n{steps}");
    let explained = Run::new().program(&program).line("check --explain program.md").code(0).stdout;
    for (index, (text, read_as)) in rows.iter().enumerate() {
        let text = serde_json::to_string(text).unwrap();
        let line = format!("    Watch:T{} ({read_as}): {text}\n", index + 1);
        assert!(explained.contains(&line), "no {line:?} in:\n{explained}");
    }
}

/// What differs from run to run.
fn masked(text: &str) -> String {
    let times = Regex::new(r"\d{4}-\d\d-\d\dT[\d:]+(?:Z|\+00:00)").unwrap();
    let lengths = Regex::new(r"\b\d+ ms\b").unwrap();
    lengths.replace_all(&times.replace_all(text, "TIME"), "MS ms").into_owned()
}

#[test]
fn the_transcript_in_the_guide_to_triggers_is_real() {
    let guide = guide();
    let named = |language| blocks(&guide, language).into_iter().filter(|(name, _)| !name.is_empty());
    let files: BTreeMap<String, String> = named("markdown").chain(named("jsonl")).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    let mut run = files.iter().fold(Run::new(), |run, (name, text)| run.file(name, text));
    let (_, expected) = named("text").find(|(name, _)| name == "transcript").unwrap();
    let (mut stdin, mut happened) = (String::new(), String::new());
    for line in expected.lines() {
        if let Some(message) = line.strip_prefix("< ") {
            stdin.push_str(&format!("{message}\n"));
            happened.push_str(&format!("{line}\n"));
        } else if let Some(arguments) = line.strip_prefix("$ playhouse ") {
            let done = run.line(arguments).stdin(&std::mem::take(&mut stdin)).code(0);
            happened.push_str(&format!("{line}\n{}", done.stdout));
            run = done.then();
        }
    }
    assert_eq!(masked(&happened), masked(&expected));
}
