//! A scripted conversation played in process, with the prompt tokens of each of its requests.

use std::path::Path;
use std::sync::{Arc, Mutex};

use playhouse::host::classify::rules::Rules;
use playhouse::host::clock::TestClock;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::llm::script::{Script, ScriptEntry};
use playhouse::host::llm::{Llm, LlmRequest, Purpose, ReplyStream};
use playhouse::host::program::load_texts;
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start, World};
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;
use playhouse::lang::files::test_file::{TestFile, TestStep, TestStepKind};
use playhouse::span::FileId;
use playhouse::value::Map;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Outcome, Role, Timestamp};
use serde_json::json;

/// A scripted model that counts the tokens of what it is asked.
struct Counting {
    script: Script,
    /// Per request: whether it is a classifier's, and its prompt tokens.
    asked: Mutex<Vec<(bool, usize)>>,
}

impl Llm for Counting {
    fn id(&self) -> Arc<str> {
        self.script.id()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        let role = |role| match role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let messages: Vec<_> = request
            .messages
            .iter()
            .map(|message| json!({ "role": role(message.role), "content": &*message.text }))
            .collect();
        let body = json!({
            "model": "gpt-4o",
            "messages": messages,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        let tokens = tiktoken_rs::o200k_base_singleton().encode_ordinary(&body.to_string()).len();
        self.asked.lock().unwrap().push((request.purpose != Purpose::Turn, tokens));
        self.script.request(request)
    }
}

/// What a run cost.
pub(crate) struct Cost {
    pub(crate) n_messages: usize,
    pub(crate) calls: usize,
    /// Questions to the classifier, whatever it is.
    pub(crate) classifier_calls: u64,
    /// Of each model call.
    pub(crate) tokens: Vec<usize>,
    pub(crate) classifier_tokens: usize,
    pub(crate) discarded: u64,
}

/// Reads a conversation.
pub(crate) fn conversation(path: &Path) -> Result<TestFile, String> {
    let text = std::fs::read_to_string(path).map_err(|cause| cause.to_string())?;
    TestFile::parse(FileId(0), &text).map_err(|found| format!("{found:?}"))
}

/// Plays a conversation about the program `root` to its end.
pub(crate) async fn play(steps: Vec<TestStep>, registry: Registry, root: SourceText) -> Result<Cost, String> {
    let (mut lines, mut replies) = (Vec::new(), Vec::new());
    for step in steps {
        match step.kind {
            TestStepKind::User(line) => lines.push(line),
            TestStepKind::Interrupts(_)
            | TestStepKind::Event(_)
            | TestStepKind::Wait(_)
            | TestStepKind::Set(_)
            | TestStepKind::Written(_) => return Err("only messages and whole replies are played here".to_owned()),
            TestStepKind::Reply(reply) => replies.push(ScriptEntry::reply(reply.text)),
            TestStepKind::ExpectSay(_)
            | TestStepKind::ExpectVariables(_)
            | TestStepKind::ExpectCalls(_)
            | TestStepKind::ExpectOutcome(_)
            | TestStepKind::Expect(_) => {}
        }
    }
    let n_messages = lines.len();
    let n_replies = replies.len();
    let signatures: Vec<_> = registry.signatures().iter().map(|tool| tool.signature.clone()).collect();
    let mut read = |_: &Path| Err("only the library is imported here".into());
    let (text, loaded) = load_texts(vec![root], &signatures, &mut read);
    let llm = Arc::new(Counting { script: Script::from_entries("ideal", replies), asked: Mutex::default() });
    let clock = Arc::new(TestClock::new(Timestamp(0)));
    let (tools, classifier) = (Arc::new(registry), Arc::new(Rules));
    let world = World { llm: llm.clone(), classifier, tools, clock, options: SessionOptions::default() };
    let start = Start {
        id: "bench".into(),
        program: Arc::new(loaded.program),
        text,
        settings: Settings::default(),
        entry: None,
        arguments: Map::new(),
        given: Default::default(),
    };
    let mut session =
        Session::start(world, Box::new(MemoryJournal::new()), start).map_err(|error| error.to_string())?;
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let mut lines = lines.into_iter();
    let mut is_broken_off = false;
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { return Err(format!("{notice:?}")) };
        if matches!(event.body, PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User }) {
            match lines.next() {
                Some(line) => handle.send(line.as_str()).await.unwrap(),
                None => {
                    is_broken_off = true;
                    handle.stop().await;
                }
            }
        }
    }
    let ending = handle.outcome().await.unwrap();
    match &ending.outcome {
        Some(Outcome::Done { .. }) => {}
        Some(Outcome::Failed(fault)) => return Err(fault.message.to_string()),
        None if is_broken_off => {}
        None => return Err("it has not come to its end".to_owned()),
    }
    let counters = ending.view.counters;
    if counters.repairs > 0 {
        return Err(format!("{} replies were corrected", counters.repairs));
    }
    let asked = llm.asked.lock().unwrap();
    if asked.len() < n_replies {
        return Err(format!("{} of {n_replies} replies were not asked for", n_replies - asked.len()));
    }
    let of_classifier = asked.iter().filter(|(is_classifier, _)| *is_classifier);
    Ok(Cost {
        n_messages,
        calls: asked.iter().filter(|(is_classifier, _)| !is_classifier).count(),
        classifier_calls: counters.classifier_calls,
        tokens: asked.iter().filter(|(is_classifier, _)| !is_classifier).map(|(_, tokens)| *tokens).collect(),
        classifier_tokens: of_classifier.map(|(_, tokens)| *tokens).sum(),
        discarded: counters.discarded_tokens,
    })
}

/// `2,960`.
pub(crate) fn thousands(n: usize) -> String {
    if n < 1_000 { n.to_string() } else { format!("{},{:03}", n / 1_000, n % 1_000) }
}
