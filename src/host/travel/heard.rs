//! What a stored session asked of models and tools, and what it heard: told to a take, a cassette can be made of it.

use std::collections::HashMap;
use std::sync::Arc;

use playhouse_lang::program::{Program, TriggerId};
use playhouse_lang::value::Value;
use playhouse_vm::protocol::{
    CallId, CallKind, CallOutcome, Effect, Event, Finish, Progress, Question, QuestionId, ReplyEnd, StartCall,
    StartTurn, Timestamp, TurnId, Usage, Verdict,
};
use playhouse_vm::reply::agent_schema;

use crate::cassette::entry::Reply;
use crate::cassette::order::{Speaker, Step};
use crate::cassette::take::{Take, Ticket, result_name};
use crate::classify::TriggerClassifier;
use crate::journal::record::Record;
use crate::llm::{Llm, LlmRequest, Purpose, TurnAsData, answer};
use crate::replay::error::SessionError;
use crate::replay::told::{Told, tell};
use crate::tool::registry::Registry;

/// Who was asked: what is there of them tells what they are, and that they are recorded.
pub struct Cast<'a> {
    /// The model.
    pub llm: &'a dyn Llm,
    /// The trigger classifier.
    pub classifier: &'a dyn TriggerClassifier,
    /// The tools.
    pub tools: &'a Registry,
    /// Whether requests carry a schema.
    pub constrain: bool,
}

/// Tells `take`, which records `cast`, all that the session of these records asked and heard; gives the order in which it
/// heard it.
///
/// # Errors
/// The records hold no session, or the machine does not follow them.
pub fn tell_take(records: &[Record], cast: &Cast<'_>, take: &Take) -> Result<Vec<Step>, SessionError> {
    let recorded = cast.tools.recorded();
    let mut listener = Listener {
        cast,
        take,
        is_recorded: &|name| recorded.iter().any(|tool| *tool.signature.name == *name),
        session: Arc::default(),
        program: None,
        time: Timestamp::default(),
        n_asked: [0; 4],
        turns: HashMap::new(),
        wanted: HashMap::new(),
        calls: HashMap::new(),
        questions: HashMap::new(),
        steps: Vec::new(),
    };
    tell(records, &mut |told| listener.hear(told))?;
    Ok(listener.steps)
}

struct Listener<'a> {
    cast: &'a Cast<'a>,
    take: &'a Take,
    /// Whether a tool of this name is recorded.
    is_recorded: &'a dyn Fn(&str) -> bool,
    session: Arc<str>,
    program: Option<Arc<Program>>,
    time: Timestamp,
    n_asked: [usize; 4],
    turns: HashMap<TurnId, Asked>,
    /// Calls that have not begun.
    wanted: HashMap<CallId, StartCall>,
    calls: HashMap<CallId, Called>,
    questions: HashMap<QuestionId, (Asked, Box<Question>)>,
    steps: Vec<Step>,
}

/// A request that is under way.
struct Asked {
    /// Which of its kind.
    n: usize,
    /// None: nothing of it is kept.
    ticket: Option<Ticket>,
    began: Timestamp,
    bytes: Vec<u8>,
}

/// A call that is under way.
struct Called {
    start: StartCall,
    /// Which call of a tool; none: a question to the model.
    n: Option<usize>,
    began: Timestamp,
    /// Of a tool that is recorded.
    ticket: Option<Ticket>,
    /// Of one that asks the model.
    asked: Option<Asked>,
}

impl Listener<'_> {
    fn hear(&mut self, told: Told<'_>) {
        match told {
            Told::Began(time, begun, program) => {
                (self.time, self.session, self.program) = (time, begun.session.clone(), Some(program.clone()));
            }
            Told::Record(record) => {
                self.time = record.timestamp();
                if let Some(event) = record.body.to_event() {
                    self.heard(event);
                }
            }
            Told::Moved(_, Progress::Emit(effect)) => self.wants(effect),
            Told::Moved(..) => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nobody is asked by anything else")]
    fn wants(&mut self, effect: &Effect) {
        match effect {
            Effect::StartTurn(start) => {
                let request = self.request_of(start);
                let asked = self.ask(Speaker::Turn, |cast| cast.llm.replayed(&request));
                self.turns.insert(start.turn, asked);
            }
            Effect::StartCall(start) => {
                self.wanted.insert(start.call, StartCall::clone(start));
            }
            Effect::Classify(question) => {
                let asked = self.ask(Speaker::Verdict, |cast| cast.classifier.replayed(question));
                self.questions.insert(question.question, (asked, question.clone()));
            }
            _ => {}
        }
    }

    fn request_of(&self, start: &StartTurn) -> LlmRequest {
        let schema = self.cast.constrain.then(|| Arc::new(agent_schema(&start.callables)));
        let turn = self
            .program
            .clone()
            .map(|program| Arc::new(TurnAsData { program, tools: Arc::default(), data: start.data.clone() }));
        LlmRequest { purpose: Purpose::Turn, messages: start.messages.clone(), schema, turn }
    }

    /// Somebody is asked; the take notes it where a model is.
    fn ask(&mut self, speaker: Speaker, ask: impl FnOnce(&Cast<'_>)) -> Asked {
        let n_before = self.take.n_asked();
        ask(self.cast);
        let ticket = self.take.ticket(n_before);
        Asked { n: self.count(speaker), ticket, began: self.time, bytes: Vec::new() }
    }

    fn count(&mut self, speaker: Speaker) -> usize {
        let n = &mut self.n_asked[speaker as usize];
        *n += 1;
        *n
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are no answers")]
    fn heard(&mut self, event: Event) {
        match event {
            Event::Chunk { turn, bytes } => {
                let Some(asked) = self.turns.get_mut(&turn) else { return };
                asked.bytes.extend_from_slice(&bytes);
                let step = Step { speaker: Speaker::Turn, n: asked.n, bytes: Some(asked.bytes.len()) };
                match self.steps.last_mut() {
                    Some(last) if last.bytes.is_some() && last.n == step.n => *last = step,
                    Some(_) | None => self.steps.push(step),
                }
            }
            Event::ReplyEnded { turn, end, usage } => {
                let Some(asked) = self.turns.remove(&turn) else { return };
                self.steps.push(Step { speaker: Speaker::Turn, n: asked.n, bytes: None });
                let text = String::from_utf8_lossy(&asked.bytes).into_owned();
                self.answered(asked, text, end, usage);
            }
            Event::CallStarted { call, .. } => self.call(call),
            Event::CallEnded { call, outcome, usage } => self.ended(call, outcome, usage),
            Event::Verdict { question, verdict, .. } => {
                let Some((asked, question)) = self.questions.remove(&question) else { return };
                self.steps.push(Step { speaker: Speaker::Verdict, n: asked.n, bytes: None });
                if let Verdict::Judged { matched, usage, .. } = verdict {
                    let end = ReplyEnd::Complete(Finish::Stop);
                    self.answered(asked, names_of(&matched, &question), end, usage);
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, asked: Asked, text: String, end: ReplyEnd, usage: Option<Usage>) {
        let ms = self.since(asked.began);
        if let Some(ticket) = asked.ticket {
            self.take.answered(ticket, Reply { text, end, usage, ms });
        }
    }

    fn since(&self, began: Timestamp) -> u64 {
        u64::try_from(self.time.0 - began.0).unwrap_or(0)
    }

    /// A call begins.
    fn call(&mut self, call: CallId) {
        let Some(start) = self.wanted.remove(&call) else { return };
        let (mut n, mut ticket, mut asked) = (None, None, None);
        if start.kind == CallKind::Model {
            asked = Some(self.ask(Speaker::Plan, |cast| cast.llm.replayed(&answer::request_of(&start))));
        } else {
            n = Some(self.count(Speaker::Call));
            let secret = start.arguments.iter().filter(|(_, argument)| argument.is_secret());
            secret.for_each(|(_, argument)| self.take.hide(argument.value()));
            if (self.is_recorded)(&start.name) {
                let arguments = start.arguments.iter().map(|(name, value)| (name.clone(), value.shown())).collect();
                ticket = Some(self.take.called_before(&start.name, arguments));
            } else {
                let n_before = self.take.n_asked();
                self.cast.tools.replayed(&self.session, &start, self.cast.llm);
                // One that asks the model.
                let ticket = self.take.ticket(n_before);
                asked =
                    ticket.is_some().then(|| self.ask(Speaker::Plan, |_| {})).map(|asked| Asked { ticket, ..asked });
            }
        }
        self.calls.insert(call, Called { start, n, began: self.time, ticket, asked });
    }

    /// A call has ended. What was interrupted the session has ended itself.
    fn ended(&mut self, call: CallId, outcome: CallOutcome, usage: Option<Usage>) {
        let Some(Called { start, n, began, ticket, asked }) = self.calls.remove(&call) else { return };
        let is_heard = !matches!(outcome, CallOutcome::Interrupted);
        if let Some(asked) = asked {
            if is_heard {
                self.steps.push(Step { speaker: Speaker::Plan, n: asked.n, bytes: None });
            }
            if let CallOutcome::Value { value, .. } = &outcome {
                self.answered(asked, value.to_text(), ReplyEnd::Complete(Finish::Stop), usage);
            }
        }
        if let Some(n) = n.filter(|_| is_heard) {
            self.steps.push(Step { speaker: Speaker::Call, n, bytes: None });
        }
        let Some(ticket) = ticket else { return };
        let kept = self.take.kept(&outcome, &result_name(&start));
        self.take.ended(ticket, (kept, usage, self.since(began)));
    }
}

/// An answer of a model that names these triggers.
fn names_of(matched: &[TriggerId], question: &Question) -> String {
    let named = question.candidates.iter().filter(|candidate| matched.contains(&candidate.trigger));
    Value::list(named.map(|candidate| Value::Str(candidate.name.clone())).collect()).to_json()
}
