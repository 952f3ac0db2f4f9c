//! The judge: how often it is asked, and what its votes come to.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use playhouse::host::judge::transcript::Transcript;
use playhouse::host::judge::{Grounds, Judge, Opinion, VOTES};
use playhouse::host::llm::script::{Script, ScriptEntry, ScriptError};
use playhouse::host::llm::{Llm, LlmRequest, Purpose, ReplyStream};
use playhouse::lang::files::judge_file::TranscriptLine;
use playhouse::vm::protocol::Usage;

/// Counts the requests to a script.
struct Counting {
    script: Script,
    n_asked: AtomicUsize,
}

impl Llm for Counting {
    fn id(&self) -> Arc<str> {
        "openai:judge".into()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        assert_eq!(request.purpose, Purpose::Judge);
        self.n_asked.fetch_add(1, Ordering::Relaxed);
        self.script.request(request)
    }
}

const YES: &str = r#"{"pass": true, "quote": "Hello", "why": "y"}"#;
const NO: &str = r#"{"pass": false, "quote": "Hello", "why": "n"}"#;
const NONE: &str = "no idea";

/// A judge that gives these replies, and what counts them.
fn judge(votes: u32, replies: &[&str]) -> (Judge, Arc<Counting>) {
    let usage = Some(Usage { prompt_tokens: 100, cached_tokens: 10, completion_tokens: 1 });
    let entries = replies.iter().map(|reply| ScriptEntry { usage, ..ScriptEntry::reply(*reply) }).collect();
    let llm = Arc::new(Counting { script: Script::from_entries("judge", entries), n_asked: AtomicUsize::new(0) });
    (Judge::new(llm.clone(), NonZeroU32::new(votes).unwrap(), Duration::from_secs(60)), llm)
}

fn greeting() -> Transcript {
    let mut transcript = Transcript::default();
    transcript.push(TranscriptLine::Program("Hello, Ann".into()));
    transcript
}

/// What so many votes come to, and how often the model was asked.
async fn voted(votes: u32, replies: &[&str]) -> (&'static str, usize) {
    let (judge, llm) = judge(votes, replies);
    let word = match judge.judge(&greeting(), &"x".into()).await.opinion {
        Opinion::Yes(_) => "yes",
        Opinion::No(_) => "no",
        Opinion::Undecided { .. } => "undecided",
    };
    (word, llm.n_asked.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn a_no_takes_more_than_half_of_the_votes() {
    assert_eq!(VOTES.get(), 3);
    assert_eq!(voted(3, &[YES]).await, ("yes", 1));
    assert_eq!(voted(3, &[NO, NO]).await, ("no", 2));
    assert_eq!(voted(3, &[NO, YES, NO]).await, ("no", 3));
    assert_eq!(voted(3, &[NO, YES, YES]).await, ("yes", 3));
    assert_eq!(voted(1, &[NO]).await, ("no", 1));
    assert_eq!(voted(2, &[NO, YES]).await, ("undecided", 2));
    assert_eq!(voted(5, &[NO, NO, YES, NO]).await, ("no", 4));
    // Who says nothing twice has no vote; the first one decides whether there is a vote at all.
    assert_eq!(voted(3, &[NONE, NONE]).await, ("undecided", 2));
    assert_eq!(voted(3, &[NONE, YES]).await, ("yes", 2));
    assert_eq!(voted(3, &[NO, NONE, NONE, NO]).await, ("no", 4));
    assert_eq!(voted(3, &[NO, NONE, NONE, YES]).await, ("undecided", 4));
}

#[tokio::test(start_paused = true)]
async fn the_same_question_is_asked_once_and_is_no_new_measurement() {
    let (judge, llm) = judge(3, &[YES, NO, NO]);
    let (transcript, statement) = (greeting(), Arc::from("It greets."));
    // Two runs that end at the same time ask the same.
    let both = tokio::join!(judge.judge(&transcript, &statement), judge.judge(&transcript, &statement));
    assert_eq!(both.0.opinion, Opinion::Yes(Grounds { quote: "Hello".to_owned(), why: "y".to_owned() }));
    assert_eq!(both.0.opinion, both.1.opinion);
    let paid = [both.0.usage, both.1.usage];
    assert_eq!(paid, [Some(Usage { prompt_tokens: 100, cached_tokens: 10, completion_tokens: 1 }), None]);
    assert_eq!(llm.n_asked.load(Ordering::Relaxed), 1);
    // Another statement, or another conversation, is another question.
    let other = judge.judge(&transcript, &"It is rude.".into()).await;
    assert!(matches!(other.opinion, Opinion::No(_)), "{other:?}");
    assert_eq!(other.usage.unwrap().prompt_tokens, 200);
    let mut longer = greeting();
    longer.push(TranscriptLine::User("Hello".into()));
    let last = judge.judge(&longer, &statement).await;
    assert!(matches!(last.opinion, Opinion::Undecided { .. }), "the script has no more: {last:?}");
    assert_eq!(llm.n_asked.load(Ordering::Relaxed), 4);
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_does_not_answer_leaves_it_undecided() {
    let entry = ScriptEntry::error(ScriptError::Hang);
    let judge = Judge::new(Arc::new(Script::from_entries("judge", vec![entry])), VOTES, Duration::from_secs(60));
    let judgement = judge.judge(&greeting(), &"x".into()).await;
    let why = "the judge script:judge: script:judge gave no answer within 60 s".to_owned();
    assert_eq!(judgement.opinion, Opinion::Undecided { why });
}

#[test]
fn quotes_are_found_as_they_were_said_or_shown() {
    let mut transcript = greeting();
    transcript.push(TranscriptLine::User("It is \"blue\",\n  I think".into()));
    transcript.push(TranscriptLine::Call("GetOrder(id: \"4334\")".into()));
    for quote in
        ["Hello, Ann", "is \"blue\", I think", r#"is \"blue\""#, "2 user", "GetOrder(id: \"4334\")", "  Hello,\tAnn "]
    {
        assert_eq!(transcript.has(quote), quote != "2 user", "{quote}");
    }
    for quote in ["", "   ", "hello", "Ann It is", "Hello Ann"] {
        assert!(!transcript.has(quote), "{quote}");
    }
}
