//! A stored session as a scripted conversation: what people did and how much time passed, section by section. Pure.

use std::collections::{HashMap, HashSet};

use crate::host::journal::record::{EndWire, Record, RecordBody, VerdictWire};
use crate::host::replay::error::SessionError;
use crate::host::replay::told::{Told, tell};
use crate::host::session::approval;
use crate::host::travel::{Point, Timeline};
use crate::lang::files::test_file::{Edit, Interruption, SentEvent, TestStep, TestStepKind};
use crate::value::Value;
use crate::vm::protocol::view::FrameView;
use crate::vm::protocol::{CallKind, Effect, Progress, Wait};

/// A timer is told of a little after it has run out.
const LATE_MS: i64 = 100;

const DAY_MS: i64 = 24 * 3_600 * 1_000;

/// A record that no section says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsaid {
    /// The record.
    pub(crate) seq: u64,
    /// What happened there, as the end of a sentence.
    pub(crate) what: String,
    /// The last record before it after which the session waited for a person; none: it never did.
    pub(crate) rest: Option<u64>,
}

/// The sections that happen, without replies and expected parts. The error inside says what none can say.
///
/// # Errors
/// The records hold no session, or the machine does not follow them.
pub(crate) fn sections(records: &[Record]) -> Result<Result<Vec<TestStep>, Unsaid>, SessionError> {
    let timeline = Timeline::new(records.to_vec())?;
    let times = || records.iter().map(|record| record.time);
    let (began, ended) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    let has_timers = records.iter().any(|record| matches!(record.body, RecordBody::TimerFired { .. }));
    let mut teller = Teller {
        timeline: &timeline,
        follows_time: has_timers || began.div_euclid(DAY_MS) != ended.div_euclid(DAY_MS),
        passed_until: began,
        steps: Vec::new(),
        wait: None,
        is_over: false,
        seq: 1,
        rest: None,
        n_requests: 0,
        turns: HashMap::new(),
        questions: HashSet::new(),
        unsaid: None,
    };
    tell(records, &mut |told| teller.hear(told))?;
    if !teller.is_over && !teller.is_at_rest() {
        teller.unsaid("something is still in progress");
    }
    Ok(match teller.unsaid {
        Some(unsaid) => Err(unsaid),
        None => Ok(teller.steps),
    })
}

struct Teller<'a> {
    timeline: &'a Timeline,
    /// Whether the test's clock has to follow the session's.
    follows_time: bool,
    /// How far the test's clock has been moved.
    passed_until: i64,
    steps: Vec<TestStep>,
    /// What the machine waits for.
    wait: Option<Wait>,
    is_over: bool,
    /// The present record.
    seq: u64,
    /// The last after which it waited for a person.
    rest: Option<u64>,
    /// Requests of the stretch to the session's model.
    n_requests: usize,
    /// Replies that are coming: which of the stretch, and how many bytes of it have come.
    turns: HashMap<u64, (usize, usize)>,
    /// Questions to the session's model that are made like calls.
    questions: HashSet<u64>,
    /// The first thing that cannot be said.
    unsaid: Option<Unsaid>,
}

impl Teller<'_> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "what else is done follows from it")]
    fn hear(&mut self, told: Told<'_>) {
        match told {
            Told::Record(record) => self.record(record),
            Told::Moved(_, Progress::Blocked(wait)) => {
                self.wait = Some(wait.clone());
                self.rest = if wait.is_for_person() { Some(self.seq) } else { self.rest };
            }
            Told::Moved(_, Progress::Finished(_)) => self.is_over = true,
            Told::Moved(_, Progress::Emit(Effect::StartTurn(start))) => {
                self.n_requests += 1;
                self.turns.insert(start.turn.0, (self.n_requests, 0));
            }
            Told::Moved(_, Progress::Emit(Effect::StartCall(call))) if call.kind == CallKind::Model => {
                self.questions.insert(call.call.0);
            }
            _ => {}
        }
    }

    fn record(&mut self, Record { seq, time, body }: &Record) {
        self.seq = *seq;
        match body {
            RecordBody::Begun(_) | RecordBody::GoOn | RecordBody::CallEnded { .. } => {}
            RecordBody::Chunk { turn, text } => {
                self.turns.entry(*turn).and_modify(|(_, n_bytes)| *n_bytes += text.0.len());
            }
            RecordBody::ReplyEnded { turn, end, .. } => {
                self.turns.remove(turn);
                if let EndWire::Refused { reason } = end {
                    self.unsaid(&format!("the model did not answer: {reason}"));
                }
            }
            RecordBody::CallStarted { call, .. } => self.n_requests += usize::from(self.questions.remove(call)),
            RecordBody::Verdict { verdict: VerdictWire::Judged { .. }, .. } => {}
            RecordBody::Verdict { .. } => self.unsaid("the trigger classifier gave no answer"),
            RecordBody::Message { text, .. } => self.message(*time, text),
            RecordBody::Signal { name, data, .. } => {
                let event = SentEvent { name: name.to_string(), data: data.clone() };
                self.happen(*time, TestStepKind::Event(event), "an event came in the middle of something");
            }
            RecordBody::Approved { answer, .. } => match line_for(answer) {
                Some(line) => self.happen(*time, TestStepKind::User(line), "nothing had asked for this answer"),
                None => self.unsaid("a person answered a tool with more than a text"),
            },
            RecordBody::TimerFired { .. } => self.timer(*time),
            RecordBody::Edited { frame, name, value, after: None, .. } => self.edit(*time, *frame, name, value),
            RecordBody::Edited { .. } => self.unsaid("a debugger changed a variable while the program was paused"),
            RecordBody::Interrupted { .. } => self.unsaid("somebody interrupted the program"),
            RecordBody::Reopened => self.unsaid("another process took the session up in the middle of something"),
            RecordBody::SignaturesChanged { .. } => self.unsaid("the tools changed"),
            RecordBody::ProgramChanged(_) => self.unsaid("the program's text changed"),
        }
    }

    fn unsaid(&mut self, what: &str) {
        let (seq, rest) = (self.seq, self.rest);
        self.unsaid.get_or_insert_with(|| Unsaid { seq, what: what.to_owned(), rest });
    }

    fn is_at_rest(&self) -> bool {
        self.wait.as_ref().is_some_and(Wait::is_for_person)
    }

    /// The user speaks: where that is waited for, or in the middle of a reply.
    fn message(&mut self, time: i64, text: &str) {
        if matches!(self.wait, Some(Wait::User)) {
            return self.happen(time, TestStepKind::User(text.to_owned()), "");
        }
        let Some((reply, bytes)) = self.turns.values().max().copied().filter(|_| !self.is_at_rest()) else {
            return self.unsaid("the user spoke while no reply was coming, and nobody listened");
        };
        let interruption = Interruption { text: text.to_owned(), bytes, reply: Some(reply) };
        self.push(TestStepKind::Interrupts(interruption));
    }

    /// Something happens while the program waits for a person; `otherwise` is what is said of it elsewhere.
    fn happen(&mut self, time: i64, kind: TestStepKind, otherwise: &str) {
        if !self.is_at_rest() {
            return self.unsaid(otherwise);
        }
        if self.follows_time {
            self.pass((time - self.passed_until).div_euclid(1_000));
        }
        self.push(kind);
        self.n_requests = 0;
    }

    /// A timer runs out: so much time passes.
    fn timer(&mut self, time: i64) {
        if !self.is_at_rest() && !matches!(self.wait, Some(Wait::Timer(_))) {
            return self.unsaid("a timer ran out in the middle of something");
        }
        self.pass((time - self.passed_until - LATE_MS + 999).div_euclid(1_000));
    }

    fn pass(&mut self, seconds: i64) {
        let Ok(ms @ 1..) = u64::try_from(seconds * 1_000) else { return };
        self.push(TestStepKind::Wait(ms));
        self.passed_until += seconds * 1_000;
        self.n_requests = 0;
    }

    fn edit(&mut self, time: i64, frame: Option<u64>, name: &str, value: &Value) {
        // It is what was before that says where the variable is.
        let before = self.seq.saturating_sub(1);
        let before = Point::new(before, self.timeline.last_directive(before).unwrap_or(0));
        let Ok(moment) = self.timeline.at(before) else { return self.unsaid("a debugger changed a variable") };
        let view = moment.machine.view();
        let innermost = |is_it: &dyn Fn(&FrameView) -> bool| view.stack.iter().rev().find(|frame| is_it(frame));
        let edited = view.stack.iter().find(|known| Some(known.id.0) == frame);
        let playbook = edited.map(|frame| frame.name.to_string());
        let found = match &playbook {
            Some(playbook) => innermost(&|frame| *frame.name == **playbook),
            None => innermost(&|frame| frame.variables.iter().any(|variable| *variable.name == *name)),
        };
        if found.map(|found| found.id.0) != frame {
            return self.unsaid("a debugger changed a variable of which there are several");
        }
        let edit = Edit { name: name.to_owned(), value: value.clone(), playbook };
        self.happen(time, TestStepKind::Set(vec![edit]), "a debugger changed a variable in the middle of something");
    }

    fn push(&mut self, kind: TestStepKind) {
        // No file has them yet; what is played tells them apart by their lines.
        self.steps.push(TestStep { line: self.steps.len() + 1, kind });
    }
}

/// What a person types to give a tool this answer.
fn line_for(answer: &Value) -> Option<String> {
    let own = answer.as_str().unwrap_or_default();
    ["yes", "no", own].into_iter().find(|line| approval(line) == *answer).map(str::to_owned)
}
