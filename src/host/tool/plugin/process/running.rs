//! One run of a plugin's process: the task that owns it, from its start to its end.
//!
//! What comes from the process is only ever matched with the calls that wait for it; the rest is dropped.

use std::collections::VecDeque;
use std::fmt;
use std::process::ExitStatus;
use std::sync::Arc;

use futures_util::FutureExt;
use playhouse_lang::value::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::child::{Child, Pipes, Witness};
use crate::clock::iso_text;
use crate::component::message::{Exchange, Message, Role};
use crate::text::{MAX_QUESTION, lines, question_of, shorten};
use crate::tool::plugin::component::ComponentError;
use crate::tool::plugin::process::lines::{Line, LineReader};
use crate::tool::plugin::process::options::{END_OF_PIPES, ProcessOptions};
use crate::tool::plugin::process::unasked::{Counts, Unasked};

/// Messages to the process that may wait until it reads.
const TO_WRITE: usize = 64;

/// What is shown of a plugin's error, in characters.
const ERROR: usize = 4_000;

/// What the task is asked for.
pub(super) enum Request {
    /// A call.
    Call(Box<Asked>),
    /// Nobody waits any more for the call of this exchange: it was cancelled, or its time is over.
    GivenUp(Arc<str>),
    /// The end.
    Close,
}

/// A call on its way.
pub(super) struct Asked {
    /// The message.
    pub(super) message: Message,
    /// Its exchange.
    pub(super) thrd_id: Arc<str>,
    /// The command that is called.
    pub(super) command: Arc<str>,
    /// For its news.
    pub(super) progress: mpsc::Sender<Value>,
    /// For its answer.
    pub(super) answer: oneshot::Sender<Answer>,
}

/// What became of a call.
pub(super) enum Answer {
    /// It was made.
    Done(Result<Value, ComponentError>),
    /// The process was stopped before it was told of it.
    NotMade,
}

/// Why the process is stopped.
enum Cause {
    Closed,
    Ended,
    Hangs,
    DoesNotRead,
    Floods(String),
}

/// How a process ended.
#[derive(Clone)]
pub(super) struct Ended {
    /// In words.
    how: String,
    /// The last lines that it wrote to standard error.
    pub(super) said: String,
}

impl Ended {
    /// Of a process of which no more is known than that.
    pub(super) fn unknown(how: String) -> Ended {
        Ended { how, said: String::new() }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.how)?;
        if self.said.is_empty() { Ok(()) } else { write!(f, "; it said last:\n{}", self.said) }
    }
}

/// The task's state.
pub(super) struct Running {
    options: Arc<ProcessOptions>,
    requests: mpsc::UnboundedReceiver<Request>,
    child: Child,
    witness: Witness,
    lines: LineReader<ChildStdout>,
    to_write: mpsc::Sender<Vec<u8>>,
    /// The task that writes; it ends when the process reads no more.
    writer: JoinSet<()>,
    counts: Arc<Counts>,
    /// Calls that the process works on.
    calls: Vec<Asked>,
    /// Calls that nobody waits for, and until when the process may still be busy with them.
    given_up: Vec<(Arc<str>, Instant)>,
    /// Calls that wait for the process.
    waiting: VecDeque<Asked>,
    /// Since the last answer.
    n_unasked: usize,
    /// Since the last answer.
    n_bytes: usize,
    status: Option<ExitStatus>,
}

impl Running {
    /// Takes a process that has just been started.
    pub(super) fn new(
        options: Arc<ProcessOptions>,
        child: Child,
        pipes: Pipes,
        witness: Witness,
        counts: Arc<Counts>,
        requests: mpsc::UnboundedReceiver<Request>,
    ) -> Running {
        let Pipes { stdin, stdout } = pipes;
        let (to_write, lines) = mpsc::channel(TO_WRITE);
        let mut writer = JoinSet::new();
        writer.spawn(write(stdin, lines).boxed());
        Running {
            lines: LineReader::new(stdout, options.limits.line_bytes),
            options,
            requests,
            child,
            witness,
            to_write,
            writer,
            counts,
            calls: Vec::new(),
            given_up: Vec::new(),
            waiting: VecDeque::new(),
            n_unasked: 0,
            n_bytes: 0,
            status: None,
        }
    }

    /// Works until the process is gone. Gives how it ended.
    pub(super) async fn run(mut self) -> Ended {
        let fields = [
            ("config", self.options.config.clone()),
            ("name", Value::Str(self.options.name.clone())),
            ("working_directory", Value::from(self.options.working_directory.to_string_lossy().into_owned())),
            ("commands", self.options.commands.clone()),
        ];
        let cause = match self.tell(Message::event(&self.options.name, "configure", fields)) {
            Ok(()) => self.serve().await,
            Err(cause) => cause,
        };
        self.requests.close();
        let ended = self.stop(&cause).await;
        tracing::debug!(plugin = &*self.options.name, "{ended}");
        let queued = std::iter::from_fn(|| self.requests.try_recv().ok());
        let asked = queued.filter_map(|request| match request {
            Request::Call(asked) => Some(*asked),
            Request::GivenUp(_) | Request::Close => None,
        });
        for asked in asked.chain(std::mem::take(&mut self.waiting)) {
            // Who does not wait any more needs no answer; here and below.
            let _ = asked.answer.send(Answer::NotMade);
        }
        for asked in self.calls.drain(..) {
            let error = ComponentError::Unavailable(format!("`{}` was not answered: {ended}", asked.command));
            let _ = asked.answer.send(Answer::Done(Err(error)));
        }
        ended
    }

    async fn serve(&mut self) -> Cause {
        loop {
            // A call that nobody waits for may hold the process up for some time, not for ever. Then the process gets
            // no more calls, and is stopped when those that it works on have ended.
            let due = self.given_up.iter().map(|(_, due)| *due).min();
            let hangs = self.hangs();
            if hangs && self.calls.is_empty() {
                return Cause::Hangs;
            }
            let next = tokio::select! {
                request = self.requests.recv() => match request {
                    Some(Request::Call(asked)) => self.ask(*asked),
                    Some(Request::GivenUp(thrd_id)) => self.give_up(&thrd_id),
                    Some(Request::Close) | None => Err(Cause::Closed),
                },
                line = self.lines.next() => match line {
                    Line::Whole(bytes) => self.take(&bytes),
                    Line::Rest(bytes) => self.take(&bytes).and(Err(Cause::Ended)),
                    Line::TooLong => {
                        let n_bytes = self.options.limits.line_bytes;
                        Err(Cause::Floods(format!("a line of more than {n_bytes} bytes")))
                    }
                    Line::End => Err(Cause::Ended),
                },
                status = self.child.ended(), if self.status.is_none() => {
                    self.status = status;
                    return self.read_rest().await;
                }
                _ = self.writer.join_next() => Err(Cause::DoesNotRead),
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() && !hangs => Ok(()),
            };
            if let Err(cause) = next {
                return cause;
            }
        }
    }

    /// The process has ended: what it wrote before still counts. What its children write does not, for long.
    async fn read_rest(&mut self) -> Cause {
        let reading = async {
            loop {
                match self.lines.next().await {
                    Line::Whole(bytes) | Line::Rest(bytes) => match self.take(&bytes) {
                        Ok(()) => {}
                        Err(cause) => return cause,
                    },
                    Line::TooLong | Line::End => return Cause::Ended,
                }
            }
        };
        timeout(END_OF_PIPES, reading).await.unwrap_or(Cause::Ended)
    }

    /// Whether a call that was given up has had its time.
    fn hangs(&self) -> bool {
        let now = Instant::now();
        self.given_up.iter().any(|(_, due)| *due <= now)
    }

    /// Makes a call, at once or when the process has room for it.
    fn ask(&mut self, asked: Asked) -> Result<(), Cause> {
        self.waiting.push_back(asked);
        self.ask_waiting()
    }

    /// Makes the calls that wait, as far as the process has room for them.
    fn ask_waiting(&mut self) -> Result<(), Cause> {
        let n_most = self.options.concurrency.max(1);
        while self.calls.len() + self.given_up.len() < n_most && !self.hangs() {
            let Some(asked) = self.waiting.pop_front() else { break };
            let message = asked.message.clone();
            self.calls.push(asked);
            self.tell(message)?;
        }
        Ok(())
    }

    fn give_up(&mut self, thrd_id: &Arc<str>) -> Result<(), Cause> {
        self.waiting.retain(|asked| asked.thrd_id != *thrd_id);
        let Some(index) = self.calls.iter().position(|asked| asked.thrd_id == *thrd_id) else { return Ok(()) };
        self.calls.swap_remove(index);
        self.given_up.push((thrd_id.clone(), Instant::now() + self.options.limits.cancel_grace));
        let fields = [("thrd_id", Value::Str(thrd_id.clone()))];
        self.tell(Message::event(&self.options.name, "cancel", fields))
    }

    /// Takes a line of the process.
    fn take(&mut self, line: &[u8]) -> Result<(), Cause> {
        let limits = &self.options.limits;
        self.n_bytes += line.len() + 1;
        if self.n_bytes > limits.unanswered_bytes {
            return Err(Cause::Floods(format!("more than {} bytes without an answer", limits.unanswered_bytes)));
        }
        let message = read(line);
        let understood = message.as_ref().map_err(|kind| *kind).and_then(|message| self.understand(message));
        let Err(kind) = understood else { return self.ask_waiting() };
        if self.counts.add(kind) {
            let plugin = &*self.options.name;
            tracing::warn!(plugin, "it sent {kind}; dropped, and so is whatever more comes of it");
        }
        self.n_unasked += 1;
        if self.n_unasked > self.options.limits.unasked_lines {
            let n_lines = self.options.limits.unasked_lines;
            return Err(Cause::Floods(format!("more than {n_lines} lines that nobody has asked for")));
        }
        match &message {
            Ok(message) if kind == Unasked::OtherPlugin => {
                let name = message.receiver.name.as_ref().map_or_else(String::new, |name| format!(" `{name}`"));
                let detail = format!("the message was for the plugin{name}");
                self.tell(message.refusal("plugins send messages to the cerebrum only", &detail))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Finds the call that a message belongs to.
    fn understand(&mut self, message: &Message) -> Result<(), Unasked> {
        let exchange = message.exchange();
        match (message.sender.role, message.receiver.role) {
            (Role::Plugin, Role::Plugin) => return Err(Unasked::OtherPlugin),
            (Role::Plugin | Role::System, Role::Cerebrum) => {}
            (Role::Plugin, Role::User) if matches!(exchange, Exchange::Question(_)) => {}
            (Role::Cerebrum | Role::Plugin | Role::User | Role::System, _) => return Err(Unasked::WrongRoles),
        }
        let thrd_id = message.thrd_id.clone().ok_or(Unasked::NoSuchCall)?;
        let Some(index) = self.calls.iter().position(|asked| asked.thrd_id == thrd_id) else {
            // Nobody waits for it, but it is asked for: the process has heard of its end too late.
            let index = self.given_up.iter().position(|(given_up, _)| *given_up == thrd_id);
            let index = index.ok_or(Unasked::NoSuchCall)?;
            if matches!(exchange, Exchange::Response(..) | Exchange::Question(_)) || is_error(message) {
                self.given_up.swap_remove(index);
                (self.n_unasked, self.n_bytes) = (0, 0);
            }
            return Ok(());
        };
        let secrets = &self.options.secrets;
        let result = match (message.sender.role, exchange) {
            (_, Exchange::Call(..)) => return Err(Unasked::Call),
            (Role::Plugin, Exchange::Response(command, response)) => {
                if *command != *self.calls[index].command {
                    return Err(Unasked::OtherCommand);
                }
                Ok(secrets.mask_value(response.clone()))
            }
            (Role::System, Exchange::Other) if is_error(message) => {
                let text = secrets.mask(&error_text(&message.content)).into_owned();
                let failed =
                    if is_temporary(&message.content) { ComponentError::Unavailable } else { ComponentError::Failed };
                Err(failed(text))
            }
            (Role::Plugin, Exchange::Question(question)) => {
                Err(asked(&self.options, &self.calls[index].command, question))
            }
            (Role::Plugin, Exchange::News(text)) => {
                // News that nobody reads in time is no news.
                let _ = self.calls[index].progress.try_send(Value::from(secrets.mask(text).into_owned()));
                return Ok(());
            }
            (
                Role::Cerebrum | Role::Plugin | Role::User | Role::System,
                Exchange::Response(..) | Exchange::Question(_) | Exchange::News(_) | Exchange::Other,
            ) => {
                return Err(Unasked::Other);
            }
        };
        let asked = self.calls.swap_remove(index);
        (self.n_unasked, self.n_bytes) = (0, 0);
        let _ = asked.answer.send(Answer::Done(result));
        Ok(())
    }

    /// Writes a message to the process, when it reads.
    fn tell(&mut self, message: Message) -> Result<(), Cause> {
        let clock = &self.options.clock;
        let time = iso_text(clock.now(), &jiff::tz::TimeZone::UTC);
        let mut line = Message { time: Some(time.into()), ..message }.to_json().to_json().into_bytes();
        line.push(b'\n');
        self.to_write.try_send(line).map_err(|_| Cause::DoesNotRead)
    }

    /// Ends the process, politely first, and tells how it ended.
    async fn stop(&mut self, cause: &Cause) -> Ended {
        let limits = self.options.limits.clone();
        if matches!(cause, Cause::Closed) {
            // One that does not read will not read this either.
            let _ = self.tell(Message::exit(&self.options.name));
        }
        // Its standard input is closed when all has been written.
        self.to_write = mpsc::channel(1).0;
        let patience = match cause {
            Cause::Closed => limits.exit_grace,
            Cause::Ended | Cause::DoesNotRead => END_OF_PIPES,
            Cause::Hangs | Cause::Floods(_) => std::time::Duration::ZERO,
        };
        if self.status.is_none() && !patience.is_zero() {
            // It may want to say something before it leaves, and must not wait for us.
            let drain = async {
                while !matches!(self.lines.next().await, Line::End | Line::TooLong) {}
                std::future::pending::<()>().await;
            };
            self.status = tokio::select! {
                status = self.child.ended_within(patience) => status,
                () = drain => None,
            };
        }
        let has_left = self.status.is_some();
        self.writer.abort_all();
        if !has_left {
            self.status = self.child.terminate(limits.terminate_grace).await;
        }
        self.status = self.child.kill().await.or(self.status);
        let status = self.status.map_or_else(|| "unknown status".to_owned(), |status| status.to_string());
        let name = &self.options.name;
        let how = match cause {
            Cause::Closed => format!("the process of plugin `{name}` was closed ({status})"),
            Cause::Hangs => format!("the process of plugin `{name}` was stopped because it did not answer"),
            Cause::Floods(what) => format!("the process of plugin `{name}` was stopped because it wrote {what}"),
            Cause::Ended | Cause::DoesNotRead if has_left => format!("the process of plugin `{name}` ended ({status})"),
            Cause::Ended => format!("the process of plugin `{name}` closed its output and was stopped"),
            Cause::DoesNotRead => format!("the process of plugin `{name}` read no more and was stopped"),
        };
        let (_, said) = self.witness.last_words(END_OF_PIPES).await;
        Ended { how, said }
    }
}

/// The message that a line of the process holds.
fn read(line: &[u8]) -> Result<Message, Unasked> {
    let text = std::str::from_utf8(line).map_err(|_| Unasked::NotText)?;
    let json = Value::from_json(text).map_err(|_| Unasked::NotJson)?;
    Message::from_json(&json).map_err(|_| Unasked::NotMessage)
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// What a question of the plugin becomes: one that people are asked in its name, whole or not at all.
fn asked(options: &ProcessOptions, command: &str, question: &str) -> ComponentError {
    if question.chars().count() > MAX_QUESTION {
        let fault = format!("the question of `{command}` is longer than {MAX_QUESTION} characters; make it shorter");
        return ComponentError::Failed(fault);
    }
    let question = lines(question, MAX_QUESTION);
    if question.is_empty() {
        return ComponentError::Failed(format!("the question of `{command}` is empty"));
    }
    ComponentError::Asks(options.secrets.mask_text(&question_of(&options.asker(), &question)))
}

fn is_error(message: &Message) -> bool {
    let Value::Map(content) = &message.content else { return false };
    message.sender.role == Role::System && content.contains_key("error")
}

/// Whether the plugin says that another attempt may succeed.
fn is_temporary(content: &Value) -> bool {
    content.as_map().and_then(|content| content.get("retry")) == Some(&Value::Bool(true))
}

fn error_text(content: &Value) -> String {
    let field = |name: &str| content.as_map()?.get(name).filter(|value| **value != Value::Null).map(Value::to_text);
    let (error, detail) = (field("error").unwrap_or_default(), field("detail").unwrap_or_default());
    let text = if detail.trim().is_empty() || detail == error { error } else { format!("{error}: {detail}") };
    if text.trim().is_empty() { "it failed and said nothing".to_owned() } else { shorten(&text, ERROR).into_owned() }
}
