//! Reading a file of trigger tables: line by line, strict. Every finding says what to do next.

use std::collections::HashMap;

use super::rows::read_table;
use super::table::{TriggerCase, TriggerTable};
use crate::diagnostic::Diagnostic;
use crate::serve::cli::machinery::test_file::json_or_text;
use crate::serve::cli::machinery::test_file::lines::{Fence, Line, Section, Top, TopItem, finding, split};
use crate::span::{FileId, Span};
use crate::value::Map;

/// What can stand in the list at the top.
const KEYS: &str = "`program`, `tools`, `threshold` and `setting NAME`";

/// Reads the text.
pub(super) fn read(file: FileId, text: &str) -> Result<TriggerTable, Vec<Diagnostic>> {
    let (top, sections) = split(text);
    let mut reader = Reader { file, findings: Vec::new() };
    let mut table = reader.read_top(&top);
    for section in &sections {
        table.cases.extend(reader.read_section(section));
    }
    reader.check_repeated(&table.cases);
    if table.cases.is_empty() && reader.findings.is_empty() {
        let line = top.last().copied().unwrap_or(Line::EMPTY);
        let next = "add a section (`## …`) with a table of the columns `update` and `fires`";
        reader.report(line, "no-cases", "the file holds no case", next);
    }
    reader.findings.sort_by_key(|finding| finding.span.start);
    if reader.findings.is_empty() { Ok(table) } else { Err(reader.findings) }
}

struct Reader {
    file: FileId,
    findings: Vec<Diagnostic>,
}

impl Reader {
    fn report(&mut self, line: Line<'_>, code: &'static str, message: impl Into<String>, next: impl Into<String>) {
        self.findings.push(finding(self.file, line, code, message, next));
    }

    fn read_top(&mut self, lines: &[Line<'_>]) -> TriggerTable {
        let top = Top::read(self.file, lines, KEYS, &mut self.findings);
        for &line in &top.headings {
            let message = format!("`{}` is no section", line.text());
            self.report(line, "unknown-heading", message, "begin sections with `## `");
        }
        let mut table = TriggerTable {
            title: top.title,
            description: top.description,
            program: String::new(),
            program_span: top.first.span(self.file),
            tools: None,
            threshold: None,
            settings: Map::new(),
            cases: Vec::new(),
        };
        for item in &top.items {
            self.read_key(&mut table, item);
        }
        // Below the list it is out of place already; above, it would be description.
        let is_known = |line: Line<'_>| self.findings.iter().any(|found| found.span == line.span(self.file));
        let bars = lines.iter().filter(|line| line.text().trim_start().starts_with('|'));
        if let Some(line) = bars.copied().find(|&line| !is_known(line)) {
            self.report(line, "misplaced-table", "a table stands above the first section", "put it below a `## …`");
        }
        if table.program.is_empty() && !self.findings.iter().any(|finding| finding.code == "empty-value") {
            let next = "add `- program: FILE.md` below the title";
            self.report(top.first, "no-program", "the file does not name its program", next);
        }
        table
    }

    fn read_key(&mut self, table: &mut TriggerTable, item: &TopItem<'_>) {
        let (key, value) = (item.key, item.value);
        match key.split_once(' ').map(|(word, name)| (word, name.trim())) {
            None if key == "program" => {
                value.clone_into(&mut table.program);
                table.program_span = item.line.span(self.file);
            }
            None if key == "tools" => table.tools = Some(value.to_owned()),
            None if key == "threshold" => {
                table.threshold = value.parse().ok().filter(|threshold| (0.0..=1.0).contains(threshold));
                if table.threshold.is_none() {
                    let message = format!("`{value}` is no threshold");
                    self.report(item.line, "bad-threshold", message, "write a number from 0 to 1, like `0.8`");
                }
            }
            Some(("setting", name)) => {
                table.settings.insert(name.into(), json_or_text(value));
            }
            None | Some(_) => {
                let next = format!("keys are {KEYS}");
                self.report(item.line, "unknown-key", format!("there is no key `{key}`"), next);
            }
        }
    }

    /// Prose and tables; what looks like something that is read and is not is an error.
    fn read_section(&mut self, section: &Section<'_>) -> Vec<TriggerCase> {
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
                cases.extend(read_table(self.file, &std::mem::take(&mut table), &mut self.findings));
            }
            if !is_code {
                self.check_prose(line);
            }
        }
        if fence.is_open() {
            let next = "close it with a line of as many backticks";
            self.report(section.heading, "open-fence", "a fence in this section is not closed", next);
        } else if n_tables == 0 {
            let next = "add a table, or put the text above the first section";
            self.report(section.heading, "no-table", "this section has no table", next);
        }
        cases
    }

    fn check_prose(&mut self, line: Line<'_>) {
        let text = line.text().trim_start();
        let is_key =
            |item: &str| ["program:", "tools:", "threshold:", "setting "].iter().any(|key| item.starts_with(key));
        if text.starts_with("# ") {
            self.report(line, "unknown-heading", "a second title", "begin sections with `## `");
        } else if text.strip_prefix("- ").is_some_and(is_key) {
            self.report(line, "misplaced-key", "this is read at the top of the file only", "move it below the title");
        } else if text.contains('|') && text.contains("--") && text.bytes().all(|byte| b"|-: ".contains(&byte)) {
            let next = "begin and end every line of a table with `|`";
            self.report(line, "bad-row", "this line of a table does not begin with `|`", next);
        }
    }

    /// The same case twice counts twice, and with two labels it is never right.
    fn check_repeated(&mut self, cases: &[TriggerCase]) {
        let mut places: HashMap<String, Span> = HashMap::new();
        for case in cases {
            if let Some(&first) = places.get(&case.text()) {
                let found = Diagnostic::error("duplicate-case", case.span, "this case is there twice");
                let found = found.with_note("leave one of them out");
                self.findings.push(found.with_place(first, "the first one is here"));
            } else {
                places.insert(case.text(), case.span);
            }
        }
    }
}
