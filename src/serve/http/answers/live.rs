//! Answers that are being given: what has been said so far, for whoever asked for them, once or several times.

use std::sync::Arc;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use tokio::sync::{Mutex, MutexGuard, watch};

use crate::host::events::Mark;
use crate::host::ledger::Served;
use crate::host::residents::standing::State;
use crate::serve::http::answers::key::Key;
use crate::serve::http::problem::Problem;

/// How many locks there are: whoever looks for the session of a history waits for nobody but those with the same lock.
const LOCKS: usize = 64;

/// An answer that is being given. Whoever listens to it hears all of it, whenever they come.
pub(crate) type Live = Arc<watch::Sender<Log>>;

/// What is known of an answer so far.
#[derive(Default)]
pub(crate) struct Log {
    /// Who gives it, or why nobody does.
    started: Option<Result<Start, Problem>>,
    pieces: Vec<Piece>,
    ending: Option<Result<Ending, Problem>>,
}

/// Who gives an answer.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    Here(Started),
    /// This session, which another process has.
    Elsewhere(Arc<str>),
}

/// A session that gives an answer.
#[derive(Clone, Debug)]
pub(crate) struct Started {
    pub(crate) served: Served,
    /// What lies after this belongs to the answer.
    pub(crate) began: Mark,
    /// Since when, in seconds.
    pub(crate) created: i64,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Something said, with the blank line that comes before it.
    Speech(String),
    /// A line that is reached.
    Step(String),
}

/// How an answer ended.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    /// Where the session stands.
    pub(crate) mark: Mark,
    pub(crate) state: State,
    pub(crate) usage: Usage,
    /// Why the program failed.
    pub(crate) failure: Option<String>,
    /// Whether somebody has cancelled it.
    pub(crate) is_cancelled: bool,
}

/// Tokens of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    pub(crate) cached: u64,
    pub(crate) completion: u64,
}

/// The answers that are being given by this process.
pub(crate) struct Answers {
    live: DashMap<Key, Live>,
    locks: [Mutex<()>; LOCKS],
}

impl Default for Answers {
    fn default() -> Answers {
        Answers { live: DashMap::new(), locks: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl Answers {
    /// The answer to a request, which the same request may have asked for before; else a new one, of which whoever gives
    /// it tells by the [`Live`].
    pub(crate) fn join(&self, request: Key) -> (Hearing, Option<Live>) {
        match self.live.entry(request) {
            Entry::Occupied(there) => (Hearing::of(there.get()), None),
            Entry::Vacant(place) => {
                let live = Live::default();
                place.insert(live.clone());
                (Hearing::of(&live), Some(live))
            }
        }
    }

    /// Nobody can join it any more.
    pub(crate) fn leave(&self, request: Key) {
        self.live.remove(&request);
    }

    /// One at a time looks which session goes on with a history, and gives it the next message.
    pub(crate) async fn lock(&self, history: Key) -> MutexGuard<'_, ()> {
        self.locks[usize::from(history.bytes()[0]) % LOCKS].lock().await
    }

    /// The answer of a session that began at this mark, as far as it has come.
    pub(crate) fn so_far(&self, session: &str, began: Mark) -> Option<String> {
        self.live.iter().find_map(|live| {
            let log = live.value().borrow();
            let Some(Ok(Start::Here(started))) = &log.started else { return None };
            (*started.served.session == *session && started.began == began).then(|| log.speech())
        })
    }
}

impl Log {
    fn speech(&self) -> String {
        let speech = |piece: &Piece| match piece {
            Piece::Speech(text) => Some(text.clone()),
            Piece::Step(_) => None,
        };
        self.pieces.iter().filter_map(speech).collect()
    }
}

/// What whoever gives an answer tells of it.
pub(crate) fn tell_start(live: &Live, start: Start) {
    live.send_modify(|log| {
        log.started.get_or_insert(Ok(start));
    });
}

pub(crate) fn tell(live: &Live, piece: Piece) {
    live.send_modify(|log| log.pieces.push(piece));
}

/// The last word. An answer that never began ends with the reason for that.
pub(crate) fn tell_end(live: &Live, ending: Result<Ending, Problem>) {
    live.send_modify(|log| {
        if let (None, Err(problem)) = (&log.started, &ending) {
            log.started = Some(Err(problem.clone()));
        }
        log.ending.get_or_insert(ending);
    });
}

/// Somebody who hears an answer.
pub(crate) struct Hearing {
    receiver: watch::Receiver<Log>,
    n_heard: usize,
}

/// What is heard.
pub(crate) enum Told {
    Piece(Piece),
    End(Result<Ending, Problem>),
}

impl Hearing {
    pub(crate) fn of(live: &Live) -> Hearing {
        Hearing { receiver: live.subscribe(), n_heard: 0 }
    }

    /// Who gives the answer.
    pub(crate) async fn started(&mut self) -> Result<Start, Problem> {
        let log = self.receiver.wait_for(|log| log.started.is_some()).await;
        log.map_or_else(|_| Err(vanished()), |log| log.started.clone().unwrap_or_else(|| Err(vanished())))
    }

    /// What comes next; after an end nothing does.
    pub(crate) async fn next(&mut self) -> Told {
        let n_heard = self.n_heard;
        let log = self.receiver.wait_for(|log| log.pieces.len() > n_heard || log.ending.is_some()).await;
        let Ok(log) = log else { return Told::End(Err(vanished())) };
        match log.pieces.get(n_heard) {
            Some(piece) => {
                self.n_heard += 1;
                Told::Piece(piece.clone())
            }
            None => Told::End(log.ending.clone().unwrap_or_else(|| Err(vanished()))),
        }
    }

    /// All that is said, and how it ends.
    pub(crate) async fn rest(&mut self) -> (String, String, Result<Ending, Problem>) {
        let (mut speech, mut steps) = (String::new(), String::new());
        loop {
            match self.next().await {
                Told::Piece(Piece::Speech(text)) => speech.push_str(&text),
                Told::Piece(Piece::Step(line)) => steps.push_str(&line),
                Told::End(ending) => return (speech, steps, ending),
            }
        }
    }
}

fn vanished() -> Problem {
    Problem::internal("whoever gave the answer has gone without a word; please report this")
}
