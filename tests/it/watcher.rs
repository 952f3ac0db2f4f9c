//! What the watcher looks at, and what a restart makes of it: triggers that are active, conditions that hold, the
//! question that is open, and what the classifier has answered (spec `triggers.md`).
#![allow(clippy::print_stdout, reason = "how many triggers were asked about is what one wants to know")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use playhouse::host::classify::prompt::question_text;
use playhouse::host::classify::script::ScriptClassifier;
use playhouse::host::classify::{TriggerClassifier, VerdictFuture};
use playhouse::host::clock::TestClock;
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{Record, RecordBody};
use playhouse::host::llm::script::{Chunks, Script, ScriptEntry};
use playhouse::host::llm::{Llm, LlmRequest, ReplyStream};
use playhouse::host::program::{ProgramText, load_texts};
use playhouse::host::replay::replay;
use playhouse::host::session::{Ending, Interest, Notice, Session, SessionOptions, Start, World};
use playhouse::host::tool::canned;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;
use playhouse::lang::program::{Program, Signature};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::view::View;
use playhouse::vm::protocol::{Candidate, Outcome, Question, Update};

use crate::conversation::{BEGAN, Snapshots, variables, views};
use crate::world::{Case, Chunking, Happening, begin, parse};

/// A program of 100 playbooks with ten triggers each, and what `reply` makes of it.
fn after_update(trigger: impl Fn(usize) -> String, reply: &str) -> View {
    let mut text =
        "--- program\n# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Note things\n- Talk\n"
            .to_owned();
    for playbook in 0..100 {
        write!(text, "\n## Odd{playbook}\n### Triggers\n").unwrap();
        for index in 0..10 {
            writeln!(text, "- {}", trigger(playbook * 10 + index)).unwrap();
        }
        text.push_str("### Steps\n- Return\n");
    }
    let case: Case = parse(&text);
    let mut world = crate::world::World::new(begin(&case));
    let _ = world.settle();
    assert_eq!(world.machine.view().triggers.len(), 1_000);
    world.happen(&Happening::Chunk(reply.to_owned()), Chunking::Whole);
    world.machine.view()
}

#[test]
fn only_candidates_are_asked_about() {
    let trigger = |number| match number % 100 {
        0 => format!("When something seems to be in trouble of kind {number}"),
        _ => format!("When $v{number} sounds odd"),
    };
    let view = after_update(trigger, r#"{"at":"01","set":{"v123":"hm"}}"#);
    let question = view.question.unwrap();
    println!(
        "1,000 semantic triggers, one update of $v123: the classifier is asked about {} (the one that names it)",
        question.candidates.len()
    );
    assert_eq!((question.candidates.len(), question.updates.len(), view.counters.classifier_calls), (1, 1, 1));
    assert_eq!((&*question.candidates[0].text, view.counters.trigger_evaluations), ("When $v123 sounds odd", 0));

    // Those that may be about anything are asked about when the turn is over, once for all of it.
    let view = after_update(trigger, r#"{"at":"01","set":{"other":1}}"#);
    assert_eq!((view.question, view.counters.classifier_calls), (None, 0));
    let reply = "{\"at\":\"01\",\"set\":{\"other\":1}}\n{\"at\":\"01\",\"set\":{\"more\":1}}\n\
                 {\"at\":\"01\",\"set\":{\"other\":2}}\n{\"at\":\"02\",\"wait\":\"user\"}\n";
    let view = after_update(trigger, reply);
    let question = view.question.unwrap();
    assert_eq!((question.candidates.len(), question.updates.len(), view.counters.classifier_calls), (10, 2, 1));
    let view = after_update(|number| format!("When $v{number} sounds odd"), r#"{"at":"01","set":{"other":1}}"#);
    assert_eq!((view.question, view.counters.classifier_calls), (None, 0));
}

#[test]
fn only_conditions_that_name_it_are_evaluated() {
    let trigger = |number| format!("When $v{number} > $v{}", number + 1);
    let view = after_update(trigger, r#"{"at":"01","set":{"v123":1}}"#);
    println!("1,000 conditions, one update of $v123: {} are evaluated", view.counters.trigger_evaluations);
    assert_eq!((view.counters.trigger_evaluations, view.counters.updates), (2, 1));
    assert_eq!((view.counters.classifier_calls, view.counters.trigger_matches), (0, 0));
    let view = after_update(trigger, r#"{"at":"01","set":{"other":1}}"#);
    assert_eq!((view.counters.trigger_evaluations, view.counters.updates), (0, 1));
}

/// Conditions, triggers in words, and triggers before and after calls; some of their playbooks take their time.
const DESK: &str = r#"# Desk

## Main
### Triggers
- At the beginning
### Steps
- Note $n, how many there are
- Note $mood
- $sent = Send($n)
- Note $n and $mood again
- Note $mood
- Note $mood
- Note $mood
- Note $mood
- Note $mood and $n
- Note $n
- Return $n

## Many
### Triggers
- When $n > 3
### Steps
- Say "Many."
- Ask the user for $why
- Say "{$why}, I see."

## Calm
### Triggers
- When $mood sounds bad
### Steps
- $kept = Keep($mood)
- Say "Calm down."

## Look
### Triggers
- Before calling Send
- After calling Keep
### Steps
- Say "{$call.name}."
"#;

/// What the model does at each line of `Main`: it may be asked again at any of them without harm.
const MAIN: [(&str, &str); 13] = [
    ("01", r#""set":{"n":2}"#),
    ("02", r#""set":{"mood":"dull"}"#),
    ("03", r#""think":"it is sent""#),
    ("04", r#""set":{"n":5}"#),
    ("04", r#""set":{"mood":"fine"}"#),
    ("05", r#""set":{"mood":"dull"}"#),
    ("06", r#""set":{"mood":"fine"}"#),
    // Asked about at line 05 already.
    ("07", r#""set":{"mood":"dull"}"#),
    ("08", r#""set":{"mood":"bad"}"#),
    ("09", r#""set":{"mood":"dull"}"#),
    ("09", r#""set":{"n":1}"#),
    ("10", r#""set":{"n":9}"#),
    ("11", r#""think":"done""#),
];

const TOOLS: &str = r#"{
  "Send": {"args": ["what"], "responses": [{"return": true}], "delay_ms": 7, "effect": "idempotent"},
  "Keep": {"args": ["what"], "responses": [{"return": true}], "delay_ms": 7, "effect": "idempotent"}
}"#;

/// What the user says when asked.
const LINES: [&str; 2] = ["hurry", "again"];

/// A model that looks at nothing but its request: where the program stands, and what the user has said.
struct Stateless {
    program: Arc<Program>,
}

impl Llm for Stateless {
    fn id(&self) -> Arc<str> {
        "stateless".into()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        let turn = request.turn.as_ref().unwrap().data.clone();
        let playbook = self.program.playbook(turn.playbook);
        let pointer = &*playbook.step(turn.pointer.unwrap()).label;
        let reply = match &*playbook.name {
            "Main" => MAIN
                .iter()
                .filter(|(line, _)| *line >= pointer)
                .map(|(line, action)| format!("{{\"at\":\"{line}\",{action}}}\n"))
                .collect(),
            "Many" => {
                let words = request.messages[1..].iter().flat_map(|message| message.text.lines());
                match words.filter_map(|line| line.strip_prefix("USER ")).next_back() {
                    Some(words) => format!("{{\"at\":\"02\",\"set\":{{\"why\":{words}}}}}\n"),
                    None => "{\"at\":\"02\",\"wait\":\"user\"}\n".to_owned(),
                }
            }
            other => panic!("{other} needs no model"),
        };
        // Slower than verdicts: each question is about one update.
        let entry =
            ScriptEntry { chunks: Chunks::Every(8), delay: Duration::from_millis(3), ..ScriptEntry::reply(reply) };
        Script::from_entries("stateless", vec![entry]).request(request)
    }
}

/// A scripted classifier that notes what it is asked, and what it is told was asked before.
struct Noting {
    script: ScriptClassifier,
    asked: Mutex<Vec<Question>>,
    replayed: Mutex<Vec<Question>>,
}

impl Noting {
    fn new(delay: u64) -> Noting {
        let entries = format!(
            "{{\"when\":\"-> \\\"bad\\\"\",\"match\":[\"Calm:T1\"],\"delay_ms\":{delay},\"repeat\":true}}\n\
             {{\"match\":[],\"delay_ms\":{delay},\"repeat\":true}}\n"
        );
        let script = ScriptClassifier::from_text("c", &entries).unwrap();
        Noting { script, asked: Mutex::default(), replayed: Mutex::default() }
    }
}

impl TriggerClassifier for Noting {
    fn id(&self) -> Arc<str> {
        "noting".into()
    }

    fn judge(&self, question: Arc<Question>) -> VerdictFuture {
        self.asked.lock().unwrap().push(Question::clone(&question));
        self.script.judge(question)
    }

    fn replayed(&self, question: &Question) {
        self.replayed.lock().unwrap().push(question.clone());
    }
}

/// The program, and what its sessions act through.
struct Desk {
    program: Arc<Program>,
    text: ProgramText,
    /// How long the classifier takes.
    delay: u64,
}

/// What a run came to: all that must be the same however often it was cut.
#[derive(Debug, PartialEq)]
struct Account {
    conversation: Vec<String>,
    variables: Vec<(String, Value)>,
    outcome: Option<Outcome>,
    n_matches: u64,
}

impl Desk {
    fn new(delay: u64) -> Desk {
        let directory = WorkingDirectory::open(&std::env::temp_dir()).unwrap();
        let tools = canned::from_text(TOOLS, &directory).unwrap();
        let signatures: Vec<Signature> = tools.iter().map(|tool| tool.signature().signature).collect();
        let roots = vec![SourceText { name: "desk.md".into(), text: DESK.into() }];
        let (text, loaded) = load_texts(roots, &signatures, &mut |_: &Path| Err("none".into()));
        Desk { program: Arc::new(loaded.program), text, delay }
    }

    fn world(&self) -> (World, Arc<Noting>) {
        let directory = WorkingDirectory::open(&std::env::temp_dir()).unwrap();
        let tools = Registry::new();
        for tool in canned::from_text(TOOLS, &directory).unwrap() {
            tools.add(tool).unwrap();
        }
        let classifier = Arc::new(Noting::new(self.delay));
        let world = World {
            llm: Arc::new(Stateless { program: self.program.clone() }),
            classifier: classifier.clone(),
            tools: Arc::new(tools),
            clock: Arc::new(TestClock::new(BEGAN)),
            options: SessionOptions::default(),
        };
        (world, classifier)
    }

    /// A whole run: its end, all states its journal was in, and the machine as it was seen behind each number of
    /// them.
    async fn record(&self) -> (Arc<Ending>, Vec<Vec<Record>>, Vec<(usize, Arc<View>)>) {
        let journal = Snapshots::default();
        let states = journal.states.clone();
        let start = Start {
            id: "s1".into(),
            program: self.program.clone(),
            text: self.text.clone(),
            settings: Settings { conversation: 1_000, context_tokens: 1_000_000, ..Settings::default() },
            entry: None,
            arguments: Map::new(),
            given: Default::default(),
        };
        let session = Session::start(self.world().0, Box::new(journal), start).unwrap();
        let handle = session.handle();
        let (ending, seen) = tokio::join!(converse(session, &LINES), views(&handle, &states));
        let states = std::mem::take(&mut *states.lock().unwrap());
        (ending, states, seen)
    }
}

/// Runs a session to its end, answering each wait for the user with the next line.
async fn converse(mut session: Session, lines: &[&str]) -> Arc<Ending> {
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let mut lines = lines.iter();
    // On the paused clock a session that waits for nothing that will come is found out at once.
    let mut next = async || tokio::time::timeout(Duration::from_secs(3_600), events.next()).await.expect("a way on");
    while let Some(notice) = next().await {
        let Notice::Event(event) = notice else { panic!("{notice:?}") };
        if matches!(event.body, PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User }) {
            handle.send(*lines.next().expect("another line")).await.unwrap();
        }
    }
    handle.outcome().await.unwrap()
}

fn account(ending: &Ending) -> Account {
    let conversation = ending.view.conversation.iter();
    Account {
        conversation: conversation
            .map(|utterance| format!("{}: {}", if utterance.by_user { "user" } else { "you" }, utterance.text))
            .collect(),
        variables: variables(&ending.view).into_iter().collect(),
        outcome: ending.outcome.clone(),
        n_matches: ending.view.counters.trigger_matches,
    }
}

/// As another process would read them.
fn through_text(records: &[Record]) -> Vec<Record> {
    let lines = records.iter().map(|record| serde_json::to_string(record).unwrap());
    lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

/// What a question asks of one candidate.
fn asked_of_each(question: &Question) -> Vec<String> {
    let names = |text: &str, update: &&Update| text.contains(&format!("${} ", update.name));
    let one = |candidate: &Candidate| {
        let updates = question.updates.iter().filter(|update| names(&candidate.text, update));
        format!("{}: {:?}", candidate.name, updates.collect::<Vec<_>>())
    };
    question.candidates.iter().map(one).collect()
}

/// A fresh replay of every prefix of the journal is the machine that was live then; how triggers stand is part of
/// it.
#[tokio::test(start_paused = true)]
async fn every_prefix_has_the_triggers_of_the_live_machine() {
    // With the slower classifier, questions are about several updates.
    for delay in [10, 100] {
        let (ending, states, seen) = Desk::new(delay).record().await;
        let (mut n_active, mut n_holding, mut n_open, mut n_together) = (0, 0, 0, 0);
        for (n_appends, live) in &seen {
            let replayed = replay(&through_text(&states[*n_appends - 1]), None).unwrap().machine.view();
            assert_eq!(replayed.triggers, live.triggers, "after {n_appends} appends");
            assert_eq!(replayed.question, live.question, "after {n_appends} appends");
            assert_eq!(replayed, **live, "after {n_appends} appends");
            n_active += usize::from(live.triggers.iter().any(|trigger| trigger.is_active));
            n_holding += usize::from(live.triggers.iter().any(|trigger| trigger.truth == Some(true)));
            n_open += usize::from(live.question.is_some());
            n_together += usize::from(live.question.as_ref().is_some_and(|question| question.updates.len() > 1));
        }
        println!(
            "{} prefixes, {} views: {n_active} with an active trigger, {n_holding} with a condition that holds, \
             {n_open} with an open question, {n_together} of them about several updates",
            states.len(),
            seen.len()
        );
        assert!(seen.len() * 2 > states.len() && n_active > 10 && n_holding > 10 && n_open > 10);
        assert_eq!(n_together > 10, delay == 100);
        assert!(matches!(ending.outcome, Some(Outcome::Done { .. })));
    }
}

/// Resumed at every prefix, the session comes to the same end: the same triggers fire, an open question is asked
/// again, and nothing that was answered before is.
#[tokio::test(start_paused = true)]
async fn every_prefix_goes_on_to_the_same_end() {
    let desk = Desk::new(10);
    let (golden, states, _) = desk.record().await;
    let golden = account(&golden);
    assert_eq!(
        golden.conversation,
        [
            "you: Send.",
            "you: Many.",
            "user: hurry",
            "you: hurry, I see.",
            "you: Keep.",
            "you: Calm down.",
            "you: Many.",
            "user: again",
            "you: again, I see.",
        ]
    );
    let (mut n_reopened, mut n_known) = (0, 0);
    for (index, records) in states.iter().enumerate() {
        let name = format!("cut {index} after {}", serde_json::to_string(records.last().unwrap()).unwrap());
        let records = through_text(records);
        let replayed = replay(&records, None).unwrap();
        let is_message = |record: &&Record| matches!(record.body, RecordBody::Message { .. });
        let n_messages = records.iter().filter(is_message).count();
        let (world, classifier) = desk.world();
        let session = Session::resume(world, Box::new(MemoryJournal::from_records(records))).await.unwrap();
        let ending = converse(session, &LINES[n_messages..]).await;
        assert_eq!(account(&ending), golden, "{name}");

        let (asked, answered) = (classifier.asked.lock().unwrap(), classifier.replayed.lock().unwrap());
        if let Some(open) = &replayed.machine.view().question {
            assert_eq!(question_text(&asked[0]), question_text(open), "{name}");
            n_reopened += 1;
        }
        let answered: BTreeSet<String> = answered.iter().flat_map(asked_of_each).collect();
        let again: Vec<String> = asked.iter().flat_map(asked_of_each).filter(|one| answered.contains(one)).collect();
        assert_eq!(again, Vec::<String>::new(), "{name}: asked twice");
        n_known += answered.len();
    }
    println!(
        "{} prefixes resumed to the same end, {n_reopened} of them with an open question; {n_known} answers known",
        states.len()
    );
    assert!(states.len() > 100 && n_reopened > 10 && n_known > 100);
}
