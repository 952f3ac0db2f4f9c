//! The order in which a session heard its answers: of one that was not recorded but kept, models and tools took the time
//! that they took, and with the same replay the same comes before the same (spec `evaluate.md`, section 2).
//!
//! Each answer waits until those before it have been heard. One that the order names and that nobody has asked for will
//! not come: the session has done all it can before it listens.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use playhouse_lang::value::Value;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::{Notify, mpsc};

/// What a session hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Speaker {
    /// The model, in a turn.
    Turn,
    /// The model, in answer to a question of a plan.
    Plan,
    /// A tool.
    Call,
    /// The trigger classifier.
    Verdict,
}

/// A piece of an answer, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whose.
    pub speaker: Speaker,
    /// Which of its answers, by when they were asked for; from 1.
    pub n: usize,
    /// Up to which byte of a reply; none: its end.
    pub bytes: Option<usize>,
}

/// Text that is no step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a step of an order; write steps as in `turn:1:120` or `call:2`")]
pub struct NoStep(String);

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step { speaker, n, bytes } = self;
        write!(f, "{}:{n}", <&str>::from(speaker))?;
        bytes.map_or(Ok(()), |bytes| write!(f, ":{bytes}"))
    }
}

impl FromStr for Step {
    type Err = NoStep;

    fn from_str(text: &str) -> Result<Step, NoStep> {
        let mut parts = text.splitn(3, ':');
        let number = |part: Option<&str>| part.map(str::parse).transpose();
        let speaker = parts.next().and_then(|word| word.parse().ok());
        match (speaker, number(parts.next()), number(parts.next())) {
            (Some(speaker), Ok(Some(n)), Ok(bytes)) => Ok(Step { speaker, n, bytes }),
            _ => Err(NoStep(text.to_owned())),
        }
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Step, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// An order while it is kept.
#[derive(Debug)]
pub struct Order {
    state: Mutex<State>,
    /// Told whenever a step is over.
    moved: Notify,
}

#[derive(Debug)]
struct State {
    steps: VecDeque<Step>,
    /// How many answers each has been asked for.
    n_asked: [usize; 4],
    open: Vec<(Speaker, usize, Option<mpsc::Sender<Value>>)>,
}

/// An answer that is under way.
#[derive(Debug)]
pub struct Answer {
    order: Arc<Order>,
    speaker: Speaker,
    n: usize,
}

impl Order {
    /// These steps, from the first on.
    pub fn new(steps: Vec<Step>) -> Order {
        let state = State { steps: steps.into(), n_asked: [0; 4], open: Vec::new() };
        Order { state: Mutex::new(state), moved: Notify::new() }
    }

    /// Somebody is asked for an answer.
    pub fn ask(self: &Arc<Order>, speaker: Speaker) -> Answer {
        self.open(speaker, None)
    }

    /// A tool is called. The session has heard what comes of it when it lets go of the news.
    pub fn call(self: &Arc<Order>) -> (Answer, mpsc::Receiver<Value>) {
        let (sender, news) = mpsc::channel(1);
        (self.open(Speaker::Call, Some(sender)), news)
    }

    fn open(self: &Arc<Order>, speaker: Speaker, news: Option<mpsc::Sender<Value>>) -> Answer {
        let n = self.with(|state| {
            let n = &mut state.n_asked[speaker as usize];
            *n += 1;
            state.open.push((speaker, *n, news));
            *n
        });
        Answer { order: self.clone(), speaker, n }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Answer {
    /// Waits for its turn, and tells up to which byte it may speak then; none: to its end.
    pub async fn turn(&self) -> Option<usize> {
        loop {
            let moved = self.order.moved.notified();
            match self.order.with(|state| state.next_for((self.speaker, self.n))) {
                Next::You(bytes) => return bytes,
                Next::Other(None) => moved.await,
                // Of a call nobody says that it was heard.
                Next::Other(Some(news)) => tokio::select! {
                    () = moved => {}
                    () = news.closed() => {}
                },
            }
        }
    }

    /// It has spoken so far.
    pub fn has_spoken(&self) {
        self.order.with(|state| {
            if state.steps.front().is_some_and(|step| (step.speaker, step.n) == (self.speaker, self.n)) {
                state.steps.pop_front();
            }
        });
        self.order.moved.notify_waiters();
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.order.with(|state| {
            // A call counts until the session has heard of it.
            state.open.retain(|(speaker, n, news)| news.is_some() || (*speaker, *n) != (self.speaker, self.n));
        });
        self.order.moved.notify_waiters();
    }
}

/// Whose turn it is.
enum Next {
    /// That of whoever asks, up to this byte; none: to the end.
    You(Option<usize>),
    /// Another's; of a call its news.
    Other(Option<mpsc::Sender<Value>>),
}

impl State {
    fn next_for(&mut self, answer: (Speaker, usize)) -> Next {
        while let Some(step) = self.steps.front() {
            let own = (step.speaker, step.n);
            if own == answer {
                return Next::You(step.bytes);
            }
            let is_unheard = |news: &Option<mpsc::Sender<Value>>| news.as_ref().is_none_or(|news| !news.is_closed());
            let open = self.open.iter().find(|(speaker, n, news)| (*speaker, *n) == own && is_unheard(news));
            if let Some((_, _, news)) = open {
                return Next::Other(news.clone());
            }
            self.steps.pop_front();
        }
        Next::You(None)
    }
}
