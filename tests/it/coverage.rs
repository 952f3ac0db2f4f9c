//! What runs reach of programs (`playhouse coverage`): counted, merged, reported.

use std::collections::BTreeMap;

use crate::cli::transcript;
use crate::golden;
use crate::run::Run;

#[test]
fn transcripts() {
    golden::check("coverage", &["txt"], transcript);
}

const PROGRAM: &str = "# Desk

## Main

### Triggers

- At the beginning

### Steps

- While $n < $most
  - $n = $n + 1
- Repeat until $n >= 0
  - If $n is 2, leave the loop
  - $n = $n + 1
- $x = Inside($n)
- Return $x

## Inside($value)

### Steps

- If $value > 1
  - Return \"many\"
- Return \"few\"
";

/// The lines of a program with what came of each, as `--format json` tells them, of a test that begins with `most`.
fn ways(most: i64) -> Vec<String> {
    let test =
        format!("# T\n\n- program: desk.md\n- argument n: 0\n- argument most: {most}\n\n## Outcome\n\nfinished\n");
    let run = Run::new().file("desk.md", PROGRAM).file("desk.test.md", &test);
    let done = run.line("coverage --format json").code(0);
    let told: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let parts = told["parts"].as_array().unwrap();
    let lines = parts.iter().flat_map(|part| {
        let lines = part["lines"].as_array().unwrap();
        lines.iter().map(|line| {
            let ways: BTreeMap<&String, &serde_json::Value> = line["ways"].as_object().unwrap().iter().collect();
            let ways: Vec<String> = ways.iter().map(|(way, n)| format!("{way}:{n}")).collect();
            format!("{}:{} {} {{{}}}", part["name"], line["id"], line["reached"], ways.join(","))
        })
    });
    lines.map(|line| line.replace('"', "")).collect()
}

/// Of each line what is told in `of`.
fn line<'l>(lines: &'l [String], id: &str) -> &'l str {
    lines.iter().find_map(|line| line.strip_prefix(id)).unwrap().trim()
}

#[test]
fn loops_have_no_round_one_or_more() {
    for (most, expected) in [
        (0, "1 {more_rounds:0,no_round:1,one_round:0}"),
        (1, "2 {more_rounds:0,no_round:0,one_round:1}"),
        (2, "3 {more_rounds:1,no_round:0,one_round:0}"),
        (9, "10 {more_rounds:1,no_round:0,one_round:0}"),
    ] {
        assert_eq!(line(&ways(most), "Main:01 "), expected, "{most} rounds");
    }
}

#[test]
fn a_loop_that_is_left_in_its_first_round_had_one() {
    assert_eq!(line(&ways(2), "Main:02 "), "1 {more_rounds:0,one_round:1}");
    assert_eq!(line(&ways(2), "Main:02.01 "), "1 {else:0,then:1}");
    assert_eq!(line(&ways(2), "Main:02.02 "), "0 {}");
}

/// The callee is shown inside line 03, and its lines are `03>01` to the model.
#[test]
fn lines_inside_a_line_belong_to_the_playbook_in_which_they_are_written() {
    let few = ways(0);
    assert_eq!(line(&few, "Inside:01 "), "1 {else:1,then:0}");
    assert_eq!(line(&few, "Inside:02 "), "1 {}");
    assert!(few.iter().all(|line| !line.contains('>')), "{few:?}");
}

#[test]
fn the_page_loads_nothing_and_escapes_what_it_shows() {
    let program =
        "# Desk\n\n## Main\n\n### Steps\n\n- $n = 1\n- If $n < 1 and \"<b>\" is \"&\"\n  - Say \"<script>\"\n";
    let run = Run::new()
        .file("desk.md", program)
        .file("desk.test.md", "# T\n\n- program: desk.md\n\n## Outcome\n\nfinished\n");
    let page = run.line("coverage --format html").code(0).stdout;
    for loads in ["<script", "<link", "src=", "url(", "@import", "http:", "https:"] {
        assert!(!page.contains(loads), "the page has {loads}");
    }
    assert!(page.contains("Say &quot;&lt;script&gt;&quot;"), "{page}");
    assert!(page.contains("<tr id=\"f0-9\" class=\"miss\">"), "{page}");
    assert!(page.contains("never: then"), "{page}");
}
