//! The embedded model as a session sees it, and what it makes of what fills its open places.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use playhouse::host::llm::embedded::Embedded;
use playhouse::host::llm::embedded::slots::{Extraction, Phrasing, SlotFiller, SpeechAct, Stop, Unfilled};
use playhouse::host::llm::{Llm, LlmRequest, Purpose, ReplyPart, TurnAsData};
use playhouse::value::Value;
use playhouse::vm::protocol::{Finish, ReplyEnd, TurnData, Usage};

use super::{Chat, program};

/// Answers what it is told to.
#[derive(Default)]
struct Told {
    quote: Option<&'static str>,
    phrase: Option<&'static str>,
    asked: Mutex<Vec<String>>,
}

impl SlotFiller for Told {
    fn name(&self) -> Option<String> {
        Some("told".to_owned())
    }

    fn extract(&self, slot: &Extraction<'_>, _stop: &Stop) -> Option<String> {
        self.asked.lock().unwrap().push(format!("extract {} from {:?}", slot.variable, slot.words));
        self.quote.map(str::to_owned)
    }

    fn phrase(&self, slot: &Phrasing<'_>, _stop: &Stop) -> Option<String> {
        self.asked.lock().unwrap().push(format!("phrase {:?} {:?}: {}", slot.act, slot.must_hold, slot.template));
        self.phrase.map(str::to_owned)
    }
}

fn one_line(line: &str) -> String {
    format!("# Desk\n\n## Main\n\n### Steps\n\n- {line}\n")
}

fn say(lines: &[serde_json::Value]) -> String {
    lines.iter().find_map(|line| line["say"].as_str()).unwrap_or("").to_owned()
}

#[test]
fn embedded_phrases_are_checked() {
    let variables = [("name".into(), Value::from("Ada $x"))];
    let program = one_line("Greet the user by $name");
    let phrased = |phrase| {
        let filler = Told { phrase, ..Told::default() };
        let text = say(&Chat::new(&program, &variables).reply_with(None, &filler));
        assert_eq!(*filler.asked.lock().unwrap(), [r#"phrase Greet ["Ada $x"]: Hello, Ada $x!"#]);
        text
    };
    let template = "Hello, {$name}!";
    assert_eq!(phrased(None), template);
    // What the sentence must hold is not there; it is no sentence; it is more than one line.
    for bad in ["Hello!", "", "Hello, Ada $x!\nHello!", "Hello, {Ada $x}!"] {
        assert_eq!(phrased(Some(bad)), template, "{bad}");
    }
    // Nothing of it is a reference.
    assert_eq!(phrased(Some("Good to see you, Ada $x, $5!")), "Good to see you, Ada $$x, $$5!");
    let variables = [("name".into(), Value::from("Ada"))];
    let filler = Told { phrase: Some("Hi Ada, nice to meet you!"), ..Told::default() };
    let text = say(&Chat::new(&program, &variables).reply_with(None, &filler));
    assert_eq!(text, "Hi {$name}, nice to meet you!");
}

#[test]
fn embedded_facts_and_secrets_are_not_phrased() {
    let filler = Told { phrase: Some("nonsense"), ..Told::default() };
    let variables = [("price".into(), Value::Int(3)), ("name".into(), Value::from("Ada"))];
    let said = |program: &str| say(&Chat::new(program, &variables).reply_with(None, &filler));
    assert_eq!(said(&one_line("Tell the user the $price")), "The price is {$price}.");
    let secret = format!(
        "---\nvariables:\n  name: {{type: str, value: \"Ada\", secret: true}}\n---\n{}",
        one_line("Greet the user by $name")
    );
    assert_eq!(said(&secret), "Hello, {$name}!");
    assert!(filler.asked.lock().unwrap().is_empty());
}

#[test]
fn embedded_quotes_are_checked() {
    let words = "well actually I was wondering whether you might write down Ada Lovelace for me there";
    let taken = |quote| {
        let filler = Told { quote, ..Told::default() };
        let mut chat = Chat::new(&one_line("Ask the user for $name"), &[]);
        chat.reply(None);
        let lines = chat.reply_with(Some(words), &filler);
        assert_eq!(*filler.asked.lock().unwrap(), [format!("extract name from {words:?}")]);
        lines.iter().find_map(|line| line["set"]["name"].as_str().map(str::to_owned))
    };
    assert_eq!(taken(Some("Ada Lovelace")), Some("Ada Lovelace".to_owned()));
    assert_eq!(taken(Some(" Ada Lovelace ")), Some("Ada Lovelace".to_owned()));
    // It was not said; it is no name; there is none.
    assert_eq!(taken(Some("Grace Hopper")), None);
    assert_eq!(taken(Some("what")), None);
    assert_eq!(taken(Some("")), None);
    assert_eq!(taken(None), None);
}

#[test]
fn embedded_acts_are_left_to_a_filler() {
    for (line, act) in [
        ("Greet the user", SpeechAct::Greet),
        ("Say goodbye", SpeechAct::Farewell),
        ("Thank the user", SpeechAct::Thank),
        ("Apologise to the user", SpeechAct::Apologise),
        ("Say something kind", SpeechAct::Remark),
    ] {
        let filler = Told { phrase: Some("So it is said."), ..Told::default() };
        let lines = Chat::new(&one_line(line), &[]).reply_with(None, &filler);
        assert_eq!(say(&lines), "So it is said.", "{line}");
        let asked = filler.asked.lock().unwrap();
        assert!(asked.len() == 1 && asked[0].starts_with(&format!("phrase {act:?} ")), "{asked:?}");
    }
}

fn request(turn: Option<TurnAsData>) -> LlmRequest {
    LlmRequest { purpose: Purpose::Turn, messages: Vec::new(), schema: None, turn: turn.map(Arc::new) }
}

fn turn(line: &str) -> TurnAsData {
    let program = program(&one_line(line), &[]);
    let playbook = &program.playbooks[0];
    let data = TurnData {
        playbook: playbook.id,
        pointer: playbook.steps.first().map(|step| step.id),
        inside: None,
        variables: Vec::new(),
        user: None,
        problem: None,
    };
    TurnAsData { program, tools: Arc::from([]), data }
}

#[tokio::test]
async fn embedded_replies_cost_nothing() {
    let model = Embedded::new(Arc::new(Unfilled));
    assert_eq!(&*model.id(), "embedded");
    let parts: Vec<ReplyPart> = model.request(request(Some(turn("Greet the user")))).collect().await;
    let text = "{\"at\":\"01\",\"say\":\"Hello!\"}\n{\"at\":\"01\",\"return\":null}";
    let end = ReplyEnd::Complete(Finish::Stop);
    assert_eq!(parts, [ReplyPart::Bytes(text.into()), ReplyPart::End { end, usage: Some(Usage::default()) }]);
}

#[tokio::test]
async fn embedded_refuses_what_is_no_turn() {
    let parts: Vec<ReplyPart> = Embedded::new(Arc::new(Unfilled)).request(request(None)).collect().await;
    let [ReplyPart::End { end: ReplyEnd::Refused { reason }, usage: None }] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    assert!(reason.contains("--model openai:NAME"), "{reason}");
}

/// Waits until it is told to stop.
struct Patient {
    begun: tokio::sync::mpsc::UnboundedSender<()>,
    stopped: Arc<AtomicBool>,
}

impl SlotFiller for Patient {
    fn name(&self) -> Option<String> {
        None
    }

    fn extract(&self, _slot: &Extraction<'_>, _stop: &Stop) -> Option<String> {
        None
    }

    fn phrase(&self, _slot: &Phrasing<'_>, stop: &Stop) -> Option<String> {
        let _ = self.begun.send(());
        while !stop.is_stopped() {
            std::thread::yield_now();
        }
        self.stopped.store(true, Ordering::SeqCst);
        None
    }
}

#[tokio::test]
async fn embedded_stops_when_nobody_reads() {
    let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    let stopped = Arc::new(AtomicBool::new(false));
    let model = Embedded::new(Arc::new(Patient { begun, stopped: stopped.clone() }));
    let mut stream = model.request(request(Some(turn("Greet the user"))));
    assert!(futures_util::poll!(stream.next()).is_pending());
    has_begun.recv().await.unwrap();
    drop(stream);
    // The filler lets go of its end of the channel when it is done.
    drop(model);
    assert!(has_begun.recv().await.is_none());
    assert!(stopped.load(Ordering::SeqCst));
}
