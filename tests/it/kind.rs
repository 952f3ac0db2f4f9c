//! What a file is: by name, by what it says of itself, by reading it.

use std::fs;
use std::path::Path;

use playhouse::lang::kind::{Kind, of};

use crate::fuzz::text_of;
use crate::made_up::made_up;

const GOAL: &str = "# Shop\n\n## Order\n\nOrders a boat.\n";

#[test]
fn a_file_is_known_by_its_name() {
    let cases = [
        ("a.test.md", Some(Kind::Test)),
        ("a.triggers.md", Some(Kind::Triggers)),
        ("a.playbook.md", Some(Kind::Playbook)),
        ("shop/A.PB", Some(Kind::Playbook)),
        ("a.jmp.json", Some(Kind::JsonPlan)),
        ("a.BRANCH.json", Some(Kind::JsonPlan)),
        ("a.md", None),
        ("a.user.md", None),
        ("a.rules.md", None),
        ("a.json", None),
        ("a.yaml", None),
        ("a.txt", None),
        ("", None),
    ];
    for (name, wanted) in cases {
        assert_eq!(of(name, GOAL), wanted, "{name}");
    }
}

#[test]
fn what_a_file_says_of_itself_wins() {
    let says = |is_ours: &str| format!("---\ntitle: a\nplayhouse: {is_ours}\n---\n{GOAL}\n!import b.md\n");
    let cases = [
        ("a.md", says("true"), Some(Kind::Playbook)),
        ("a.test.md", says("true"), Some(Kind::Test)),
        ("a.md", says("false"), None),
        ("a.pb", says("false"), None),
        ("a.test.md", says("false"), None),
        ("a.md", says("perhaps"), Some(Kind::Playbook)),
        ("a.md", format!("#!/usr/bin/env playhouse\n{GOAL}"), Some(Kind::Playbook)),
        ("a", format!("#!/usr/bin/env -S playhouse run\n{GOAL}"), Some(Kind::Playbook)),
        ("a", format!("\u{feff}#!/usr/local/bin/playhouse\r\n{GOAL}"), Some(Kind::Playbook)),
        ("a", format!("#!/bin/sh\nplayhouse\n{GOAL}"), None),
        ("a.yaml", says("true"), None),
    ];
    for (name, text, wanted) in cases {
        assert_eq!(of(name, &text), wanted, "{name}: {text}");
    }
}

#[test]
fn a_playbook_is_known_by_what_is_read_of_it() {
    let steps = |lines: &str| format!("# A\n\n## B\n\n### Steps\n\n{lines}\n");
    let trigger = |words: &str| format!("## B\n### Triggers\n- {words}\n");
    let ours = [
        steps("- Open the lid\n- $x = 1"),
        steps("- Ask the user for $x"),
        steps("- If $x > 1\n  - wait"),
        steps("- Open the lid\n  - Say \"hot\""),
        steps("1. FindOrder($id)"),
        steps("- Return 1"),
        trigger("When it rains"),
        trigger("At the beginning"),
        trigger("$n > 3"),
        "# Shop\n!import b.md\n".to_owned(),
        "## B\nText.\n!import b.md\n".to_owned(),
    ];
    for text in ours {
        assert_eq!(of("a.md", &text), Some(Kind::Playbook), "{text}");
        assert_eq!(of("a.txt", &text), None, "{text}");
    }
    let others = [
        GOAL.to_owned(),
        steps("- Open the lid\n- If it is hot, wait\n- Otherwise take it\n- For each cup, fill it"),
        steps("Text and no list: $x = 1"),
        trigger("Pushes to main"),
        trigger("a request with a body"),
        "# A\n## B\n### Notes\n- $x = 1\n".to_owned(),
        "# A\n### Steps\n- $x = 1\n".to_owned(),
        "# A\n## Steps\n- $x = 1\n".to_owned(),
        "# A\n## B\n#### Steps\n- $x = 1\n".to_owned(),
        "# A\n```\n!import b.md\n```\n".to_owned(),
        "# A\n````\n## B\n### Steps\n- $x = 1\n````\n".to_owned(),
    ];
    for text in others {
        assert_eq!(of("a.md", &text), None, "{text}");
    }
}

#[test]
fn any_text_is_of_some_kind_or_none() {
    made_up!(1_000, 200).for_each(|bytes: &[u8]| {
        of("a.md", &text_of(bytes));
        of("a.md", &String::from_utf8_lossy(bytes));
    });
}

/// The Markdown of this repository outside of `tests`: programs, their tests, and all else.
#[test]
fn only_programs_are_taken_for_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut pending, mut n_programs, mut n_others) = (vec![root.to_owned()], 0, 0);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let inside = path.strip_prefix(root).unwrap();
            let is_hidden = inside.file_name().unwrap().to_string_lossy().starts_with('.');
            if path.is_symlink() {
                continue; // What it leads to is found where it is.
            }
            if path.is_dir() && !is_hidden && inside != Path::new("target") && inside != Path::new("tests") {
                pending.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let is_program = is_program(inside);
                let kind = of(&inside.to_string_lossy(), &fs::read_to_string(&path).unwrap());
                assert_eq!(kind.is_some(), is_program, "{}: {kind:?}", inside.display());
                *(if is_program { &mut n_programs } else { &mut n_others }) += 1;
            }
        }
    }
    assert!(n_programs >= 19 && n_others >= 20, "{n_programs} programs, {n_others} others");
}

fn is_program(path: &Path) -> bool {
    let is_ours =
        ["benches/calls", "benches/serve", "examples", "playbooks"].iter().any(|folder| path.starts_with(folder));
    let name = path.to_string_lossy();
    // What an example's program looks into is no program.
    let is_document = path.parent().is_some_and(|folder| folder.ends_with("handbook"));
    let others = ["README.md", "SKILL.md", ".user.md", ".rules.md", ".judge.md"];
    is_ours && !is_document && !others.iter().any(|ending| name.ends_with(ending))
}
