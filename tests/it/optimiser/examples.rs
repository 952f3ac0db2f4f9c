//! The examples with their scripted conversations: what the model and the interpreter did in a run with all
//! optimisations is learned by heart, frame by frame, and done again by the model alone in a run with none.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at a few kinds of many")]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse::host::classify::TriggerClassifier;
use playhouse::host::classify::rules::Rules;
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::program::load_texts;
use playhouse::host::tool::{CallContext, Tool, ToolOutcome, canned};
use playhouse::lang::SourceText;
use playhouse::lang::files::test_file::{TestFile, TestStepKind};
use playhouse::lang::program::Signature;
use playhouse::span::FileId;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{
    CallId, CallOutcome, Effect, Event, Fact, Finish, FrameId, Outcome, Progress, ReplyEnd, Role, StartTurn, Timestamp,
    ToolSignature, TurnId, Wait,
};
use playhouse::vm::{Begin, Machine};
use serde_json::json;

use crate::conversation::holds_replies;
use crate::optimiser::{all_off, all_on};

/// A conversation of an example.
struct Conversation {
    program: Arc<playhouse::lang::program::Program>,
    signatures: Arc<[ToolSignature]>,
    tools: String,
    lines: Vec<String>,
    replies: Vec<String>,
}

/// What of a run can be observed.
#[derive(Debug, Default, PartialEq)]
struct Observed {
    speech: Vec<String>,
    calls: Vec<String>,
    last_values: BTreeMap<String, String>,
    result: Option<String>,
}

/// What was done in one frame, as trace lines.
#[derive(Debug, Default)]
struct Deeds {
    lines: Vec<serde_json::Value>,
    /// It was replaced by the playbook that its last call calls.
    is_elided: bool,
}

/// Who speaks for the model.
enum Speaker {
    Script(VecDeque<String>),
    /// The deeds of each frame, in the order in which frames are pushed.
    Memory(Vec<Deeds>),
}

struct Stage {
    machine: Machine,
    speaker: Speaker,
    tools: Vec<Arc<dyn Tool>>,
    turn: Option<(TurnId, Option<String>)>,
    closed: Vec<TurnId>,
    to_start: VecDeque<(CallId, u32)>,
    running: VecDeque<(CallId, ToolOutcome)>,
    speech: String,
    /// What the classifier has said.
    verdicts: VecDeque<Event>,
    /// The position of each frame in the order in which they were pushed.
    frames: HashMap<FrameId, usize>,
    deeds: Vec<Deeds>,
    /// A frame has ended the program.
    has_ended: bool,
    /// Results that are going to be given to a variable: that is nobody's deed.
    awaited: Vec<(CallId, FrameId, String)>,
    observed: Observed,
    log: Vec<String>,
}

fn read(path: &Path) -> Option<Conversation> {
    let text = std::fs::read_to_string(path).unwrap();
    // What a classifier says is no optimisation's business.
    if text.contains("- setting classifier:") {
        return None;
    }
    let file = TestFile::parse(FileId(0), &text).unwrap();
    let folder = path.parent().unwrap();
    let tools = file.tools.as_ref().map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    let mut tools: serde_json::Value = serde_json::from_str(tools.as_deref().unwrap_or("{}")).unwrap();
    for tool in tools.as_object_mut().unwrap().values_mut() {
        tool.as_object_mut().unwrap().remove("log");
    }
    let tools = tools.to_string();
    let signatures: Arc<[ToolSignature]> = tools_of(&tools).iter().map(|tool| tool.signature()).collect();
    let plain: Vec<Signature> = signatures.iter().map(|tool| tool.signature.clone()).collect();
    let source = std::fs::read_to_string(folder.join(&file.program)).unwrap();
    let root = SourceText { name: file.program.clone(), text: source };
    let (_, loaded) = load_texts(vec![root], &plain, &mut |_: &Path| Err("none".into()));
    let (mut lines, mut replies) = (Vec::new(), Vec::new());
    for step in file.steps {
        match step.kind {
            TestStepKind::User(line) => lines.push(line),
            TestStepKind::Reply(reply) => replies.push(reply.text),
            _ => {}
        }
    }
    Some(Conversation { program: Arc::new(loaded.program), signatures, tools, lines, replies })
}

fn tools_of(text: &str) -> Vec<Arc<dyn Tool>> {
    let directory = WorkingDirectory::open(&std::env::temp_dir()).unwrap();
    canned::from_text(text, &directory).unwrap()
}

fn run(conversation: &Conversation, settings: Settings, speaker: Speaker) -> Stage {
    let machine = Machine::begin(Begin {
        program: conversation.program.clone(),
        settings: Settings {
            max_session_turns: 10_000,
            context_tokens: 10_000_000,
            classifier_first: true,
            ..settings
        },
        tools: conversation.signatures.clone(),
        entry: None,
        arguments: Map::new(),
        time: Timestamp(0),
    });
    let mut stage = Stage {
        machine,
        speaker,
        tools: tools_of(&conversation.tools),
        turn: None,
        closed: Vec::new(),
        to_start: VecDeque::new(),
        running: VecDeque::new(),
        speech: String::new(),
        verdicts: VecDeque::new(),
        frames: HashMap::new(),
        deeds: Vec::new(),
        has_ended: false,
        awaited: Vec::new(),
        observed: Observed::default(),
        log: Vec::new(),
    };
    let mut lines = conversation.lines.iter();
    loop {
        let wait = match stage.machine.advance() {
            Progress::Emit(effect) => {
                stage.perform(effect);
                continue;
            }
            Progress::Reached(_) => continue,
            Progress::Blocked(wait) => wait,
            Progress::Finished(Outcome::Done { value }) => {
                stage.observed.result = Some(value.value().to_json());
                break;
            }
            Progress::Finished(Outcome::Failed(fault)) => panic!("{fault:?}\n{}", stage.log.join("\n")),
        };
        let Some(event) = stage.next_event(&wait, &mut lines) else { break };
        stage.machine.handle(Timestamp(0), event);
    }
    // A conversation may end before the program does: then the top frame waits for the user.
    let stack = stage.machine.view().stack;
    if let Some(top) = stack.last() {
        let mut line = top.line.as_ref().map_or_else(|| json!({}), |label| json!({ "at": **label }));
        line["wait"] = "user".into();
        stage.deeds[stage.frames[&top.id]].lines.push(line);
    }
    stage
}

impl Stage {
    fn next_event<'a>(&mut self, wait: &Wait, lines: &mut impl Iterator<Item = &'a String>) -> Option<Event> {
        if let Some(turn) = self.closed.pop() {
            return Some(Event::ReplyEnded { turn, end: ReplyEnd::Closed, usage: None });
        }
        if let Some((call, attempt)) = self.to_start.pop_front() {
            return Some(Event::CallStarted { call, attempt });
        }
        if let Some(verdict) = self.verdicts.pop_front() {
            return Some(verdict);
        }
        if let Some((call, outcome)) = self.running.pop_front() {
            let outcome = match outcome {
                ToolOutcome::Value(value) => CallOutcome::Value { value, secret: false },
                ToolOutcome::Secret(value) => CallOutcome::Value { value, secret: true },
                ToolOutcome::Written { text, .. } => CallOutcome::Value { value: Value::from(text), secret: false },
                ToolOutcome::Error(error) | ToolOutcome::Unavailable(error) => CallOutcome::Error(error.into()),
                ToolOutcome::Needs(question) => CallOutcome::Needs { question: question.into(), takes_no: false },
                ToolOutcome::Asks(question) => CallOutcome::Needs { question: question.into(), takes_no: true },
            };
            return Some(Event::CallEnded { call, outcome, usage: None });
        }
        match wait {
            Wait::Reply(turn) => match self.turn.as_mut()?.1.take() {
                Some(text) => Some(Event::Chunk { turn: *turn, bytes: text.into_bytes().into() }),
                None => {
                    self.turn = None;
                    Some(Event::ReplyEnded { turn: *turn, end: ReplyEnd::Complete(Finish::Stop), usage: None })
                }
            },
            Wait::User => {
                let text = lines.next()?;
                self.log.push(format!("user {text}"));
                Some(Event::Message { text: text.as_str().into() })
            }
            Wait::Budget => Some(Event::GoOn),
            other => panic!("{other:?}\n{}", self.log.join("\n")),
        }
    }

    fn reply(&mut self, start: &StartTurn) -> String {
        let deeds = match &mut self.speaker {
            Speaker::Script(replies) => {
                let asked = &start.messages[start.messages.len() - 1].text;
                return replies.pop_front().unwrap_or_else(|| panic!("nothing left to say to {asked}"));
            }
            Speaker::Memory(deeds) => &deeds[self.frames[&start.place.frame]],
        };
        let applied = start.messages.iter().filter(|message| message.role == Role::Assistant);
        let n_done = applied.map(|message| message.text.lines().count()).sum();
        let mut lines = Vec::new();
        for line in deeds.lines.iter().skip(n_done) {
            lines.push(line.to_string());
            if ["wait", "return", "end"].iter().any(|key| line.get(key).is_some()) {
                return lines.join("\n");
            }
        }
        assert!(deeds.is_elided, "nothing left to do: {deeds:?}\n{}", self.log.join("\n"));
        // What the last call gave is what the frame would have returned, had it not been replaced.
        let asked = &start.messages[start.messages.len() - 1].text;
        let result = asked.lines().filter_map(|line| line.rsplit_once(" -> ")).next_back();
        let Some((_, result)) = result else { panic!("no result: {deeds:?}\n{}\nasked\n{asked}", self.log.join("\n")) };
        let value: serde_json::Value = serde_json::from_str(result).unwrap();
        json!({ "at": deeds.lines.last().unwrap()["at"], "return": value }).to_string()
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::StartTurn(start) => {
                let reply = self.reply(&start);
                self.log.push(format!("asked\n{}", start.messages[start.messages.len() - 1].text));
                self.log.push(format!("replied\n{reply}"));
                self.turn = Some((start.turn, Some(reply)));
            }
            Effect::CloseReply { turn, .. } => {
                if self.turn.take_if(|(open, _)| *open == turn).is_some() {
                    self.closed.push(turn);
                }
            }
            Effect::StartCall(start) => {
                let arguments = start.argument_map();
                self.observed.calls.push(format!("{}{}", start.name, Value::map(arguments.clone())));
                let tool = self.tools.iter().find(|tool| tool.signature().signature.name == start.name).unwrap();
                tool.begun("examples", &start);
                let (progress, _news) = tokio::sync::mpsc::channel(1);
                let context = CallContext {
                    session: "examples".into(),
                    call_id: format!("examples/{}", start.call.0).into(),
                    deadline: tokio::time::Instant::now(),
                    cancel: Default::default(),
                    progress,
                    ask: None,
                    answers: Vec::new(),
                    llm: None,
                    trace: None,
                    skill: None,
                };
                let outcome = futures_util::FutureExt::now_or_never(tool.call(context, arguments));
                self.to_start.push_back((start.call, start.attempt));
                self.running.push_back((start.call, outcome.expect("a canned answer is there at once")));
            }
            Effect::Say { text, last, .. } => {
                self.speech.push_str(&text);
                if last {
                    self.log.push(format!("say {}", self.speech));
                    self.observed.speech.push(std::mem::take(&mut self.speech));
                }
            }
            Effect::Report(report) => {
                let place = report.place.map(|place| (place.frame, self.machine.describe(place.location)));
                self.learn(place, &report.fact);
            }
            Effect::Classify(question) => {
                let id = question.question;
                let verdict = futures_util::FutureExt::now_or_never(Rules.judge(Arc::new(*question)));
                let verdict = verdict.expect("rules answer at once");
                self.verdicts.push_back(Event::Verdict { question: id, verdict, ms: 0 });
            }
            other => panic!("{other:?}"),
        }
    }

    /// Notes what was done, whoever did it.
    fn learn(&mut self, place: Option<(FrameId, String)>, fact: &Fact) {
        let Some((frame, place)) = place else { return };
        let at = place.split_once(':').map(|(_, label)| label.rsplit('>').next().unwrap_or(label).to_owned());
        if let Fact::FramePushed { .. } = fact {
            self.frames.insert(frame, self.deeds.len());
            self.deeds.push(Deeds::default());
            return;
        }
        let Some(&index) = self.frames.get(&frame) else { return };
        let mut line = at.map_or_else(|| json!({}), |at| json!({ "at": at }));
        let bare = line.clone();
        match fact {
            Fact::Said { text } => line["say"] = text.replace('$', "$$").into(),
            Fact::UserMessage { text } => {
                self.log.push(format!("heard {text}"));
                line["wait"] = "user".into();
            }
            Fact::VariableSet { name, value, .. } if &**name != "user_message" => {
                self.observed.last_values.insert(name.to_string(), value.value().to_json());
                let awaited = self.awaited.iter().position(|(_, of, result)| *of == frame && **result == **name);
                if let Some(awaited) = awaited {
                    self.awaited.remove(awaited);
                    return;
                }
                line["set"] = json!({ &**name: dollars(value.value()) });
            }
            Fact::CallQueued { call, name, arguments, .. } => {
                let arguments: serde_json::Map<_, _> =
                    arguments.iter().map(|(name, value)| (name.to_string(), dollars(value.value()))).collect();
                line["call"] = (&**name).into();
                line["args"] = arguments.into();
                let queue = self.machine.view().stack.into_iter().flat_map(|frame| frame.queue);
                let result = queue.filter(|queued| queued.call == *call).find_map(|queued| queued.result_name);
                if let Some(result) = result {
                    line["as"] = (&*result).into();
                    self.awaited.push((*call, frame, result.to_string()));
                }
                self.deeds[index].lines.push(std::mem::replace(&mut line, bare));
                line["wait"] = "calls".into();
            }
            Fact::FramePopped { value: Some(value) } => line["return"] = dollars(value.value()),
            Fact::FrameElided { .. } => {
                self.deeds[index].is_elided = true;
                return;
            }
            // All frames are gone at once: the end of the program, which is the deed of the first that is told.
            Fact::FramePopped { value: None } if !self.has_ended && self.machine.view().stack.is_empty() => {
                self.has_ended = true;
                line["end"] = match self.machine.view().outcome {
                    Some(Outcome::Done { value }) if *value.value() != Value::Null => {
                        serde_json::from_str(&value.value().to_json()).unwrap()
                    }
                    _ => true.into(),
                };
            }
            Fact::Repair { cause, .. } | Fact::Degraded { cause } => {
                // A scripted conversation may show a repair; who knows everything by heart needs none.
                assert!(matches!(self.speaker, Speaker::Script(_)), "{cause}\n{}", self.log.join("\n"));
                return;
            }
            _ => return,
        }
        self.deeds[index].lines.push(line);
    }
}

/// A value as it is written in a trace line: what looks like a reference is none.
fn dollars(value: &Value) -> serde_json::Value {
    serde_json::from_str(&value.to_json().replace('$', "$$")).unwrap()
}

/// Plays every conversation twice.
pub(crate) fn play_all() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| holds_replies(path));
    paths.sort();
    let mut n_played = 0;
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy();
        let Some(conversation) = read(path) else { continue };
        let script = Speaker::Script(conversation.replies.iter().cloned().collect());
        let on = run(&conversation, all_on(), script);
        let off = run(&conversation, all_off(), Speaker::Memory(on.deeds));
        assert_eq!(off.observed, on.observed, "{name}\n{}", off.log.join("\n"));
        assert!(!on.observed.speech.is_empty(), "{name}");
        n_played += 1;
    }
    println!("{n_played} conversations of the examples");
    assert!(n_played >= 6, "only {n_played}");
}
