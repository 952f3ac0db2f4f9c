//! What an editor is told (`playhouse-ide`).
//!
//! A case in `tests/cases/ide/` is the files of a program, each below `--- NAME`, the first one its beginning, and tests and
//! trigger tables of it. `$0` stands where the cursor is, `$[` and `$]` around what is selected, and they are no part of the
//! text; what is told is told of each place.

mod cases;
mod extract;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use playhouse::diagnostic::Severity;
use playhouse::host::program::{KnownTools, load_texts};
use playhouse::lang::SourceText;
use playhouse::span::{FileId, Span};
use playhouse_ide::complete::{Proposal, ProposalKind};
use playhouse_ide::hints::{Hint, HintKind};
use playhouse_ide::occurrences::Symbol;
use playhouse_ide::outline::Entry;
use playhouse_ide::{Tools, View};

use crate::golden;
use crate::made_up::made_up;

#[test]
fn cases() {
    golden::check("ide", &["txt"], told);
}

/// Places, each with the name of its file.
type Places<T> = Vec<(String, T)>;

/// The files of a case, the places of cursors, and what is selected.
fn read(case: &str) -> (Vec<SourceText>, Places<usize>, Places<Range<usize>>) {
    let mut files: Vec<SourceText> = Vec::new();
    for line in case.split_inclusive('\n') {
        match (line.strip_prefix("--- "), files.last_mut()) {
            (Some(name), _) => files.push(SourceText { name: name.trim().to_owned(), text: String::new() }),
            (None, Some(file)) => file.text.push_str(line),
            (None, None) => panic!("a case begins with `--- NAME`"),
        }
    }
    let (mut cursors, mut selected) = (Vec::new(), Vec::new());
    for file in &mut files {
        let mut start = 0;
        while let Some(at) = ["$0", "$[", "$]"].iter().filter_map(|mark| file.text.find(mark)).min() {
            match &file.text[at + 1..at + 2] {
                "0" => cursors.push((file.name.clone(), at)),
                "[" => start = at,
                _ => selected.push((file.name.clone(), start..at)),
            }
            file.text.replace_range(at..at + 2, "");
        }
    }
    (files, cursors, selected)
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
    let (files, cursors, selected) = read(case);
    let view = view(&files);
    let mut text = String::new();
    let place = |span: Span| format!("{} {:?}", view.program().sources.place(span), view.program().sources.text(span));
    for found in view.findings() {
        let _ = writeln!(text, "{} {}: {}", view.program().sources.place(found.span), found.code, found.message);
    }
    let file = view.file(&files[0].name).unwrap();
    for action in view.actions(file, 0..usize::MAX) {
        let edits = action.edits.iter().map(|(span, new)| format!("{new:?} for {}", place(*span)));
        let _ = writeln!(text, "can {}: {}", action.title, edits.collect::<Vec<_>>().join(", "));
    }
    let mends = view.all_mends(file);
    if !mends.is_empty() {
        let _ = writeln!(text, "all mends: {:?}", mends.iter().map(|(_, new)| new.as_str()).collect::<Vec<_>>());
    }
    text.push_str("outline\n");
    view.outline(file).iter().for_each(|entry| outline(&mut text, entry, 1));
    for token in view.tokens(file, 0..usize::MAX) {
        let modifiers = format!("{:?}", token.modifiers);
        let modifiers: Vec<&str> = modifiers.split(['{', ',', '}']).filter(|one| one.contains("true")).collect();
        let modifiers = modifiers.join("").replace(": true", "").replace(" is_", " ");
        let _ = writeln!(text, "{:?}{modifiers} {}", token.kind, place(token.span));
    }
    let folds: Vec<String> = view.folds(file).into_iter().map(|fold| folded(&view, fold)).collect();
    let _ = writeln!(text, "folds {}", folds.join(", "));
    let hints = view.hints(file, 0..usize::MAX);
    let source = &files[0].text;
    let hint = |hint: &Hint| match hint.kind {
        HintKind::Line => hint.text.clone(),
        HintKind::Type => format!("{}{}", source[..hint.at].rsplit(' ').next().unwrap(), hint.text),
        HintKind::Parameter => format!("{}{}", hint.text, source[hint.at..].split([',', ')']).next().unwrap()),
    };
    let hints: Vec<String> = hints.iter().map(hint).collect();
    let _ = writeln!(text, "hints {}", hints.join(" "));
    let (cursors_of_cases, cursors): (Vec<_>, Vec<_>) = cursors.into_iter().partition(|(name, _)| cases::is_case(name));
    for file in files.iter().filter(|file| cases::is_case(&file.name)) {
        let of_file = cursors_of_cases.iter().filter(|(name, _)| *name == file.name);
        text.push_str(&cases::told(&view, file, of_file.map(|(_, offset)| *offset)));
    }
    selected.iter().for_each(|(name, range)| text.push_str(&extract::told(&files, &view, name, range)));
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
            for case in cases::all(&files) {
                let places = view.places_in_case(&found.symbol, &case);
                places.into_iter().for_each(|span| text.push_str(&cases::place(&case, span)));
            }
        }
        if let Err(why) = view.renamable(file, offset) {
            let _ = writeln!(text, "cannot be renamed: {why}");
        } else {
            for new in ["another", "Another thing", "$amount"] {
                let mentions = view.rename(file, offset, new).map(|renaming| view.mentions(&renaming));
                for (span, new) in mentions.unwrap_or_default() {
                    let _ = writeln!(text, "  perhaps {new:?} for {}", place(span));
                }
                let told = match renamed(&files, &view, (file, offset), new) {
                    Ok(edited) => changed_lines(&files, &edited),
                    Err(why) => format!("    {why}\n"),
                };
                let _ = write!(text, "  renamed {new}\n{told}");
            }
        }
        if let Some(writing) = view.writing(file, source, offset) {
            let _ = writeln!(text, "in the call {}: {:?} {}", writing.label, writing.parameters, writing.active);
        }
        if let Some(playbook) = view.playbook_named_at(file, offset) {
            for calls in view.callers(playbook.id) {
                let places: Vec<String> = calls.places.iter().map(|span| place(*span)).collect();
                let _ = writeln!(text, "called by {:?} at {}", calls.who, places.join(", "));
            }
        }
        let proposals = view.complete(file, source, offset);
        let is_wording = |proposal: &&Proposal| proposal.kind == ProposalKind::Wording;
        let n_wordings = proposals.iter().filter(is_wording).count();
        if n_wordings > 0 {
            let _ = writeln!(text, "wordings: {n_wordings}");
        }
        let proposals: Vec<String> = proposals
            .iter()
            .filter(|proposal| !is_wording(proposal))
            .map(|proposal| written(proposal, source))
            .collect();
        if !proposals.is_empty() {
            let _ = writeln!(text, "can be written: {}", proposals.join(", "));
        }
    }
    text
}

fn written(proposal: &Proposal, source: &str) -> String {
    format!("{} ({}) for {:?}", proposal.text, proposal.detail, &source[proposal.span.range()])
}

fn outline(text: &mut String, entry: &Entry, depth: usize) {
    let _ = writeln!(text, "{}{:?} {} [{}]", "  ".repeat(depth), entry.kind, entry.name, entry.detail);
    entry.children.iter().for_each(|child| outline(text, child, depth + 1));
}

fn folded(view: &View, fold: Span) -> String {
    let lines = &view.program().sources.get(fold.file).unwrap().lines;
    format!("{}-{}", lines.line_column(fold.range().start).0, lines.line_column(fold.range().end).0)
}

/// The files after a name is another one, if that is proved.
fn renamed(
    files: &[SourceText],
    view: &View,
    (file, offset): (FileId, usize),
    new: &str,
) -> Result<Vec<SourceText>, String> {
    let renaming = view.rename(file, offset, new)?;
    let mut edited = files.to_vec();
    let mut edit = |name: &str, span: Span, new: &str| {
        let edited = edited.iter_mut().find(|file| *file.name == *name).unwrap();
        edited.text.replace_range(span.range(), new);
    };
    for (span, new) in renaming.edits.iter().rev() {
        edit(&view.program().sources.get(span.file).unwrap().name, *span, new);
    }
    let cases = cases::all(files);
    for case in &cases {
        let edits = view.rename_in_case(&renaming, case).into_iter().rev();
        edits.for_each(|(span, new)| edit(&case.source().name, span, &new));
    }
    let after = self::view(&edited);
    view.prove(&renaming, &after)?;
    for (case, written) in cases.iter().zip(&cases::all(&edited)) {
        view.prove_case(&renaming, case, (&after, written))?;
    }
    Ok(edited)
}

fn changed_lines(before: &[SourceText], after: &[SourceText]) -> String {
    let lines = |files: &[SourceText]| -> Vec<(String, String)> {
        let of_file = |file: &SourceText| -> Vec<(String, String)> {
            file.text.lines().map(|line| (file.name.clone(), line.to_owned())).collect()
        };
        files.iter().flat_map(of_file).collect()
    };
    let (before, after) = (lines(before), lines(after));
    let changed = before.iter().zip(&after).filter(|(before, after)| before != after);
    changed.map(|(_, (name, line))| format!("    {name}: {line}\n")).collect()
}

/// Whatever is called otherwise can be called as it was, and then the text is what it was.
#[test]
fn a_name_that_is_changed_can_be_changed_back() {
    let (mut n_renamed, mut n_refused) = (0, 0);
    for (name, path) in golden::cases("lang", &["md"]) {
        let files = [SourceText { name, text: std::fs::read_to_string(path).unwrap() }];
        let view = view(&files);
        // Of two things of one name either may be called otherwise, and never back.
        if view.findings().iter().any(|found| found.severity == Severity::Error) {
            continue;
        }
        let places: Vec<Span> = view.names().map(|place| place.span).collect();
        for place in places {
            let old = view.program().sources.text(place).to_owned();
            let Ok(edited) = renamed(&files, &view, (place.file, place.range().start), "Zzz9") else { continue };
            n_renamed += 1;
            let after = self::view(&edited);
            let place = after.names().find(|other| *after.program().sources.text(other.span) == *"Zzz9");
            // Of a variable the `$` is a part of the name.
            let place =
                place.or_else(|| after.names().find(|other| after.program().sources.text(other.span) == "$Zzz9"));
            let place = place.unwrap().span;
            match renamed(&edited, &after, (place.file, place.range().start), &old) {
                Ok(back) => assert_eq!(back, files),
                // What was written in two ways, `$a` and `a`, or in words and as a name, is not told apart any more.
                // And some other playbook may have a variable of that name.
                Err(why) => {
                    let is_told = ["differently", "no title", "something else"].iter().any(|part| why.contains(part));
                    assert!(is_told, "{}: {old}: {why}", files[0].name);
                    n_refused += 1;
                }
            }
        }
    }
    assert!(n_renamed > 500 && n_refused < n_renamed / 20, "{n_renamed}, {n_refused} not back");
}

/// Every program, every offset: no panic, and every range lies inside of its file, on character boundaries.
#[test]
fn every_question_at_every_offset_has_an_answer_inside_its_file() {
    for (name, path) in golden::cases("lang", &["md"]) {
        let text = std::fs::read_to_string(path).unwrap();
        answers_lie_inside(&[SourceText { name, text }], 2);
    }
}

#[test]
fn any_text_has_answers() {
    const PIECES: [&str; 28] = [
        "---\n",
        "pu",
        "strict: ",
        "metadata:\n  public: true\n",
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
    let mut end = 0;
    for token in view.tokens(file, 0..text.len()) {
        is_inside(token.span);
        assert!(end <= token.span.range().start, "two colours in {text}");
        end = token.span.range().end;
    }
    view.folds(file).into_iter().for_each(is_inside);
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
        let _ = view.rename(file, offset, "zzz9");
        let _ = view.writing(file, text, offset);
        view.complete(file, text, offset).iter().for_each(|proposal| is_inside(proposal.span));
    }
}
