//! A model that knows a whole conversation by heart. Asked again in the middle of a reply, it goes on where the
//! chat session ends: with the lines that the assistant's message does not hold yet, and with the rest of a
//! sentence that was cut.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use playhouse::host::llm::script::{Chunks, Script, ScriptEntry};
use playhouse::host::llm::{Llm, LlmRequest, ReplyStream};
use playhouse::vm::protocol::{ChatMessage, Role};
use serde_json::{Value, json};

/// What an uninterrupted run showed of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The messages of all requests, in order.
    pub(crate) requests: Vec<Vec<ChatMessage>>,
    /// All that was said, in order.
    pub(crate) utterances: Vec<String>,
}

/// How replies arrive.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// In pieces of so many bytes.
    pub(crate) chunks: Chunks,
    /// Waited before each.
    pub(crate) delay: Duration,
}

impl Pace {
    /// Each reply at once.
    pub(crate) fn whole() -> Pace {
        Pace { chunks: Chunks::Whole, delay: Duration::ZERO }
    }

    /// Pieces of `n` bytes, each an event of its own.
    pub(crate) fn pieces(n: usize) -> Pace {
        Pace { chunks: Chunks::Every(n), delay: Duration::from_millis(1) }
    }
}

/// The model.
pub(crate) struct IdealModel {
    replies: Vec<ScriptEntry>,
    /// None: it is being learned; replies are given in order, whatever is asked.
    known: Option<Known>,
    pace: Pace,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The reply that is to be begun next.
    next: usize,
    current: Option<Current>,
    /// All requests so far.
    requests: Vec<Vec<ChatMessage>>,
    /// How many of them were answered before this process began.
    n_replayed: usize,
    /// All answers so far.
    answers: Vec<ScriptEntry>,
}

/// The reply that was asked for last.
struct Current {
    messages: Vec<ChatMessage>,
    reply: Lines,
}

/// A reply as lines; one that broke may end in a part of a line.
#[derive(Clone)]
struct Lines {
    lines: Vec<Value>,
    part: Option<String>,
    /// Of a reply that goes on in mid-sentence: the whole sentence.
    sentence: Option<String>,
    entry: ScriptEntry,
}

impl Known {
    /// The utterance that begins so; `template` is how the model writes it.
    fn find(&self, saying: &str, template: &str) -> String {
        let literal = template.split(['$', '{']).next().unwrap_or("");
        let is_it = |utterance: &&String| utterance.starts_with(saying) && utterance.starts_with(literal);
        let found = self.utterances.iter().find(is_it);
        found.unwrap_or_else(|| panic!("nobody says {saying}")).clone()
    }
}

impl Lines {
    fn of(entry: &ScriptEntry) -> Lines {
        let mut lines = Vec::new();
        let mut part = None;
        for line in entry.reply.as_deref().unwrap_or("").lines().filter(|line| !line.trim().is_empty()) {
            assert!(part.is_none(), "only the last line of a reply may be cut: {line}");
            match serde_json::from_str(line) {
                Ok(value) => lines.push(value),
                Err(_) => part = Some(line.to_owned()),
            }
        }
        Lines { lines, part, sentence: None, entry: entry.clone() }
    }

    /// Takes out a line that the chat session holds, and those before it. Of one that was cut behind its speech
    /// the rest stays.
    fn take(&mut self, line: &Value) {
        self.sentence = None;
        if let Some(place) = self.lines.iter().position(|known| known == line) {
            self.lines.drain(..=place);
            return;
        }
        let said = line["say"].as_str().unwrap_or_else(|| panic!("nobody wrote {line}"));
        let is_it = |known: &Value| {
            let literal = known["say"].as_str().map(|template| template.split(['$', '{']).next().unwrap_or(""));
            known["at"] == line["at"] && literal.is_some_and(|literal| said.starts_with(literal))
        };
        let place = self.lines.iter().position(is_it).unwrap_or_else(|| panic!("nobody wrote {line}"));
        self.lines.drain(..place);
        let rest = self.lines[0].as_object_mut().unwrap();
        rest.remove("say");
        if rest.keys().all(|key| key == "at") {
            self.lines.remove(0);
        }
    }

    fn entry(&self) -> ScriptEntry {
        let texts = self.lines.iter().map(Value::to_string).chain(self.part.clone());
        ScriptEntry { reply: Some(texts.collect::<Vec<_>>().join("\n")), ..self.entry.clone() }
    }
}

impl IdealModel {
    /// A model that gives these replies in order and notes what it is asked.
    pub(crate) fn learning(replies: Vec<ScriptEntry>, pace: Pace) -> IdealModel {
        IdealModel { replies, known: None, pace, state: Mutex::default() }
    }

    /// A model that knows what is going to be asked and said.
    pub(crate) fn knowing(replies: Vec<ScriptEntry>, known: Known, pace: Pace) -> IdealModel {
        IdealModel { replies, known: Some(known), pace, state: Mutex::default() }
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Vec<ChatMessage>> {
        self.state.lock().unwrap().requests.clone()
    }

    /// All answers so far, and how many of them were given before this process began.
    pub(crate) fn answers(&self) -> (Vec<ScriptEntry>, usize) {
        let state = self.state.lock().unwrap();
        (state.answers.clone(), state.n_replayed)
    }

    fn answer(&self, request: &LlmRequest) -> ScriptEntry {
        let mut state = self.state.lock().unwrap();
        let reply = match self.continued(&mut state, request) {
            Some(reply) => reply,
            None => {
                let last = request.messages.last().map_or("", |message| &message.text);
                let entry = self.replies.get(state.next).unwrap_or_else(|| panic!("nothing left to say to {last}"));
                state.next += 1;
                let sentence = self.known.as_ref().zip(saying(last)).map(|(known, saying)| known.find(&saying, ""));
                Lines { sentence, ..Lines::of(entry) }
            }
        };
        // What was scripted is given as it is, mistakes included.
        let is_whole = reply
            .entry
            .reply
            .as_ref()
            .is_some_and(|text| Lines::of(&reply.entry).lines == reply.lines && !text.is_empty());
        let entry = if is_whole { reply.entry.clone() } else { reply.entry() };
        state.requests.push(request.messages.clone());
        state.current = Some(Current { messages: request.messages.clone(), reply });
        let entry = ScriptEntry { chunks: self.pace.chunks.clone(), delay: self.pace.delay, ..entry };
        state.answers.push(entry.clone());
        entry
    }

    /// The rest of the reply that was asked for last, if this request is about it.
    fn continued(&self, state: &mut State, request: &LlmRequest) -> Option<Lines> {
        let known = self.known.as_ref()?;
        let messages = &request.messages;
        // The system message names the tools, which may be others in the next process.
        if known.requests.get(state.next).is_some_and(|known| known[1..] == messages[1..]) {
            return None;
        }
        let current = state.current.as_ref()?;
        let n_before = current.messages.len();
        let (last, before) = current.messages.split_last()?;
        let goes_on = messages.len() >= n_before
            && messages[1..n_before - 1] == before[1..]
            && messages[n_before - 1].text.starts_with(&*last.text);
        if !goes_on {
            return None;
        }
        let asked = &messages.last()?.text;
        let applied: Vec<Value> = messages[n_before..]
            .iter()
            .filter(|message| message.role == Role::Assistant)
            .flat_map(|message| message.text.lines().map(|line| serde_json::from_str(line).unwrap()))
            .collect();
        let mut reply = current.reply.clone();
        let saying = saying(asked).filter(|_| !applied.is_empty());
        for line in &applied[..applied.len() - usize::from(saying.is_some())] {
            reply.take(line);
        }
        if let Some(saying) = saying {
            if reply.lines.is_empty() {
                // The sentence was cut in the script too, which goes on with it in its next reply.
                assert!(reply.part.is_some(), "no line says {saying}");
                reply = Lines::of(&self.replies[state.next]);
                reply.sentence = Some(known.find(&saying, ""));
                state.next += 1;
            }
            let place = reply.lines.iter().position(|line| line.get("say").is_some()).unwrap();
            reply.lines.drain(..place);
            let template = reply.lines[0]["say"].as_str().unwrap();
            let sentence = reply.sentence.take().unwrap_or_else(|| known.find(&saying, template));
            reply.lines[0]["say"] = sentence[saying.len()..].replace('$', "$$").into();
            reply.sentence = Some(sentence);
            return Some(reply);
        }
        // What lies between the last applied line and the pointer has been done by the interpreter, and what it
        // says to have done. Any other line before both goes back.
        if let Some(pointer) = go_on_from(asked) {
            let told: Vec<&str> = asked.lines().filter_map(|line| line.split(' ').next()).collect();
            let last_applied = applied.iter().rev().find_map(|line| line["at"].as_str());
            let mut from = last_applied.filter(|line| *line <= pointer).unwrap_or("");
            let mut n_done = 0;
            for at in reply.lines.iter().map_while(|line| line["at"].as_str()) {
                if at >= pointer || (at < from && !told.contains(&at)) {
                    break;
                }
                (from, n_done) = (at, n_done + 1);
            }
            reply.lines.drain(..n_done);
            // The reply was over but for its end, which the interpreter would have taken for the end of the line.
            if reply.lines.is_empty() && reply.part.is_none() && last_applied == Some(pointer) && is_nothing_new(asked)
            {
                reply.lines.push(json!({ "at": pointer }));
            }
        }
        (!reply.lines.is_empty() || reply.part.is_some()).then_some(reply)
    }
}

/// What a cut sentence was.
fn saying(message: &str) -> Option<String> {
    let line = message.lines().rev().nth(1)?.strip_prefix("you were saying ")?;
    serde_json::from_str(line.strip_suffix(": go on in mid-sentence")?).ok()
}

/// Whether a message tells nothing but what the interpreter has done, and where to go on.
fn is_nothing_new(message: &str) -> bool {
    let blocks = ["RESULTS", "MEANWHILE", "USER ", "PROBLEM "];
    let is_new = |line: &str| line.contains(" is left to you: ") || blocks.iter().any(|block| line.starts_with(block));
    !message.lines().any(is_new)
}

fn go_on_from(message: &str) -> Option<&str> {
    message.lines().next_back()?.strip_prefix("GO ON FROM ")
}

impl Llm for IdealModel {
    fn id(&self) -> Arc<str> {
        "ideal".into()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        Script::from_entries("ideal", vec![self.answer(&request)]).request(request)
    }

    fn replayed(&self, request: &LlmRequest) {
        self.answer(request);
        self.state.lock().unwrap().n_replayed += 1;
    }
}
