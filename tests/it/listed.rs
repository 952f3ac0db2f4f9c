//! `playhouse test --list`, and reports in JSON: the same files and cases, before they are run and after.

use serde_json::{Value as Json, json};

use crate::run::Run;

const PROGRAM: &str = "# Desk

## Main

### Triggers

- At the beginning

### Steps

- Say \"Hello.\"

## Warn

### Triggers

- When $n > 5

### Steps

- Say \"Much.\"
";

const TEST: &str = "# Greets

- program: program.md

## Says

> Bye.

## Expect

- says /Hello/
";

const TABLE: &str = "# What fires

- program: program.md
- threshold: 0.5

## Rows

| update | fires |
| --- | --- |
| `$n = 5` | — |
| `$n = 6` | Warn |
| `$n = 7` | Warn |
| `$n = 4` | Warn |
";

const USER: &str = "# Ida

- program: program.md

## Answers

| asked | says |
| --- | --- |
| /x/ | y |

## Database

- GetOrder: 1 -> 2

## Expect

- never says /Bye/
";

const JUDGE: &str = "# The judge

## Short

> program: Hello.

- pass: the program greets
- fail: the program is rude
";

fn desk() -> Run {
    Run::new()
        .program(PROGRAM)
        .file("greets.test.md", TEST)
        .file("warns.triggers.md", TABLE)
        .file("more/ida.user.md", USER)
        .file("more/judge.judge.md", JUDGE)
}

#[test]
fn cases_are_listed_with_their_places() {
    let listed = "\
greets.test.md: Greets
greets.test.md:11: Expect: says /Hello/
more/ida.user.md:17: Expect: never says /Bye/
more/ida.user.md:13: Database: GetOrder: 1 -> 2
more/judge.judge.md: judge
more/judge.judge.md:7: pass: the program greets
more/judge.judge.md:8: fail: the program is rude
warns.triggers.md: triggers
warns.triggers.md:10: $n = 5 → —
warns.triggers.md:11: $n = 6 → Warn
warns.triggers.md:12: $n = 7 → Warn
warns.triggers.md:13: $n = 4 → Warn
";
    desk().line("test --list").stdout(listed).code(0);
}

/// What can't be read is listed with what is wrong, and so is nothing at all.
#[test]
fn what_cannot_be_read_is_listed_with_its_problems() {
    let done = Run::new().file("a.test.md", "# A\n\n- programm: a.md\n").line("test --list --format json").code(1);
    let listed: Json = serde_json::from_str(&done.stdout).unwrap();
    let file = &listed["files"][0];
    assert_eq!((&file["path"], &file["cases"]), (&json!("a.test.md"), &json!([])));
    assert_eq!((&file["problems"][1]["file"], &file["problems"][1]["line"]), (&json!("a.test.md"), &json!(3)));
    Run::new().line("test --list --format json").stdout("{\"files\":[]}\n").code(0);
}

/// The cases of a report but for what came of them.
fn names(of: &Json) -> Vec<Json> {
    let files = of["files"].as_array().unwrap().iter();
    let case = |case: &Json| json!({"name": case["name"], "line": case["line"]});
    files
        .map(|file| {
            let cases: Vec<Json> = file["cases"].as_array().unwrap().iter().map(case).collect();
            json!({"path": file["path"], "title": file["title"], "cases": cases})
        })
        .collect()
}

#[test]
fn a_report_has_the_cases_that_are_listed() {
    let files = "greets.test.md warns.triggers.md";
    let listed = desk().line("test --list --format json").line(files).code(0);
    let report = desk().line("test --format json").line(files).code(1);
    let [listed, report]: [Json; 2] = [&listed, &report].map(|done| serde_json::from_str(&done.stdout).unwrap());
    assert_eq!(names(&listed), names(&report));
    let greets = &report["files"][0]["cases"][0]["problems"][0];
    assert_eq!((&greets["expected"], &greets["actual"]), (&json!("> Bye."), &json!("> Hello.")));
    assert_eq!(report["files"][0]["cases"][1]["verdict"], "passed");
    // One wrong row is what the threshold allows.
    let warns = &report["files"][1];
    assert_eq!((&warns["verdict"], &warns["cases"][0]["verdict"]), (&json!("passed"), &json!("passed")));
    let row = json!({
        "name": "$n = 4 → Warn",
        "line": 13,
        "verdict": "failed",
        "problems": [{"file": "warns.triggers.md", "line": 13, "text": "did not fire: Warn:T1 (When $n > 5)"}],
    });
    assert_eq!(warns["cases"][4], row);
    let strict = TABLE.replace("- threshold: 0.5\n", "");
    let done = desk().file("warns.triggers.md", &strict).line("test --github warns.triggers.md").code(1);
    let annotation = "::error file=warns.triggers.md,line=12::did not fire: Warn:T1 (When $n > 5)\n";
    assert!(done.stdout.contains(annotation), "{}", done.stdout);
}

#[test]
fn what_is_hidden_or_ignored_is_no_test_unless_it_is_named() {
    let ignored = desk()
        .file(".gitignore", "node_modules/\n/target\n")
        .file("node_modules/a/a.test.md", TEST)
        .file("target/a.test.md", TEST)
        .file("more/target/b.test.md", TEST)
        .file(".hidden/a.test.md", TEST);
    let done = ignored.line("test --list").code(0);
    let tests: Vec<&str> = done.stdout.lines().filter(|line| line.ends_with(": Greets")).collect();
    assert_eq!(tests, ["greets.test.md: Greets", "more/target/b.test.md: Greets"]);
    let named = done.then().line("test --list target/a.test.md node_modules").code(0);
    assert!(named.stdout.starts_with("target/a.test.md: Greets\n"), "{}", named.stdout);
    assert!(named.stdout.contains("node_modules/a/a.test.md: Greets\n"), "{}", named.stdout);
}
