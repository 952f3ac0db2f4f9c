//! From runs to the next cassette: what they asked, in order, without what nobody may see. What none of them asked is
//! gone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use playhouse_lang::expr::scan_reference;
use playhouse_lang::value::Value;
use playhouse_vm::protocol::ReplyEnd;

use crate::cassette::entry::{Call, Entry, Outcome, Reply, Request};
use crate::cassette::file::Cassette;
use crate::cassette::key::{Asked, Block, Message};
use crate::cassette::redact::{Redaction, Rule, Texts};
use crate::cassette::take::{Cast, Ended, Note, Take};
use crate::secrets::Secrets;

/// What is to be known of a case besides its runs.
pub struct Case<'a> {
    /// `[record] redact`.
    pub rules: &'a [Rule],
    /// The text of its file, whose values are redacted, too.
    pub text: &'a str,
    /// The program's text and what else is no secret of anybody's.
    pub public: &'a str,
    /// The names of variables that are declared secret.
    pub declared: &'a [Arc<str>],
    /// What nobody may see: keys and passwords.
    pub secrets: &'a Secrets,
    /// Whether everything is to happen again, also a reply that broke before it began.
    pub is_exact: bool,
}

/// The cassette of these runs, and what has to be done with the text of the case, too.
///
/// # Errors
/// A value has no stand-in, or a secret would be in it; in words that say what can be done.
pub fn record(takes: &[Arc<Take>], case: &Case<'_>) -> Result<(Cassette, Redaction), String> {
    let notes_of = |take: &Arc<Take>| if case.is_exact { take.notes() } else { kept(take.notes()) };
    let runs: Vec<(u32, Vec<Note>)> = takes.iter().map(|take| (take.run(), notes_of(take))).collect();
    let notes = || runs.iter().flat_map(|(_, notes)| notes);
    let arguments: Vec<Value> = notes().filter_map(arguments).collect();
    let old: Vec<Arc<str>> = takes.iter().flat_map(|take| take.cassette().stand_ins.iter().cloned()).collect();
    let texts = Texts {
        told: std::iter::once(case.text).chain(notes().flat_map(told)).collect(),
        results: arguments.iter().chain(notes().filter_map(result)).collect(),
        public: case.public,
        stand_ins: &old,
    };
    let redaction = Redaction::of(case.rules, &texts)?;
    let mut counted: HashMap<(u32, String), u32> = HashMap::new();
    let mut entries = Vec::new();
    for (run, notes) in &runs {
        for note in notes {
            let Some(mut entry) = entry(note, *run, &redaction) else { continue };
            let n = counted.entry((*run, entry.place().0)).or_insert(0);
            *n += 1;
            entry.count(*n);
            entries.push(entry);
        }
    }
    let redacted = redaction.apply(case.text);
    let Cast { model, classifier, tools } = takes.iter().find_map(|take| take.cast()).unwrap_or_default();
    let mut cassette = Cassette { model, classifier, tools, entries, ..Cassette::default() };
    let all = cassette.render() + &redacted;
    let known = old.into_iter().chain(redaction.stand_ins().map(Arc::from));
    let mut seen = HashSet::new();
    cassette.stand_ins = known.filter(|stand_in| all.contains(&**stand_in) && seen.insert(stand_in.clone())).collect();
    check_secrets(&cassette, takes, case)?;
    Ok((cassette, redaction))
}

/// What was answered. A reply that broke before it began, and was asked for again, has had no effect.
fn kept(notes: Vec<Note>) -> Vec<Note> {
    let mut asked_later = HashSet::new();
    let mut kept: Vec<Note> = Vec::with_capacity(notes.len());
    for note in notes.into_iter().rev() {
        if let Note::Request { asked, reply, .. } = &note {
            let is_asked_again = !asked_later.insert(asked.key());
            let is_void = |reply: &Reply| reply.text.is_empty() && matches!(reply.end, ReplyEnd::Broken { .. });
            if is_asked_again && reply.as_ref().is_some_and(is_void) {
                continue;
            }
        }
        kept.push(note);
    }
    kept.reverse();
    kept
}

/// What people, models and tools have said.
fn told(note: &Note) -> Vec<&str> {
    match note {
        Note::Request { reply, .. } => reply.iter().map(|reply| &*reply.text).collect(),
        Note::Call { ended: Some((Outcome::Error(text) | Outcome::Needs { question: text, .. }, ..)), .. } => {
            vec![text]
        }
        Note::Call { .. } => Vec::new(),
    }
}

fn result(note: &Note) -> Option<&Value> {
    if let Note::Call { ended: Some((Outcome::Value(value), ..)), .. } = note { Some(value) } else { None }
}

fn arguments(note: &Note) -> Option<Value> {
    if let Note::Call { arguments, .. } = note { Some(Value::map(arguments.clone())) } else { None }
}

/// What is kept of a note, not counted yet; nothing of what has got no answer.
fn entry(note: &Note, run: u32, redaction: &Redaction) -> Option<Entry> {
    Some(match note {
        Note::Request { asked, at, reply, is_new: _ } => {
            let asked = redacted(asked, redaction);
            let Reply { text, mut end, usage, ms } = reply.clone()?;
            if let ReplyEnd::Broken { reason, .. } = &mut end {
                *reason = redaction.apply(reason).into();
            }
            Entry::Request(Request {
                key: asked.key(),
                run,
                n: 0,
                purpose: asked.purpose.into(),
                at: at.clone(),
                messages: asked.messages,
                reply: Reply { text: redaction.apply(&text), end, usage, ms },
            })
        }
        Note::Call { name, arguments, ended, is_new: _ } => {
            let (outcome, usage, ms): Ended = ended.clone()?;
            let text = |text: Arc<str>| Arc::from(redaction.apply(&text));
            let outcome = match outcome {
                Outcome::Value(value) => Outcome::Value(redaction.apply_value(&value)),
                Outcome::Error(error) => Outcome::Error(text(error)),
                Outcome::Needs { question, takes_no } => Outcome::Needs { question: text(question), takes_no },
                Outcome::Secret(_) | Outcome::Closed => outcome,
            };
            let arguments = redaction.apply_map(arguments);
            Entry::Call(Call { name: name.clone(), arguments, run, n: 0, outcome, usage, ms })
        }
    })
}

fn redacted(asked: &Asked, redaction: &Redaction) -> Asked {
    if redaction.is_empty() {
        return asked.clone();
    }
    let block = |block: &Block| Block::new(&redaction.apply(block.text()));
    let message =
        |message: &Message| Message { role: message.role, blocks: message.blocks.iter().map(block).collect() };
    Asked { messages: asked.messages.iter().map(message).collect(), ..asked.clone() }
}

/// Nothing that is secret is written: neither what is known to be so, nor what replies give variables that are declared
/// secret.
fn check_secrets(cassette: &Cassette, takes: &[Arc<Take>], case: &Case<'_>) -> Result<(), String> {
    let given = Secrets::new();
    let lines = takes.iter().flat_map(|take| take.notes()).flat_map(|note| match note {
        Note::Request { reply: Some(reply), .. } => reply.text.lines().map(Value::from_json).collect(),
        Note::Request { reply: None, .. } | Note::Call { .. } => Vec::new(),
    });
    lines.flatten().for_each(|line| find_given(&line, case.declared, &given));
    let secrets: Vec<&Secrets> = takes.iter().map(|take| &take.hidden).chain([case.secrets, &given]).collect();
    let is_open = |text: &str| secrets.iter().all(|secrets| secrets.mask(text) == text);
    for entry in &cassette.entries {
        let (what, is_open) = match entry {
            Entry::Request(request) => {
                let blocks = request.messages.iter().flat_map(|message| &message.blocks);
                let what = request.at.as_deref().unwrap_or(&request.purpose);
                let Reply { text, end, .. } = &request.reply;
                let reason = if let ReplyEnd::Broken { reason, .. } = end { reason } else { "" };
                (what, blocks.map(Block::text).chain([&**text, reason]).all(is_open))
            }
            Entry::Call(call) => {
                let arguments = Value::map(call.arguments.clone()).to_json();
                let outcome = match &call.outcome {
                    Outcome::Value(value) => value.to_json(),
                    Outcome::Error(text) | Outcome::Needs { question: text, .. } => text.to_string(),
                    Outcome::Secret(_) | Outcome::Closed => String::new(),
                };
                (&*call.name, is_open(&arguments) && is_open(&outcome))
            }
        };
        if !is_open {
            return Err(format!(
                "the recording would hold a secret ({what}), as a user's line, a reply or a tool tells it; give it a \
                 stand-in, as in `[record] redact = [\"/REGEX/\"]` of playhouse.toml"
            ));
        }
    }
    Ok(())
}

/// The values that a trace line gives names which are declared secret.
fn find_given(value: &Value, declared: &[Arc<str>], secrets: &Secrets) {
    match value {
        Value::Map(members) => {
            for (name, member) in members.iter() {
                let is_reference = member
                    .as_str()
                    .is_some_and(|text| scan_reference(text).is_some_and(|(_, length)| length == text.len()));
                let is_scalar = matches!(member, Value::Str(_) | Value::Int(_) | Value::Float(_));
                if is_scalar && !is_reference && declared.contains(name) {
                    secrets.add(&member.to_text());
                }
                find_given(member, declared, secrets);
            }
        }
        Value::List(items) => items.iter().for_each(|item| find_given(item, declared, secrets)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {}
    }
}
