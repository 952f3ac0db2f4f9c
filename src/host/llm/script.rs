//! A scripted model: replies from a file or from memory, in order, chosen by what is asked.
//!
//! It is shipped, not test code: people test their playbooks with it. Everything a server can do wrong can be
//! scripted too, so the whole path after [`Llm`] runs without a network.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream;
use playhouse_vm::protocol::{Finish, ReplyEnd, Role, Usage};
use regex::Regex;

use crate::llm::{LeftOver, Llm, LlmRequest, ModelKind, ReplyPart, ReplyStream, refused, status_is_transient};
use crate::text::shorten;

/// Of a request that no entry answers, so many characters are shown: its beginning and its end.
const SHOWN_CHARACTERS: usize = 1_500;

/// A model that answers from a list.
#[derive(Debug)]
pub struct Script {
    id: Arc<str>,
    name: Arc<str>,
    entries: Vec<ScriptEntry>,
    /// How often each entry has answered. The lock is held for a choice only, never over an `await`.
    n_answered: Mutex<Vec<u64>>,
}

/// One reply of a script, and when it is given.
#[derive(Clone, Debug, Default)]
pub struct ScriptEntry {
    /// Where it is written, for messages (`line 4`); none: its number is enough.
    pub place: Option<Arc<str>>,
    /// Must match the last user message; none: always matches.
    pub when: Option<Regex>,
    /// Must match all messages together, joined by line breaks.
    pub when_any: Option<Regex>,
    /// The reply's text.
    pub reply: Option<String>,
    /// How it is cut.
    pub chunks: Chunks,
    /// Waited before every chunk and before the error.
    pub delay: Duration,
    /// What goes wrong, after the reply's text if there is one.
    pub error: Option<ScriptError>,
    /// How long a transient error asks to wait.
    pub retry_after_ms: Option<u64>,
    /// How often it may answer.
    pub repeat: Repeat,
    /// Whether it is a failure if it is left over.
    pub must: bool,
    /// The counts that come with the end.
    pub usage: Option<Usage>,
}

/// How a scripted reply is cut into chunks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Chunks {
    /// Not at all.
    #[default]
    Whole,
    /// Every so many bytes, also inside a character.
    Every(usize),
    /// At these sizes, in bytes; the rest is the last chunk.
    Sizes(Vec<usize>),
}

/// How often an entry may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// So often.
    Times(u64),
    /// Without end.
    Always,
}

/// What goes wrong with a scripted reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptError {
    /// The server answers with this HTTP status.
    Status(u16),
    /// The account is used up: a 429 that no waiting heals.
    Quota,
    /// The connection breaks.
    Drop,
    /// Nothing more ever comes.
    Hang,
    /// The token limit is reached.
    Length,
    /// The stream is over without an end.
    NoFinish,
}

/// A script that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptFileError {
    /// The file cannot be read.
    #[error("script {name} cannot be read: {cause}; check the path after `script:`")]
    Read {
        /// The file.
        name: String,
        /// Why.
        cause: std::io::Error,
    },
    /// An entry is wrong.
    #[error("script {name}, {place}: {cause}; {next_step}")]
    Entry {
        /// The file.
        name: String,
        /// Line or entry.
        place: String,
        /// What is wrong.
        cause: String,
        /// What can be done.
        next_step: String,
    },
}

impl Default for Repeat {
    fn default() -> Repeat {
        Repeat::Times(1)
    }
}

impl Repeat {
    /// Whether an entry that has answered so often may answer again.
    pub(crate) fn is_open(self, n_answered: u64) -> bool {
        match self {
            Repeat::Times(times) => n_answered < times,
            Repeat::Always => true,
        }
    }
}

impl ScriptEntry {
    /// An entry that answers any request, once.
    pub fn reply(text: impl Into<String>) -> ScriptEntry {
        ScriptEntry { reply: Some(text.into()), ..ScriptEntry::default() }
    }

    /// An entry that fails any request, once.
    pub fn error(error: ScriptError) -> ScriptEntry {
        ScriptEntry { error: Some(error), ..ScriptEntry::default() }
    }

    fn matches(&self, last_user: &str, all: &str) -> bool {
        self.when.as_ref().is_none_or(|regex| regex.is_match(last_user))
            && self.when_any.as_ref().is_none_or(|regex| regex.is_match(all))
    }
}

impl Script {
    /// A script in memory. The name is used in messages.
    pub fn from_entries(name: &str, entries: Vec<ScriptEntry>) -> Script {
        let n_answered = Mutex::new(vec![0; entries.len()]);
        Script { id: Arc::from(format!("script:{name}")), name: Arc::from(name), entries, n_answered }
    }

    /// Takes the entry that answers a request; the error says why none does.
    fn take(&self, request: &LlmRequest) -> Result<&ScriptEntry, String> {
        let last_user = request.messages.iter().rev().find(|message| message.role == Role::User);
        let last_user = last_user.map_or("", |message| &*message.text);
        let all: Vec<&str> = request.messages.iter().map(|message| &*message.text).collect();
        let all = all.join("\n");

        let mut n_answered = self.n_answered.lock().unwrap_or_else(PoisonError::into_inner);
        for (entry, n_answered) in self.entries.iter().zip(n_answered.iter_mut()) {
            if entry.repeat.is_open(*n_answered) && entry.matches(last_user, &all) {
                *n_answered += 1;
                return Ok(entry);
            }
        }
        Err(self.render_unanswered(last_user, &n_answered))
    }

    fn render_unanswered(&self, last_user: &str, n_answered: &[u64]) -> String {
        let mut text = format!("script {} has no entry for this request; the last user message was:\n", self.name);
        for line in shorten(last_user, SHOWN_CHARACTERS).lines() {
            text.push_str("  | ");
            text.push_str(line);
            text.push('\n');
        }
        let left: Vec<String> = (0..self.entries.len())
            .filter(|&index| self.entries[index].repeat.is_open(n_answered[index]))
            .map(|index| self.render_entry(index))
            .collect();
        if left.is_empty() {
            text.push_str(&format!("all its {} entries have been used; add one for this request", self.entries.len()));
        } else {
            text.push_str(&format!("entries left: {}; change a `when`, or add an entry", left.join(", ")));
        }
        text
    }

    fn render_entry(&self, index: usize) -> String {
        let entry = &self.entries[index];
        let mut notes = Vec::new();
        notes.extend(entry.place.as_ref().map(ToString::to_string));
        notes.extend(entry.when.as_ref().map(|regex| format!("when {:?}", regex.as_str())));
        notes.extend(entry.when_any.as_ref().map(|regex| format!("when_any {:?}", regex.as_str())));
        let number = index + 1;
        if notes.is_empty() { format!("{number}") } else { format!("{number} ({})", notes.join(", ")) }
    }
}

impl Llm for Script {
    fn id(&self) -> Arc<str> {
        self.id.clone()
    }

    fn kind(&self) -> ModelKind {
        ModelKind::Recorded
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        match self.take(&request) {
            Ok(entry) => Box::pin(stream::unfold(Playback::new(&self.name, entry), Playback::next)),
            Err(reason) => Box::pin(tokio_stream::once(refused(reason))),
        }
    }

    fn replayed(&self, request: &LlmRequest) {
        // A request that nothing answers now was answered then, by a script that has been edited since.
        let _ = self.take(request);
    }

    fn left_over(&self) -> Vec<LeftOver> {
        let n_answered = self.n_answered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left_over = Vec::new();
        for (index, (entry, &n_answered)) in self.entries.iter().zip(n_answered.iter()).enumerate() {
            let what = match entry.repeat {
                Repeat::Times(times) if n_answered > 0 && n_answered < times => {
                    format!("answered {n_answered} of {times} times")
                }
                Repeat::Times(_) | Repeat::Always if n_answered == 0 => String::from("was never used"),
                Repeat::Times(_) | Repeat::Always => continue,
            };
            let message = format!("script {}: entry {} {what}", self.name, self.render_entry(index));
            left_over.push(LeftOver { message, is_failure: entry.must });
        }
        left_over
    }
}

/// One scripted reply on its way.
struct Playback {
    bytes: Vec<u8>,
    /// How much of `bytes` has been sent.
    sent: usize,
    chunks: Chunks,
    /// How many chunks have been sent.
    n_sent: usize,
    delay: Duration,
    /// What comes after the bytes; none: it has come.
    last: Option<Last>,
}

/// What comes after a reply's bytes.
enum Last {
    Complete { finish: Finish, usage: Option<Usage> },
    Failed(ReplyEnd),
    Hang,
    NoEnd,
}

impl Playback {
    fn new(name: &str, entry: &ScriptEntry) -> Playback {
        let broken = |reason: &str| {
            let reason = Arc::from(format!("{reason} (script {name})"));
            Last::Failed(ReplyEnd::Broken { reason, retry_after_ms: entry.retry_after_ms })
        };
        let refused = |reason: &str| {
            let reason = Arc::from(format!("{reason} (script {name})"));
            Last::Failed(ReplyEnd::Refused { reason })
        };
        let last = match entry.error {
            None => Last::Complete { finish: Finish::Stop, usage: entry.usage },
            Some(ScriptError::Length) => Last::Complete { finish: Finish::Length, usage: entry.usage },
            Some(ScriptError::Status(status)) if status_is_transient(status) => {
                broken(&format!("the server answered with status {status}"))
            }
            Some(ScriptError::Status(status)) => refused(&format!("the server answered with status {status}")),
            Some(ScriptError::Quota) => refused("the server answered with status 429: insufficient_quota"),
            Some(ScriptError::Drop) => broken("the connection was dropped"),
            Some(ScriptError::Hang) => Last::Hang,
            Some(ScriptError::NoFinish) => Last::NoEnd,
        };
        Playback {
            bytes: entry.reply.clone().unwrap_or_default().into_bytes(),
            sent: 0,
            chunks: entry.chunks.clone(),
            n_sent: 0,
            delay: entry.delay,
            last: Some(last),
        }
    }

    async fn next(mut self) -> Option<(ReplyPart, Playback)> {
        let rest = self.bytes.len() - self.sent;
        if rest > 0 {
            let size = match &self.chunks {
                Chunks::Whole => rest,
                Chunks::Every(size) => (*size).clamp(1, rest),
                Chunks::Sizes(sizes) => sizes.get(self.n_sent).map_or(rest, |&size| size.clamp(1, rest)),
            };
            self.wait().await;
            let chunk = self.bytes[self.sent..self.sent + size].to_vec();
            self.sent += size;
            self.n_sent += 1;
            return Some((ReplyPart::Bytes(chunk), self));
        }
        match self.last.take()? {
            Last::Complete { finish, usage } => {
                // The ordinary end comes with the last chunk, not a delay later.
                if self.n_sent == 0 {
                    self.wait().await;
                }
                Some((ReplyPart::End { end: ReplyEnd::Complete(finish), usage }, self))
            }
            Last::Failed(end) => {
                self.wait().await;
                Some((ReplyPart::End { end, usage: None }, self))
            }
            Last::Hang => std::future::pending().await,
            Last::NoEnd => {
                self.wait().await;
                None
            }
        }
    }

    async fn wait(&self) {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
    }
}
