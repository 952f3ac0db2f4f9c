//! Counts what one session spends while it is told again.

use std::collections::HashMap;
use std::sync::Arc;

use playhouse_lang::program::{PlaybookId, Program};
use playhouse_vm::protocol::settings::Settings;
use playhouse_vm::protocol::{
    CallId, CallKind, ChatMessage, Effect, Fact, Progress, QuestionId, StartCall, StartTurn, Timestamp, TurnId, Usage,
    Wait,
};

use crate::cassette::key::{blocks, heading};
use crate::frames::{Frame, Frames, Line};
use crate::journal::record::{Begun, Record, RecordBody, UsageWire, VerdictWire};
use crate::profile::cache::{Known, Requests};
use crate::profile::reply::written;
use crate::profile::tree::{Part, Profile, Shares, Spent, Step};
use crate::replay::told::Told;
use crate::resource::prices::PriceTable;
use crate::text::{cut, one_line};

/// Longer words of a line are cut: they are names here.
const MAX_WORDS: usize = 60;

/// What was counted of a session so far.
pub(super) struct Counter<'p> {
    profile: &'p mut Profile,
    prices: &'p PriceTable,
    session: Option<Session>,
}

/// A session that has begun.
struct Session {
    frames: Frames,
    settings: Settings,
    model: Arc<str>,
    /// What triggers are judged by.
    classifier: Arc<str>,
    requests: Requests,
    turns: Vec<Turn>,
    /// What calls are called, and where they were made.
    calls: HashMap<CallId, Vec<Step>>,
    questions: HashMap<QuestionId, Vec<Step>>,
    /// The time of the last record.
    time: Timestamp,
    /// What the machine waits for since then.
    wait: Option<Wait>,
}

/// A turn whose reply is not over.
struct Turn {
    id: TurnId,
    messages: Vec<ChatMessage>,
    known: Known,
    reply: Vec<u8>,
    /// The frames that lie below its lines.
    below: Vec<Step>,
    /// The line that it goes on from.
    first: Vec<Step>,
    /// The program, and the playbook whose lines the reply names.
    program: Arc<Program>,
    playbook: PlaybookId,
}

impl<'p> Counter<'p> {
    pub(super) fn new(profile: &'p mut Profile, prices: &'p PriceTable) -> Counter<'p> {
        Counter { profile, prices, session: None }
    }

    pub(super) fn hear(&mut self, told: Told<'_>) {
        if let Told::Began(time, begun, program) = told {
            self.session = Some(Session::new(time, begun, program));
        }
        // It begins before anything else is told.
        let Some(mut session) = self.session.take() else { return };
        match told {
            Told::Began(..) => {}
            Told::Record(record) => self.record(&mut session, record),
            Told::Moved(_, progress) => self.moved(&mut session, progress),
        }
        self.session = Some(session);
    }

    fn moved(&mut self, session: &mut Session, progress: &Progress) {
        session.frames.moved(progress);
        match progress {
            Progress::Emit(Effect::StartTurn(start)) => {
                self.profile.n_turns += 1;
                session.start_turn(start);
            }
            Progress::Emit(Effect::StartCall(call)) => {
                let place = session.call_place(call);
                session.calls.insert(call.call, place);
            }
            Progress::Emit(Effect::Classify(question)) => {
                let place = session.here();
                session.questions.insert(question.question, place);
            }
            Progress::Emit(Effect::Report(report)) => {
                if let Fact::TurnFinished { turn, usage, discarded_tokens, estimated, .. } = &report.fact {
                    self.profile.is_estimated |= estimated;
                    self.turn_over(session, *turn, *usage, *discarded_tokens);
                }
            }
            Progress::Blocked(wait) => session.wait = Some(wait.clone()),
            // The last reply may run on for its usage; nobody waits for it.
            Progress::Finished(_) => session.wait = None,
            Progress::Emit(_) | Progress::Reached(_) => {}
        }
    }

    fn record(&mut self, session: &mut Session, record: &Record) {
        self.time_passed(session, record);
        if let RecordBody::Chunk { turn, text } = &record.body {
            if let Some(turn) = session.turns.iter_mut().find(|known| known.id.0 == *turn) {
                turn.reply.extend_from_slice(&text.0);
            }
        } else if let RecordBody::CallEnded { call, usage: Some(usage), .. } = &record.body {
            let place = session.calls.get(&CallId(*call)).cloned().unwrap_or_default();
            let model = session.model.clone();
            self.spend(&place, &model, *usage);
        } else if let RecordBody::Verdict { question, verdict, .. } = &record.body {
            let place = session.questions.remove(&QuestionId(*question));
            if let (VerdictWire::Judged { usage: Some(usage), .. }, Some(mut place)) = (verdict, place) {
                place.push((Part::Classifier, session.classifier.clone()));
                let model = session.judging_model();
                self.spend(&place, &model, *usage);
            }
        }
    }

    /// From the record before to this one the machine has waited for one thing, where it stood.
    fn time_passed(&mut self, session: &mut Session, record: &Record) {
        let ms = u64::try_from(record.time.saturating_sub(session.time.0)).unwrap_or(0);
        session.time = Timestamp(record.time);
        // Nothing was done while no process had it.
        if ms == 0 || record.body.reopens() {
            return;
        }
        if let Some(place) = session.wait.as_ref().and_then(|wait| session.waiting_place(wait)) {
            self.profile.root.at(&place).spent += Spent { ms, ..Spent::default() };
        }
    }

    /// Tokens of a question that is no turn.
    fn spend(&mut self, place: &[Step], model: &str, usage: UsageWire) {
        let usage = usage.to_usage();
        let spent = Spent {
            prompt_tokens: usage.prompt_tokens,
            cached_tokens: usage.cached_tokens.min(usage.prompt_tokens),
            completion_tokens: usage.completion_tokens,
            ms: 0,
            cost: self.cost(model, usage),
        };
        self.profile.root.at(place).spent += spent;
    }

    fn cost(&mut self, model: &str, usage: Usage) -> f64 {
        self.prices.cost(model, &usage).unwrap_or_else(|| {
            if !self.profile.unpriced.iter().any(|known| known == model) {
                self.profile.unpriced.push(model.to_owned());
            }
            0.0
        })
    }

    /// A turn is over: its tokens go to blocks and lines.
    fn turn_over(&mut self, session: &mut Session, id: TurnId, usage: Usage, discarded_tokens: u64) {
        let Some(index) = session.turns.iter().position(|turn| turn.id == id) else { return };
        let turn = session.turns.swap_remove(index);
        let cached_tokens = usage.cached_tokens.min(usage.prompt_tokens);
        self.profile.cache.add(&turn.known, usage.prompt_tokens, cached_tokens);
        self.spend_prompt(&session.model, &turn, Usage { cached_tokens, ..usage });
        self.spend_reply(session, &turn, usage.completion_tokens, discarded_tokens);
    }

    /// The tokens of a request: to its first line, by block. A cache holds its beginning.
    fn spend_prompt(&mut self, model: &str, turn: &Turn, usage: Usage) {
        let mut shares = Shares::new(usage.prompt_tokens, turn.known.n_bytes);
        let mut path = turn.first.clone();
        for message in &turn.messages {
            for block in blocks(message.role, &message.text) {
                let (from, to) = shares.take(block.len() as u64);
                let part = Usage {
                    prompt_tokens: to - from,
                    cached_tokens: usage.cached_tokens.clamp(from, to) - from,
                    completion_tokens: 0,
                };
                let Usage { prompt_tokens, cached_tokens, .. } = part;
                let cost = self.cost(model, part);
                path.push((Part::Prompt, heading(message.role, block).into()));
                self.profile.root.at(&path).spent += Spent { prompt_tokens, cached_tokens, cost, ..Spent::default() };
                path.pop();
            }
        }
    }

    /// The tokens of a reply: to the lines that it has written, and what was not used to a place of its own.
    fn spend_reply(&mut self, session: &Session, turn: &Turn, completion_tokens: u64, discarded_tokens: u64) {
        let n_bytes = turn.reply.len() as u64;
        // The machine counts four bytes for a token that it has not used.
        let n_used = n_bytes.saturating_sub(discarded_tokens.saturating_mul(4));
        let mut shares = Shares::new(completion_tokens, n_bytes);
        let mut begin = 0;
        for stretch in written(&turn.reply, session.settings.reader_options()) {
            let place = stretch.at.and_then(|at| turn.place_of(&at)).unwrap_or_else(|| turn.first.clone());
            let end = stretch.end.min(n_used).max(begin);
            self.spend_completion(session, &place, shares.take(end - begin));
            begin = end;
        }
        let dropped = [&turn.below[..], &[(Part::Dropped, "dropped".into())]].concat();
        self.spend_completion(session, &dropped, shares.take(n_bytes - begin));
    }

    fn spend_completion(&mut self, session: &Session, place: &[Step], (from, to): (u64, u64)) {
        let completion_tokens = to - from;
        if completion_tokens == 0 {
            return;
        }
        let cost = self.cost(&session.model, Usage { completion_tokens, ..Usage::default() });
        self.profile.root.at(place).spent += Spent { completion_tokens, cost, ..Spent::default() };
    }
}

impl Session {
    fn new(time: Timestamp, begun: &Begun, program: &Arc<Program>) -> Session {
        Session {
            frames: Frames::new(program.clone(), begun.settings.clone()),
            settings: begun.settings.clone(),
            model: begun.model.clone(),
            classifier: begun.classifier.clone().unwrap_or_default(),
            requests: Requests::default(),
            turns: Vec::new(),
            calls: HashMap::new(),
            questions: HashMap::new(),
            time,
            wait: None,
        }
    }

    /// The frames up to a depth.
    fn frames_below(&self, depth: usize) -> Vec<Step> {
        let program = self.frames.program();
        // Playbooks of several agents may have one name.
        let name = |frame: &Frame| match program.playbooks_named(&frame.name).nth(1) {
            Some(_) => format!("{}.{}", frame.agent, frame.name).into(),
            None => frame.name.clone(),
        };
        self.frames.stack().iter().take(depth).map(|frame| (Part::Playbook, name(frame))).collect()
    }

    /// The top frame and its line.
    fn here(&self) -> Vec<Step> {
        let mut path = self.frames_below(usize::MAX);
        path.extend(self.frames.stack().last().and_then(|frame| frame.line.as_ref()).map(line_step));
        path
    }

    fn start_turn(&mut self, start: &StartTurn) {
        let known = self.requests.add(&start.messages);
        let (playbook, depth) = match start.data.inside {
            // The reply names the lines of the caller, one frame below.
            Some((caller, _)) => (caller, start.place.depth.saturating_sub(1)),
            None => (start.data.playbook, start.place.depth),
        };
        self.turns.push(Turn {
            id: start.turn,
            messages: start.messages.clone(),
            known,
            reply: Vec::new(),
            below: self.frames_below(depth + 1),
            first: self.here(),
            program: self.frames.program().clone(),
            playbook,
        });
    }

    fn call_place(&self, call: &StartCall) -> Vec<Step> {
        let mut path = self.frames_below(call.place.depth + 1);
        path.extend(self.frames.line(call.place.location).as_ref().map(line_step));
        path.push(match call.kind {
            CallKind::Model => (Part::Question, "questions".into()),
            CallKind::Tool | CallKind::Playbook | CallKind::Plan => (Part::Tool, call.name.clone()),
        });
        path
    }

    /// What is waited for, where.
    fn waiting_place(&self, wait: &Wait) -> Option<Vec<Step>> {
        let mut path = self.here();
        path.push(match wait {
            Wait::Reply(_) => (Part::Model, self.model.clone()),
            Wait::Call(call) => return Some(self.calls.get(call).cloned().unwrap_or(path)),
            Wait::Verdict(_) => (Part::Classifier, self.classifier.clone()),
            Wait::User | Wait::Approval(_) => (Part::User, "user".into()),
            Wait::Timer(_) => (Part::Timer, "timer".into()),
            Wait::Budget => return None,
        });
        Some(path)
    }

    /// The model that judges triggers.
    fn judging_model(&self) -> Arc<str> {
        self.classifier.strip_prefix("model:").map_or_else(|| self.model.clone(), Arc::from)
    }
}

impl Turn {
    /// The place of a line as the reply names it, `03` or `03>01`; none: there is no such line.
    fn place_of(&self, at: &str) -> Option<Vec<Step>> {
        let mut path = self.below.clone();
        let mut playbook = self.program.playbook(self.playbook);
        let mut labels = at.split('>').peekable();
        while let Some(label) = labels.next() {
            let step = playbook.steps.iter().find(|step| *step.label == *label)?;
            if labels.peek().is_none() {
                path.push(line_of(&step.label, &step.text));
            } else {
                playbook = self.program.playbook(step.call()?.playbook?);
                path.push((Part::Playbook, self.program.unique_name(playbook.id).into()));
            }
        }
        Some(path)
    }
}

fn line_step(line: &Line) -> Step {
    line_of(&line.label, &line.words)
}

/// `03 Tell the user`
fn line_of(label: &str, words: &str) -> Step {
    (Part::Line, cut(&format!("{label} {}", one_line(words)), MAX_WORDS).into())
}
