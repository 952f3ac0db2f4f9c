//! A session on standard input and output: speech out, messages in, until the program ends or nobody says anything.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::host::clock::{Clock, SystemClock};
use crate::host::events::{PublicBody, PublicEvent};
use crate::host::session::{Interest, Notice, Session, SessionError, SessionHandle, Subscription};
use crate::host::why::history;
use crate::lang::program::Program;
use crate::serve::cli::console::{Console, Exit, Failure, put};
use crate::serve::cli::ending;
use crate::serve::cli::lines::Lines;
use crate::serve::cli::show;
use crate::serve::cli::unjudged::Unjudged;
use crate::serve::cli::why;
use crate::value::Value;
use crate::vm::protocol::CallId;

/// Events that may wait to be written. More than one budget of the machine's directives can make.
const EVENTS: usize = 100_000;

/// A second Ctrl-C within this time leaves.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// Options of a conversation.
#[derive(Args, Default)]
pub(crate) struct TalkArguments {
    /// A message of the user, given before standard input is read (can be given again)
    #[arg(long, value_name = "TEXT")]
    message: Vec<String>,
    /// Write all events to this file as JSON Lines
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// At the end, write a summary as JSON to standard error
    #[arg(long)]
    pub(crate) summary: bool,
}

impl TalkArguments {
    /// Opens the file of `--events`: before a session is begun, so that a wrong path costs nothing.
    pub(crate) fn open_events(&self) -> Result<Option<File>, Failure> {
        let Some(path) = &self.events else { return Ok(None) };
        File::create(path).map(Some).map_err(|cause| {
            Failure::wrong(format!("{}: cannot write: {cause}; check the path given with --events", path.display()))
        })
    }
}

/// What is to be known of a session besides what it tells itself.
pub(crate) struct Subject {
    /// Its program.
    pub(crate) program: Arc<Program>,
    /// The command that goes on with it.
    pub(crate) go_on: String,
    /// The command that shows it, if one does.
    pub(crate) show: Option<String>,
    /// Whether it has been going on before.
    pub(crate) is_resumed: bool,
}

/// Talks with a session until it ends or has to wait for somebody who is not there.
pub(crate) async fn converse(
    console: &Console,
    arguments: &TalkArguments,
    subject: &Subject,
    events: Option<File>,
    mut session: Session,
) -> Result<Exit, Failure> {
    let events = events.map(|file| {
        let subscription = session.subscribe(Interest::Everything { capacity: EVENTS });
        tokio::spawn(write_events(subscription, file))
    });
    let subscription = session.subscribe(Interest::Speech);
    let mut talk = Talk {
        console,
        handle: session.spawn(),
        lines: Lines::default(),
        messages: arguments.message.iter().cloned().collect(),
        wanted: None,
        question: None,
        open: None,
        cleans: std::io::stdout().is_terminal(),
        interrupted: None,
        input_ended: false,
        is_resumed: false,
        unjudged: Unjudged::new(subject.program.clone()),
    };
    if console.is_conversation && subject.is_resumed {
        talk.show_history().await;
    }
    let talked = talk.run(subscription).await;
    talk.handle.stop().await;
    let ended = talk.handle.outcome().await;
    if let Some(task) = events {
        match task.await.map_err(std::io::Error::other).flatten() {
            Ok(0) => {}
            Ok(n) => console.warning(&format!("--events: {n} events came too fast and are missing")),
            Err(cause) => console.warning(&format!("--events: {cause}; events are missing")),
        }
    }
    match talked {
        // Nobody reads any more: a program that was stopped has not finished.
        Err(Failure::Quiet(_)) => return Err(Failure::Quiet(Exit::Failed)),
        other => other?,
    }
    let ended = ended.map_err(|error| Failure::failed(error.to_string()))?;
    Ok(ending::tell(console, subject, &ended, talk.question.as_deref(), talk.input_ended, arguments.summary))
}

/// What the next line of the user answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Message,
    Approval(CallId),
}

struct Talk<'a> {
    console: &'a Console,
    handle: SessionHandle,
    lines: Lines,
    /// Messages given with `--message`.
    messages: VecDeque<String>,
    wanted: Option<Wanted>,
    /// What a person was asked for the call that waits.
    question: Option<Arc<str>>,
    /// The utterance that is being said; true as soon as something of it was written.
    open: Option<u64>,
    /// Whether a terminal shows what is written: then control characters of a model stay out.
    cleans: bool,
    interrupted: Option<Instant>,
    input_ended: bool,
    /// The session was resumed.
    is_resumed: bool,
    /// What has been said of triggers that nobody judged.
    unjudged: Unjudged,
}

impl Talk<'_> {
    /// A resumed session's last exchange, so that a person knows what the question was.
    async fn show_history(&self) {
        let Ok(view) = self.handle.view().await else { return };
        let utterances = &view.conversation;
        let last = utterances.iter().rposition(|utterance| utterance.by_user).unwrap_or(0);
        let history = show::conversation(&utterances[last..], "");
        if !history.is_empty() {
            self.console.remark(history.trim_end());
        }
    }

    async fn run(&mut self, mut subscription: Subscription) -> Result<(), Failure> {
        let mut interrupts = self.console.is_conversation.then(interrupts);
        // A person may speak at any time; what becomes of it is `on_user_message`'s matter.
        self.listen();
        loop {
            tokio::select! {
                biased;
                notice = subscription.next() => match notice {
                    None => return Ok(()),
                    Some(Notice::Event(event)) => {
                        if !self.hear(&event).await? {
                            return Ok(());
                        }
                    }
                    // Speech is never missed, only joined.
                    Some(Notice::Missed(_)) => {}
                },
                line = self.lines.next() => {
                    let line = line.map_err(|cause| Failure::failed(format!("standard input: {cause}")))?;
                    if !self.answer(line).await {
                        return Ok(());
                    }
                }
                () = next_interrupt(&mut interrupts) => {
                    if !self.interrupt().await {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// False: nothing more is to be said by anybody.
    async fn hear(&mut self, event: &PublicEvent) -> Result<bool, Failure> {
        match &event.body {
            PublicBody::SaidDelta { text, utterance } => {
                if self.open.is_some_and(|open| open != *utterance) {
                    put("\n")?;
                }
                self.open = Some(*utterance);
                put(&self.clean(text))?;
            }
            PublicBody::Said { text } => {
                // An empty utterance had no piece.
                if self.open.take().is_some() || text.is_empty() {
                    put("\n")?;
                }
            }
            PublicBody::ApprovalAsked { question, .. } => self.question = Some(question.clone()),
            PublicBody::Waiting { whom, call } => match (*whom, call) {
                ("user", _) => return Ok(self.want(Wanted::Message).await),
                ("approval", Some(call)) => return Ok(self.want(Wanted::Approval(CallId(*call))).await),
                _ => self.wanted = None,
            },
            PublicBody::Degraded { cause } => {
                self.end_line()?;
                self.console.warning(&format!(
                    "the model did not keep to the protocol: {cause}; its words are passed on, and the program waits \
                     for the user"
                ));
            }
            PublicBody::Retry { cause, attempt } => {
                self.end_line()?;
                self.console.remark(&format!("the model's reply failed: {cause}; attempt {attempt} begins"));
            }
            PublicBody::TriggerEvaluated { trigger, by, verdict, reason, .. } => {
                if let Some(remark) = self.unjudged.remark(trigger, by, verdict, reason.as_deref()) {
                    self.end_line()?;
                    self.console.warning(&remark);
                }
            }
            PublicBody::SessionResumed { .. } => self.is_resumed = true,
            PublicBody::Finished { .. } | PublicBody::Failed { .. } => {
                self.end_line()?;
                // Behind the resumption itself nothing has happened.
                if self.is_resumed && event.seq == 2 {
                    self.console.remark("the session had ended before");
                }
                self.wanted = None;
            }
            PublicBody::SessionStarted { .. }
            | PublicBody::TurnStarted { .. }
            | PublicBody::TurnFinished { .. }
            | PublicBody::LineReached {}
            | PublicBody::VariableSet { .. }
            | PublicBody::VariableRemoved { .. }
            | PublicBody::CallQueued { .. }
            | PublicBody::CallStarted { .. }
            | PublicBody::CallFinished { .. }
            | PublicBody::TriggerMatched { .. }
            | PublicBody::StreamCancelled { .. }
            | PublicBody::FramePushed { .. }
            | PublicBody::FramePopped { .. }
            | PublicBody::FrameElided { .. }
            | PublicBody::Repair { .. }
            | PublicBody::Ignored { .. }
            | PublicBody::SessionRenewed { .. }
            | PublicBody::LinesSkipped { .. }
            | PublicBody::ApprovalGiven { .. }
            | PublicBody::UserMessage { .. } => {}
        }
        Ok(true)
    }

    /// Somebody has to say something: the next `--message`, or else the next line.
    async fn want(&mut self, wanted: Wanted) -> bool {
        if wanted == Wanted::Message {
            self.question = None;
            if let Some(message) = self.messages.pop_front() {
                if self.console.is_conversation {
                    self.console.tell(&format!("> {message}\n"));
                }
                return self.handle.send(message).await.is_ok();
            }
        }
        if self.input_ended {
            return false;
        }
        self.wanted = Some(wanted);
        self.prompt();
        self.lines.ask();
        true
    }

    /// On a terminal lines are read whether the program waits for one or not.
    fn listen(&mut self) {
        if self.console.is_conversation && !self.input_ended {
            self.lines.ask();
        }
    }

    /// Shows that it is the user's turn.
    fn prompt(&self) {
        match (self.wanted, &self.question) {
            (Some(Wanted::Approval(_)), Some(question)) if self.console.is_conversation => {
                self.console.tell(&format!("{question}\n(y/n, or an answer) > "));
            }
            (Some(Wanted::Approval(_)), Some(question)) => self.console.tell(&format!("{question}\n")),
            (Some(_), _) if self.console.is_conversation => self.console.tell("> "),
            _ => {}
        }
    }

    /// A line has come. False: there is none any more.
    async fn answer(&mut self, line: Option<String>) -> bool {
        let Some(line) = line else {
            self.input_ended = true;
            if self.console.is_conversation {
                self.console.tell("\n");
            }
            // What the program is about to say may still be said.
            return self.wanted.is_none();
        };
        self.listen();
        if line.trim().is_empty() && self.console.is_conversation {
            self.prompt();
            return true;
        }
        if let Some(trigger) = question_in(&line).filter(|_| self.console.is_conversation) {
            self.tell_why(trigger).await;
            self.prompt();
            return true;
        }
        // A line typed while the program does not wait is a message.
        match self.wanted.take().unwrap_or(Wanted::Message) {
            Wanted::Message => self.handle.send(line).await.is_ok(),
            Wanted::Approval(call) => {
                self.question = None;
                self.handle.approve(call, approval(&line)).await.is_ok()
            }
        }
    }

    /// `/why`: answered from the session's journal; the program does not hear of it.
    async fn tell_why(&self, trigger: Option<&str>) {
        // A session that has ended says so by its last event.
        let Ok(records) = self.handle.records().await else { return };
        let history = records.map_err(SessionError::from).and_then(|records| history(&records));
        let answer = history.map_err(|error| error.to_string());
        match answer.and_then(|history| why::answer(&history, trigger, &SystemClock.zone())) {
            Ok(text) => self.console.tell(&text),
            Err(problem) => self.console.warning(&problem),
        }
    }

    /// Ctrl-C. False: leave.
    async fn interrupt(&mut self) -> bool {
        let again = self.interrupted.is_some_and(|before| before.elapsed() < LEAVE_WITHIN);
        if again || self.wanted.is_some() {
            self.console.tell("\n");
            return false;
        }
        self.interrupted = Some(Instant::now());
        self.console.tell("\n");
        self.open = None;
        self.console.remark("interrupted; Ctrl-C again leaves");
        self.handle.interrupt().await.is_ok()
    }

    /// Before a remark: an utterance that was cut must not run into it.
    fn end_line(&mut self) -> Result<(), Failure> {
        if self.console.is_conversation && self.open.take().is_some() {
            put("\n")?;
        }
        Ok(())
    }

    fn clean(&self, text: &str) -> String {
        let replaced = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
        if self.cleans { text.chars().map(replaced).collect() } else { text.to_owned() }
    }
}

/// What `/why` asks about, if a line is that: a trigger, or none for all.
fn question_in(line: &str) -> Option<Option<&str>> {
    let rest = line.trim().strip_prefix("/why")?;
    let is_word = rest.is_empty() || rest.starts_with(char::is_whitespace);
    is_word.then(|| Some(rest.trim()).filter(|rest| !rest.is_empty()))
}

/// A person's answer to a tool's question: yes, no, or text for the tool.
pub(crate) fn approval(line: &str) -> Value {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Value::Bool(true),
        "n" | "no" => Value::Bool(false),
        _ => Value::str(line),
    }
}

/// One item for every Ctrl-C from now on.
fn interrupts() -> mpsc::UnboundedReceiver<()> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        // Without signals Ctrl-C ends the process: the journal has all that was done.
        while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {}
    });
    receiver
}

async fn next_interrupt(interrupts: &mut Option<mpsc::UnboundedReceiver<()>>) {
    match interrupts {
        Some(interrupts) => match interrupts.recv().await {
            Some(()) => {}
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

/// Writes all events; gives the number of those that were missed.
async fn write_events(mut subscription: Subscription, file: File) -> std::io::Result<u64> {
    let mut writer = BufWriter::new(file);
    let mut n_missed = 0;
    loop {
        let notice = match subscription.try_next() {
            Some(notice) => notice,
            None => {
                // Whoever follows the file sees everything there is so far.
                writer.flush()?;
                match subscription.next().await {
                    Some(notice) => notice,
                    None => return writer.flush().map(|()| n_missed),
                }
            }
        };
        match notice {
            Notice::Event(event) => {
                serde_json::to_writer(&mut writer, &event)?;
                writer.write_all(b"\n")?;
            }
            Notice::Missed(n) => n_missed += n,
        }
    }
}
