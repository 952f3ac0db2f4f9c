//! Reading a file of trigger tables: line by line, strict. Every finding says what to do next.

use std::collections::HashMap;

use super::rows::read_table;
use super::table::{TriggerCase, TriggerTable};
use crate::diagnostic::Diagnostic;
use crate::files::case_file::lines::{Fence, Line, Read, Reader, Section, split};
use crate::span::{FileId, Span};

/// What can stand in the list at the top.
const KEYS: &str = "`program`, `tools`, `threshold`, `strict` and `setting NAME`";

/// Reads the text.
pub(super) fn read(file: FileId, text: &str) -> Read<TriggerTable> {
    let (top, sections) = split(text);
    let mut reader = Reader::new(file);
    let mut table = read_top(&mut reader, &top);
    for section in &sections {
        table.cases.extend(read_section(&mut reader, section));
    }
    check_repeated(&mut reader, &table.cases);
    if table.cases.is_empty() && reader.findings.is_empty() {
        let line = top.last().copied().unwrap_or(Line::EMPTY);
        let next = "add a section (`## …`) with a table of the columns `update` and `fires`";
        reader.report(line, "no-cases", "the file has no case", next);
    }
    reader.finish(table)
}

fn read_top(reader: &mut Reader, lines: &[Line<'_>]) -> TriggerTable {
    let top = reader.top(lines, KEYS, &[]);
    let (mut threshold, mut strict) = (None, true);
    for item in &top.items {
        match (item.key, item.value) {
            ("threshold", _) => threshold = reader.threshold(item),
            ("strict", "yes" | "no") => strict = item.value == "yes",
            ("strict", value) => {
                let message = format!("`strict` is `yes` or `no`, not `{value}`");
                let next = "write `- strict: no` if a trigger that is due and not judged should not count as missed";
                reader.report(item.line, "bad-strict", message, next);
            }
            _ => reader.unknown_key(item, KEYS),
        }
    }
    // Below the list it is out of place already; above, it would be description.
    let is_known = |line: Line<'_>| reader.findings.iter().any(|found| found.span == line.span(reader.file));
    let bars = lines.iter().filter(|line| line.text().trim_start().starts_with('|'));
    if let Some(line) = bars.copied().find(|&line| !is_known(line)) {
        reader.report(line, "misplaced-table", "there is a table above the first section", "put it below a `## …`");
    }
    TriggerTable {
        title: top.title,
        description: top.description,
        program: top.program,
        program_span: top.program_span,
        tools: top.tools,
        threshold,
        strict,
        settings: top.settings,
        cases: Vec::new(),
    }
}

/// Prose and tables; what looks like something that is read and is not is an error.
fn read_section(reader: &mut Reader, section: &Section<'_>) -> Vec<TriggerCase> {
    let mut cases = Vec::new();
    let mut fence = Fence::default();
    let mut n_tables = 0;
    let mut table: Vec<Line<'_>> = Vec::new();
    for &line in section.lines.iter().chain([&Line::EMPTY]) {
        let text = line.text().trim_start();
        let is_code = fence.holds(line);
        if !is_code && text.starts_with('|') {
            table.push(line);
            continue;
        }
        if !table.is_empty() {
            n_tables += 1;
            cases.extend(read_table(reader, &std::mem::take(&mut table)));
        }
        if !is_code {
            check_prose(reader, line);
        }
    }
    if fence.is_open() {
        let next = "close it with a line of as many backticks";
        reader.report(section.heading, "open-fence", "a fence in this section is not closed", next);
    } else if n_tables == 0 {
        let next = "add a table, or put the text above the first section";
        reader.report(section.heading, "no-table", "this section has no table", next);
    }
    cases
}

fn check_prose(reader: &mut Reader, line: Line<'_>) {
    let text = line.text().trim_start();
    let is_key = |item: &str| {
        ["program:", "tools:", "threshold:", "strict:", "setting "].iter().any(|key| item.starts_with(key))
    };
    if text.starts_with("# ") {
        reader.report(line, "unknown-heading", "a second title", "begin sections with `## `");
    } else if text.strip_prefix("- ").is_some_and(is_key) {
        reader.report(line, "misplaced-key", "this is only read at the top of the file", "move it below the title");
    } else if text.contains('|') && text.contains("--") && text.bytes().all(|byte| b"|-: ".contains(&byte)) {
        let next = "begin and end every line of a table with `|`";
        reader.report(line, "bad-row", "this line of a table does not begin with `|`", next);
    }
}

/// The same case twice counts twice, and with two labels it is never right.
pub(super) fn check_repeated(reader: &mut Reader, cases: &[TriggerCase]) {
    let mut places: HashMap<String, Span> = HashMap::new();
    for case in cases {
        if let Some(&first) = places.get(&case.text()) {
            let found = Diagnostic::error("duplicate-case", case.span, "this case appears twice");
            let found = found.with_note("remove one of them");
            reader.findings.push(found.with_place(first, "the first one is here"));
        } else {
            places.insert(case.text(), case.span);
        }
    }
}
