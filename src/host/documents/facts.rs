//! What documents say as facts, found without a model: front matter, links, headings, tables of two or three columns, lines
//! that define a term, and files of facts. Each has the line that it stands in.

use playhouse_lang::value::Value;
use playhouse_lang::{SourceText, load_settings};

use crate::documents::markdown::{Link, Outline};
use crate::program::beside;
use crate::text::cut;

/// Characters of an object that are kept.
const MAX_OBJECT: usize = 300;

/// Characters that the name of a thing has at most: what is longer is a sentence.
const MAX_NAME: usize = 100;

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Triple {
    /// The line that says it, from 1.
    pub(super) line: usize,
    /// Of what.
    pub(super) subject: String,
    /// What of it.
    pub(super) predicate: String,
    /// What that is.
    pub(super) object: String,
    /// What the subject is: `document`, `section`, `row`, `term`, `fact`, or of what a model has read `claim`.
    pub(super) kind: &'static str,
}

impl Triple {
    /// A fact; none if a part of it says nothing.
    pub(super) fn new(line: usize, kind: &'static str, parts: [&str; 3]) -> Option<Triple> {
        let [subject, predicate, object] = parts.map(|part| part.replace("**", "").trim().to_owned());
        let says = |part: &str| part.chars().any(char::is_alphanumeric);
        let is_name = subject.chars().count() <= MAX_NAME && predicate.chars().count() <= MAX_NAME;
        let object = cut(&object, MAX_OBJECT);
        (is_name && says(&subject) && says(&predicate) && says(&object)).then_some(Triple {
            line,
            subject,
            predicate,
            object,
            kind,
        })
    }
}

/// The facts of a document in Markdown; `path` is what its links are relative to, `title` what it is about.
pub(super) fn of_markdown(path: &str, title: &str, text: &str, outline: &Outline) -> Vec<Triple> {
    let mut triples = of_front_matter(path, title, text);
    triples.extend(outline.links.iter().filter_map(|(line, link)| {
        let target = match link {
            Link::Page(page) => page.clone(),
            Link::To(target) if target.contains("://") || target.starts_with("mailto:") => target.clone(),
            // A place in this very document is no other thing.
            Link::To(target) if target.starts_with('#') => return None,
            Link::To(target) => beside(path, target.split(['#', '?']).next()?).to_string_lossy().into_owned(),
        };
        Triple::new(*line, "document", [title, "links to", &target])
    }));
    triples.extend(of_headings(title, outline));
    for table in &outline.tables {
        let Some(((_, head), rows)) = table.split_first() else { continue };
        if !(2..=3).contains(&head.len()) {
            continue;
        }
        triples.extend(rows.iter().flat_map(|(line, row)| {
            let columns = head.iter().zip(row).skip(1);
            columns.filter_map(|(column, cell)| Triple::new(*line, "row", [row.first()?, column, cell]))
        }));
    }
    triples.extend(outline.sentences.iter().filter_map(|(line, sentence)| definition(*line, sentence)));
    triples
}

fn of_front_matter(path: &str, title: &str, text: &str) -> Vec<Triple> {
    let source = SourceText { name: path.to_owned(), text: text.to_owned() };
    // It imports nothing here: it is no program.
    let (settings, sources) = load_settings(vec![source], &mut |_| Err(String::new()));
    let mut triples = Vec::new();
    for (key, value, span) in &settings.other {
        let Some(file) = sources.get(span.file) else { continue };
        let line = playhouse_lang::span::LineIndex::new(&file.text).line_column(span.start as usize).0;
        let values = if let Value::List(items) = value { &items[..] } else { std::slice::from_ref(value) };
        let simple = values.iter().filter(|value| !matches!(value, Value::Null | Value::List(_) | Value::Map(_)));
        let found = simple.filter_map(|value| Triple::new(line, "document", [title, key, &value.to_text()]));
        triples.extend(found.filter(|triple| triple.object != title));
    }
    triples
}

/// Each section is a part of the one above it, else of the document.
fn of_headings(title: &str, outline: &Outline) -> Vec<Triple> {
    let mut above: Vec<(usize, &str)> = Vec::new();
    let mut triples = Vec::new();
    let headings = outline.blocks.iter().filter_map(|block| Some((block.lines.start + 1, block.heading.as_ref()?)));
    for (line, (level, heading)) in headings {
        above.retain(|(other, _)| other < level);
        let whole = above.last().map_or(title, |(_, whole)| whole);
        if whole != heading {
            triples.extend(Triple::new(line, "section", [heading, "part of", whole]));
        }
        above.push((*level, heading));
    }
    triples
}

/// `**Term**: what it is`, `**Term:** what it is`, with a dash in place of the colon, too.
fn definition(line: usize, sentence: &str) -> Option<Triple> {
    let (term, rest) = sentence.trim().strip_prefix("**")?.split_once("**")?;
    let text = match term.strip_suffix(':') {
        Some(_) => rest,
        None => rest.trim_start().strip_prefix([':', '–', '—'])?,
    };
    Triple::new(line, "term", [term.trim_end_matches(':'), "is", text])
}

/// The facts of a file `*.facts.jsonl`: an object with `subject`, `predicate` and `object` in each line.
///
/// # Errors
/// The first line that is none.
pub(super) fn of_json_lines(text: &str) -> Result<Vec<Triple>, String> {
    let mut triples = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line_number = index + 1;
        let wrong = |cause: &str| format!("line {line_number} is not a fact: {cause}");
        let fact: serde_json::Map<_, _> = serde_json::from_str(line).map_err(|cause| wrong(&cause.to_string()))?;
        let [subject, predicate, object] = parts(&fact).map_err(|cause| wrong(&cause))?;
        triples.extend(Triple::new(line_number, "fact", [&subject, &predicate, &object]));
    }
    Ok(triples)
}

/// Subject, predicate and object of a fact.
///
/// # Errors
/// One is missing, or is a list or an object.
pub(super) fn parts(fact: &serde_json::Map<String, serde_json::Value>) -> Result<[String; 3], String> {
    let part = |name: &str| match fact.get(name) {
        Some(serde_json::Value::String(text)) => Ok(text.clone()),
        Some(other @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => Ok(other.to_string()),
        _ => Err(format!("it has no text `{name}`")),
    };
    Ok([part("subject")?, part("predicate")?, part("object")?])
}

/// The facts of a file `*.facts.csv`: subject, predicate and object in each line; a first line with these names is none.
///
/// # Errors
/// The first line with fewer or more.
pub(super) fn of_csv(text: &str) -> Result<Vec<Triple>, String> {
    let mut triples = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let cells = cells(line);
        let cells: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
        let Ok([subject, predicate, object]) = <[&str; 3]>::try_from(cells) else {
            return Err(format!("line {} does not have three cells: subject,predicate,object", index + 1));
        };
        if [subject, predicate, object] != ["subject", "predicate", "object"] {
            triples.extend(Triple::new(index + 1, "fact", [subject, predicate, object]));
        }
    }
    Ok(triples)
}

/// The cells of a line; in quotation marks a comma is one, and two of them are one.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut is_quoted, mut before) = (false, ',');
    for c in line.chars() {
        if c == ',' && !is_quoted {
            cells.push(String::new());
        } else if c == '"' {
            is_quoted = !is_quoted;
            if is_quoted && before == '"' {
                cells.last_mut().into_iter().for_each(|cell| cell.push('"'));
            }
        } else {
            cells.last_mut().into_iter().for_each(|cell| cell.push(c));
        }
        before = c;
    }
    cells
}
