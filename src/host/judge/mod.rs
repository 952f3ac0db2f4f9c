//! The judge: a model that reads a transcript and says whether a statement is true of it (spec `evaluate.md`, section 3).

pub mod prompt;

mod settle;

pub mod transcript;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use playhouse_vm::protocol::Usage;
use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::judge::prompt::judge_messages;
use crate::judge::transcript::Transcript;
use crate::llm::answer::{ask_twice, last_object};
use crate::llm::{Llm, LlmRequest, Purpose};
use crate::text::shorten;

/// How many votes a no takes if nobody says otherwise.
pub const VOTES: NonZeroU32 = NonZeroU32::MIN.saturating_add(2);

/// So many characters are shown of a quote that is none.
const SHOWN_CHARACTERS: usize = 200;

/// What a judge says of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// It is true.
    Yes(Grounds),
    /// It is not, and so said more than half of the votes.
    No(Grounds),
    /// Nobody knows.
    Undecided {
        /// Why not.
        why: String,
    },
}

/// On what a judge's opinion stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grounds {
    /// Words of the transcript.
    pub quote: String,
    /// The reason.
    pub why: String,
}

/// An opinion, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What is said.
    pub opinion: Opinion,
    /// Tokens; none: it was known already, and is no new measurement.
    pub usage: Option<Usage>,
}

/// A transcript and a statement about it.
type Question = (String, Arc<str>);

/// A model that judges, and what it has said so far.
pub struct Judge {
    llm: Arc<dyn Llm>,
    votes: NonZeroU32,
    timeout: Duration,
    /// The lock is held to find a place, never over an `await`.
    known: Mutex<HashMap<Question, Arc<OnceCell<Opinion>>>>,
}

/// As a model answers.
#[derive(Deserialize)]
struct Answer {
    pass: bool,
    quote: String,
    #[serde(default)]
    why: String,
}

impl Judge {
    /// A judge whose no takes more than half of so many votes. One answer may take as long as `timeout`.
    pub fn new(llm: Arc<dyn Llm>, votes: NonZeroU32, timeout: Duration) -> Judge {
        Judge { llm, votes, timeout, known: Mutex::default() }
    }

    /// The model.
    pub fn llm(&self) -> &dyn Llm {
        &*self.llm
    }

    /// Whether the statement is true of the transcript. Asked the same again, it says the same.
    pub async fn judge(&self, transcript: &Transcript, statement: &Arc<str>) -> Judgement {
        let question = (transcript.shown().join("\n"), statement.clone());
        let place = self.known.lock().unwrap_or_else(PoisonError::into_inner).entry(question).or_default().clone();
        let mut usage = None;
        let opinion = place.get_or_init(|| async {
            let mut counted = Usage::default();
            let opinion = self.vote(transcript, statement, &mut counted).await;
            usage = Some(counted);
            opinion
        });
        let opinion = opinion.await.clone();
        Judgement { opinion, usage }
    }

    /// A yes counts at once; a no is voted on, until one side has more than half of the votes or cannot have them any more.
    async fn vote(&self, transcript: &Transcript, statement: &str, usage: &mut Usage) -> Opinion {
        let half = self.votes.get() / 2;
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        let mut why = String::new();
        for n_asked in 1..=self.votes.get() {
            match self.ask(transcript, statement, usage).await {
                Opinion::Yes(grounds) if n_asked == 1 => return Opinion::Yes(grounds),
                Opinion::Undecided { why } if n_asked == 1 => return Opinion::Undecided { why },
                Opinion::Yes(grounds) => yes.push(grounds),
                Opinion::No(grounds) => no.push(grounds),
                Opinion::Undecided { why: reason } => why = reason,
            }
            let is_more = |votes: &Vec<Grounds>| votes.len() > half as usize;
            if is_more(&no) {
                return Opinion::No(no.swap_remove(0));
            }
            if is_more(&yes) {
                return Opinion::Yes(yes.swap_remove(0));
            }
        }
        let votes = format!("the votes are {} yes, {} no of {}", yes.len(), no.len(), self.votes);
        Opinion::Undecided { why: if why.is_empty() { votes } else { format!("{votes}: {why}") } }
    }

    async fn ask(&self, transcript: &Transcript, statement: &str, usage: &mut Usage) -> Opinion {
        let request = |problem: Option<&str>| {
            let messages = judge_messages(transcript, statement, problem);
            LlmRequest { purpose: Purpose::Judge, messages, schema: None, turn: None }
        };
        let (answer, counted) = ask_twice(&*self.llm, self.timeout, request, |text| read(text, transcript)).await;
        *usage += counted;
        match answer {
            Ok((true, grounds)) => Opinion::Yes(grounds),
            Ok((false, grounds)) => Opinion::No(grounds),
            Err(error) => Opinion::Undecided { why: format!("the judge {}: {error}", self.llm.id()) },
        }
    }
}

/// Whether the answer is a yes, and its grounds; or what is wrong with it.
fn read(text: &str, transcript: &Transcript) -> Result<(bool, Grounds), String> {
    let answer: Answer =
        last_object(text).ok_or(r#"it has no object {"pass": true or false, "quote": "…", "why": "…"}"#)?;
    let Answer { pass, quote, why } = answer;
    if transcript.has(&quote) {
        return Ok((pass, Grounds { quote, why }));
    }
    let shown = serde_json::to_string(&*shorten(&quote, SHOWN_CHARACTERS)).unwrap_or_default();
    Err(format!("the quote {shown} is in no line of the transcript"))
}
