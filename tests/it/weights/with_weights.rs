//! The real model. `playhouse model pull` fetches it; these tests are run by
//! `cargo test --test it -- --ignored weights::with_weights`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use playhouse::host::llm::embedded::slots::{Extraction, Phrasing, SlotFiller, SpeechAct, Stop};
use playhouse::host::llm::embedded::weights::Weights;
use playhouse::lang::program::Type;

use crate::golden;

/// Of the goldens so many lines in a hundred may differ: processors of different makes round differently, and where
/// two answers are about as likely that decides. What is said about how many are right holds everywhere.
const DIFFERENT: usize = 10;

static WEIGHTS: LazyLock<Weights> = LazyLock::new(|| Weights::load(&path()).unwrap());

/// Where the file is: `PLAYHOUSE_TEST_WEIGHTS`, or where `playhouse model pull` puts it.
#[allow(clippy::disallowed_methods, reason = "tests have no configuration")]
fn path() -> PathBuf {
    const FILE: &str = "playhouse/models/b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53.gguf";
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let path = variable("PLAYHOUSE_TEST_WEIGHTS").or_else(|| Some(cache()?.join(FILE))).unwrap();
    assert!(path.is_file(), "{} is not there: `playhouse model pull`", path.display());
    path
}

fn text(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/embedded").join(name)).unwrap()
}

/// One message of `extraction.txt`, or of the other file of this form.
struct Case {
    variable: String,
    line: String,
    question: String,
    words: String,
    expected: Vec<String>,
}

fn cases(file: &str) -> Vec<Case> {
    let (mut variable, mut line, mut question) = (String::new(), String::new(), String::new());
    let mut cases = Vec::new();
    for row in text(file).lines() {
        if let Some(heading) = row.strip_prefix("## ") {
            heading.split(':').next().unwrap().clone_into(&mut variable);
        } else if let Some(words) = row.strip_prefix("line: ") {
            words.clone_into(&mut line);
        } else if let Some(words) = row.strip_prefix("question: ") {
            words.clone_into(&mut question);
        } else if let Some(case) = row.strip_prefix("- ") {
            let (words, expected) = case.split_once(" => ").unwrap();
            let expected = expected.split(" / ").map(str::to_owned).collect();
            let (variable, line, question) = (variable.clone(), line.clone(), question.clone());
            cases.push(Case { variable, line, question, words: words.to_owned(), expected });
        }
    }
    cases
}

impl Case {
    fn extract(&self) -> Option<String> {
        let Case { variable, line, question, words, .. } = self;
        WEIGHTS.extract(&Extraction { variable, ty: Type::ANY, line, question, words }, &Stop::default())
    }

    /// Whether that is right. Without a value the executor takes the whole message.
    fn is_right(&self, value: Option<&str>) -> bool {
        let holds = |text: &str| self.expected.iter().any(|expected| expected == text);
        value.map_or_else(|| holds("-") || holds(&self.words), holds)
    }
}

pub(crate) fn act(name: &str) -> SpeechAct {
    match name {
        "greet" => SpeechAct::Greet,
        "farewell" => SpeechAct::Farewell,
        "thank" => SpeechAct::Thank,
        "apologise" => SpeechAct::Apologise,
        "remark" => SpeechAct::Remark,
        "ask" => SpeechAct::Ask,
        other => panic!("{other}"),
    }
}

/// What the sentences of `phrases.txt` become, each with its row.
fn phrases() -> Vec<(String, Option<String>)> {
    let text = text("phrases.txt");
    let rows = text.lines().filter(|row| row.matches('|').count() == 3 && !row.starts_with("Open"));
    let phrase = |row: &str| {
        let [name, direction, values, template] = row.split('|').map(str::trim).collect::<Vec<_>>().try_into().unwrap();
        let must_hold: Vec<String> = values.split(", ").filter(|value| !value.is_empty()).map(str::to_owned).collect();
        let slot = Phrasing { act: act(name), direction, must_hold: &must_hold, template };
        (row.to_owned(), WEIGHTS.phrase(&slot, &Stop::default()))
    };
    rows.map(phrase).collect()
}

/// Compares with a golden file; a few lines may differ.
#[allow(clippy::print_stdout, reason = "a difference that is no failure is seen with `--nocapture`")]
fn compare(path: &str, actual: &str) {
    if golden::is_blessing() {
        return golden::compare(path, actual);
    }
    let expected = text(path.strip_prefix("embedded/").unwrap());
    let differences: Vec<(&str, &str)> = expected.lines().zip(actual.lines()).filter(|(was, is)| was != is).collect();
    let n_lines = expected.lines().count();
    assert_eq!(n_lines, actual.lines().count(), "BLESS=1 after a change of the cases");
    println!("{path}: {} of {n_lines} lines differ: {differences:#?}", differences.len());
    assert!(differences.len() * 100 <= n_lines * DIFFERENT, "{differences:#?}\nif this is right: BLESS=1 cargo test");
}

/// Extracts from all messages of a file; at least so many must be right, at most so many wrong. (Of the others the
/// whole message is taken.)
fn extract_all(name: &str, least_right: usize, most_wrong: usize) {
    let (mut shown, mut n_right, mut n_wrong) = (String::new(), 0, 0);
    let cases = cases(&format!("{name}.txt"));
    for case in &cases {
        let value = case.extract();
        if let Some(value) = &value {
            assert!(case.words.contains(value.as_str()), "{value:?} is no quote out of {:?}", case.words);
        }
        let is_right = case.is_right(value.as_deref());
        n_right += usize::from(is_right);
        n_wrong += usize::from(!is_right && value.is_some());
        let verdict = if is_right {
            "right"
        } else if value.is_some() {
            "WRONG"
        } else {
            "whole"
        };
        let _ = writeln!(shown, "{verdict} {}: {} => {}", case.variable, case.words, value.as_deref().unwrap_or("-"));
    }
    let _ = writeln!(shown, "{n_right} of {} right, {n_wrong} wrong", cases.len());
    compare(&format!("embedded/{name}.golden"), &shown);
    assert!(n_right >= least_right && n_wrong <= most_wrong, "{n_right} right, {n_wrong} wrong");
}

#[test]
#[ignore = "needs the weights: playhouse model pull"]
fn values_are_extracted() {
    extract_all("extraction", 38, 6);
}

#[test]
#[ignore = "needs the weights: playhouse model pull"]
fn values_are_extracted_from_messages_that_nothing_was_tuned_to() {
    extract_all("extraction_unseen", 16, 3);
}

#[test]
#[ignore = "needs the weights: playhouse model pull"]
fn sentences_are_worded() {
    let mut shown = String::new();
    let phrases = phrases();
    for (row, sentence) in &phrases {
        let _ = writeln!(shown, "{row}\n    {}", sentence.as_deref().unwrap_or("(the template)"));
    }
    let n_worded = phrases.iter().filter(|(_, sentence)| sentence.is_some()).count();
    let _ = writeln!(shown, "{n_worded} of {} sentences are the model's", phrases.len());
    compare("embedded/phrases.golden", &shown);
    assert!(n_worded >= 6, "{n_worded}");
}

/// The file, the tokenizer and the computation are right: a model that is slightly wrong says nothing sensible.
#[test]
#[ignore = "needs the weights: playhouse model pull"]
fn the_model_is_whole() {
    let complete = |text: &str, n: usize| WEIGHTS.complete(text, None, n, &Stop::default()).unwrap();
    let answer = complete("The capital of France is", 6);
    assert!(answer.text.starts_with(" Paris"), "{answer:?}");
    assert_eq!(answer.n_read, 5);
    assert!(complete("1, 2, 3, 4, 5, 6, 7,", 4).text.starts_with(" 8, "), "counting");
    // Each digit is a token, and no space is put before the text.
    assert_eq!(complete("12345", 0).n_read, 5);
    assert_eq!(complete("<|im_start|>", 0).n_read, 7);
    assert_eq!(WEIGHTS.name().as_deref(), Some("SmolLM2-135M"));
}

/// What was asked before changes nothing: not the order of slots, not whether the examples have been read.
#[test]
#[ignore = "needs the weights: playhouse model pull"]
fn the_same_slot_gets_the_same_answer() {
    let cases = cases("extraction_unseen.txt");
    let answers: Vec<_> = cases.iter().take(8).map(Case::extract).collect();
    let greeting = || {
        let slot = Phrasing { act: SpeechAct::Greet, direction: "Greet the user", must_hold: &[], template: "Hello!" };
        WEIGHTS.phrase(&slot, &Stop::default())
    };
    let greeted = greeting();
    assert!(greeted.is_some());
    let backwards: Vec<_> = cases.iter().take(8).rev().map(Case::extract).collect();
    assert!(answers.iter().eq(backwards.iter().rev()));
    assert_eq!(greeting(), greeted);
    let (fresh, stop) = (Weights::load(&path()).unwrap(), Stop::default());
    for (case, answer) in cases.iter().zip(&answers).take(3) {
        let Case { variable, line, question, words, .. } = case;
        assert_eq!(fresh.extract(&Extraction { variable, ty: Type::ANY, line, question, words }, &stop), *answer);
    }
}
