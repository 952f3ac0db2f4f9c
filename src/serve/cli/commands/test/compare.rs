//! What a test expects against what happened: the differences, each with its place.

use crate::serve::cli::machinery::test_file::{
    ExpectedCall, ExpectedOutcome, Stretch, TestFile, TestStepKind, comparable, quoted,
};
use crate::serve::report::Problem;
use crate::value::Value;

/// All differences, each with its text for people. `name` is the file's.
pub(crate) fn compare(name: &str, test: &TestFile, stretches: &[Stretch]) -> Vec<(Problem, String)> {
    let mut found = Vec::new();
    let outcome = stretches.last().and_then(|stretch| stretch.outcome.as_ref());
    for (index, range) in test.stretches().into_iter().enumerate() {
        for step in &test.steps[range] {
            let (expected, actual) = match (stretches.get(index), &step.kind) {
                (
                    _,
                    TestStepKind::User(_) | TestStepKind::Event(_) | TestStepKind::Reply(_) | TestStepKind::Expect(_),
                ) => continue,
                (_, TestStepKind::ExpectOutcome(expected)) => match outcome {
                    Some(actual) if expected.covers(actual) => continue,
                    actual => (vec![expected.text()], actual.map(ExpectedOutcome::text).into_iter().collect()),
                },
                (None, _) => (vec!["this part of the conversation".to_owned()], Vec::new()),
                (Some(actual), TestStepKind::ExpectSay(expected)) => (quotes(expected), quotes(&actual.said)),
                (Some(actual), TestStepKind::ExpectCalls(expected)) => {
                    let shown = |(call, like): (&ExpectedCall, Option<&ExpectedCall>)| call_text(call, like);
                    let likes = expected.iter().map(Some).chain(std::iter::repeat(None));
                    let actual = actual.calls.iter().zip(likes).map(shown).collect();
                    (expected.iter().map(|call| call_text(call, Some(call))).collect(), actual)
                }
                (Some(actual), TestStepKind::ExpectVariables(expected)) => {
                    let line = |name: &str, value: Option<&Value>| match value {
                        Some(value) => format!("${name} = {}", value.to_json()),
                        None => format!("${name} is not set"),
                    };
                    let actual = expected.iter().map(|(name, _)| line(name, actual.variables.get(name.as_str())));
                    (expected.iter().map(|(name, value)| line(name, value.as_ref())).collect(), actual.collect())
                }
            };
            if expected != actual {
                let difference = difference(&expected, &actual);
                let what = format!("{} differs", step.kind.heading());
                let text = format!("{name}:{}: {what}\n{difference}", step.line);
                let told = format!("{what}\n{}", difference.trim_end());
                found.push((Problem { file: name.to_owned(), line: Some(step.line), text: told }, text));
            }
        }
    }
    found
}

/// Utterances as the lines of a test file; between two of them stands an empty line.
fn quotes(said: &[String]) -> Vec<String> {
    // An empty utterance is one, too.
    let quotes: Vec<String> = said.iter().map(|utterance| quoted(comparable(utterance).split('\n'))).collect();
    quotes.join("\n\n").lines().map(str::to_owned).collect()
}

/// A call; its result only where `like` has one.
fn call_text(call: &ExpectedCall, like: Option<&ExpectedCall>) -> String {
    let result = call.result.clone().filter(|_| like.is_none_or(|like| like.result.is_some()));
    ExpectedCall { result, ..call.clone() }.text()
}

/// Two lists line by line: `-` expected and not there, `+` there and not expected. Lists are short: the longest
/// common sequence is found in the plain way.
fn difference(expected: &[String], actual: &[String]) -> String {
    let mut longest = vec![vec![0; actual.len() + 1]; expected.len() + 1];
    for (e, wanted) in expected.iter().enumerate().rev() {
        for (a, found) in actual.iter().enumerate().rev() {
            longest[e][a] =
                if wanted == found { longest[e + 1][a + 1] + 1 } else { longest[e + 1][a].max(longest[e][a + 1]) };
        }
    }
    let (mut e, mut a, mut text) = (0, 0, String::new());
    let mut line = |mark: &str, line: &str| {
        text.push_str(format!("{mark} {line}").trim_end());
        text.push('\n');
    };
    while e < expected.len() || a < actual.len() {
        if e < expected.len() && a < actual.len() && expected[e] == actual[a] {
            line(" ", &expected[e]);
            (e, a) = (e + 1, a + 1);
        } else if a == actual.len() || (e < expected.len() && longest[e + 1][a] >= longest[e][a + 1]) {
            line("-", &expected[e]);
            e += 1;
        } else {
            line("+", &actual[a]);
            a += 1;
        }
    }
    text
}
