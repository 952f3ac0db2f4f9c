//! A session on standard input and output: speech out, messages in, until the program ends or nobody says anything.

use std::collections::VecDeque;
use std::fs::File;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::time::Instant;

use crate::host::events::{PublicBody, PublicEvent};
use crate::host::session::{Interest, Notice, SendError, Session, SessionHandle, Subscription, Wanted};
use crate::host::tasks;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, put};
use crate::serve::cli::machinery::ending::{
    self, Subject, Told, changed_remark, event_remark, failed_remark, skipped_remark,
};
use crate::serve::cli::machinery::events_file;
use crate::serve::cli::machinery::terminal::thinking::Thinking;
use crate::serve::cli::machinery::terminal::watch::{Reloaded, Watch};
use crate::serve::cli::machinery::terminal::{Asked, Input, Names, Typed, answers};
use crate::serve::show;
use crate::serve::show::commands::{self, Command, Line};
use crate::serve::show::unjudged::Unjudged;
use crate::value::Value;
use crate::vm::protocol::{Outcome, Signal, Tracked, Wait};

/// A second Ctrl-C within this time leaves, where the first one has cancelled something.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// Options of a conversation.
#[derive(Args, Default)]
pub(crate) struct TalkArguments {
    /// A user message, sent before standard input is read (repeatable)
    #[arg(long, value_name = "TEXT")]
    message: Vec<String>,
    /// Write all events to this file, as JSON Lines
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// At the end, write a summary to standard error, as JSON
    #[arg(long)]
    pub(crate) summary: bool,
}

impl TalkArguments {
    /// Opens the file of `--events`: before a session is begun, so that a wrong path costs nothing.
    pub(crate) fn open_events(&self) -> Result<Option<File>, Failure> {
        self.events.as_deref().map(events_file::create).transpose()
    }
}

/// What a person wants after a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing was said: it has ended by itself.
    Ended,
    /// To leave.
    Left,
    /// Another one.
    Restart,
}

/// What all sessions of a process share.
pub(crate) struct Surroundings<'a> {
    /// Where words for people go.
    pub(crate) console: &'a Console,
    /// Options of the conversation.
    pub(crate) arguments: &'a TalkArguments,
    /// Standard input.
    pub(crate) input: &'a mut Input,
    /// The program's files, with `--watch`.
    pub(crate) watch: Option<&'a mut Watch>,
    /// An event from outside, which is what the session goes on for; standard input is not read then.
    pub(crate) signal: Option<Signal>,
}

/// Talks with a session until it ends, or has to wait for somebody who is not there, or a person wants to leave.
pub(crate) async fn converse(
    surroundings: Surroundings<'_>,
    subject: &Subject,
    events: Option<File>,
    mut session: Session,
) -> Result<(Exit, After), Failure> {
    let Surroundings { console, arguments, input, watch, signal } = surroundings;
    let has_signal = signal.is_some();
    let all = || Interest::Everything { capacity: events_file::CAPACITY };
    let events = events.map(|file| tasks::spawn(events_file::write(session.subscribe(all()), file)));
    let speech = session.subscribe(Interest::Speech);
    let activity = console.is_conversation.then(|| session.subscribe(all()));
    let mut talk = Talk {
        console,
        subject,
        handle: session.spawn(),
        input,
        watch,
        thinking: Thinking::new(console),
        messages: arguments.message.iter().cloned().collect(),
        wanted: None,
        is_busy: true,
        question: None,
        open: None,
        word: String::new(),
        cleans: std::io::stdout().is_terminal(),
        is_warned: false,
        interrupted: None,
        input_ended: has_signal,
        awaits_event: has_signal,
        is_resumed: false,
        is_estimated: false,
        unjudged: Unjudged::default(),
    };
    if console.is_conversation {
        if subject.is_resumed {
            talk.show_history().await;
        }
        talk.end_message();
    }
    if let Some(signal) = signal {
        // A session that has ended says so by its last event.
        let _ = talk.handle.signal(signal).await;
    }
    let talked = talk.run(speech, activity).await;
    talk.make_room().await;
    talk.handle.stop().await;
    let ended = talk.handle.outcome().await;
    if let Some(task) = events {
        match task.await.map_err(std::io::Error::other).flatten() {
            Ok(0) => {}
            Ok(n) => console.warning(&format!("--events: {n} events came too fast and were not written")),
            Err(cause) => console.warning(&format!("--events: {cause}; some events were not written")),
        }
    }
    let after = match talked {
        // Nobody reads any more: a program that was stopped has not finished.
        Err(Failure::Quiet(_)) => return Err(Failure::Quiet(Exit::Failed)),
        // With nobody there is nobody to want another session.
        Ok(_) if talk.input_ended => After::Left,
        other => other?,
    };
    let ended = ended.map_err(Failure::failed)?;
    if let (true, Some(Outcome::Done { value })) = (subject.is_plan, &ended.outcome) {
        put_value(console, value)?;
    }
    let told = Told {
        question: talk.question.as_deref(),
        input_ended: talk.input_ended && !has_signal,
        is_estimated: talk.is_estimated,
        wants_summary: arguments.summary,
    };
    Ok((ending::tell(console, subject, &ended, &told), after))
}

/// The value of a plan: text as it is, everything else as JSON on one line.
fn put_value(console: &Console, value: &Tracked) -> Result<(), Failure> {
    if value.is_secret() {
        console.remark("the plan's value is secret and is not shown");
        return Ok(());
    }
    let text = value.value().to_text();
    let is_shown = std::io::stdout().is_terminal();
    put(&format!("{}\n", if is_shown { clean(&text) } else { text }))
}

struct Talk<'a> {
    console: &'a Console,
    subject: &'a Subject,
    handle: SessionHandle,
    input: &'a mut Input,
    watch: Option<&'a mut Watch>,
    thinking: Thinking,
    /// Messages given with `--message`.
    messages: VecDeque<String>,
    wanted: Option<Wanted>,
    /// Whether a model or a tool is at work: something is done, and nobody is waited for.
    is_busy: bool,
    /// What a person was asked for the call that waits.
    question: Option<Arc<str>>,
    /// The utterance that is being said; true as soon as something of it was written.
    open: Option<u64>,
    /// What has come of its last word: so that no remark stands in the middle of a word.
    word: String,
    /// Whether a terminal shows what is written: then control characters of a model stay out.
    cleans: bool,
    /// A person knows that the next Ctrl-C leaves.
    is_warned: bool,
    interrupted: Option<Instant>,
    input_ended: bool,
    /// The event that was given has not come yet: what is told before is of the time before.
    awaits_event: bool,
    /// The session was resumed.
    is_resumed: bool,
    /// A server did not count its tokens: the numbers are estimates.
    is_estimated: bool,
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
            self.console.remark(clean(&history).trim_end());
        }
    }

    async fn run(&mut self, mut speech: Subscription, activity: Option<Subscription>) -> Result<After, Failure> {
        let mut activity = activity;
        // A person may speak at any time; what becomes of it is `on_user_message`'s matter.
        if !self.input_ended {
            self.input.listen();
        }
        loop {
            if self.wanted.is_some() && self.open.is_none() && !self.input_ended {
                self.invite().await;
            }
            let is_silent = self.is_busy && self.open.is_none() && !self.input.is_asked();
            self.thinking.set(self.console, is_silent);
            tokio::select! {
                biased;
                notice = speech.next() => match notice {
                    None => return Ok(After::Ended),
                    Some(Notice::Event(event)) => {
                        if !self.hear(&event).await? {
                            return Ok(After::Ended);
                        }
                    }
                    Some(Notice::Missed(n_events)) => self.console.remark(&show::lost(n_events)),
                },
                notice = next_of(&mut activity) => self.note(&notice),
                typed = self.input.next() => {
                    let typed = typed.map_err(|cause| Failure::failed(format!("standard input: {cause}")))?;
                    if let Some(after) = self.answer(typed).await {
                        return Ok(after);
                    }
                }
                () = saved(&mut self.watch) => self.reload().await,
                () = self.thinking.tick() => self.thinking.draw(self.console),
            }
        }
    }

    /// What is done while nothing is said.
    fn note(&mut self, notice: &Notice) {
        let Notice::Event(event) = notice else { return };
        self.thinking.note(event);
        if let PublicBody::TurnFinished { estimated: true, .. } = &event.body {
            self.is_estimated = true;
        }
    }

    /// False: nothing more is to be said by anybody.
    #[expect(
        clippy::wildcard_enum_match_arm,
        clippy::collapsible_match,
        reason = "a listener to the conversation hears nothing else"
    )]
    async fn hear(&mut self, event: &PublicEvent) -> Result<bool, Failure> {
        match &event.body {
            PublicBody::SaidDelta { text, utterance } => {
                self.make_room().await;
                (self.wanted, self.is_busy) = (None, true);
                if self.open.is_some_and(|open| open != *utterance) {
                    self.end_utterance()?;
                }
                self.open = Some(*utterance);
                self.word.push_str(&self.clean(text));
                let whole = self.word.len() - last_word(&self.word).len();
                put(&self.word.drain(..whole).collect::<String>())?;
            }
            PublicBody::Said { text } => {
                // An empty utterance had no piece.
                if self.open.is_some() || text.is_empty() {
                    self.make_room().await;
                    self.end_utterance()?;
                }
            }
            PublicBody::ApprovalAsked { question, .. } => self.question = Some(question.clone()),
            PublicBody::ApprovalGiven { answer: Value::Str(_), refused: true, .. } => {
                self.console
                    .remark("anything but a yes refuses the call; the program is told these words as the reason");
            }
            PublicBody::EventArrived { event, fate, .. } => {
                self.awaits_event = false;
                if let Some(remark) = event_remark(event, *fate) {
                    self.end_line().await?;
                    self.console.warning(&remark);
                }
            }
            PublicBody::Waiting { .. } if self.awaits_event => {}
            PublicBody::Waiting { on } => match Wanted::of(on) {
                Some(wanted) => return self.want(wanted).await,
                // Nobody is at work until a timer is due.
                None => (self.wanted, self.is_busy) = (None, !matches!(on, Wait::Timer(_))),
            },
            PublicBody::Degraded { cause } => {
                self.end_line().await?;
                self.console.warning(&format!(
                    "the model did not follow the protocol: {cause}; its words are shown to you, and the program \
                     waits for the user"
                ));
            }
            PublicBody::Retry { cause, attempt, delay_ms } => {
                self.end_line().await?;
                let next = format!("trying again{} (attempt {attempt})", show::after_text(*delay_ms));
                self.console.remark(&format!("the model's reply failed: {cause}; {next}"));
            }
            PublicBody::ProgramChanged { files, lines } => {
                self.end_line().await?;
                self.console.remark(&changed_remark(files, lines));
            }
            PublicBody::CallFinished { callable, error: Some(error), .. } => {
                // In a script a failed call is the program's own matter.
                if let Some(remark) = failed_remark(callable, error).filter(|_| self.console.is_conversation) {
                    self.end_line().await?;
                    self.console.remark(&self.clean(&remark));
                }
            }
            PublicBody::LinesSkipped { lines, reason } => {
                self.end_line().await?;
                self.console.remark(&skipped_remark(event.playbook.as_deref(), lines, reason.as_deref()));
            }
            PublicBody::CallProgress { value, .. } => {
                if self.console.is_conversation {
                    self.end_line().await?;
                    self.console.remark(&self.clean(&value.to_text()));
                }
            }
            PublicBody::TriggerEvaluated { trigger, ruling, .. } => {
                if let Some(remark) = self.unjudged.remark(trigger, ruling) {
                    self.end_line().await?;
                    self.console.warning(&remark);
                }
            }
            PublicBody::SessionResumed { .. } => self.is_resumed = true,
            PublicBody::Finished { .. } | PublicBody::Failed { .. } => {
                self.end_line().await?;
                // After the resumption itself nothing has happened.
                if self.is_resumed && event.seq == 2 {
                    self.console.remark("the session has already ended");
                }
                (self.wanted, self.is_busy) = (None, false);
            }
            // Of the conversation nothing else is to be said.
            _ => {}
        }
        Ok(true)
    }

    /// Somebody has to say something: the next `--message`, or else the next line.
    async fn want(&mut self, wanted: Wanted) -> Result<bool, Failure> {
        self.is_busy = false;
        // A sentence that was cut has no end.
        self.end_line().await?;
        if wanted == Wanted::Message {
            self.question = None;
            if let Some(message) = self.messages.pop_front() {
                self.is_busy = true;
                if self.console.is_conversation {
                    self.console.tell(&format!("> {message}\n"));
                    self.end_message();
                }
                return match self.handle.send(message).await {
                    Err(error @ SendError::TooLarge { .. }) => Err(Failure::wrong(format!("--message: {error}"))),
                    sent => Ok(sent.is_ok()),
                };
            }
        }
        if self.input_ended {
            return Ok(false);
        }
        if let (Wanted::Approval(call), None) = (wanted, &self.question) {
            // It was asked before this process began.
            self.question = self.handle.view().await.ok().and_then(|view| view.question_about(call).cloned());
        }
        if let (false, Wanted::Approval(_), Some(question)) = (self.console.is_conversation, wanted, &self.question) {
            self.console.tell(&format!("{question}\n"));
        }
        self.wanted = Some(wanted);
        Ok(true)
    }

    /// Shows that it is the user's turn, if that is not shown.
    async fn invite(&mut self) {
        if self.input.is_asked() {
            return;
        }
        let mut asked = Asked { prompt: "> ", names: Names::default(), is_kept: true };
        if self.console.is_conversation {
            self.thinking.hide(self.console);
            asked.names = answers::names(&self.handle, &self.subject.program).await;
            if let (Some(Wanted::Approval(_)), Some(question)) = (self.wanted, &self.question) {
                self.console.tell(&format!("{}\n", clean(question)));
                asked = Asked { prompt: "(y/n, or words) > ", is_kept: false, ..asked };
            }
        }
        self.input.ask(self.console, asked);
    }

    /// Something has been typed. What a person wants now, if it is an end.
    async fn answer(&mut self, typed: Typed) -> Option<After> {
        let line = match typed {
            Typed::Line(line) => line,
            Typed::Cleared { is_shown } => {
                if is_shown {
                    self.console.remark("(not sent)");
                }
                self.is_warned = false;
                return None;
            }
            Typed::Interrupt { is_echoed } => return self.interrupt(is_echoed).await,
            // The prompt is shown anew.
            Typed::Continued => {
                self.make_room().await;
                return None;
            }
            Typed::End => {
                self.input_ended = true;
                if self.console.is_conversation && !self.console.is_editable {
                    self.console.tell("\n");
                }
                // What the program is about to say may still be said.
                return self.wanted.is_some().then_some(After::Left);
            }
        };
        self.input.listen();
        self.is_warned = false;
        if !self.console.is_conversation {
            return self.send(&line).await;
        }
        if line.trim().is_empty() {
            return None;
        }
        match commands::read(&line) {
            Line::Message(message) => {
                self.end_message();
                self.send(&message).await
            }
            Line::Wrong(problem) => {
                self.make_room().await;
                self.console.warning(&clean(&problem));
                None
            }
            Line::Command(command) => self.perform(command).await,
        }
    }

    /// Gives the program a line. Typed while it does not wait it is a message.
    async fn send(&mut self, line: &str) -> Option<After> {
        self.is_busy = true;
        let wanted = self.wanted.take().unwrap_or(Wanted::Message);
        if let Wanted::Approval(_) = wanted {
            self.question = None;
        }
        match wanted.give(&self.handle, line).await {
            Err(error @ SendError::TooLarge { .. }) => {
                self.console.warning(&error.to_string());
                (self.wanted, self.is_busy) = (Some(wanted), false);
                None
            }
            sent => sent.is_err().then_some(After::Ended),
        }
    }

    /// Answers a question to us; the program does not hear of it.
    async fn perform(&mut self, command: Command<'_>) -> Option<After> {
        let program = &self.subject.program;
        let answer = match command {
            Command::Stack => answers::stack(&self.handle, program).await,
            Command::Variables(name) => answers::variables(&self.handle, program, name).await,
            // A session that has ended says so by its last event.
            Command::Why(trigger) => answers::triggers(&self.handle, trigger).await?,
            Command::Help => Ok(commands::help()),
            Command::Quit => return Some(After::Left),
            Command::Restart if self.subject.can_restart => return Some(After::Restart),
            Command::Restart => {
                Err("a resumed session has no file to restart from; leave, and use `playhouse run FILE`".to_owned())
            }
        };
        self.make_room().await;
        match answer {
            Ok(text) => self.console.tell(&clean(&text)),
            Err(problem) => self.console.warning(&clean(&problem)),
        }
        None
    }

    /// Ctrl-C with nothing on the line. What a person wants now, if it is an end.
    async fn interrupt(&mut self, is_echoed: bool) -> Option<After> {
        // Making room ends the line of a prompt, too.
        if is_echoed && !self.input.is_asked() {
            self.console.tell("\n");
        }
        self.make_room().await;
        let is_recent = self.interrupted.is_some_and(|before| before.elapsed() < LEAVE_WITHIN);
        let is_waiting = self.wanted.is_some();
        if self.is_warned && (is_waiting || is_recent) {
            return Some(After::Left);
        }
        self.is_warned = true;
        if is_waiting {
            self.console.remark("press Ctrl-C again to leave");
            return None;
        }
        self.interrupted = Some(Instant::now());
        self.word.clear();
        self.open = None;
        self.input.forget();
        self.console.remark("interrupted; press Ctrl-C again to leave");
        self.handle.interrupt().await.is_err().then_some(After::Ended)
    }

    /// A file of the program was saved.
    async fn reload(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        let reloaded = watch.reload();
        if matches!(reloaded, Reloaded::Same) {
            return;
        }
        self.make_room().await;
        if self.open.is_some() {
            // That nobody reads it shows when more is said.
            let _ = self.end_utterance();
        }
        match reloaded {
            Reloaded::Same => {}
            Reloaded::Good => self.console.remark(
                "reloaded; this session keeps its text, and the next one gets the new text (/restart starts it now)",
            ),
            Reloaded::Bad(findings) => {
                self.console.tell(&findings);
                self.console.remark("not reloaded; fix the errors before the next session");
            }
        }
    }

    /// Before anything is written: a prompt or a sign must not stand in its way.
    async fn make_room(&mut self) {
        self.input.suspend(self.console).await;
        self.thinking.hide(self.console);
    }

    /// Before a remark: an utterance that was cut must not run into it.
    async fn end_line(&mut self) -> Result<(), Failure> {
        self.make_room().await;
        if self.console.is_conversation && self.open.is_some() { self.end_utterance() } else { Ok(()) }
    }

    /// Ends the line of an utterance. On a terminal a free line sets it apart from the next one, and from the user's.
    fn end_utterance(&mut self) -> Result<(), Failure> {
        self.open = None;
        let end = if self.cleans { "\n\n" } else { "\n" };
        put(&(std::mem::take(&mut self.word) + end))
    }

    /// A free line after what the user says, and after what is said before the program begins.
    fn end_message(&self) {
        if self.cleans {
            self.console.tell("\n");
        }
    }

    fn clean(&self, text: &str) -> String {
        if self.cleans { clean(text) } else { text.to_owned() }
    }
}

/// What a text ends with that more text may make longer: the letters of its last word, in scripts that have words.
fn last_word(text: &str) -> &str {
    let is_of_word = |c: char| c.is_alphanumeric() && c < '\u{2e80}';
    &text[text.trim_end_matches(is_of_word).len()..]
}

/// The next of what is done; for ever, if nobody wants to know or nothing more is done.
async fn next_of(activity: &mut Option<Subscription>) -> Notice {
    loop {
        let Some(subscription) = activity else { return std::future::pending().await };
        match subscription.next().await {
            Some(notice) => return notice,
            None => *activity = None,
        }
    }
}

async fn saved(watch: &mut Option<&mut Watch>) {
    match watch {
        Some(watch) => watch.saved().await,
        None => std::future::pending().await,
    }
}
