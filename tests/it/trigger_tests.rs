//! Trigger tables (`docs/testing.md`): what is read, what is refused and in which words, what is counted. Each case
//! below `tests/cases/trigger_tables` is a table; what "fired" and "abstained" in its rows stands in the notes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use playhouse::lang::files::trigger_table::{FiredName, TriggerCase, TriggerTable, TriggerUpdate};
use playhouse::lang::program::{Program, TriggerId};
use playhouse::serve::cli::scores::ScoreOptions;
use playhouse::serve::cli::trigger_tests::{Judged, judge, run_table};
use playhouse::serve::report::scored::Scored;
use playhouse::span::Sources;
use playhouse::value::Value;

use crate::golden;

const FOLDER: &str = "tests/cases/trigger_tables";

const PLAIN: ScoreOptions = ScoreOptions { lenient: false, repeat: 1, color: false };
const LENIENT: ScoreOptions = ScoreOptions { lenient: true, ..PLAIN };

/// Runs a table with a judge that answers at once.
fn run(
    path: &Path,
    options: ScoreOptions,
    judge: impl Fn(&Program, &TriggerTable) -> Result<Vec<Judged>, String>,
) -> Scored {
    let judge = async |program: &Program, table: &TriggerTable| judge(program, table);
    run_table(path, options, judge).now_or_never().expect("nothing waits")
}

/// What the notes say: `fired A, B; abstained C`.
fn judge_by_notes(program: &Program, table: &TriggerTable) -> Result<Vec<Judged>, String> {
    table.cases.iter().map(|case| judge_by_note(program, table, case)).collect()
}

fn judge_by_note(program: &Program, table: &TriggerTable, case: &TriggerCase) -> Result<Judged, String> {
    let mut judged = Judged::default();
    for part in case.note.split(';').map(str::trim) {
        match part.split_once(' ') {
            Some(("fired", names)) => judged.fired = ids(program, table, names),
            Some(("abstained", names)) => judged.abstained = ids(program, table, names),
            _ => {}
        }
    }
    Ok(judged)
}

/// The triggers that a list of names means.
fn ids(program: &Program, table: &TriggerTable, names: &str) -> Vec<TriggerId> {
    let mut case = table.cases[0].clone();
    let fired = |name: &str| FiredName { name: name.trim().to_owned(), span: case.span, is_skill: false };
    case.fires = names.split(',').map(fired).collect();
    let table = TriggerTable { cases: vec![case], ..table.clone() };
    table.resolve(program).unwrap().expected.remove(0)
}

/// What a text is read as.
fn read(text: &str) -> TriggerTable {
    let mut sources = Sources::default();
    let file = sources.add("a.triggers.md", text);
    TriggerTable::parse(file, text).unwrap()
}

#[test]
fn tables() {
    golden::check("trigger_tables", &["md"], |name, _| {
        let path = Path::new(FOLDER).join(name);
        let shown = |outcome: &Scored| {
            let word = if outcome.problem.is_none() { "ok" } else { "FAILED" };
            format!("{word}\n{}", outcome.text)
        };
        let plain = run(&path, PLAIN, judge_by_notes);
        let lenient = run(&path, LENIENT, judge_by_notes);
        if lenient == plain { shown(&plain) } else { format!("{}\n--lenient: {}", shown(&plain), shown(&lenient)) }
    });
}

#[test]
fn cells() {
    let table = read(&std::fs::read_to_string(Path::new(FOLDER).join("right.md")).unwrap());
    assert_eq!((table.title.as_str(), table.threshold), ("Everything is right", Some(1.0)));
    assert_eq!(table.settings.len(), 1);
    let cases: Vec<String> = table.cases.iter().map(|case| format!("{} {}", case.line, case.text())).collect();
    assert_eq!(
        cases,
        [
            r#"19 $knocks = 4"#,
            r#"20 given $knocks = 4; $wind = null: $knocks = 5"#,
            r#"21 $knocks = 3; user: "a | b; \"c\" \\""#,
            r#"22 given $x = "`": $list = [1,"; | ;",{"a":"}"}]"#,
            r#"28 $wind = 8; $knocks = 4"#,
            r#"29 user: "yes""#,
        ]
    );
    let last = &table.cases[5];
    assert_eq!(last.updates, [TriggerUpdate::User("yes".to_owned())]);
    assert_eq!(table.cases[0].updates, [TriggerUpdate::Set("knocks".to_owned(), Value::Int(4))]);
    let fires = |case: &TriggerCase| case.fires.iter().map(|fired| fired.name.clone()).collect::<Vec<_>>();
    assert_eq!((fires(last), last.note.as_str()), (vec!["Open".to_owned()], "fired Open:T2"));
    assert_eq!(fires(&table.cases[4]), ["Warn:T1", "Shut"]);
}

#[test]
fn a_case_that_comes_out_differently_is_shown() {
    let path = Path::new(FOLDER).join("right.md");
    let n_runs = AtomicUsize::new(0);
    let moody = |program: &Program, table: &TriggerTable| {
        let mut judged = judge_by_notes(program, table)?;
        if n_runs.fetch_add(1, Ordering::Relaxed) == 2 {
            judged[1].fired = ids(program, table, "Shut");
        }
        Ok(judged)
    };
    let outcome = run(&path, ScoreOptions { repeat: 5, ..PLAIN }, moody);
    assert_eq!(outcome.problem.map(|problem| problem.line), Some(Some(20)));
    let expected =
        format!("{FOLDER}/right.md:20: run 3 differs from run 1: given $knocks = 4; $wind = null: $knocks = 5\n");
    assert!(outcome.text.ends_with(&expected), "{}", outcome.text);
    assert_eq!(n_runs.load(Ordering::Relaxed), 3);
}

#[test]
fn a_judge_that_cannot_judge_fails_the_table() {
    let outcome = run(&Path::new(FOLDER).join("right.md"), PLAIN, |_, _| Err("no model".to_owned()));
    assert_eq!((outcome.text.as_str(), outcome.problem.unwrap().text.as_str()), ("no model", "no model"));
}

fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("examples").unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(".triggers.md")).collect();
    found.sort();
    found
}

/// The examples' tables are about their programs, and it is not easy to be right: silence is not.
#[test]
fn the_tables_of_the_examples_fit_their_programs() {
    let (mut n_cases, mut n_nothing) = (0, 0);
    // Of each program the triggers that fire in no case yet: several tables can be about one.
    let untried: RefCell<BTreeMap<String, Vec<TriggerId>>> = RefCell::default();
    for path in examples() {
        let by_labels = |program: &Program, table: &TriggerTable| {
            let resolved = table.resolve(program).unwrap();
            let judged = |fired: Vec<TriggerId>| Judged { fired, abstained: Vec::new() };
            let all: Vec<TriggerId> = resolved.expected.iter().flatten().copied().collect();
            let mut untried = untried.borrow_mut();
            let of_program = untried.entry(table.program.clone()).or_insert_with(|| resolved.triggers.clone());
            of_program.retain(|id| !all.contains(id));
            Ok(resolved.expected.into_iter().map(judged).collect())
        };
        let outcome = run(&path, PLAIN, by_labels);
        assert!(outcome.problem.is_none(), "{}", outcome.text);
        let silent = run(&path, PLAIN, |_, _| Ok(Vec::new()));
        assert!(silent.problem.is_some(), "{}", silent.text);
        let table = read(&std::fs::read_to_string(&path).unwrap());
        n_cases += table.cases.len();
        n_nothing += table.cases.iter().filter(|case| case.fires.is_empty()).count();
    }
    let untried = untried.into_inner();
    assert!(untried.values().all(Vec::is_empty), "{untried:?}");
    assert!(n_cases >= 80, "{n_cases}");
    assert!(n_nothing * 3 >= n_cases, "{n_nothing} of {n_cases}");
}

/// Conditions need no classifier: without one nothing is wrong, and only what is said in words stays open.
#[test]
fn conditions_are_judged_by_the_interpreter() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for path in examples() {
        let by_machine =
            async |program: &Program, table: &TriggerTable| judge(program, table, None, Duration::from_secs(1)).await;
        let outcome = runtime.block_on(run_table(&path, PLAIN, by_machine));
        assert!(outcome.problem.is_none() && outcome.text.contains(" right, 0 wrong, "), "{}", outcome.text);
    }
}

const PROMPTS: &str =
    "\u{feff}{\"prompt\": \"Für Tee\", \"expected_skill\": \"tea\"}\r\n\n{\"prompt\": \"Ö\"}\n[]\n{\"prompt\": 1}\n";

#[test]
fn any_prefix_of_a_file_is_read_or_refused_without_a_panic() {
    let tables = golden::cases("trigger_tables", &["md"]).into_iter();
    let tables = tables.map(|(_, path)| (std::fs::read_to_string(path).unwrap(), false));
    for (text, is_of_prompts) in tables.chain([(PROMPTS.to_owned(), true)]) {
        for (end, _) in text.char_indices() {
            let mut sources = Sources::default();
            let file = sources.add("a", &text[..end]);
            let parse = if is_of_prompts { TriggerTable::parse_prompts } else { TriggerTable::parse };
            for finding in parse(file, &text[..end]).err().unwrap_or_default() {
                assert_eq!(sources.text(finding.span).len(), finding.span.range().len(), "a span outside the text");
                assert!(
                    finding.notes.first().is_some_and(|note| note.span.is_none()),
                    "no advice: {}",
                    finding.message
                );
            }
        }
    }
}
