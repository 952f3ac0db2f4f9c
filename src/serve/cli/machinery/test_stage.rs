//! A test while it is played: what it says is given to the session where that waits, and what comes of it is kept.

use std::sync::Arc;
use std::time::Duration;

use crate::host::clock::{Clock, TestClock};
use crate::host::events::{PublicBody, PublicEvent};
use crate::host::session::{Interest, Notice, Session, SessionHandle, Subscription, Wanted};
use crate::host::summary::Summary;
use crate::lang::files::test_file::{
    Edit, ExpectedCall, ExpectedOutcome, ExpectedResult, Stretch, TestFile, TestStep, TestStepKind,
};
use crate::serve::cli::machinery::test_interrupts::{Door, Interrupting};
use crate::serve::cli::machinery::test_replies::Replies;
use crate::vm::protocol::view::FrameView;
use crate::vm::protocol::{CallKind, Outcome, Signal, Wait};

/// Events of one test that may wait to be read.
const EVENTS: usize = 1_000_000;

/// A test while it is played.
pub(crate) struct Stage<'t> {
    name: &'t str,
    test: &'t TestFile,
    props: &'t Props,
    performed: Performed,
    /// Where the running calls stand: id, stretch, place in it.
    calls: Vec<(u64, usize, usize)>,
}

/// What it is played with.
pub(crate) struct Props {
    /// The test's own replies, if they are given.
    pub(crate) replies: Option<Arc<Replies>>,
    /// Gives messages in the middle of others' replies.
    pub(crate) interrupting: Option<Arc<Interrupting>>,
    /// By which they come to the session.
    pub(crate) door: Arc<Door>,
    /// Where its time passes.
    pub(crate) clock: TestClock,
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Performed {
    /// Stretch by stretch.
    pub(crate) stretches: Vec<Stretch>,
    /// What cannot be done as the test says.
    pub(crate) problems: Vec<String>,
    /// What it has cost, and what the replies have left out.
    pub(crate) summary: Summary,
    /// What each scripted piece answered.
    pub(crate) answers: Vec<String>,
    /// All that happened.
    pub(crate) events: Vec<PublicEvent>,
}

/// The session of a test while it runs.
struct Live<'t> {
    handle: SessionHandle,
    events: Subscription,
    clock: &'t TestClock,
}

/// A session that has not begun, for whoever follows it.
pub(crate) type Heard = (SessionHandle, Subscription);

/// Everything that a session tells, from the first event on.
pub(crate) fn hear(session: &mut Session) -> Heard {
    let events = session.subscribe(Interest::Everything { capacity: EVENTS });
    (session.handle(), events)
}

impl<'t> Stage<'t> {
    pub(crate) fn new(name: &'t str, test: &'t TestFile, props: &'t Props) -> Stage<'t> {
        let performed = Performed { stretches: vec![Stretch::default()], ..Performed::default() };
        Stage { name, test, props, performed, calls: Vec::new() }
    }

    /// Plays to the end with a session that `events` tells of from the first one on, whoever runs it.
    pub(crate) async fn perform(mut self, (handle, events): Heard) -> Result<Performed, String> {
        self.props.door.open(handle.clone());
        let mut live = Live { handle, events, clock: &self.props.clock };
        let given: Vec<&TestStep> = self.test.steps.iter().filter(|step| step.kind.begins()).collect();
        let mut given = given.into_iter().peekable();
        let mut wanted = self.listen(&mut live).await;
        while let Some(wait) = wanted {
            let person = Wanted::of(&wait);
            // What a program waits for by itself, only time can end.
            let step = given.next_if(|step| person.is_some() || matches!(step.kind, TestStepKind::Wait(_)));
            let Some(step) = step else {
                if person.is_some() {
                    live.handle.stop().await;
                }
                wanted = self.listen(&mut live).await;
                continue;
            };
            self.begin_stretch();
            wanted = self.give(&mut live, step, person).await?;
        }
        let ending = live.handle.outcome().await.map_err(|error| error.to_string())?;
        let unsaid = self.props.door.close(self.name, self.test);
        let unheard = given.map(|TestStep { line, kind }| {
            let heading = kind.heading();
            format!(
                "{}:{line}: the program was over before this `## {heading}`; remove it, or look at its end",
                self.name
            )
        });
        let mut others: Vec<String> = unsaid.into_iter().chain(unheard).collect();
        let mut performed = self.performed;
        performed.summary.clone_from(&ending.summary);
        let mut outcome = Some(outcome(ending.outcome.as_ref()));
        if let Some(account) = self.props.replies.as_deref().map(Replies::finish) {
            performed.answers = account.answers;
            if account.has_failed {
                // All else follows from that.
                (outcome, others) = (None, Vec::new());
                performed.problems.clear();
            }
            performed.problems.splice(0..0, account.problems);
        }
        performed.problems.extend(others);
        if let Some(last) = performed.stretches.last_mut() {
            last.outcome = outcome;
        }
        Ok(performed)
    }

    fn begin_stretch(&mut self) {
        let before = self.performed.stretches.last().map(|stretch| stretch.variables.clone()).unwrap_or_default();
        self.performed.stretches.push(Stretch { variables: before, ..Stretch::default() });
        self.props.replies.iter().for_each(|replies| replies.begin_stretch());
        self.props.interrupting.iter().for_each(|interrupting| interrupting.begin_stretch());
    }

    /// Does what a section says, and gives what the program waits for then.
    async fn give(
        &mut self,
        live: &mut Live<'_>,
        step: &TestStep,
        person: Option<Wanted>,
    ) -> Result<Option<Wait>, String> {
        // A session that has ended says so by its last event.
        if let (TestStepKind::User(text), Some(person)) = (&step.kind, person) {
            let _ = person.give(&live.handle, text).await;
            return Ok(self.listen(live).await);
        }
        if let TestStepKind::Event(event) = &step.kind {
            let signal = Signal::new(&event.name, event.data.clone(), None)?;
            let _ = live.handle.signal(signal).await;
        } else if let TestStepKind::Set(edits) = &step.kind {
            self.edit(live, step.line, edits).await?;
        } else if let TestStepKind::Wait(ms) = &step.kind {
            return self.pass(live, i64::try_from(*ms).unwrap_or(i64::MAX)).await;
        }
        self.settle(live).await
    }

    /// Follows the session until it waits for a person or a moment. None: it is over.
    async fn listen(&mut self, live: &mut Live<'_>) -> Option<Wait> {
        while let Some(event) = self.next(live).await {
            if let PublicBody::Waiting { on: on @ (Wait::User | Wait::Approval(_) | Wait::Timer(_)) } = &event.body {
                return Some(on.clone());
            }
        }
        None
    }

    /// The same of a session that was given something after which it may wait as before, without a word.
    async fn settle(&mut self, live: &mut Live<'_>) -> Result<Option<Wait>, String> {
        let present = live.handle.present().await.map_err(|error| error.to_string())?;
        while self.performed.events.iter().rev().find_map(|event| event.mark).is_none_or(|mark| mark < present.mark) {
            if self.next(live).await.is_none() {
                return Ok(None);
            }
        }
        Ok(match present.view.wait.clone() {
            Some(wait @ (Wait::User | Wait::Approval(_) | Wait::Timer(_))) => Some(wait),
            Some(Wait::Call(_) | Wait::Reply(_) | Wait::Verdict(_) | Wait::Budget) | None => self.listen(live).await,
        })
    }

    async fn next(&mut self, live: &mut Live<'_>) -> Option<Arc<PublicEvent>> {
        loop {
            if let Notice::Event(event) = live.events.next().await? {
                self.note(&event);
                self.performed.events.push(PublicEvent::clone(&event));
                return Some(event);
            }
        }
    }

    /// Lets time pass, from one timer that runs out to the next.
    async fn pass(&mut self, live: &mut Live<'_>, ms: i64) -> Result<Option<Wait>, String> {
        let end = live.clock.now().0.saturating_add(ms);
        loop {
            let present = live.handle.present().await.map_err(|error| error.to_string())?;
            let due = present.due.map(|due| due.0).filter(|due| *due <= end);
            let step = (due.unwrap_or(end) - live.clock.now().0).max(0);
            live.clock.pass(step);
            let _ = live.handle.pass(Duration::from_millis(step.unsigned_abs())).await;
            let wanted = self.settle(live).await?;
            if due.is_none() || wanted.is_none() {
                return Ok(wanted);
            }
        }
    }

    /// Changes variables as a debugger does.
    async fn edit(&mut self, live: &Live<'_>, line: usize, edits: &[Edit]) -> Result<(), String> {
        let view = live.handle.view().await.map_err(|error| error.to_string())?;
        for Edit { name, value, playbook } in edits {
            let is_it = |frame: &&FrameView| match playbook {
                Some(playbook) => *frame.name == **playbook,
                None => frame.variables.iter().any(|variable| *variable.name == **name),
            };
            let frame = view.stack.iter().rev().find(is_it).map(|frame| frame.id);
            if let (Some(playbook), None) = (playbook, frame) {
                let running = view.stack.iter().map(|frame| &*frame.name).collect::<Vec<_>>().join(", ");
                let problem = format!("{playbook} is not running here; running now: {running}");
                self.performed.problems.push(format!("{}:{line}: {problem}", self.name));
                continue;
            }
            let _ = live.handle.edit(frame, name.as_str(), value.clone()).await;
        }
        Ok(())
    }

    /// Keeps what is compared.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a test expects what is named here")]
    fn note(&mut self, event: &PublicEvent) {
        let index = self.performed.stretches.len() - 1;
        let Some(stretch) = self.performed.stretches.last_mut() else { return };
        match &event.body {
            PublicBody::Said { text } => stretch.said.push(text.to_string()),
            PublicBody::VariableSet { variable, value, .. } => {
                stretch.variables.insert(variable.clone(), value.clone());
            }
            PublicBody::CallQueued { call, callable, kind: CallKind::Tool, args, .. } => {
                let arguments = args.as_map().cloned().unwrap_or_default();
                self.calls.push((*call, index, stretch.calls.len()));
                stretch.calls.push(ExpectedCall { name: callable.to_string(), arguments, result: None });
            }
            PublicBody::CallFinished { call, result, error, .. } => {
                let result = match (result, error) {
                    (Some(value), _) => Some(ExpectedResult::Value(value.clone())),
                    (None, Some(error)) => Some(ExpectedResult::Error(error.to_string())),
                    (None, None) => None,
                };
                if let Some((_, stretch, place)) = self.calls.iter().find(|(running, ..)| running == call) {
                    self.performed.stretches[*stretch].calls[*place].result = result;
                }
            }
            // A test expects nothing else.
            _ => {}
        }
    }
}

/// How a session ended, in a test's words.
fn outcome(outcome: Option<&Outcome>) -> ExpectedOutcome {
    match outcome {
        Some(Outcome::Done { value }) => ExpectedOutcome::Finished { value: Some(value.shown()) },
        Some(Outcome::Failed(fault)) => {
            ExpectedOutcome::Failed { kind: fault.kind.to_string(), message: Some(fault.message.to_string()) }
        }
        None => ExpectedOutcome::Waits,
    }
}
