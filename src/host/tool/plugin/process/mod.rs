//! A plugin that is a process in any language: one JSON message per line, both ways (spec `components.md`, 4.5).
//!
//! It is started at its first call. Its first line is a message of the system, `{"event": "configure", "config": …,
//! "name": …, "working_directory": …, "commands": …}`; then come calls. It answers each with a message that has the call's `thrd_id`;
//! `text/plain` messages in between are news; one for the user is a question, which ends the attempt, and the next one
//! has the answer. Nobody has to answer in order. At the end comes `{"event": "exit"}`.
//!
//! A process is never trusted: whatever it does or does not do, each call ends, nothing that it says unasked is acted
//! upon, and nothing of it blocks anybody.

mod lines;

mod options;

mod running;

mod unasked;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use playhouse_lang::value::Value;
use tokio::sync::{Mutex, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::child::{Child, Run, Starts};
use crate::component::message::Message;
use crate::tasks;
use crate::text::question_of;
use crate::tool::CallContext;
use crate::tool::plugin::component::{Component, ComponentError, Performing};
use crate::tool::plugin::process::running::{Answer, Asked, Ended, Request, Running};
use crate::tool::plugin::process::unasked::Counts;

pub use crate::tool::plugin::process::options::{ProcessLimits, ProcessOptions};
pub use crate::tool::plugin::process::unasked::Unasked;

/// How long somebody who starts it by itself waits for it to end.
const EARLY_END: Duration = Duration::from_secs(1);

/// A process that is stopped before it has heard of a call is started anew for it, so often.
const STARTS_FOR_A_CALL: usize = 3;

/// A plugin that is a process. It is started by its first call, and again by the next call after its end.
pub struct ProcessPlugin {
    options: Arc<ProcessOptions>,
    /// Permits of calls at a time.
    room: Semaphore,
    /// Held while a process is started or one that is being stopped is waited for.
    state: Mutex<State>,
    n_attempts: AtomicU64,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct State {
    process: Option<Process>,
    starts: Starts,
    /// How it ended last.
    ended: Option<Ended>,
    is_closed: bool,
}

struct Process {
    requests: mpsc::UnboundedSender<Request>,
    task: JoinHandle<Ended>,
}

impl ProcessPlugin {
    /// A plugin that is not started yet.
    pub fn new(options: ProcessOptions) -> ProcessPlugin {
        ProcessPlugin {
            room: Semaphore::new(options.concurrency.clamp(1, Semaphore::MAX_PERMITS)),
            options: Arc::new(options),
            state: Mutex::default(),
            n_attempts: AtomicU64::new(0),
            counts: Arc::default(),
        }
    }

    /// The lines that were dropped because nobody had asked for them.
    pub fn dropped(&self) -> Vec<(Unasked, u64)> {
        self.counts.all()
    }

    /// Waits until the process ends, if it runs; gives how it ended last. No call can begin while it waits.
    pub async fn ended(&self) -> Option<String> {
        let mut state = self.state.lock().await;
        state.settle().await;
        state.ended.as_ref().map(Ended::to_string)
    }

    async fn requests(&self) -> Result<mpsc::UnboundedSender<Request>, ComponentError> {
        let mut state = self.state.lock().await;
        let name = &self.options.name;
        if state.is_closed {
            return Err(ComponentError::Failed(format!("plugin `{name}` is closed")));
        }
        if let Some(process) = &state.process
            && !process.requests.is_closed()
        {
            return Ok(process.requests.clone());
        }
        state.settle().await;
        let limits = &self.options.limits;
        if let Some(wait) = state.starts.pause(limits.starts, limits.start_window) {
            return Err(ComponentError::Unavailable(format!(
                "plugin `{name}` was started {} times within {} s and is started again in {} s; {}",
                limits.starts,
                limits.start_window.as_secs_f64(),
                wait.as_secs() + 1,
                state.ended.as_ref().map_or_else(|| "it is not known why it ended".to_owned(), Ended::to_string),
            )));
        }
        state.starts.note();
        let ProcessOptions { name, command, folder, environment, secrets, .. } = &*self.options;
        let started = Child::start(name, Run { command, folder, environment }, secrets);
        let (child, pipes, witness) = started.map_err(|cause| self.cannot_start(&cause))?;
        let (requests, receiver) = mpsc::unbounded_channel();
        let running = Running::new(self.options.clone(), child, pipes, witness, self.counts.clone(), receiver);
        let task = tasks::spawn(running.run());
        state.process = Some(Process { requests: requests.clone(), task });
        Ok(requests)
    }

    fn cannot_start(&self, cause: &io::Error) -> ComponentError {
        let command = self.options.command.first().map_or("", String::as_str);
        let kind = cause.kind();
        let why = if kind == io::ErrorKind::NotFound {
            "there is no such command; install it, or correct `setup.command`".to_owned()
        } else if kind == io::ErrorKind::PermissionDenied {
            "it may not be executed; check its rights (chmod +x)".to_owned()
        } else {
            cause.to_string()
        };
        ComponentError::Failed(format!("cannot start `{command}` of plugin `{}`: {why}", self.options.name))
    }

    /// What earlier attempts of a call have asked, as they asked it, and what people have answered; none: nothing.
    fn answers(&self, context: &CallContext) -> Option<Value> {
        let in_front = question_of(&self.options.asker(), "");
        let answer = |(question, answer): &(Arc<str>, Value)| {
            let own = Value::str(question.strip_prefix(&in_front).unwrap_or(question));
            Value::map([("question".into(), own), ("answer".into(), answer.clone())].into_iter().collect())
        };
        let answers: Vec<Value> = context.answers.iter().map(answer).collect();
        (!answers.is_empty()).then(|| Value::list(answers))
    }

    async fn make(&self, command: &str, param: Value, context: &CallContext) -> Result<Value, ComponentError> {
        // Never closed, so it is never refused.
        let _permit = self.room.acquire().await;
        for _ in 0..STARTS_FOR_A_CALL {
            let requests = self.requests().await?;
            let n_attempt = self.n_attempts.fetch_add(1, Ordering::Relaxed) + 1;
            let thrd_id: Arc<str> = format!("{}#{n_attempt}", context.call_id).into();
            let (answer, answered) = oneshot::channel();
            let trace = context.trace.map(|trace| ("traceparent".into(), Value::from(trace.to_string())));
            let answers = self.answers(context).map(|answers| ("answers".into(), answers));
            let message = Message {
                rest: trace.into_iter().chain(answers).collect(),
                id: Some(context.call_id.clone()),
                thrd_id: Some(thrd_id.clone()),
                ..Message::call(&self.options.name, command, param.clone())
            };
            let progress = context.progress.clone();
            let asked = Asked { message, thrd_id: thrd_id.clone(), command: command.into(), progress, answer };
            let mut waiting = Waiting { requests, thrd_id, is_over: false };
            // A task that has ended meanwhile drops it, which is heard below.
            let _ = waiting.requests.send(Request::Call(Box::new(asked)));
            let answer = answered.await;
            waiting.is_over = true;
            if let Ok(Answer::Done(result)) = answer {
                return result;
            }
        }
        Err(ComponentError::Unavailable(format!("plugin `{}` was stopped again and again", self.options.name)))
    }
}

impl State {
    /// Waits for a process that is being stopped, or for the end of one that runs.
    async fn settle(&mut self) {
        if let Some(process) = &mut self.process {
            let ended = (&mut process.task).await;
            self.ended =
                Some(ended.unwrap_or_else(|lost| Ended::unknown(format!("its task ended unexpectedly: {lost}"))));
            self.process = None;
        }
    }
}

impl Component for ProcessPlugin {
    fn command<'a>(&'a self, command: &'a str, param: Value, context: &'a CallContext) -> Performing<'a> {
        async move {
            tokio::select! {
                result = self.make(command, param, context) => result,
                () = context.cancel.cancelled() => Err(ComponentError::Failed(format!("`{command}` was cancelled"))),
            }
        }
        .boxed()
    }

    fn start(&self) -> BoxFuture<'_, Result<(), ComponentError>> {
        async move {
            self.requests().await?;
            // One that cannot work mostly ends at once.
            match tokio::time::timeout(EARLY_END, self.ended()).await {
                Ok(ended) => Err(ComponentError::Unavailable(ended.unwrap_or_default())),
                Err(_) => Ok(()),
            }
        }
        .boxed()
    }

    fn concurrency(&self) -> Option<usize> {
        Some(self.options.concurrency.max(1))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            let mut state = self.state.lock().await;
            state.is_closed = true;
            if let Some(process) = &state.process {
                // One that has ended already hears nothing.
                let _ = process.requests.send(Request::Close);
            }
            state.settle().await;
        }
        .boxed()
    }

    fn last_words(&self) -> BoxFuture<'_, String> {
        async move { self.state.lock().await.ended.as_ref().map(|ended| ended.said.clone()).unwrap_or_default() }
            .boxed()
    }
}

/// A call that is waited for. Dropped before its answer has come, it is given up.
struct Waiting {
    requests: mpsc::UnboundedSender<Request>,
    thrd_id: Arc<str>,
    is_over: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.requests.send(Request::GivenUp(self.thrd_id.clone()));
        }
    }
}
