//! What must hold for any text. `cargo test` runs a fixed number of made-up inputs; `cargo bolero` goes on.

use playhouse::diagnostic::{Diagnostic, render};
use playhouse::lang::analysis::explain::explain;
use playhouse::lang::program::Program;
use playhouse::lang::{LoadOptions, SourceText, expr, load};
use playhouse::span::{FileId, Span};

use crate::made_up::made_up;

/// Pieces of programs: bytes at random hardly ever make a heading, let alone a loop.
const PIECES: [&str; 64] = [
    "# ",
    "## ",
    "### Steps\n",
    "### Triggers\n",
    "### Notes\n",
    "\n",
    "\n\n",
    "  ",
    "- ",
    "1. ",
    "\t",
    "\r\n",
    "---\n",
    "```python\n",
    "```\n",
    "@playbook\ndef f():\n",
    "!import a.md\n",
    "key: ",
    "public: true\n",
    "limits: {turns: 1}\n",
    "variables:\n",
    "metadata:\n",
    "A",
    "Foo",
    "($x",
    ": int",
    " = ",
    "3",
    ")",
    " -> ",
    "str",
    "$x",
    "$y.a[0]",
    "If ",
    "Else if ",
    "Otherwise",
    "For each ",
    " in ",
    "Repeat ",
    " times",
    "until ",
    "While ",
    "Return ",
    "Say ",
    "\"",
    "'",
    "“",
    "”",
    "Ask user for ",
    "Set ",
    " to ",
    "End program",
    "01:QUE ",
    "T1:CND ",
    " is not ",
    " at least ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "é🎉",
    "> ",
    "***",
];

pub(crate) fn text_of(bytes: &[u8]) -> String {
    let piece =
        |&byte: &u8| PIECES.get(byte as usize % 80).map_or_else(|| char::from(byte).to_string(), |p| p.to_string());
    bytes.iter().map(piece).collect()
}

fn assert_inside(program: &Program, span: Span) {
    let file = program.sources.get(span.file).unwrap();
    assert!(file.text.get(span.range()).is_some(), "{span:?} is no range of characters of {:?}", file.text);
}

fn assert_sound(program: &Program, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        assert_inside(program, diagnostic.span);
        diagnostic.notes.iter().filter_map(|note| note.span).for_each(|span| assert_inside(program, span));
        diagnostic.fix.iter().for_each(|fix| assert_inside(program, fix.span));
    }
    for agent in &program.agents {
        assert_inside(program, agent.title_span);
    }
    for playbook in &program.playbooks {
        assert_inside(program, playbook.span);
        assert_inside(program, playbook.title_span);
        playbook.triggers.iter().for_each(|trigger| assert_inside(program, trigger.span));
        for step in &playbook.steps {
            assert_inside(program, step.span);
            step.call().iter().for_each(|call| assert_inside(program, call.callee_span));
            step.kind.targets().iter().for_each(|target| assert_inside(program, target.span));
        }
        let n_steps = playbook.steps.len();
        for edges in &playbook.flow.successors {
            assert!(!edges.is_empty());
            for edge in edges {
                if let playhouse::lang::program::flow_graph::Node::Step(step) = edge.to {
                    assert!((step.0 as usize) < n_steps);
                }
            }
        }
    }
}

/// Loads what the bytes stand for: never a panic, every span inside its file.
pub(crate) fn lang_parse_one(bytes: &[u8]) {
    for text in [text_of(bytes), String::from_utf8_lossy(bytes).into_owned()] {
        let root = SourceText { name: "fuzz.md".to_owned(), text };
        let mut read = |_: &playhouse::lang::ImportRequest<'_>| {
            Ok(SourceText { name: "a.md".to_owned(), text: "## Imported\n!import b.md\n".to_owned() })
        };
        let loaded = load(vec![root], &mut read, &LoadOptions::default());
        assert_sound(&loaded.program, &loaded.diagnostics);
        explain(&loaded.program);
        render(&loaded.diagnostics, &loaded.program.sources, false);
    }
}

#[test]
fn lang_parse() {
    made_up!(3_000, 200).for_each(lang_parse_one);
}

/// Reads what the bytes stand for as an expression; what is printed of it is read back as the same.
pub(crate) fn expr_one(bytes: &[u8]) {
    for text in [text_of(bytes), String::from_utf8_lossy(bytes).into_owned()] {
        match expr::parse(&text, FileId(0), 0) {
            // What is printed is read back as the same.
            Ok(read) => {
                let printed = read.to_string();
                match expr::parse(&printed, FileId(0), 0) {
                    Ok(again) => assert_eq!(again.to_string(), printed),
                    // Its brackets are levels too.
                    Err(error) => assert!(error.message.contains("nested deeper"), "{printed}: {}", error.message),
                }
            }
            Err(error) => assert!(text.get(error.span.range()).is_some()),
        }
    }
}

#[test]
fn expr() {
    made_up!(3_000, 200).for_each(expr_one);
}
