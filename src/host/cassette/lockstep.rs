//! Lockstep: the next line of a reply comes when what the line before it has set off is answered. So a run is the same
//! whether models and tools take a minute or no time at all (spec `evaluate.md`, section 2).
//!
//! A trigger classifier, the calls of tools and the reply itself tell or ask here. A call counts until its session has
//! taken its outcome, which shows by what the session lets go of: the end of the call's news.

use std::sync::{Arc, Mutex, PoisonError};

use playhouse_lang::value::Value;
use tokio::sync::mpsc;

/// What is under way in one session.
#[derive(Debug, Default)]
pub struct Lockstep {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    calls: Vec<mpsc::Sender<Value>>,
    n_questions: usize,
}

/// A call that is under way.
#[derive(Debug)]
pub struct OpenCall {
    /// The session's end of its news, of which there will be none.
    news: mpsc::Receiver<Value>,
    before: Option<mpsc::Sender<Value>>,
}

/// A question to the classifier that is under way, until it is dropped.
#[derive(Debug)]
pub struct OpenQuestion(Arc<Lockstep>);

impl Lockstep {
    /// Whether nothing is under way that the next line of a reply has to wait for.
    pub fn is_quiet(&self) -> bool {
        self.with(|open| {
            open.calls.retain(|call| !call.is_closed());
            open.calls.is_empty() && open.n_questions == 0
        })
    }

    /// A call begins.
    pub fn call(&self) -> OpenCall {
        let (sender, news) = mpsc::channel(1);
        self.with(|open| {
            open.calls.retain(|call| !call.is_closed());
            let before = open.calls.last().cloned();
            open.calls.push(sender);
            OpenCall { news, before }
        })
    }

    /// The classifier is asked.
    pub fn question(self: &Arc<Lockstep>) -> OpenQuestion {
        self.with(|open| open.n_questions += 1);
        OpenQuestion(self.clone())
    }

    fn with<T>(&self, change: impl FnOnce(&mut Open) -> T) -> T {
        change(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl OpenCall {
    /// The session's end of the news, and who waits until the calls that began before have been answered: calls end in the
    /// order in which they began, however long each takes.
    pub fn split(self) -> (mpsc::Receiver<Value>, impl Future<Output = ()> + Send + 'static) {
        let OpenCall { news, before } = self;
        let turn = async move {
            if let Some(before) = before {
                before.closed().await;
            }
        };
        (news, turn)
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.0.with(|open| open.n_questions -= 1);
    }
}
