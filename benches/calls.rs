//! What programs cost in model calls and prompt tokens, with a model that makes no mistake: `cargo bench --bench
//! calls` runs the conversations in `benches/calls/` in process and writes `benches/calls.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fmt::Write;
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
use playhouse::host::tool::builtin::WorkingDirectory;
use playhouse::host::tool::canned;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;
use playhouse::serve::cli::test_file::{TestFile, TestStepKind};
use playhouse::span::FileId;
use playhouse::value::Map;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Outcome, Role, Timestamp};
use serde_json::json;

/// What the older Python project needs for a program of the same kind.
struct Peer {
    /// Calls to compile the program, and to run it.
    calls: Option<(usize, usize)>,
    /// Prompt tokens of all of them.
    tokens: Option<usize>,
}

/// A program, what it may cost, and what it costs elsewhere.
struct Case {
    name: &'static str,
    title: &'static str,
    /// Calls beside one for each message of the user.
    spare_calls: usize,
    peer: Peer,
}

const fn peer(compile: usize, run: usize, tokens: usize) -> Peer {
    Peer { calls: Some((compile, run)), tokens: Some(tokens) }
}

const CASES: [Case; 6] = [
    Case { name: "hello", title: "hello", spare_calls: 1, peer: peer(2, 1, 19_179) },
    Case { name: "greeting", title: "greeting, two messages", spare_calls: 1, peer: peer(2, 3, 31_842) },
    Case { name: "nested", title: "nested call", spare_calls: 1, peer: peer(2, 3, 31_658) },
    Case {
        name: "triggers",
        title: "triggers: five playbooks, three messages, two triggers",
        spare_calls: 2,
        peer: peer(2, 10, 79_169),
    },
    Case {
        name: "loop",
        title: "loop of twenty turns",
        spare_calls: 1,
        peer: Peer { calls: Some((0, 21)), tokens: None },
    },
    Case { name: "order-status", title: "order status", spare_calls: 1, peer: Peer { calls: None, tokens: None } },
];

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
struct Cost {
    n_messages: usize,
    calls: usize,
    classifier_calls: usize,
    /// Of each model call.
    tokens: Vec<usize>,
    classifier_tokens: usize,
    discarded: u64,
}

fn main() {
    // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut rows = String::new();
    let mut misses = Vec::new();
    for case in &CASES {
        let cost = match runtime.block_on(run(&folder.join("calls"), case.name)) {
            Ok(cost) => cost,
            Err(problem) => {
                misses.push(format!("{}: {problem}", case.name));
                continue;
            }
        };
        write_row(&mut rows, case, &cost);
        let allowed = cost.n_messages + case.spare_calls;
        if cost.calls > allowed {
            misses.push(format!("{}: {} calls, at most {allowed} were aimed at", case.name, cost.calls));
        }
        let sum: usize = cost.tokens.iter().sum::<usize>() + cost.classifier_tokens;
        if case.peer.tokens.is_some_and(|peer| sum * 4 > peer) {
            misses.push(format!("{}: {sum} prompt tokens, more than a quarter of the older project's", case.name));
        }
    }
    let misses: String = misses.iter().map(|miss| format!("- missed: {miss}\n")).collect();
    let text = format!("{HEAD}{rows}{misses}{FOOT}");
    std::fs::write(folder.join("calls.md"), &text).unwrap();
    println!("{text}");
}

const HEAD: &str = "\
# Model calls and prompt tokens

Written by `cargo bench --bench calls`. The programs and the replies of a model that makes no mistake are in
`benches/calls/`. Tokens are counted with `o200k_base` over the JSON body of each request.

| program | calls | aim | classifier calls | prompt tokens | first, largest, last request | discarded tokens | the older Python project: calls (compile + run) | its prompt tokens | ours of them |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

const FOOT: &str = "
The aim is one call for each message of the user and one more (two for the program with triggers, where a reply is cut
off by a trigger), at most a quarter of the older project's prompt tokens, and none to compile. Discarded tokens are
an estimate: what a reply held behind the point where it was cut off. The older project's figures were measured with
replies written by hand to its own contract; in the loop its requests grow from 22.9 to 25.8 thousand characters.
";

fn write_row(rows: &mut String, case: &Case, cost: &Cost) {
    let sum: usize = cost.tokens.iter().sum::<usize>() + cost.classifier_tokens;
    let [first, largest, last] =
        [cost.tokens.first(), cost.tokens.iter().max(), cost.tokens.last()].map(|tokens| tokens.copied().unwrap_or(0));
    let peer_calls = case.peer.calls.map_or_else(|| "—".to_owned(), |(compile, run)| format!("{compile} + {run}"));
    let peer_tokens = case.peer.tokens.map_or_else(|| "—".to_owned(), thousands);
    let share = case.peer.tokens.map_or_else(|| "—".to_owned(), |peer| format!("{} %", sum * 100 / peer));
    let _ = writeln!(
        rows,
        "| {} | {} | ≤ {} | {} | {} | {}, {}, {} | {} | {peer_calls} | {peer_tokens} | {share} |",
        case.title,
        cost.calls,
        cost.n_messages + case.spare_calls,
        cost.classifier_calls,
        thousands(sum),
        thousands(first),
        thousands(largest),
        thousands(last),
        cost.discarded,
    );
}

fn thousands(n: usize) -> String {
    if n < 1_000 { n.to_string() } else { format!("{},{:03}", n / 1_000, n % 1_000) }
}

/// Plays the conversation `name` to its end.
async fn run(folder: &Path, name: &str) -> Result<Cost, String> {
    let text = std::fs::read_to_string(folder.join(format!("{name}.test.md"))).unwrap();
    let file = TestFile::parse(FileId(0), &text).map_err(|found| format!("{found:?}"))?;
    let directory = WorkingDirectory::open(folder).unwrap();
    let tools = file
        .tools
        .as_ref()
        .map_or_else(|| "{}".to_owned(), |tools| std::fs::read_to_string(folder.join(tools)).unwrap());
    let registry = Registry::new();
    for tool in canned::from_text(&tools, &directory).unwrap() {
        registry.add(tool).unwrap();
    }
    let (mut lines, mut replies) = (Vec::new(), Vec::new());
    for step in file.steps {
        match step.kind {
            TestStepKind::User(line) => lines.push(line),
            TestStepKind::Reply(reply) => replies.push(ScriptEntry::reply(reply.text)),
            TestStepKind::ExpectSay(_)
            | TestStepKind::ExpectVariables(_)
            | TestStepKind::ExpectCalls(_)
            | TestStepKind::ExpectOutcome(_) => {}
        }
    }
    let n_messages = lines.len();
    let signatures: Vec<_> = registry.signatures().iter().map(|tool| tool.signature.clone()).collect();
    let source = std::fs::read_to_string(folder.join(&file.program)).unwrap();
    let roots = vec![SourceText { name: file.program.clone(), text: source }];
    let (text, loaded) = load_texts(roots, &signatures, &mut |_: &Path| Err("nothing is imported here".into()));
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
    };
    let mut session =
        Session::start(world, Box::new(MemoryJournal::new()), start).map_err(|error| error.to_string())?;
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let mut lines = lines.into_iter();
    while let Some(notice) = events.next().await {
        let Notice::Event(event) = notice else { return Err(format!("{notice:?}")) };
        if matches!(event.body, PublicBody::Waiting { whom: "user", .. }) {
            match lines.next() {
                Some(line) => handle.send(line.as_str()).await.unwrap(),
                None => handle.stop().await,
            }
        }
    }
    let ending = handle.outcome().await.unwrap();
    match &ending.outcome {
        Some(Outcome::Done { .. }) => {}
        Some(Outcome::Failed(fault)) => return Err(fault.message.to_string()),
        None => return Err("it has not come to its end".to_owned()),
    }
    let counters = ending.view.counters;
    if counters.repairs > 0 {
        return Err(format!("{} replies were corrected", counters.repairs));
    }
    let asked = llm.asked.lock().unwrap();
    let of_classifier = asked.iter().filter(|(is_classifier, _)| *is_classifier);
    Ok(Cost {
        n_messages,
        calls: asked.iter().filter(|(is_classifier, _)| !is_classifier).count(),
        classifier_calls: of_classifier.clone().count(),
        tokens: asked.iter().filter(|(is_classifier, _)| !is_classifier).map(|(_, tokens)| *tokens).collect(),
        classifier_tokens: of_classifier.map(|(_, tokens)| *tokens).sum(),
        discarded: counters.discarded_tokens,
    })
}
