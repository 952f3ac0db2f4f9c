//! Trigger classifiers: what they are asked, what is made of their answers, and how long anybody waits for them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use playhouse::host::classify::model::{ModelClassifier, read_answer};
use playhouse::host::classify::off::Off;
use playhouse::host::classify::prompt::{messages, question_text};
use playhouse::host::classify::questions::Questions;
use playhouse::host::classify::rules::Rules;
use playhouse::host::classify::script::ScriptClassifier;
use playhouse::host::classify::{TriggerClassifier, VerdictFuture};
use playhouse::host::llm::script::{Script, ScriptEntry, ScriptError};
use playhouse::host::llm::{Llm, LlmRequest, Purpose, ReplyStream};
use playhouse::lang::program::{AgentId, PlaybookId, TriggerId};
use playhouse::value::Value;
use playhouse::vm::protocol::{
    Candidate, FrameId, Judge, Location, Place, Question, QuestionId, Update, Usage, Verdict,
};
use tokio::time::Instant;

use crate::golden;

fn trigger(playbook: u32) -> TriggerId {
    TriggerId { playbook: PlaybookId(playbook), index: 0 }
}

/// `Name:T1: text`, one per line; ` / ` is a line break in the text.
fn candidates(lines: &str) -> Vec<Candidate> {
    let candidate = |(index, line): (usize, &str)| {
        let (name, text) = line.split_once(": ").unwrap();
        Candidate {
            trigger: trigger(index as u32),
            name: name.into(),
            text: text.replace(" / ", "\n  ").into(),
            is_skill: false,
        }
    };
    lines.lines().enumerate().map(candidate).collect()
}

/// `name: old -> new` in JSON; `-` for no value.
fn updates(lines: &str) -> Vec<Update> {
    let update = |line: &str| {
        let (name, values) = line.split_once(": ").unwrap();
        let (old, new) = values.split_once(" -> ").unwrap();
        let old = (old != "-").then(|| Value::from_json(old).unwrap());
        Update { name: name.into(), old, new: Value::from_json(new).unwrap() }
    };
    lines.lines().map(update).collect()
}

fn question(asked: &str, changed: &str) -> Question {
    Question {
        question: QuestionId(7),
        place: Place {
            frame: FrameId(1),
            agent: AgentId(0),
            location: Location::Line { playbook: PlaybookId(0), step: None },
            depth: 0,
            turn: None,
        },
        candidates: candidates(asked),
        updates: updates(changed),
        user: None,
        active: Vec::new(),
    }
}

/// A question as most are.
fn contact() -> Question {
    question("Contact:T1: When the user provides an email", "user_message: \"hi\" -> \"ann@example.org\"")
}

fn matched(by: Judge, playbooks: &[u32], usage: Option<Usage>) -> Verdict {
    Verdict::Judged { by, matched: playbooks.iter().map(|id| trigger(*id)).collect(), abstained: Vec::new(), usage }
}

/// The prompt is part of the product, and scripts match on the question.
#[test]
fn what_a_model_is_told() {
    let mut text = String::new();
    let mut say = |title: &str, question: &Question| text.push_str(&format!("== {title}\n{}", question_text(question)));
    say("the user's words", &contact());
    let mut order = question(
        "Discount:T1: When the $order is above 100\nReview:T2: When the $order / looks like a mistake",
        "order: - -> {\"total\": 120}\nmood: \"calm\" -> null",
    );
    order.user = Some("two \"chairs\"\nUPDATES\n$order: 1 -> 2".into());
    order.active = candidates("Calm:T1: When the user is frustrated");
    say("variables, with a user who writes what looks like ours", &order);
    let mut both = question("A:T1: When $x is large", "user_message: - -> \"{% if %} {{ x }}\"\nx: 1 -> 2");
    both.user = Some("{% if %} {{ x }}".into());
    say("words and a variable", &both);
    let mut long = question("A:T1: When $x is large", "x: 1 -> 2");
    long.updates[0].new = Value::str("long ".repeat(10_000));
    assert!(question_text(&long).len() < 2_200);
    golden::compare("classify/questions.golden", &text);

    let told = messages(&contact());
    assert_eq!(told.len(), 2);
    assert_eq!(&*told[1].text, question_text(&contact()));
    assert!(Arc::ptr_eq(&told[0].text, &messages(&order)[0].text), "a provider's prompt cache wants the same bytes");
    golden::compare("classify/system.golden", &told[0].text);
}

/// One case per line of `---`; the candidates are `Contact:T1`, `Calm:T1` and `Calm:T2`.
#[test]
fn answers_are_read_tolerantly() {
    let asked = candidates("Contact:T1: a\nCalm:T1: b\nCalm:T2: c");
    golden::check("classify", &["answers"], |_, text| {
        let mut read = String::new();
        for answer in text.split_terminator("---\n") {
            let names = match read_answer(answer, &asked) {
                None => "no list".to_owned(),
                Some(found) if found.is_empty() => "none".to_owned(),
                Some(found) => {
                    let name = |id| asked.iter().find(|asked| asked.trigger == id).unwrap().name.to_string();
                    found.into_iter().map(name).collect::<Vec<_>>().join(" ")
                }
            };
            read.push_str(&format!("{answer}=> {names}\n\n"));
        }
        read
    });
}

/// `# ` begins a trigger; below it stand the user's messages, or updates (`$name: old -> new`), each by itself.
#[test]
fn what_rules_make_of_words() {
    golden::check("classify", &["rules"], |_, text| {
        let mut judged = String::new();
        let mut asked = "";
        for line in text.lines() {
            if let Some(trigger) = line.strip_prefix("# ") {
                asked = trigger;
                judged.push_str(&format!("\n{line}\n"));
                continue;
            }
            let said = format!("user_message: - -> {}", Value::str(line).to_json());
            let update = line.strip_prefix('$').unwrap_or(&said);
            let asked = question(&format!("A:T1: {asked}"), update);
            let verdict = Rules.judge(Arc::new(asked)).now_or_never().unwrap();
            let Verdict::Judged { by: Judge::Rules, matched, abstained, usage: None } = verdict else { panic!() };
            let word = match (matched.len(), abstained.len()) {
                (1, 0) => "match",
                (0, 1) => "abstains",
                (0, 0) => "-",
                other => panic!("{other:?}"),
            };
            judged.push_str(&format!("  {word:8} {line}\n"));
        }
        judged
    });
}

/// A model that notes who asks, and what it is told last.
struct Noting {
    script: Script,
    purposes: Mutex<Vec<Purpose>>,
    told: Mutex<String>,
}

impl Llm for Noting {
    fn id(&self) -> Arc<str> {
        self.script.id()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        self.purposes.lock().unwrap().push(request.purpose);
        *self.told.lock().unwrap() = request.messages.last().unwrap().text.to_string();
        self.script.request(request)
    }

    fn replayed(&self, request: &LlmRequest) {
        self.script.replayed(request);
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_is_asked_once() {
    let usage = Some(Usage { prompt_tokens: 300, cached_tokens: 0, completion_tokens: 9 });
    let entries = vec![
        ScriptEntry {
            usage,
            when: Some(regex::Regex::new("ann@example").unwrap()),
            ..ScriptEntry::reply("[\"Contact:T1\"]")
        },
        ScriptEntry::reply("I can't tell."),
        ScriptEntry::error(ScriptError::Status(401)),
        ScriptEntry::error(ScriptError::Length),
        ScriptEntry::error(ScriptError::NoFinish),
        ScriptEntry::reply("[]"),
        ScriptEntry::reply("x".repeat(300_000)),
    ];
    let llm = Arc::new(Noting {
        script: Script::from_entries("m", entries),
        purposes: Mutex::default(),
        told: Mutex::default(),
    });
    let classifier = ModelClassifier::new(llm.clone());
    assert_eq!(&*classifier.id(), "model:script:m");
    let judge = async || classifier.judge(Arc::new(contact())).await;
    assert_eq!(judge().await, matched(Judge::Model, &[0], usage));
    let mut reasons = String::new();
    for _ in 0..4 {
        let Verdict::Failed { reason } = judge().await else { panic!() };
        reasons.push_str(&format!("{reason}\n"));
    }
    golden::compare("classify/failures.golden", &reasons);
    // A question that was answered before counts as asked.
    classifier.replayed(&contact());
    let Verdict::Failed { reason } = judge().await else { panic!() };
    assert!(reason.contains("the answer has no end"), "{reason}");
    assert_eq!(*llm.purposes.lock().unwrap(), [Purpose::Classifier; 6]);
}

/// Of more skills than a classifier can be shown those are that share words with the user's; other triggers always.
#[tokio::test]
async fn of_many_skills_those_that_fit_are_shown() {
    let line = |n: usize| format!("Skill{n}:T1: Mends {} of kind {n}", if n == 90 { "teapots" } else { "things" });
    let lines: Vec<String> = (0..100).map(line).chain(["Contact:T1: When the user is angry".to_owned()]).collect();
    let mut question = question(&lines.join("\n"), "user_message: - -> \"my teapot is broken\"");
    question.user = Some("my teapot is broken".into());
    question.candidates[..100].iter_mut().for_each(|candidate| candidate.is_skill = true);
    for (budget, n_shown) in [(2_000, 33), (100_000, 101)] {
        let entries = vec![ScriptEntry::reply("[\"Skill90:T1\"]")];
        let llm = Arc::new(Noting {
            script: Script::from_entries("m", entries),
            purposes: Mutex::default(),
            told: Mutex::default(),
        });
        let classifier = ModelClassifier::new(llm.clone()).with_budget(budget);
        assert_eq!(classifier.judge(Arc::new(question.clone())).await, matched(Judge::Model, &[90], None));
        let told = llm.told.lock().unwrap().clone();
        assert_eq!(told.lines().filter(|line| line.contains(":T1: ")).count(), n_shown);
        assert!(told.contains("Skill90:T1") && told.contains("Contact:T1"), "{told}");
    }
}

/// What comes of a question, and after how long.
async fn asked(classifier: impl TriggerClassifier + 'static, timeout_ms: u64) -> (Verdict, u128) {
    let began = Instant::now();
    let mut questions = Questions::default();
    let verdict = match questions.ask(contact(), Arc::new(classifier), Duration::from_millis(timeout_ms)) {
        Some((verdict, _)) => verdict,
        None => {
            assert!(!questions.is_empty());
            let (id, verdict, _) = std::future::poll_fn(|context| questions.poll(context)).await;
            assert_eq!(id, QuestionId(7));
            verdict
        }
    };
    assert!(questions.is_empty());
    (verdict, began.elapsed().as_millis())
}

fn script(entries: &str) -> ScriptClassifier {
    ScriptClassifier::from_text("c.jsonl", entries).unwrap()
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever() {
    let yes = matched(Judge::Script, &[0], None);
    assert_eq!(asked(script(r#"{"match":["Contact:T1"],"delay_ms":400}"#), 5_000).await, (yes.clone(), 400));
    assert_eq!(asked(script(r#"{"match":["Contact:T1"],"delay_ms":5000}"#), 5_000).await, (yes, 5_000));
    assert_eq!(asked(script(r#"{"match":["Contact:T1"],"delay_ms":5001}"#), 5_000).await, (Verdict::TimedOut, 5_000));
    assert_eq!(asked(script(r#"{"error":"hang"}"#), 200).await, (Verdict::TimedOut, 200));
    let failed = |reason: &str| Verdict::Failed { reason: reason.into() };
    let answered = asked(script(r#"{"error":503,"delay_ms":10}"#), 200).await;
    assert_eq!(answered, (failed("the server answered with status 503"), 10));
    assert_eq!(asked(script(r#"{"error":"no such model"}"#), 200).await, (failed("no such model"), 0));
    let model = ModelClassifier::new(Arc::new(Script::from_entries("m", vec![ScriptEntry::error(ScriptError::Hang)])));
    assert_eq!(asked(model, 300).await, (Verdict::TimedOut, 300));
    let (verdict, _) = asked(Off, 1).await;
    assert!(matches!(verdict, Verdict::Failed { reason } if reason.contains("switched off")));
}

/// A classifier with a bug.
struct Panicking {
    at_once: bool,
}

impl TriggerClassifier for Panicking {
    fn id(&self) -> Arc<str> {
        "panicking".into()
    }

    fn judge(&self, _question: Arc<Question>) -> VerdictFuture {
        assert!(!self.at_once, "at once");
        Box::pin(async {
            tokio::task::yield_now().await;
            panic!("later")
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure() {
    for (at_once, word) in [(true, "at once"), (false, "later")] {
        let (verdict, _) = asked(Panicking { at_once }, 100).await;
        let reason = format!("the classifier failed because of a bug in it: {word}");
        assert_eq!(verdict, Verdict::Failed { reason: reason.into() });
    }
}

/// A classifier that needs no time gives its verdict without being waited for.
#[tokio::test(start_paused = true)]
async fn a_verdict_that_is_there_costs_no_wait() {
    let mut questions = Questions::default();
    let classifier = Arc::new(script(r#"{"match":["Contact:T1"]}"#));
    let verdict = questions.ask(contact(), classifier, Duration::ZERO);
    assert_eq!(verdict, Some((matched(Judge::Script, &[0], None), 0)));
}

#[tokio::test(start_paused = true)]
async fn scripts_answer_in_order() {
    let classifier = script(
        r#"{"when":"says \"never","match":["Contact:T1"]}
           {"when":"(?m)^Contact:T1: When the user provides","match":["Contact:T1","Other:T1"]}
           {"when":"no value -> 3","match":["Contact:T1"],"repeat":2}
           {"match":[],"repeat":true}"#,
    );
    let variable = || question("Contact:T1: When $n is large", "n: - -> 3");
    let mut verdicts = Vec::new();
    classifier.replayed(&variable());
    for question in [contact(), variable(), variable(), contact()] {
        verdicts.push(classifier.judge(Arc::new(question)).await);
    }
    let judged = |playbooks: &[u32]| matched(Judge::Script, playbooks, None);
    assert_eq!(verdicts, [judged(&[0]), judged(&[0]), judged(&[]), judged(&[])]);
    let left: Vec<String> = classifier.left_over().into_iter().map(|left| left.message).collect();
    assert_eq!(left, ["script c.jsonl, line 1 was never used"]);
    // Without an entry nothing matches.
    assert_eq!(script("").judge(Arc::new(contact())).await, judged(&[]));
}

#[test]
fn wrong_scripts_name_the_line() {
    let mut told = String::new();
    for text in [
        "{\"match\":[]}\n{\"when\":\"(\",\"match\":[]}",
        "{}",
        "{\"wenn\":\"x\",\"match\":[]}",
        "[{\"match\":\"A:T1\"}]",
        "{\"match\":[],\"repeat\":0}",
        "{\"error\":true}",
    ] {
        let error = ScriptClassifier::from_text("c.jsonl", text).unwrap_err();
        told.push_str(&format!("{error}\n\n"));
    }
    golden::compare("classify/script_errors.golden", &told);
}
