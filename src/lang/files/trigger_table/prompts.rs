//! Tables of prompts (`*.jsonl`): what a user may say, line by line, and which skill is meant (spec `skills.md`,
//! "Commands"). The format is `docs/skills.md`, "Tables of prompts"; what is read is a trigger table like any other.

use serde_json::{Map, Value as Json};

use super::read::check_repeated;
use super::table::{FiredName, TriggerCase, TriggerTable, TriggerUpdate};
use crate::diagnostic::Diagnostic;
use crate::files::case_file::item::{Wrong, wrong};
use crate::files::case_file::lines::{Line, Reader, lines};
use crate::source::skill::FILE_NAME;
use crate::span::FileId;

/// How the names of tables of prompts end.
pub const PROMPTS: &str = ".jsonl";

/// What a line says.
const PROMPT: &str = "prompt";
const EXPECTED: &str = "expected_skill";

/// What precision and recall of each skill must reach (spec `skills.md`, "Bars"). A gate on recall alone would let a
/// classifier pass that begins every skill at every prompt.
const THRESHOLD: f64 = 0.7;

impl TriggerTable {
    /// Reads a table of prompts as a table of what fires. Its program are the skills that the caller finds: that
    /// [`TriggerTable::program`] is the `SKILL.md` beside the file says where its configuration lies.
    ///
    /// # Errors
    /// All findings, in the order of their lines; the first note of each says what to do.
    pub fn parse_prompts(file: FileId, text: &str) -> Result<TriggerTable, Vec<Diagnostic>> {
        let mut reader = Reader::new(file);
        let mut cases = Vec::new();
        for line in written(text) {
            let read = read_line(file, line);
            cases.extend(reader.accept(line, read));
        }
        check_repeated(&mut reader, &cases);
        let first = lines(text).next().unwrap_or(Line::EMPTY);
        if cases.is_empty() && reader.findings.is_empty() {
            reader.report(first, "no-cases", "the file has no prompt", FORM);
        }
        let table = TriggerTable {
            title: "Prompts".to_owned(),
            description: String::new(),
            program: FILE_NAME.to_owned(),
            program_span: first.span(file),
            tools: None,
            threshold: Some(THRESHOLD),
            strict: true,
            settings: Default::default(),
            cases,
        };
        reader.finish(table).whole()
    }

    /// Whether the first line of a text that is not empty says that it is a table of prompts: it has both keys. Other
    /// files have such names, too.
    pub fn is_of_prompts(text: &str) -> bool {
        let first = written(text).next();
        let object = first.and_then(|line| serde_json::from_str::<Map<String, Json>>(line.text()).ok());
        object.is_some_and(|object| object.contains_key(PROMPT) && object.contains_key(EXPECTED))
    }
}

/// What to do about a line that is none.
const FORM: &str = r#"write an object in each line: {"prompt": "Fill this form in", "expected_skill": "pdf"}"#;

/// The lines that say something.
fn written(text: &str) -> impl Iterator<Item = Line<'_>> {
    lines(text).map(without_mark).filter(|line| !line.raw.trim().is_empty())
}

/// Editors on Windows put one before a text.
fn without_mark(line: Line<'_>) -> Line<'_> {
    match line.raw.strip_prefix('\u{feff}') {
        Some(raw) => Line { offset: line.offset + '\u{feff}'.len_utf8(), raw, ..line },
        None => line,
    }
}

fn read_line(file: FileId, line: Line<'_>) -> Result<TriggerCase, Wrong> {
    // The line that it counts is none of the file's.
    let cause = |error: serde_json::Error| error.to_string().split(" at line ").next().unwrap_or_default().to_owned();
    let no_json = |error| wrong("bad-json", format!("this line is not JSON: {}", cause(error)), FORM);
    let Json::Object(object) = serde_json::from_str::<Json>(line.text()).map_err(no_json)? else {
        return Err(wrong("bad-prompt", "this line is not a JSON object", FORM));
    };
    let prompt = match object.get(PROMPT) {
        Some(Json::String(prompt)) if !prompt.trim().is_empty() => prompt.clone(),
        Some(Json::String(_)) => return Err(wrong("bad-prompt", format!("`{PROMPT}` is empty"), FORM)),
        Some(_) => return Err(wrong("bad-prompt", format!("`{PROMPT}` is not text"), FORM)),
        None => return Err(wrong("no-prompt", format!("`{PROMPT}` is missing"), FORM)),
    };
    let skill = match object.get(EXPECTED) {
        Some(Json::String(name)) => name.trim(),
        Some(Json::Null) | None => "",
        Some(_) => {
            let next = "name one skill, or write `null` if none may start";
            return Err(wrong("bad-skill", format!("`{EXPECTED}` is not text"), next));
        }
    };
    let span = line.span(file);
    let fires = (!skill.is_empty()).then(|| FiredName { name: skill.to_owned(), span, is_skill: true });
    Ok(TriggerCase {
        line: line.number,
        span,
        given: Vec::new(),
        updates: vec![TriggerUpdate::User(prompt)],
        fires: fires.into_iter().collect(),
        note: String::new(),
    })
}
