//! What a program has done to the world: what tools answer after a run, held against what they should (spec
//! `evaluate.md`, section 4).

use std::sync::Arc;

use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::diagnostic::wording::meant_or;
use playhouse_lang::files::case_file::call::{ExpectedCall, ExpectedResult};
use playhouse_lang::files::case_file::item::json_or_text;
use playhouse_lang::files::user_file::{DatabaseCheck, DatabaseKind, Lookup};
use playhouse_lang::program::{AgentId, PlaybookId, TypeKind};
use playhouse_lang::spelling::nearest;
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{
    CallId, CallKind, CallOutcome, EffectClass, FrameId, Location, Origin, Place, StartCall, Tracked,
};
use tokio_util::sync::CancellationToken;

use crate::checks::{Breach, Verdict, Verified};
use crate::launch::Opened;
use crate::text::shorten;
use crate::tool::registry::Registry;

/// What people call these checks.
pub const DATABASE: &str = "Database";

/// Of what a tool answered so many characters are shown.
const SHOWN_CHARACTERS: usize = 500;

/// The calls of whoever looks have numbers that no session gives.
const FIRST_CALL: u64 = 1 << 32;

/// What is wrong with the names of tools.
pub(super) fn check_tools(checks: &[DatabaseCheck], tools: &Registry) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for check in checks {
        for name in names(&check.kind) {
            if tools.get(name).is_some() {
                continue;
            }
            let known: Vec<String> = tools.signatures().iter().map(|tool| tool.signature.name.to_string()).collect();
            let next = meant_or(nearest(name, known.iter()), format!("there are {}", known.join(", ")));
            let message = format!("there is no tool `{name}`");
            findings.push(Diagnostic::error("no-tool", check.span, message).with_note(next));
        }
    }
    findings
}

fn names(kind: &DatabaseKind) -> Vec<&str> {
    match kind {
        DatabaseKind::Answers { call: Lookup::Named(call), .. } => vec![&call.name],
        DatabaseKind::Answers { call: Lookup::First { tool, .. }, .. } => vec![tool],
        DatabaseKind::Same { as_if, same } => as_if.iter().chain([same]).map(|call| &*call.name).collect(),
    }
}

/// What comes of a call; the error is in words.
type Found = Result<Value, String>;

/// Looks after a run whose last event has the index `last`; `opened` has the run's own tools.
pub(super) async fn look(checks: &[DatabaseCheck], opened: &Opened, session: &Arc<str>, last: usize) -> Vec<Verified> {
    let mut own = Caller::new(&opened.world.tools, session);
    let mut verified = Vec::with_capacity(checks.len());
    for check in checks {
        let verdict = match &check.kind {
            DatabaseKind::Answers { call, expected } => {
                let found = own.look(call).await;
                verdict(is_expected(&found, expected), last, format!("it returns {}", told(&found)))
            }
            DatabaseKind::Same { as_if, same } => match wanted(as_if, same, opened, session).await {
                Err(why) => Verdict::Undecided { why },
                Ok(wanted) => {
                    let found = own.call(same).await;
                    let sentence = format!("it returns {}, not {}", told(&found), shown(&wanted));
                    verdict(found == Ok(wanted), last, sentence)
                }
            },
        };
        let (label, text) = (DATABASE.into(), check.text.clone());
        verified.push(Verified { label, text, file: check.span.file, line: check.line, question: None, verdict });
    }
    verified
}

/// What `same` answers after the calls `as_if` on fresh tools; the error says why that is not known.
async fn wanted(as_if: &[ExpectedCall], same: &ExpectedCall, opened: &Opened, session: &Arc<str>) -> Found {
    let fresh = opened.again().await.map_err(|error| format!("the tools cannot be started afresh: {error}"))?;
    let mut caller = Caller::new(&fresh.world.tools, session);
    let mut found = Ok(Value::Null);
    for call in as_if.iter().chain([same]) {
        let error = |error| format!("the expected state cannot be set up: {} returns {error}", call.text());
        found = caller.call(call).await.map_err(error);
        if found.is_err() {
            break;
        }
    }
    fresh.close().await;
    found
}

fn verdict(holds: bool, last: usize, sentence: String) -> Verdict {
    if holds { Verdict::Holds } else { Verdict::Broken(Breach { event: last, point: None, place: None, sentence }) }
}

fn is_expected(found: &Found, expected: &ExpectedResult) -> bool {
    match (found, expected) {
        (Ok(found), ExpectedResult::Value(expected)) => found == expected,
        (Err(found), ExpectedResult::Error(expected)) => found == expected,
        (Ok(_), ExpectedResult::Error(_)) | (Err(_), ExpectedResult::Value(_)) => false,
    }
}

fn told(found: &Found) -> String {
    found.as_ref().map_or_else(|error| format!("the error {error}"), shown)
}

fn shown(value: &Value) -> String {
    shorten(&value.to_json(), SHOWN_CHARACTERS).into_owned()
}

/// Somebody who calls tools without a program.
struct Caller<'a> {
    tools: &'a Registry,
    session: &'a Arc<str>,
    n_calls: u64,
}

impl<'a> Caller<'a> {
    fn new(tools: &'a Registry, session: &'a Arc<str>) -> Caller<'a> {
        Caller { tools, session, n_calls: 0 }
    }

    async fn look(&mut self, lookup: &Lookup) -> Found {
        match lookup {
            Lookup::Named(call) => self.call(call).await,
            Lookup::First { tool, argument } => {
                let signature = self.tools.get(tool).map(|tool| tool.signature().signature);
                let parameter = signature.as_ref().and_then(|signature| signature.parameters.first());
                let parameter = parameter.ok_or_else(|| format!("`{tool}` takes no argument"))?;
                let is_text = parameter.ty.kind == TypeKind::Str;
                let value = if is_text { Value::str(argument.as_str()) } else { json_or_text(argument) };
                let arguments = Map::from_iter([(parameter.name.clone(), value)]);
                self.call(&ExpectedCall { name: tool.clone(), arguments, result: None }).await
            }
        }
    }

    async fn call(&mut self, call: &ExpectedCall) -> Found {
        let id = CallId(FIRST_CALL + self.n_calls);
        self.n_calls += 1;
        let tracked = |(name, value): (&Arc<str>, &Value)| (name.clone(), Tracked::new(value.clone(), Origin::CODE));
        let start = StartCall {
            call: id,
            attempt: 1,
            kind: CallKind::Tool,
            name: call.name.as_str().into(),
            arguments: call.arguments.iter().map(tracked).collect(),
            effect: EffectClass::Write,
            answers: Vec::new(),
            result_name: None,
            is_result_secret: false,
            // No line makes it.
            place: Place {
                frame: FrameId(0),
                agent: AgentId(0),
                location: Location::Line { playbook: PlaybookId(0), step: None },
                depth: 0,
                turn: None,
            },
            skill: None,
        };
        let begun = self.tools.begin(self.session, &start, CancellationToken::new(), None, None);
        match begun.outcome.await.0 {
            CallOutcome::Value { value, secret: false } => Ok(value),
            CallOutcome::Value { secret: true, .. } => Err("its result is secret".to_owned()),
            CallOutcome::Error(error) => Err(error.to_string()),
            CallOutcome::Needs { question, .. } => Err(format!("it asks a person: {question}")),
            CallOutcome::Interrupted => Err("it was interrupted".to_owned()),
        }
    }
}
