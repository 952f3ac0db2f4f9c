//! Runs one case through a session, and says in what it differs from what is expected.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use jiff::Zoned;
use jiff::tz::TimeZone;
use playhouse::diagnostic::Severity;
use playhouse::host::classify::off::Off;
use playhouse::host::clock::TestClock;
use playhouse::host::events::{PublicBody, PublicEvent};
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::program::load_texts;
use playhouse::host::replay::replay;
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start, World};
use playhouse::lang::plan::Plan;
use playhouse::lang::{Loaded, SourceText};
use playhouse::value::Value;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Outcome, PlanFaultKind, Timestamp};
use serde_json::Value as Json;

use crate::conformance::case::{Case, Expect, System};
use crate::conformance::world::{Script, Seen, Shared, file_name, tools};
use crate::conformance::{dates, matchers};

/// How often a case passed for less than it asks for. Each is a choice of ours; what none of them is needed for any
/// more, or more often than was agreed, is seen by its count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tolerated {
    /// The last entry of a trace does not count: the limit stopped the plan in front of that instruction.
    pub(crate) n_stopped_before: usize,
    /// A dataflow plan was refused where its case wants an error, and does not say which of the two.
    pub(crate) n_refused_for_error: usize,
    /// A plan was refused with findings about the whole, and its case wants an instruction.
    pub(crate) n_refused_as_a_whole: usize,
}

impl Tolerated {
    pub(crate) fn add(&mut self, other: Tolerated) {
        let Tolerated { n_stopped_before, n_refused_for_error, n_refused_as_a_whole } = other;
        self.n_stopped_before += n_stopped_before;
        self.n_refused_for_error += n_refused_for_error;
        self.n_refused_as_a_whole += n_refused_as_a_whole;
    }
}

/// What became of a case.
#[derive(Default)]
struct Run {
    status: &'static str,
    answer: Json,
    vars: IndexMap<String, Json>,
    trace: Vec<i64>,
    /// All that was complained about: findings, faults, the failure of the session.
    complaints: Vec<String>,
    /// Sequence numbers of what failed; of a refused plan, of what the findings are about.
    faulty: Vec<i64>,
    /// Whether its journal leads to the same state.
    is_replayed: bool,
    tolerated: Tolerated,
}

/// Runs a case; each mismatch is written `WHAT, got WHAT`.
pub(crate) fn run(system: System, case: &Case) -> (Vec<String>, Tolerated) {
    let unread = |problem: String| (vec![problem], Tolerated::default());
    let now = match dates::now(case.now.as_deref().unwrap_or("2026-01-01T00:00:00Z")) {
        Ok(now) => now,
        Err(problem) => return unread(problem),
    };
    let text = match (&case.plan_text, &case.plan) {
        (Some(text), _) | (None, Some(Json::String(text))) => text.clone(),
        (None, Some(plan)) => serde_json::to_string_pretty(plan).unwrap_or_default(),
        (None, None) => return unread("a `plan` or a `plan_text`, got neither".to_owned()),
    };
    let seen = Shared::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut run = runtime.block_on(execute(system, case, &text, &now, &seen));
    let seen = seen.lock().unwrap();
    let mismatches = mismatches(system, &case.expect, &mut run, &seen, now.time_zone());
    (mismatches, run.tolerated)
}

async fn execute(system: System, case: &Case, text: &str, now: &Zoned, seen: &Shared) -> Run {
    let llm = Arc::new(Script::new(case.llm.clone(), seen.clone()));
    let world = World {
        llm: llm.clone(),
        classifier: Arc::new(Off),
        tools: Arc::new(tools(system, case, text, seen)),
        clock: Arc::new(TestClock::new(Timestamp(now.timestamp().as_millisecond()))),
        options: SessionOptions::default(),
    };
    let signatures: Vec<_> = world.tools.signatures().iter().map(|tool| tool.signature.clone()).collect();
    let root = SourceText { name: file_name(system).into(), text: text.into() };
    let (program_text, loaded) = load_texts(vec![root], &signatures, &mut |_: &Path| Err("none".into()));
    if loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error) {
        return rejected(&loaded);
    }
    let settings = Settings {
        plan_steps: case.options.max_steps,
        condition_retries: case.options.condition_retries,
        max_replans: case.options.max_replans,
        zone: now.offset().to_string().into(),
        ..Settings::default()
    };
    let arguments = case.initial_vars.iter();
    let arguments =
        arguments.map(|(name, value)| (name.as_str().into(), Value::from_json(&value.to_string()).unwrap()));
    let start = Start {
        id: "case".into(),
        program: Arc::new(loaded.program),
        text: program_text,
        settings,
        entry: None,
        arguments: arguments.collect(),
        given: Default::default(),
    };
    let journal = MemoryJournal::new();
    let mut session = Session::start(world, Box::new(journal.clone()), start).unwrap();
    let mut subscription = session.subscribe(Interest::Everything { capacity: 1_000_000 });
    let handle = session.spawn();
    let mut run = Run { vars: case.initial_vars.clone().into_iter().collect(), ..Run::default() };
    // The clock is paused: as soon as nothing happens any more it jumps there.
    match tokio::time::timeout(Duration::from_secs(864_000), handle.outcome()).await {
        Ok(Ok(ending)) => {
            match &ending.outcome {
                Some(Outcome::Done { value }) => {
                    run.status = "completed";
                    run.answer = json(value.value());
                }
                Some(Outcome::Failed(fault)) => {
                    run.status = "error";
                    run.complaints.push(fault.message.to_string());
                }
                None => run.status = "stopped",
            }
            let replayed = replay(&journal.snapshot(), None).unwrap();
            run.is_replayed = replayed.machine.view() == *ending.view;
        }
        Ok(Err(error)) => {
            run.status = "broken";
            run.complaints.push(error.to_string());
        }
        Err(_) => run.status = "hanging",
    }
    while let Some(Notice::Event(event)) = subscription.try_next() {
        run.watch(&event);
    }
    run
}

impl Run {
    fn watch(&mut self, event: &PublicEvent) {
        if event.depth != Some(0) || event.plan.is_none() {
            return;
        }
        #[allow(clippy::wildcard_enum_match_arm, reason = "what else happened is no part of a case")]
        match &event.body {
            PublicBody::LineReached {} => {
                let label = event.line.as_deref().unwrap_or_default();
                self.trace.extend(seq_no(label));
            }
            PublicBody::VariableSet { variable, value, .. } => {
                self.vars.insert(variable.to_string(), json(value));
            }
            PublicBody::PlanFault { fault, seq_no, message, .. } => {
                self.faulty.extend(seq_no);
                self.complaints.push(message.to_string());
                // The limit stops a plan in front of the next instruction: it was reached, but not executed.
                if *fault == PlanFaultKind::Limit && message.contains("step limit") {
                    self.trace.pop();
                    self.tolerated.n_stopped_before += 1;
                }
            }
            _ => {}
        }
    }
}

fn rejected(loaded: &Loaded) -> Run {
    let plan = loaded.program.plans.first();
    let node_at = |plan: &Arc<Plan>, at: usize| {
        // The innermost: a condition holds its branches.
        let nodes = plan.nodes.iter().filter(|node| node.span.contains(at));
        nodes.min_by_key(|node| node.span.range().len()).and_then(|node| seq_no(&node.label))
    };
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).collect();
    let faulty = errors.iter().filter_map(|finding| node_at(plan?, finding.span.range().start)).collect();
    // Not as they are shown: with the lines of the plan beside them they would hold any word of it.
    let notes = errors.iter().flat_map(|finding| &finding.notes).map(|note| note.message.clone());
    let complaints = errors.iter().map(|finding| finding.message.clone()).chain(notes).collect();
    Run { status: "rejected", complaints, faulty, ..Run::default() }
}

/// The sequence number at the end of an instruction's path.
fn seq_no(label: &str) -> Option<i64> {
    label.rsplit('/').next()?.parse().ok()
}

fn json(value: &Value) -> Json {
    serde_json::from_str(&value.to_json()).unwrap_or_default()
}

fn mismatches(system: System, expect: &Expect, run: &mut Run, seen: &Seen, zone: &TimeZone) -> Vec<String> {
    let mut tolerated = run.tolerated;
    let mut found = seen.odd_requests.clone();
    let mut check = |fits: bool, told: &dyn Fn() -> String| {
        if !fits {
            found.push(told());
        }
    };
    let complaints = run.complaints.join("\n");
    check(run.is_replayed || run.status == "rejected", &|| {
        "a journal that leads to the same state, got another".into()
    });
    if let Some(status) = &expect.status {
        // Cases of dataflow plans do not tell a refused plan from one that failed.
        let is_refused = system == System::Dataflow && run.status == "rejected" && status.allows("error");
        let fits = status.allows(run.status);
        tolerated.n_refused_for_error += usize::from(is_refused && !fits);
        check(fits || is_refused, &|| format!("status {}, got {} {complaints}", status.written(), run.status));
    }
    let same = |expected: &Json, got: &Json| match system {
        System::Jmp | System::Branch => matchers::equal(expected, got),
        System::Dataflow => matchers::fits(expected, got, zone),
    };
    for expected in expect.answer.iter().chain(&expect.result) {
        check(same(expected, &run.answer), &|| format!("the value {expected}, got {}", run.answer));
    }
    for (name, expected) in &expect.vars {
        let got = run.vars.get(name);
        check(got.is_some_and(|got| same(expected, got)), &|| {
            format!("`{name}` to be {expected}, got {}", got.map_or("nothing".to_owned(), Json::to_string))
        });
    }
    for name in &expect.vars_absent {
        let got = run.vars.get(name);
        check(got.is_none(), &|| format!("no `{name}`, got {}", got.unwrap_or(&Json::Null)));
    }
    if let Some(trace) = &expect.trace {
        check(*trace == run.trace, &|| format!("trace {trace:?}, got {:?}", run.trace));
    }
    if let Some(calls) = &expect.tool_calls {
        let fits = calls.len() == seen.calls.len()
            && calls.iter().zip(&seen.calls).all(|(expected, (tool, got))| {
                expected.tool == *tool && same(&given(&expected.args), &Json::Object(got.clone()))
            });
        check(fits, &|| {
            let calls = calls.iter().map(|call| written(&call.tool, &call.args));
            format!("tool calls [{}], got {}", calls.collect::<Vec<_>>().join(", "), made(seen))
        });
    }
    if let Some(calls) = &expect.calls {
        let mut left: Vec<_> = seen.calls.iter().collect();
        let all = calls.iter().all(|expected| {
            let slots = given(&expected.slots);
            let is_it = |(domain, got): &&(String, serde_json::Map<String, Json>)| {
                expected.domain == *domain && same(&slots, &Json::Object(got.clone()))
            };
            left.iter().position(is_it).map(|index| left.remove(index)).is_some()
        });
        check(all && left.is_empty(), &|| {
            let calls = calls.iter().map(|call| written(&call.domain, &call.slots));
            format!("calls [{}] in any order, got {}", calls.collect::<Vec<_>>().join(", "), made(seen))
        });
    }
    let counts = [
        ("calls of the model", expect.llm_calls, seen.n_llm_calls),
        ("calls", expect.call_count, seen.calls.len()),
        ("calls in flight at most", expect.max_in_flight, seen.max_in_flight),
    ];
    for (what, expected, got) in counts {
        if let Some(expected) = expected {
            check(expected == got, &|| format!("{expected} {what}, got {got}"));
        }
    }
    for wanted in &expect.error_contains_all {
        let fits = complaints.to_lowercase().contains(&wanted.to_lowercase());
        check(fits, &|| format!("an error that contains {wanted:?}, got {complaints:?}"));
    }
    if let Some(expected) = expect.error_seq_no {
        // A finding about the plan as a whole has no instruction.
        let fits = match run.status {
            "rejected" => {
                tolerated.n_refused_as_a_whole += usize::from(run.faulty.is_empty());
                run.faulty.is_empty() || run.faulty.contains(&expected)
            }
            _ => run.faulty.last() == Some(&expected),
        };
        check(fits, &|| format!("a fault at seq_no {expected}, got {:?} {complaints}", run.faulty));
    }
    run.tolerated = tolerated;
    found
}

/// Arguments without those that are null: a tool cannot tell them from what was left out.
fn given(arguments: &serde_json::Map<String, Json>) -> Json {
    Json::Object(arguments.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect())
}

fn written(name: &str, arguments: &serde_json::Map<String, Json>) -> String {
    format!("{name} {}", Json::Object(arguments.clone()))
}

fn made(seen: &Seen) -> String {
    let calls: Vec<String> = seen.calls.iter().map(|(name, arguments)| written(name, arguments)).collect();
    format!("[{}]", calls.join(", "))
}
