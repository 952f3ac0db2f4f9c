//! The programs with what was reached of them beside each line: one page that loads nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::host::coverage::{Coverage, Line, Part, Tried};
use crate::serve::report::coverage::reported::Reported;
use crate::serve::show::sheet::Sheet;
use crate::value::markup::xml_text;

/// What [`annotated`] adds to the style of a page.
pub(crate) const ANNOTATED_STYLE: &str = include_str!("style.css");

/// The page.
pub fn html(reported: Reported<'_>) -> String {
    let main = format!("<h1>What the tests reach</h1>\n{}", annotated(reported));
    Sheet { title: "Coverage", style: ANNOTATED_STYLE, main: &main, script: None }.render()
}

/// Totals, and each file with what was reached beside its lines, as a part of a page.
pub(crate) fn annotated(reported: Reported<'_>) -> String {
    let totals = reported.tests.totals();
    let mut page = "<ul class=\"totals\">\n".to_owned();
    let named = [
        ("lines", totals.lines),
        ("ways of branches and loops", totals.ways),
        ("triggers, fired and not", totals.triggers),
        ("calls, returned and failed", totals.calls),
        ("playbooks and plans", totals.parts),
    ];
    for (what, Tried { reached, all }) in named {
        let _ = writeln!(page, "<li><b>{reached}</b> of {all} {what}</li>");
    }
    page.push_str("</ul>\n");
    page.push_str(&contents(reported.tests));
    for (index, (file, text, parts)) in reported.tests.files().enumerate() {
        let _ = write!(page, "<h2 id=\"f{index}\">{}</h2>\n<table class=\"text\">\n", xml_text(file));
        let notes = notes(reported, &parts);
        for (number, line) in (1..).zip(text.lines()) {
            page.push_str(&row(index, number, line, notes.get(&number)));
        }
        page.push_str("</table>\n");
    }
    page
}

/// The parts, each with a link to its heading.
fn contents(coverage: &Coverage) -> String {
    let mut table = "<table class=\"parts\">\n<tr><th>Playbook<th>Lines<th>Ways<th>Triggers<th>Calls</tr>\n".to_owned();
    for (index, (file, _, parts)) in coverage.files().enumerate() {
        let _ = writeln!(table, "<tr><th colspan=\"5\"><a href=\"#f{index}\">{}</a></tr>", xml_text(file));
        for part in parts {
            let totals = part.totals();
            let cells = [totals.lines, totals.ways, totals.triggers, totals.calls].map(cell);
            let class = if part.n == 0 { " class=\"none\"" } else { "" };
            let (at, name) = (part.at, xml_text(&part.name));
            let _ = writeln!(table, "<tr{class}><td><a href=\"#f{index}-{at}\">{name}</a>{}</tr>", cells.concat());
        }
    }
    table + "</table>\n"
}

fn cell(Tried { reached, all }: Tried) -> String {
    match all {
        0 => "<td>".to_owned(),
        _ if reached == all => format!("<td class=\"all\">{all}"),
        _ => format!("<td class=\"some\">{reached} of {all}"),
    }
}

/// What stands beside a line of a file.
#[derive(Default)]
struct Note {
    n: u64,
    is_line: bool,
    /// What never came of it, and what only sessions did.
    gaps: Vec<String>,
}

fn notes(reported: Reported<'_>, parts: &[&Part]) -> BTreeMap<usize, Note> {
    let mut notes: BTreeMap<usize, Note> = BTreeMap::new();
    for part in parts {
        for line in part.lines.iter().chain(&part.triggers) {
            let note = notes.entry(line.at).or_default();
            note.is_line = true;
            note.n = note.n.max(line.n);
            note.gaps.extend(gaps(reported, part, line));
        }
    }
    notes
}

fn gaps(reported: Reported<'_>, part: &Part, line: &Line) -> Vec<String> {
    let is_known = |n: &u64| line.n == 0 && *n > 0;
    let only_sessions = reported.n_sessions(part, line).filter(is_known);
    let only_sessions = only_sessions.map(|n| format!("{} reached in {n} sessions, by no test", line.label));
    let never = line.ways.iter().filter(|(_, n)| line.n > 0 && *n == 0);
    never.map(|(way, _)| format!("{} never: {way}", line.label)).chain(only_sessions).collect()
}

fn row(file: usize, number: usize, text: &str, note: Option<&Note>) -> String {
    let (class, n) = match note.filter(|note| note.is_line) {
        None => ("", String::new()),
        Some(note) if note.n == 0 => ("miss", "0".to_owned()),
        Some(note) if note.gaps.is_empty() => ("hit", note.n.to_string()),
        Some(note) => ("part", note.n.to_string()),
    };
    let gaps = note.map_or(&[][..], |note| &note.gaps);
    let gaps: String = gaps.iter().map(|gap| format!(" <span>{}</span>", xml_text(gap))).collect();
    let text = xml_text(text);
    format!("<tr id=\"f{file}-{number}\" class=\"{class}\"><td>{number}<td>{n}<td><code>{text}</code>{gaps}</tr>\n")
}
