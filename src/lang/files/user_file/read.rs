//! Reading a user file: line by line, strict. Every finding says what to do next.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use super::form::{Answer, DatabaseCheck, DatabaseKind, Limit, Lookup, Person, STOP, TURNS, UserFile};
use crate::diagnostic::Diagnostic;
use crate::english::grammar::time::time;
use crate::files::case_file::call::{ExpectedCall, ExpectedResult, call, leading_call};
use crate::files::case_file::item::{Wrong, json, regex, wrong};
use crate::files::case_file::lines::{Line, Reader, Section, TopItem, split};
use crate::files::case_file::table::{Column, Row};
use crate::span::{FileId, Span};
use crate::value::Value;

/// The headings there are.
const HEADINGS: [&str; 6] = ["Goal", "Knows", "Manner", "Answers", "Database", "Expect"];

/// What can stand in the list at the top.
const KEYS: &str = "`program`, `tools`, `opens`, `stop`, `limit`, `budget` and `setting NAME`";

/// How a look at the database is written.
const DATABASE: &str =
    "write `Tool: argument -> JSON`, `Tool(name: JSON) -> JSON`, or `as if: Tool(…), Tool(…); same: Tool()`";

/// Reads the text.
pub(super) fn read(file: FileId, text: &str) -> Result<UserFile, Vec<Diagnostic>> {
    let mut reader = Reader::new(file);
    let (top, sections) = split(text);
    let mut user = read_top(&mut reader, &top);
    let mut places: HashMap<&str, Span> = HashMap::new();
    let mut person = Person::default();
    for section in &sections {
        let heading = section.heading.text().trim_start_matches('#').trim();
        let span = section.heading.span(file);
        if let Some(&first) = places.get(heading) {
            let message = format!("a second `## {heading}`");
            reader.report(section.heading, "duplicate-section", message, "put both into one section");
            reader.also(first, "the first one is here");
            continue;
        }
        places.insert(heading, span);
        match heading {
            "Goal" => person.goal = read_text(&mut reader, section),
            "Knows" => person.knows = read_text(&mut reader, section),
            "Manner" => person.manner = read_text(&mut reader, section),
            "Answers" => user.answers = read_answers(&mut reader, section),
            "Database" => user.database = read_items(&mut reader, section, DATABASE, read_database),
            "Expect" => {
                let form = "write one check per line, as in `- never Refund`";
                user.checks =
                    read_items(&mut reader, section, form, |reader, line, _| reader.read_check(line, "Expect"));
            }
            _ => reader.unknown_heading(section.heading, &HEADINGS),
        }
    }
    let last = sections.last().map_or_else(|| top.last().copied().unwrap_or(Line::EMPTY), |section| section.heading);
    if places.contains_key("Goal") {
        user.person = Some(person);
    } else if let Some(section) =
        sections.iter().find(|section| ["## Knows", "## Manner"].contains(&section.heading.text()))
    {
        let next = "add `## Goal` and what the person wants: a model plays them only then";
        reader.report(section.heading, "no-goal", "nobody wants anything with this", next);
    } else if !places.contains_key("Answers") && user.opens.is_none() && reader.findings.is_empty() {
        let next = "add `## Goal` and what the person wants, or `## Answers`, or `- opens: …` at the top";
        reader.report(last, "nobody-speaks", "this user never says anything", next);
    }
    if !places.contains_key("Database") && !places.contains_key("Expect") && reader.findings.is_empty() {
        let next = "add `## Expect` with one check per line, or `## Database`";
        reader.report(last, "nothing-expected", "nothing checks what the program does", next);
    }
    reader.finish(user).whole()
}

fn read_top(reader: &mut Reader, lines: &[Line<'_>]) -> UserFile {
    let top = reader.top(lines, KEYS, &HEADINGS);
    let mut user = UserFile {
        title: top.title,
        description: top.description,
        program: top.program,
        tools: top.tools,
        settings: top.settings,
        opens: None,
        stop: STOP,
        limit: Limit::Turns(TURNS),
        budget: None,
        person: None,
        answers: Vec::new(),
        database: Vec::new(),
        checks: Vec::new(),
    };
    for item in &top.items {
        read_key(reader, &mut user, item);
    }
    user
}

fn read_key(reader: &mut Reader, user: &mut UserFile, item: &TopItem<'_>) {
    let value = item.value;
    let bad = |what: &str, next: &str| wrong("bad-value", format!("`{value}` is not a {what}"), next);
    match item.key {
        "opens" => user.opens = Some(value.into()),
        "stop" => {
            let n = count_of::<NonZeroUsize>(value, "message")
                .ok_or_else(|| bad("number of messages", "write one, as in `12 messages`"));
            user.stop = reader.accept(item.line, n).unwrap_or(STOP);
        }
        "limit" => {
            let turns = count_of::<NonZeroUsize>(value, "turn").map(|turns| Limit::Turns(turns.get() as u64));
            let limit = turns.or_else(|| time(value).map(Limit::Time));
            let limit =
                limit.ok_or_else(|| bad("limit", "write a number of model turns, or a time: `40 turns`, `5 minutes`"));
            user.limit = reader.accept(item.line, limit).unwrap_or(user.limit);
        }
        "budget" => {
            let budget = value.parse().ok().filter(|cost: &f64| cost.is_finite() && *cost > 0.0);
            let budget = budget.ok_or_else(|| bad("cost", "write a number above 0, in the currency of [prices]"));
            user.budget = reader.accept(item.line, budget);
        }
        _ => reader.unknown_key(item, KEYS),
    }
}

/// `12 messages`: the number before the word, which may have an s.
fn count_of<N: std::str::FromStr>(value: &str, word: &str) -> Option<N> {
    let (number, unit) = value.split_once(char::is_whitespace)?;
    number.parse().ok().filter(|_| unit.trim().strip_suffix('s').unwrap_or(unit.trim()) == word)
}

/// All that stands in a section, as it is.
fn read_text(reader: &mut Reader, section: &Section<'_>) -> String {
    let lines: Vec<&str> = section.lines.iter().map(|line| line.text()).collect();
    let text = lines.join("\n").trim().to_owned();
    if text.is_empty() {
        reader.empty(section.heading, "say it in a sentence or two, or remove the heading");
    }
    text
}

/// A column of `## Answers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
enum AnswerColumn {
    Asked,
    Says,
}

impl Column for AnswerColumn {
    const HELP: &'static str = "columns are `asked` and `says`; both are required";

    fn is_needed(self) -> bool {
        true
    }
}

fn read_answers(reader: &mut Reader, section: &Section<'_>) -> Vec<Answer> {
    let (lines, others): (Vec<Line<'_>>, Vec<Line<'_>>) = section
        .lines
        .iter()
        .filter(|line| !line.text().is_empty())
        .partition(|line| line.text().trim_start().starts_with('|'));
    for line in others {
        reader.report(
            line,
            "unexpected-text",
            "this line is not part of the table",
            "begin and end its lines with `|`",
        );
    }
    if lines.is_empty() {
        reader.empty(section.heading, "add a table with the columns `asked` and `says`");
    }
    let rows = reader.table(&lines);
    rows.iter().filter_map(|row| reader.accept(row.line, read_answer(row))).collect()
}

fn read_answer(row: &Row<'_, AnswerColumn>) -> Result<Answer, Wrong> {
    let cell = |column| {
        let cell = row.cells.iter().find(|(of, _)| *of == column);
        cell.map_or_else(String::new, |(_, cell)| cell.text())
    };
    let (asked, says) = (cell(AnswerColumn::Asked), cell(AnswerColumn::Says));
    if says.is_empty() {
        return Err(wrong("empty-answer", "this answer says nothing", "write what is said, or remove the row"));
    }
    let source = asked.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|source| !source.is_empty());
    let source = source.ok_or_else(|| {
        let next = "write `/…/` around it, as in `/number/`; `/(?i)number/` ignores case";
        wrong("bad-asked", format!("`{asked}` is not a regular expression"), next)
    })?;
    Ok(Answer { asked: regex(source)?, says: says.into() })
}

/// List items, one a line, at least one.
fn read_items<T>(
    reader: &mut Reader,
    section: &Section<'_>,
    form: &str,
    read_item: fn(&mut Reader, Line<'_>, &str) -> Option<T>,
) -> Vec<T> {
    let mut items = Vec::new();
    let mut n_items = 0;
    for &line in section.lines.iter().filter(|line| !line.text().is_empty()) {
        match line.raw.strip_prefix("- ") {
            Some(item) => {
                n_items += 1;
                items.extend(read_item(reader, line, item));
            }
            None => reader.report(
                line,
                "unexpected-text",
                "this line is not a list item",
                "begin every item with `- `, on one line",
            ),
        }
    }
    if n_items == 0 {
        reader.empty(section.heading, form);
    }
    items
}

fn read_database(reader: &mut Reader, line: Line<'_>, item: &str) -> Option<DatabaseCheck> {
    let item = item.trim();
    let kind = reader.accept(line, database(item))?;
    Some(DatabaseCheck { line: line.number, span: line.span(reader.file), text: item.into(), kind })
}

fn database(item: &str) -> Result<DatabaseKind, Wrong> {
    let form = || wrong("bad-database", format!("`{item}` is not a database check"), DATABASE);
    if let Some(rest) = item.strip_prefix("as if:") {
        let (as_if, rest) = calls(rest)?.ok_or_else(form)?;
        let same = rest.trim_start().strip_prefix(';').and_then(|rest| rest.trim_start().strip_prefix("same:"));
        let same = call(same.ok_or_else(form)?.trim())?;
        return if same.result.is_none() { Ok(DatabaseKind::Same { as_if, same }) } else { Err(form()) };
    }
    if leading_call(item)?.is_some() {
        let mut named = call(item)?;
        let expected = named.result.take().ok_or_else(form)?;
        return Ok(DatabaseKind::Answers { call: Lookup::Named(named), expected });
    }
    // What is looked for may have an arrow in it, and what is expected has none before its JSON.
    let arrows = item.match_indices(" -> ").map(|(at, arrow)| (&item[..at], &item[at + arrow.len()..]));
    let is_json = |(_, expected): &(&str, &str)| Value::from_json(expected).is_ok();
    let (asked, expected) = arrows.clone().find(is_json).or_else(|| arrows.last()).ok_or_else(form)?;
    let (tool, argument) = asked.split_once(':').ok_or_else(form)?;
    let (tool, argument) = (tool.trim(), argument.trim());
    if tool.is_empty() || tool.contains(char::is_whitespace) || argument.is_empty() {
        return Err(form());
    }
    let call = Lookup::First { tool: tool.to_owned(), argument: argument.to_owned() };
    Ok(DatabaseKind::Answers { call, expected: ExpectedResult::Value(json(expected)?) })
}

/// `(nothing)`, or calls separated by commas; and what stands after them.
fn calls(text: &str) -> Result<Option<(Vec<ExpectedCall>, &str)>, Wrong> {
    if let Some(rest) = text.trim_start().strip_prefix("(nothing)") {
        return Ok(Some((Vec::new(), rest)));
    }
    let (mut calls, mut rest) = (Vec::new(), text);
    loop {
        let Some((call, after)) = leading_call(rest)? else { return Ok(None) };
        calls.push(call);
        match after.trim_start().strip_prefix(',') {
            Some(more) => rest = more,
            None => return Ok(Some((calls, after))),
        }
    }
}
