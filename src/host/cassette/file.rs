//! Cassettes as files, `NAME.cassette.jsonl` (spec `evaluate.md`, section 2): a header, then one line for each thing.
//! Texts of messages stand once, by their hash, before the first line that names them.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{ReplyEnd, Role, ToolSignature};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::cassette::entry::{Call, Entry, Outcome, Reply, Request};
use crate::cassette::key::{Block, Digest, Message};
use crate::cassette::order::Step;
use crate::journal::record::UsageWire;
use crate::journal::wire::{ToolWire, finish_name, finish_named, present};

/// The version of the format that this program writes, and the latest that it reads.
const FORMAT: u64 = 1;

/// The `end` of what we closed.
const CLOSED: &str = "closed";

/// What models and tools answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cassette {
    /// The model's id.
    pub model: Arc<str>,
    /// The trigger classifier's, if another program would not choose it by itself.
    pub classifier: Option<Arc<str>>,
    /// What stands in the place of other values in it (`p1@example.org`).
    pub stand_ins: Vec<Arc<str>>,
    /// The tools that answered, as they said of themselves.
    pub tools: Vec<ToolSignature>,
    /// In which order the session heard them; empty: a reply waits for what each of its lines has set off.
    pub order: Vec<Step>,
    /// The answers, in the order in which they were asked for.
    pub entries: Vec<Entry>,
}

/// A cassette that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// There is none.
    #[error("there is no recording yet ({0})")]
    None(PathBuf),
    /// The file cannot be read.
    #[error("{path}: cannot read the recording: {cause}; make it readable")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A newer program has written it.
    #[error("{path}: the recording has format {format}, and this version reads up to {FORMAT}; take a newer version")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u64,
    },
    /// A line is damaged; nothing is taken from the file.
    #[error("{path}:{line}: {cause}; nothing of the recording is used: restore the file, or delete it")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderWire {
    cassette: u64,
    model: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    classifier: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stand_ins: Vec<Arc<str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    order: Vec<Step>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolLine {
    tool: ToolWire,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockWire {
    block: String,
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestWire {
    key: String,
    run: u32,
    n: u32,
    #[serde(rename = "for")]
    purpose: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Arc<str>>,
    /// Of each message the role, then the hashes of its blocks.
    messages: Vec<Vec<String>>,
    reply: String,
    end: EndWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<UsageWire>,
    ms: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum EndWire {
    /// `stop`, `length`, whatever else a server says; `closed`.
    Word(Arc<str>),
    Broken {
        broken: Arc<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
}

/// Of `result`, `secret`, `error`, `needs` and `end` one is there.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallWire {
    call: Arc<str>,
    args: Map,
    run: u32,
    n: u32,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    needs: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    takes_no: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<UsageWire>,
    ms: u64,
}

impl Cassette {
    /// Reads a file.
    ///
    /// # Errors
    /// There is none, a newer program has written it, or a line is damaged: then nothing of it is used.
    pub fn read(path: &Path) -> Result<Cassette, CassetteError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Cassette::from_text(path, &text),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Err(CassetteError::None(path.to_owned())),
            Err(cause) => Err(CassetteError::Io { path: path.to_owned(), cause }),
        }
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// As for [`Cassette::read`].
    pub fn from_text(path: &Path, text: &str) -> Result<Cassette, CassetteError> {
        let damaged = |line: usize, cause: String| CassetteError::Damaged { path: path.to_owned(), line, cause };
        let mut lines = text.lines().enumerate();
        let (_, first) = lines.next().unwrap_or((0, ""));
        let header: Json = serde_json::from_str(first)
            .map_err(|error| damaged(1, format!("this is not the header of a recording: {error}")))?;
        match header.get("cassette").and_then(Json::as_u64) {
            Some(format) if format > FORMAT => return Err(CassetteError::Newer { path: path.to_owned(), format }),
            Some(FORMAT) => {}
            Some(_) | None => return Err(damaged(1, "this is not the header of a recording".to_owned())),
        }
        let header: HeaderWire = serde_json::from_value(header).map_err(|error| damaged(1, error.to_string()))?;
        let HeaderWire { cassette: _, model, classifier, stand_ins, order } = header;
        let mut reading = Reading {
            cassette: Cassette { model, classifier, stand_ins, order, ..Cassette::default() },
            blocks: HashMap::new(),
            places: HashMap::new(),
        };
        for (index, line) in lines {
            reading.line(index + 1, line).map_err(|cause| damaged(index + 1, cause))?;
        }
        Ok(reading.cassette)
    }

    /// The names of secret results: of each the argument that stands for it.
    pub fn secrets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Call(Call { outcome: Outcome::Secret(name), .. }) => Some(name),
            Entry::Call(_) | Entry::Request(_) => None,
        })
    }

    /// The file's text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let header = HeaderWire {
            cassette: FORMAT,
            model: self.model.clone(),
            classifier: self.classifier.clone(),
            stand_ins: self.stand_ins.clone(),
            order: self.order.clone(),
        };
        write_line(&mut text, &header);
        for tool in &self.tools {
            write_line(&mut text, &ToolLine { tool: ToolWire::from_tool(tool) });
        }
        let mut written = HashSet::new();
        for entry in &self.entries {
            match entry {
                Entry::Request(request) => {
                    for block in request.messages.iter().flat_map(|message| &message.blocks) {
                        if written.insert(block.digest()) {
                            let (block, text_of) = (block.digest().as_str().to_owned(), block.text().to_owned());
                            write_line(&mut text, &BlockWire { block, text: text_of });
                        }
                    }
                    write_line(&mut text, &RequestWire::from_request(request));
                }
                Entry::Call(call) => write_line(&mut text, &CallWire::from_call(call)),
            }
        }
        text
    }
}

/// A file while it is read.
struct Reading {
    cassette: Cassette,
    blocks: HashMap<String, Block>,
    /// In which line each entry stands.
    places: HashMap<(String, u32, u32), usize>,
}

impl Reading {
    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let json: Json = serde_json::from_str(line).map_err(|error| format!("this line is not JSON: {error}"))?;
        let entry = if json.get("block").is_some() {
            let BlockWire { block, text } = read(json)?;
            let text = Block::new(&text);
            if text.digest().as_str() != block {
                return Err("the text of this block is another one than was recorded".to_owned());
            }
            self.blocks.insert(block, text);
            return Ok(());
        } else if json.get("tool").is_some() {
            self.cassette.tools.push(read::<ToolLine>(json)?.tool.to_tool());
            return Ok(());
        } else if json.get("key").is_some() {
            Entry::Request(self.request(read(json)?)?)
        } else if json.get("call").is_some() {
            Entry::Call(read::<CallWire>(json)?.into_call()?)
        } else {
            return Err("this line is not a `block`, `tool`, `key` or `call`".to_owned());
        };
        if let Some(first) = self.places.insert(entry.place(), number) {
            return Err(format!("this entry is already in line {first}"));
        }
        self.cassette.entries.push(entry);
        Ok(())
    }

    fn request(&self, wire: RequestWire) -> Result<Request, String> {
        let RequestWire { key, run, n, purpose, at, messages, reply, end, usage, ms } = wire;
        let messages: Result<Vec<Message>, String> = messages.iter().map(|message| self.message(message)).collect();
        let end = match end {
            EndWire::Word(word) if &*word == CLOSED => ReplyEnd::Closed,
            EndWire::Word(word) => ReplyEnd::Complete(finish_named(&word)),
            EndWire::Broken { broken, retry_after_ms } => ReplyEnd::Broken { reason: broken, retry_after_ms },
        };
        let reply = Reply { text: reply, end, usage: usage.map(UsageWire::to_usage), ms };
        Ok(Request { key: Digest::written(&key), run, n, purpose, at, messages: messages?, reply })
    }

    fn message(&self, wire: &[String]) -> Result<Message, String> {
        let (role, hashes) = wire.split_first().ok_or("a message without a role")?;
        let roles = [Role::System, Role::User, Role::Assistant];
        let known = roles.into_iter().find(|known| <&str>::from(known) == role);
        let role = known.ok_or_else(|| format!("there is no role `{role}`"))?;
        let block = |hash: &String| self.blocks.get(hash).cloned().ok_or_else(|| format!("no block {hash} before it"));
        Ok(Message { role, blocks: hashes.iter().map(block).collect::<Result<_, _>>()? })
    }
}

fn read<T: for<'de> Deserialize<'de>>(json: Json) -> Result<T, String> {
    serde_json::from_value(json).map_err(|error| error.to_string())
}

/// Nothing that is written here can fail: names are text, and there are no numbers that JSON lacks.
fn write_line(text: &mut String, line: &impl Serialize) {
    text.push_str(&serde_json::to_string(line).unwrap_or_default());
    text.push('\n');
}

impl RequestWire {
    fn from_request(request: &Request) -> RequestWire {
        let Request { key, run, n, purpose, at, messages, reply } = request;
        let message = |message: &Message| {
            let role: &str = message.role.into();
            let hashes = message.blocks.iter().map(|block| block.digest().as_str());
            std::iter::once(role).chain(hashes).map(str::to_owned).collect()
        };
        RequestWire {
            key: key.as_str().to_owned(),
            run: *run,
            n: *n,
            purpose: purpose.clone(),
            at: at.clone(),
            messages: messages.iter().map(message).collect(),
            reply: reply.text.clone(),
            end: match &reply.end {
                ReplyEnd::Complete(finish) => EndWire::Word(finish_name(finish)),
                ReplyEnd::Broken { reason, retry_after_ms } => {
                    EndWire::Broken { broken: reason.clone(), retry_after_ms: *retry_after_ms }
                }
                // A run in which a model refuses to answer is not kept.
                ReplyEnd::Refused { .. } | ReplyEnd::Closed => EndWire::Word(CLOSED.into()),
            },
            usage: reply.usage.map(UsageWire::from_usage),
            ms: reply.ms,
        }
    }
}

impl CallWire {
    fn from_call(call: &Call) -> CallWire {
        let Call { name, arguments, run, n, outcome, usage, ms } = call;
        let usage = usage.map(UsageWire::from_usage);
        let wire = CallWire { call: name.clone(), args: arguments.clone(), usage, ms: *ms, ..CallWire::default() };
        let wire = CallWire { run: *run, n: *n, ..wire };
        match outcome {
            Outcome::Value(value) => CallWire { result: Some(value.clone()), ..wire },
            Outcome::Secret(name) => CallWire { secret: Some(name.clone()), ..wire },
            Outcome::Error(error) => CallWire { error: Some(error.clone()), ..wire },
            Outcome::Needs { question, takes_no } => {
                CallWire { needs: Some(question.clone()), takes_no: *takes_no, ..wire }
            }
            Outcome::Closed => CallWire { end: Some(CLOSED.into()), ..wire },
        }
    }

    fn into_call(self) -> Result<Call, String> {
        let CallWire { call, args, run, n, result, secret, error, needs, takes_no, end, usage, ms } = self;
        let closed = end.map(|_| Outcome::Closed);
        let needs = needs.map(|question| Outcome::Needs { question, takes_no });
        let all = [result.map(Outcome::Value), secret.map(Outcome::Secret), error.map(Outcome::Error), needs, closed];
        let mut there = all.into_iter().flatten();
        match (there.next(), there.next()) {
            (Some(outcome), None) => {
                let usage = usage.map(UsageWire::to_usage);
                Ok(Call { name: call, arguments: args, run, n, outcome, usage, ms })
            }
            _ => Err("a call has one of `result`, `secret`, `error`, `needs` and `end`".to_owned()),
        }
    }
}

/// Writes a file as a whole: beside it first, so that whatever happens there is the old one or the new one.
///
/// # Errors
/// What the system says.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_added_extension("new");
    let written = File::create(&beside).and_then(|mut file| {
        // Whoever may read and run the file that is there may go on with it.
        if let Ok(known) = std::fs::metadata(path) {
            file.set_permissions(known.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| std::fs::rename(&beside, path)).inspect_err(|_| {
        // What is half there is of no use; that it cannot be deleted, either, changes nothing.
        let _ = std::fs::remove_file(&beside);
    })
}
