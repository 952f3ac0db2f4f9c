//! What an editor is told of tests and trigger tables.

use std::fmt::Write as _;

use playhouse::diagnostic::Diagnostic;
use playhouse::lang::files::case_file::mention::{Mention, MentionKind};
use playhouse::lang::files::test_file::TestFile;
use playhouse::lang::files::trigger_table::TriggerTable;
use playhouse::lang::{LoadOptions, SourceText};
use playhouse::span::{FileId, LineIndex, Span};
use playhouse_ide::View;
use playhouse_ide::case_names::CaseText;
use playhouse_ide::cases::{table_outline, test_outline};
use playhouse_ide::outline::Entry;

use super::outline;
use crate::made_up::made_up;

/// Whether a file of a case is a test or a trigger table.
pub(super) fn is_case(name: &str) -> bool {
    name.ends_with(".test.md") || is_table(name)
}

fn is_table(name: &str) -> bool {
    name.ends_with(".triggers.md")
}

/// All of a program.
pub(super) fn all(files: &[SourceText]) -> Vec<CaseText> {
    files.iter().filter(|file| is_case(&file.name)).filter_map(|file| CaseText::read(&file.name, &file.text)).collect()
}

pub(super) fn place(case: &CaseText, span: Span) -> String {
    let source = case.source();
    let (line, column) = source.lines.line_column(span.range().start);
    format!("  {}:{line}:{column} {:?}\n", source.name, &source.text[span.range()])
}

/// What its readers find, what it names, and its outline.
fn read(view: &View, name: &str, text: &str) -> (Vec<Diagnostic>, Vec<Mention>, Vec<Entry>) {
    let file = FileId(0);
    if is_table(name) {
        let read = TriggerTable::read(file, text);
        let mut findings = read.findings;
        findings.extend(read.file.resolve(view.program()).err().unwrap_or_default());
        return (findings, read.mentions, table_outline(file, text));
    }
    let read = TestFile::read(file, text);
    let mut findings = read.findings;
    let world = LoadOptions { open_world: true, ..LoadOptions::default() };
    findings.extend(read.file.unknown_names(&read.mentions, view.program(), &world));
    (findings, read.mentions, test_outline(file, text))
}

pub(super) fn told(view: &View, file: &SourceText, cursors: impl Iterator<Item = usize>) -> String {
    let (name, text) = (&file.name, &file.text);
    let (findings, mentions, entries) = read(view, name, text);
    let lines = LineIndex::new(text);
    let place = |span: Span| {
        let (line, column) = lines.line_column(span.range().start);
        format!("{name}:{line}:{column} {:?}", &text[span.range()])
    };
    let mut told = format!("\n{name}\n");
    for found in findings {
        let note = found.notes.first().map_or("", |note| &*note.message);
        let _ = writeln!(told, "{} {}: {}; {note}", place(found.span), found.code, found.message);
    }
    entries.iter().for_each(|entry| outline(&mut told, entry, 1));
    for offset in cursors {
        let proposals = view.complete_case(name, text, offset);
        if !proposals.is_empty() {
            let proposals: Vec<String> = proposals.iter().map(|proposal| super::written(proposal, text)).collect();
            let _ = writeln!(told, "can be written: {}", proposals.join(", "));
        }
        let holds = |mention: &&Mention| mention.span.range().start <= offset && offset <= mention.span.range().end;
        let Some(mention) = mentions.iter().find(holds) else {
            let _ = writeln!(told, "nothing at {offset}");
            continue;
        };
        let _ = writeln!(told, "\nat {}: {:?}", place(mention.span), mention.kind);
        for span in view.mentioned(&mention.kind) {
            let source = &view.program().sources;
            let _ = writeln!(told, "  {} {:?}", source.place(span), source.text(span));
        }
        told.extend(view.mention_text(&mention.kind).map(|text| format!("{text}\n")));
    }
    told
}

/// Whatever stands in a test or table: no panic, and every range lies inside of the text, on character boundaries.
#[test]
fn any_test_has_answers() {
    const PIECES: [&str; 28] = [
        "# A\n",
        "- program: a.md\n",
        "- playbook: Main\n",
        "- tools: é.json\n",
        "## Model\n",
        "## Set\n",
        "## Calls\n",
        "## Expect\n",
        "## Says\n",
        "- 01: yes\n",
        "- Main: calls Main()\n",
        "- $a = 1 in Main\n",
        "- Main(a: 1)\n",
        "- never Main\n",
        "- \"é\": done\n",
        "> é\n",
        "```\n",
        "\n",
        "| update | fires |\n| --- | --- |\n",
        "| $a = 1 | Main:T1, é |\n",
        "| `$a = \"x\\|\"` | `Main` |\n",
        "|",
        "- ",
        "é",
        "\r\n",
        "- after Main never reaches Main:01\n",
        "{\"at\":\"01\",\"set\":{\"a\":\"\"},\"call\":\"Main\",\"args\":{\"é\":\"{$a}\"}}\n",
        "- \"Say \\\"é\": says \"$a$é\"\n",
    ];
    let program = "# A\n\n## Main($é)\n\n### Steps\n\n- Say \"é {$a}\"\n".to_owned();
    let view = super::view(&[SourceText { name: "a.md".to_owned(), text: program }]);
    let file = view.file("a.md").unwrap();
    made_up!(500, 60).for_each(|bytes: &[u8]| {
        let text: String = bytes.iter().map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).collect();
        for name in ["a.test.md", "a.triggers.md"] {
            let (findings, mentions, mut entries) = read(&view, name, &text);
            let mut spans: Vec<Span> = findings.iter().map(|found| found.span).collect();
            spans.extend(mentions.iter().map(|mention| mention.span));
            while let Some(entry) = entries.pop() {
                assert!(!entry.name.is_empty(), "{text}");
                spans.extend([entry.span, entry.title]);
                entries.extend(entry.children);
            }
            spans.iter().for_each(|span| assert!(text.get(span.range()).is_some(), "{span:?} in {text:?}"));
            for kind in mentions.iter().map(|mention| &mention.kind) {
                assert!(!matches!(kind, MentionKind::Program(path) if path.is_empty()));
                let _ = (view.mentioned(kind), view.mention_text(kind));
            }
            let Some(case) = CaseText::read(name, &text) else { continue };
            for place in view.names() {
                let spans = view.places_in_case(&place.symbol, &case).into_iter();
                spans.for_each(|span| assert!(text.get(span.range()).is_some(), "{span:?} in {text:?}"));
                let Ok(renaming) = view.rename(file, place.span.range().start, "zzz9") else { continue };
                let edits = view.rename_in_case(&renaming, &case).into_iter();
                let written = edits.rev().fold(text.clone(), |mut text, (span, new)| {
                    text.replace_range(span.range(), &new);
                    text
                });
                // The program stays as it is here, so this is refused or not: it has an answer.
                let written = CaseText::read(name, &written).unwrap();
                let _ = view.prove_case(&renaming, &case, (&view, &written));
            }
        }
    });
}
