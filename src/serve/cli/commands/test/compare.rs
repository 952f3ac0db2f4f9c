//! What a test expects against what happened: the differences, each with its place.

use crate::host::text::difference;
use crate::lang::files::test_file::{ExpectedCall, Stretch, TestFile, TestStepKind, comparable, quoted};
use crate::serve::report::{Difference, Problem};
use crate::value::Value;

/// What of a test is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// All that is expected.
    All,
    /// All but `## Says`: another model says it in other words.
    ButSpeech,
}

/// All differences, each with its text for people. `name` is the file's.
pub(crate) fn compare(
    name: &str,
    test: &TestFile,
    stretches: &[Stretch],
    compared: Compared,
) -> Vec<(Problem, String)> {
    let mut found = Vec::new();
    let outcome = stretches.last().and_then(|stretch| stretch.outcome.as_ref());
    for (index, range) in test.stretches().into_iter().enumerate() {
        for step in &test.steps[range] {
            let (expected, actual) = match (stretches.get(index), &step.kind) {
                (
                    _,
                    TestStepKind::User(_)
                    | TestStepKind::Interrupts(_)
                    | TestStepKind::Event(_)
                    | TestStepKind::Wait(_)
                    | TestStepKind::Set(_)
                    | TestStepKind::Reply(_)
                    | TestStepKind::Written(_)
                    | TestStepKind::Expect(_),
                ) => continue,
                (_, TestStepKind::ExpectSay(_)) if compared == Compared::ButSpeech => continue,
                (_, TestStepKind::ExpectOutcome(expected)) => match outcome {
                    Some(actual) if !expected.covers(actual) => (vec![expected.text()], vec![actual.text()]),
                    Some(_) | None => continue,
                },
                // A test that has not come there has told why.
                (None, _) if compared == Compared::All => continue,
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
                let shown = difference(&expected, &actual);
                let what = format!("{} differs", step.kind.heading());
                let text = format!("{name}:{}: {what}\n{shown}", step.line);
                let told = format!("{what}\n{}", shown.trim_end());
                let (file, line) = (name.to_owned(), Some(step.line));
                let difference = Some(Difference { expected: expected.join("\n"), actual: actual.join("\n") });
                found.push((Problem { file, line, text: told, difference }, text));
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
