//! What an editor is told (`playhouse-ide`).
//!
//! A case in `tests/cases/ide/` is the files of a program, each below `--- NAME`, the first one its beginning. `$0` stands
//! where the cursor is, and is no part of the text; what is told is told of each place.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use playhouse::host::program::{KnownTools, load_texts};
use playhouse::lang::SourceText;
use playhouse::span::Span;
use playhouse_ide::{Tools, View};
use playhouse_ide::occurrences::Symbol;
use playhouse_ide::outline::Entry;

use crate::golden;
use crate::made_up::made_up;

#[test]
fn cases() {
    golden::check("ide", &["txt"], told);
}

/// The files of a case, and the places of cursors, by file and offset.
fn read(case: &str) -> (Vec<SourceText>, Vec<(String, usize)>) {
    let mut files: Vec<SourceText> = Vec::new();
    for line in case.split_inclusive('\n') {
        match (line.strip_prefix("--- "), files.last_mut()) {
            (Some(name), _) => files.push(SourceText { name: name.trim().to_owned(), text: String::new() }),
            (None, Some(file)) => file.text.push_str(line),
            (None, None) => panic!("a case begins with `--- NAME`"),
        }
    }
    let mut cursors = Vec::new();
    for file in &mut files {
        while let Some(at) = file.text.find("$0") {
            file.text.replace_range(at..at + 2, "");
            cursors.push((file.name.clone(), at));
        }
    }
    (files, cursors)
}

pub(crate) fn view(files: &[SourceText]) -> View {
    let others: BTreeMap<&str, &str> = files.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect();
    let tools = KnownTools { are_more: true, ..KnownTools::default() };
    let (_, loaded) = load_texts(vec![files[0].clone()], tools, &mut |path| {
        others.get(&*path.to_string_lossy()).map(|text| (*text).to_owned()).ok_or_else(|| "there is none".to_owned())
    });
    View::new(loaded, Tools::default())
}

fn told(_name: &str, case: &str) -> String {
    let (files, cursors) = read(case);
    let view = view(&files);
    let mut text = String::new();
    let place = |span: Span| format!("{} {:?}", view.program().sources.place(span), view.program().sources.text(span));
    for found in view.findings() {
        let _ = writeln!(text, "{} {}: {}", view.program().sources.place(found.span), found.code, found.message);
    }
    let file = view.file(&files[0].name).unwrap();
    text.push_str("outline\n");
    view.outline(file).iter().for_each(|entry| outline(&mut text, entry, 1));
    let hints = view.hints(file, 0..usize::MAX);
    let hints: Vec<String> = hints.iter().map(|hint| hint.text.clone()).collect();
    let _ = writeln!(text, "hints {}", hints.join(" "));
    for (name, offset) in cursors {
        let (file, source) = (view.file(&name).unwrap(), &files.iter().find(|file| file.name == name).unwrap().text);
        let _ = writeln!(text, "\nat {}", view.program().sources.place(Span::new(file, offset, offset)));
        if let Some(hover) = view.hover(file, offset) {
            let _ = writeln!(text, "{}\n{}", place(hover.span), hover.text);
        }
        if let Some(found) = view.name_at(file, offset) {
            for other in view.places(&found.symbol) {
                let _ = writeln!(text, "  {:?} {}", other.role, place(other.span));
            }
        }
        let proposals = view.complete(file, source, offset);
        let proposals: Vec<String> = proposals
            .iter()
            .map(|proposal| format!("{} ({}) for {:?}", proposal.text, proposal.detail, &source[proposal.span.range()]))
            .collect();
        if !proposals.is_empty() {
            let _ = writeln!(text, "can be written: {}", proposals.join(", "));
        }
    }
    text
}

fn outline(text: &mut String, entry: &Entry, depth: usize) {
    let _ = writeln!(text, "{}{:?} {} [{}]", "  ".repeat(depth), entry.kind, entry.name, entry.detail);
    entry.children.iter().for_each(|child| outline(text, child, depth + 1));
}

/// Every program, every offset: no panic, and every range lies inside of its file, on character boundaries.
#[test]
fn every_question_at_every_offset_has_an_answer_inside_its_file() {
    for (name, path) in golden::cases("lang", &["md"]) {
        let text = std::fs::read_to_string(path).unwrap();
        answers_lie_inside(&[SourceText { name, text }], 1);
    }
}

#[test]
fn any_text_has_answers() {
    const PIECES: [&str; 24] = [
        "# A\n",
        "## B($x: int)\n",
        "### Steps\n",
        "### Triggers\n",
        "- ",
        "$x",
        "$",
        "é",
        "\n",
        "B($x)",
        "Say \"{$x}\"\n",
        "If $x > 3\n  - ",
        "When $x changes\n",
        "Before calling B\n",
        "---\nvariables:\n  x: 3\n---\n",
        "`",
        "Return $x\n",
        "T($y.a[0])",
        "!import b.md\n",
        "\r\n",
        "  - ",
        "$x = 3\n",
        "Ask the user for $y\n",
        "=",
    ];
    made_up!(500, 60).for_each(|bytes: &[u8]| {
        let text: String = bytes.iter().map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).collect();
        answers_lie_inside(&[SourceText { name: "a.md".to_owned(), text }], 3);
    });
}

fn answers_lie_inside(files: &[SourceText], step: usize) {
    let view = view(files);
    let Some(file) = view.file(&files[0].name) else { return };
    let text = &files[0].text;
    let is_inside = |span: Span| {
        let held = view.program().sources.get(span.file);
        assert!(held.is_some_and(|held| held.text.get(span.range()).is_some()), "{span:?} in {text}");
    };
    view.outline(file).iter().for_each(|entry| {
        is_inside(entry.span);
        is_inside(entry.title);
    });
    view.hints(file, 0..text.len()).iter().for_each(|hint| assert!(text.is_char_boundary(hint.at)));
    for offset in (0..=text.len() + 2).step_by(step) {
        if let Some(hover) = view.hover(file, offset) {
            is_inside(hover.span);
        }
        if let Some(name) = view.name_at(file, offset) {
            is_inside(name.span);
            assert!(view.places(&name.symbol).any(|place| place.span == name.span));
            if let Symbol::Own(_, name) | Symbol::Shared(_, name) = &name.symbol {
                assert!(!name.is_empty());
            }
        }
        view.complete(file, text, offset).iter().for_each(|proposal| is_inside(proposal.span));
    }
}
