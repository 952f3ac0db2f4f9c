//! The form of scripted conversations: what happens and what is expected.

use std::ops::Range;

use super::bullet_form::Bullet;
use crate::evaluation::checks::Written;
use crate::files::case_file::call::ExpectedCall;
use crate::value::{Map, Value};

/// One scripted conversation. Paths are relative to the file's folder.
#[derive(Clone, Debug, PartialEq)]
pub struct TestFile {
    /// The first heading's text.
    pub title: String,
    /// The text below it; empty if none.
    pub description: String,
    /// The program's path.
    pub program: String,
    /// The path of a file of canned tools.
    pub tools: Option<String>,
    /// Whether tools are left out of the recording (`- tools: live`).
    pub live_tools: bool,
    /// What answers; none: the file's own replies do.
    pub model: Option<TestModel>,
    /// The playbook to begin with; none: the program's entry.
    pub playbook: Option<String>,
    /// Arguments, as `--arg` gives them.
    pub arguments: Map,
    /// Settings, by the names they have in `playhouse.toml`.
    pub settings: Map,
    /// When the test begins, in ISO form with an offset (`2023-12-05T10:30:00-08:00`), which is the zone in which
    /// plans read dates, too; none: 2026-01-01T00:00:00Z.
    pub now: Option<String>,
    /// What happens and what is expected, in the order written.
    pub steps: Vec<TestStep>,
}

/// What answers in the place of replies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TestModel {
    /// The model inside the binary.
    Embedded,
    /// The cassette beside the file.
    Recorded,
}

/// One section of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct TestStep {
    /// The line of its heading, from 1.
    pub line: usize,
    /// What it holds.
    pub kind: TestStepKind,
}

/// The kinds of sections.
#[derive(Clone, Debug, PartialEq)]
pub enum TestStepKind {
    /// `## User`: one message.
    User(String),
    /// `## User` with `- during: …`: a message in the middle of a reply.
    Interrupts(Interruption),
    /// `## Event`: an event from outside.
    Event(SentEvent),
    /// `## Wait`: so many milliseconds pass.
    Wait(u64),
    /// `## Set`: a debugger changes variables.
    Set(Vec<Edit>),
    /// `## Model`: one reply, used once. A request that finds no reply fails the test, a reply left over too.
    Reply(ScriptedReply),
    /// `## Model` in the program's terms: bullets that answer as many requests as it takes.
    Written(Vec<WrittenBullet>),
    /// `## Says`: all utterances of the stretch.
    ExpectSay(Vec<String>),
    /// `## Variables`: the last value that each of these names was given so far; none: it was given none.
    ExpectVariables(Vec<(String, Option<Value>)>),
    /// `## Calls`: all tool calls of the stretch, in the order they were queued.
    ExpectCalls(Vec<ExpectedCall>),
    /// `## Outcome`: how it ends.
    ExpectOutcome(ExpectedOutcome),
    /// `## Expect`: what holds of the whole conversation.
    Expect(Vec<Written>),
}

/// An event from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct SentEvent {
    /// Its name, an identifier.
    pub name: String,
    /// What it tells.
    pub data: Value,
}

/// A message in the middle of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// What the user says.
    pub text: String,
    /// After so many bytes of the reply.
    pub bytes: usize,
    /// Which reply of the stretch, from 1; none: the one before it in the file.
    pub reply: Option<usize>,
}

/// A debugger's change of a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The variable.
    pub name: String,
    /// Its value from here on.
    pub value: Value,
    /// The playbook whose variable it is; none: the innermost that has it, else the agent.
    pub playbook: Option<String>,
}

/// What one line of the program gets.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenBullet {
    /// The line in the file, from 1.
    pub line: usize,
    /// What stands there.
    pub bullet: Bullet,
}

/// A reply of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedReply {
    /// The text inside the fence, as it is, without the line break before the closing fence.
    pub text: String,
    /// A regular expression that the request's last message must match.
    pub when: Option<String>,
    /// A regular expression that all messages of the request together must match.
    pub when_any: Option<String>,
    /// How the text is cut into chunks; none: one chunk.
    pub chunks: Option<Chunks>,
    /// How the request fails, in the words of script files (`429`, `drop`, …); after the text, if there is any.
    pub error: Option<String>,
}

/// How a reply is cut into chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunks {
    /// One byte each.
    Bytes,
    /// These sizes in bytes; what is left over is the last chunk.
    Sizes(Vec<usize>),
}

/// How a conversation ends.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedOutcome {
    /// The program waits for the user.
    Waits,
    /// It has finished.
    Finished {
        /// With this value; none: not compared.
        value: Option<Value>,
    },
    /// The program is not one: nothing was run.
    Refused {
        /// A part of what was found; none: not compared.
        message: Option<String>,
    },
    /// It has failed.
    Failed {
        /// The fault's kind (`limit`, `model`, …).
        kind: String,
        /// A part of its message; none: not compared.
        message: Option<String>,
    },
}

/// What a run did in one stretch: the form in which expected parts are rewritten.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    /// Utterances, in order.
    pub said: Vec<String>,
    /// Tool calls in the order they were queued, with their results.
    pub calls: Vec<ExpectedCall>,
    /// The last value of every name that was given one so far.
    pub variables: Map,
    /// How the run stands at the end of the stretch.
    pub outcome: Option<ExpectedOutcome>,
}

impl TestFile {
    /// The stretches as ranges of [`TestFile::steps`]; never empty, though the first one may be.
    pub fn stretches(&self) -> Vec<Range<usize>> {
        let mut starts = vec![0];
        starts.extend(self.steps.iter().enumerate().filter(|(_, step)| step.kind.begins()).map(|(index, _)| index));
        let ends = starts[1..].iter().copied().chain([self.steps.len()]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Whether the program is expected to be none.
    pub fn expects_refusal(&self) -> bool {
        let is_refusal = |outcome: &ExpectedOutcome| matches!(outcome, ExpectedOutcome::Refused { .. });
        self.steps.iter().any(|step| matches!(&step.kind, TestStepKind::ExpectOutcome(outcome) if is_refusal(outcome)))
    }

    /// The checks of `## Expect`.
    pub fn checks<'t>(&'t self) -> impl Iterator<Item = &'t Written> {
        let of_step =
            |step: &'t TestStep| if let TestStepKind::Expect(checks) = &step.kind { Some(checks) } else { None };
        self.steps.iter().filter_map(of_step).flatten()
    }

    /// Puts what a run did in the place of what was expected (`--bless`): the sections that are there are
    /// rewritten, and a file without any gets speech, calls and an outcome. `stretches` are those of the run.
    pub fn bless(&mut self, stretches: &[Stretch]) {
        let expects_something = self.steps.iter().any(|step| step.kind.is_expected());
        let ranges = self.stretches();
        let mut steps = Vec::with_capacity(self.steps.len());
        for (index, range) in ranges.iter().enumerate() {
            let actual = stretches.get(index).cloned().unwrap_or_default();
            for step in &self.steps[range.clone()] {
                steps.push(TestStep { line: step.line, kind: step.kind.blessed(&actual) });
            }
            if !expects_something {
                let line = steps.last().map_or(0, |step| step.line);
                let is_last = index + 1 == ranges.len();
                let calls = (!actual.calls.is_empty()).then_some(TestStepKind::ExpectCalls(actual.calls));
                let outcome = actual.outcome.filter(|_| is_last).map(TestStepKind::ExpectOutcome);
                let added = [Some(TestStepKind::ExpectSay(actual.said)), calls, outcome];
                steps.extend(added.into_iter().flatten().map(|kind| TestStep { line, kind }));
            }
        }
        self.steps = steps;
    }
}

impl TestStepKind {
    /// Whether a stretch begins with the section.
    pub fn begins(&self) -> bool {
        matches!(self, TestStepKind::User(_) | TestStepKind::Event(_) | TestStepKind::Wait(_) | TestStepKind::Set(_))
    }

    /// Whether the section says what is expected, not what happens.
    pub fn is_expected(&self) -> bool {
        match self {
            TestStepKind::User(_)
            | TestStepKind::Interrupts(_)
            | TestStepKind::Event(_)
            | TestStepKind::Wait(_)
            | TestStepKind::Set(_)
            | TestStepKind::Reply(_)
            | TestStepKind::Written(_) => false,
            TestStepKind::ExpectSay(_)
            | TestStepKind::ExpectVariables(_)
            | TestStepKind::ExpectCalls(_)
            | TestStepKind::ExpectOutcome(_)
            | TestStepKind::Expect(_) => true,
        }
    }

    /// Whether the section says what the model replies.
    pub fn is_of_model(&self) -> bool {
        matches!(self, TestStepKind::Reply(_) | TestStepKind::Written(_))
    }

    /// The heading's text.
    pub fn heading(&self) -> &'static str {
        match self {
            TestStepKind::User(_) | TestStepKind::Interrupts(_) => "User",
            TestStepKind::Event(_) => "Event",
            TestStepKind::Wait(_) => "Wait",
            TestStepKind::Set(_) => "Set",
            TestStepKind::Reply(_) | TestStepKind::Written(_) => "Model",
            TestStepKind::ExpectSay(_) => "Says",
            TestStepKind::ExpectVariables(_) => "Variables",
            TestStepKind::ExpectCalls(_) => "Calls",
            TestStepKind::ExpectOutcome(_) => "Outcome",
            TestStepKind::Expect(_) => "Expect",
        }
    }

    /// The same section with what `actual` holds; what was not compared is left out again.
    fn blessed(&self, actual: &Stretch) -> TestStepKind {
        match self {
            TestStepKind::User(_)
            | TestStepKind::Interrupts(_)
            | TestStepKind::Event(_)
            | TestStepKind::Wait(_)
            | TestStepKind::Set(_)
            | TestStepKind::Reply(_)
            | TestStepKind::Written(_)
            | TestStepKind::Expect(_) => self.clone(),
            TestStepKind::ExpectSay(_) => TestStepKind::ExpectSay(actual.said.clone()),
            TestStepKind::ExpectVariables(expected) => TestStepKind::ExpectVariables(
                expected.iter().map(|(name, _)| (name.clone(), actual.variables.get(&**name).cloned())).collect(),
            ),
            TestStepKind::ExpectCalls(expected) => {
                let mut calls = actual.calls.clone();
                for (call, expected) in calls.iter_mut().zip(expected) {
                    if call.name == expected.name && expected.result.is_none() {
                        call.result = None;
                    }
                }
                TestStepKind::ExpectCalls(calls)
            }
            TestStepKind::ExpectOutcome(expected) => match &actual.outcome {
                Some(outcome) if !expected.covers(outcome) => TestStepKind::ExpectOutcome(outcome.clone()),
                Some(_) | None => self.clone(),
            },
        }
    }
}

impl ExpectedOutcome {
    /// As it is written.
    pub fn text(&self) -> String {
        match self {
            ExpectedOutcome::Waits => "waits for the user".to_owned(),
            ExpectedOutcome::Finished { value: None } => "finished".to_owned(),
            ExpectedOutcome::Finished { value: Some(value) } => format!("finished: {value}"),
            ExpectedOutcome::Refused { message: None } => "refused".to_owned(),
            ExpectedOutcome::Refused { message: Some(message) } => format!("refused: {message}"),
            ExpectedOutcome::Failed { kind, message: None } => format!("failed: {kind}"),
            ExpectedOutcome::Failed { kind, message: Some(message) } => format!("failed: {kind}: {message}"),
        }
    }

    /// Whether `actual`, which leaves nothing out, is what is expected.
    pub fn covers(&self, actual: &ExpectedOutcome) -> bool {
        use ExpectedOutcome::{Failed, Finished, Refused, Waits};
        let holds = |part: &Option<String>, message: &Option<String>| {
            part.as_deref().is_none_or(|part| message.as_deref().unwrap_or("").contains(part))
        };
        match (self, actual) {
            (Waits, Waits) => true,
            (Finished { value: expected }, Finished { value }) => expected.is_none() || expected == value,
            (Refused { message: part }, Refused { message }) => holds(part, message),
            (Failed { kind: expected, message: part }, Failed { kind, message }) => {
                expected == kind && holds(part, message)
            }
            _ => false,
        }
    }
}

/// Speech as it is compared: without spaces at the ends of its lines, and without empty lines at its end (a test
/// file can't show them).
pub fn comparable(utterance: &str) -> String {
    let lines: Vec<&str> = utterance.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end_matches('\n').to_owned()
}

/// Lines as a block quote, without the last line's end.
pub fn quoted<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    lines.map(|line| format!("> {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
