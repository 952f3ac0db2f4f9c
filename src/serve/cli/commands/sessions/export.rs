//! `playhouse sessions export`: a session, to be given away or read.

use std::fmt::Write as _;
use std::io;
#[cfg(feature = "otel")]
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::host::events::PublicBody;
use crate::host::journal::address::Address;
use crate::host::journal::copy;
use crate::host::journal::record::Record;
#[cfg(feature = "otel")]
use crate::host::otel::wire::encode;
#[cfg(feature = "otel")]
use crate::host::session::spans_of;
use crate::host::stored::{Opened, Stored};
use crate::host::text::{cut, one_line};
use crate::host::travel::{self, At, Step};
use crate::lang::files::test_file::quoted;
use crate::serve::cli::commands::sessions::export_test::{TestExport, export_test};
use crate::serve::cli::commands::sessions::kept::{exists_already, local, opened, records, to_json, waited};
use crate::serve::cli::commands::sessions::travel::at;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, put_bytes};
use crate::serve::show;
use crate::value::Value;
use crate::value::markup::markdown_code;
use crate::vm::protocol::{CallKind, SignalFate};

/// A longer value is cut: the whole one is in `--format json`.
const MAX_SHOWN: usize = 200;

#[derive(Args)]
pub(crate) struct ExportArguments {
    /// The session's id
    pub(crate) id: String,
    /// The output format: a journal that `--journal` opens, text for people, events for programs, a test with its
    /// recording, or traces
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    /// The file to write; it must not exist yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With --format otlp: include what was said to models, tools and people, and what they answered
    #[cfg(feature = "otel")]
    #[arg(long)]
    with_messages: bool,
    /// With --format test: the last record of the session to include [default: all of them]
    #[arg(long, value_name = "N", value_parser = at)]
    until: Option<At>,
    /// With --format test: also expect what is said
    #[arg(long)]
    golden: bool,
    /// Also write the secrets, to a file beside that of --output
    #[arg(long)]
    with_secrets: bool,
}

/// What a session is written down as.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// The journal
    Jsonl,
    /// The conversation, with the lines that ran
    Md,
    /// One object with all events
    Json,
    /// Traces, as the body of a request to an OpenTelemetry collector (OTLP, protobuf)
    #[cfg(feature = "otel")]
    Otlp,
    /// A scripted conversation, with a recording of what models and tools answered
    Test,
}

/// Writes a session down.
pub(crate) fn export(console: &Console, address: &Address, arguments: &ExportArguments) -> Result<Exit, Failure> {
    let ExportArguments { format, output, until, golden, with_secrets, .. } = arguments;
    if *format == ExportFormat::Test {
        let output = output.as_deref().filter(|_| !with_secrets).ok_or_else(|| {
            Failure::wrong("a test needs a file of its own; add --output NAME.test.md, and remove --with-secrets")
        })?;
        return export_test(console, &TestExport { address, output, until: *until, golden: *golden });
    }
    if until.is_some() || *golden {
        return Err(Failure::wrong("--until and --golden are for --format test"));
    }
    if *with_secrets && (*format != ExportFormat::Jsonl || output.is_none()) {
        return Err(Failure::wrong(
            "--with-secrets needs a journal in a file of its own; add --output FILE and --format jsonl",
        ));
    }
    let mut remark = None;
    let (text, records) = match format {
        ExportFormat::Jsonl => {
            let records = records(address)?;
            if !with_secrets && copy::holds_secrets(&records) {
                remark = Some(
                    "secrets are masked, so the session cannot be continued from this file; --with-secrets writes \
                     them to a file beside that of --output",
                );
            }
            // The records' JSON is text.
            (copy::lines(&records), records)
        }
        #[cfg(feature = "otel")]
        ExportFormat::Otlp => {
            if output.is_none() && io::stdout().is_terminal() {
                return Err(Failure::wrong("--format otlp is not text for a terminal; add --output FILE"));
            }
            let pieces = waited(address.read_pieces())??;
            let spans = spans_of(&pieces, arguments.with_messages)?;
            let service = console.environment.otel.service_name.as_deref();
            (encode(&spans, service, &console.secrets), pieces)
        }
        ExportFormat::Md | ExportFormat::Json | ExportFormat::Test => {
            let opened = opened(address)?;
            let steps = travel::whole_history(&opened.records)?;
            let stored = waited(opened.describe(address))?;
            let text = if *format == ExportFormat::Md {
                markdown(&opened, &stored, &steps)
            } else {
                object(&opened, &stored, &steps)
            };
            (text.into_bytes(), opened.records)
        }
    };
    match output {
        None => put_bytes(&text)?,
        Some(path) => {
            write(path, &text, with_secrets.then_some(&records))?;
            console.remark(&format!("wrote {}", path.display()));
        }
    }
    if let Some(remark) = remark {
        console.remark(remark);
    }
    Ok(Exit::Finished)
}

/// Into a new file; with the secrets of these records beside it.
fn write(path: &Path, text: &[u8], with_secrets_of: Option<&Vec<Record>>) -> Result<(), Failure> {
    let failure = |cause: io::Error| {
        if cause.kind() == io::ErrorKind::AlreadyExists {
            return exists_already(path);
        }
        let path = path.display();
        Failure::failed(format!("{path}: cannot write: {cause}; name another file with --output"))
    };
    copy::make(path).map_err(failure)?;
    let written = match with_secrets_of {
        Some(records) => copy::keep_secrets(path, records).map_err(Failure::from),
        None => Ok(()),
    };
    written.and_then(|()| copy::fill(path, text).map_err(failure)).inspect_err(|_| copy::discard(path))
}

/// A public interface: fields are added, never changed or removed.
fn object(opened: &Opened, stored: &Stored, steps: &[Step]) -> String {
    // That of the record that set it off.
    let time = |step: &Step| {
        let record = usize::try_from(step.point.seq).ok().and_then(|seq| opened.records.get(seq.checked_sub(1)?));
        record.map_or_else(String::new, |record| local(record.timestamp()))
    };
    let told = |step: &Step| {
        let mut told = json!({"time": time(step)});
        show::merge(&mut told, json!(step.event));
        told
    };
    let mut export = to_json(stored);
    export["model"] = json!(opened.begun.model);
    export["events"] = steps.iter().map(told).collect();
    format!("{export}\n")
}

fn markdown(opened: &Opened, stored: &Stored, steps: &[Step]) -> String {
    let mut text = format!("# Session {}\n\n", stored.id);
    // Writing to a `String` can't fail.
    let _ = writeln!(text, "- program {}, model {}", opened.begun.roots.join(", "), opened.begun.model);
    let _ = writeln!(text, "- begun {}, last event {}", local(stored.started), local(stored.last));
    let _ = writeln!(text, "- {}", show::state(&opened.replayed.machine.view()));
    text.push_str("\n## What happened\n");
    let mut was_list = false;
    for step in steps {
        let Some((line, is_list)) = happening(step) else { continue };
        if !(is_list && was_list) {
            text.push('\n');
        }
        text.push_str(&line);
        was_list = is_list;
    }
    let unread = &opened.replayed.machine.view().messages;
    if !unread.is_empty() {
        text.push_str("\n## Messages that the program has not read\n");
        unread.iter().for_each(|message| text.push_str(&format!("\n{}", utterance("User", message))));
    }
    text
}

/// Who said what: as a quotation, so that no text of theirs is taken for ours.
fn utterance(who: &str, words: &str) -> String {
    format!("**{who}**\n\n{}\n", quoted(clean(words).lines()))
}

/// `` `Main:02` Ask the user for $name ``
fn reached(step: &Step) -> String {
    let place = step.event.place().unwrap_or_default();
    let words = step.words.as_deref().map(show::one_line).unwrap_or_default();
    format!("`{place}` {words}")
}

/// What an event adds to the story, and whether that is an item of a list; none: it is no part of it.
fn happening(step: &Step) -> Option<(String, bool)> {
    let body = &step.event.body;
    if let PublicBody::Said { text } = body {
        return Some((utterance("Program", text), false));
    }
    if let PublicBody::UserMessage { text } = body {
        return Some((utterance("User", text), false));
    }
    let words = words_of(body).or_else(|| matches!(body, PublicBody::LineReached {}).then(|| reached(step)))?;
    Some((format!("- {}\n", one_line(&clean(&words))), true))
}

/// An event in words.
#[expect(clippy::wildcard_enum_match_arm, reason = "a text for people tells what it names here")]
fn words_of(body: &PublicBody) -> Option<String> {
    match body {
        PublicBody::VariableSet { variable, value, .. } => Some(format!("`${variable}` = {}", short(value))),
        PublicBody::CallFinished { callable, error: Some(error), .. } => {
            Some(format!("`{callable}` failed: {}", show::whole_line(error)))
        }
        PublicBody::CallFinished { callable, result, kind: CallKind::Tool, .. } => {
            Some(format!("`{callable}` gave {}", result.as_ref().map_or_else(|| "`null`".to_owned(), short)))
        }
        PublicBody::TriggerMatched { trigger, .. } => Some(format!("trigger `{trigger}` matched")),
        PublicBody::EventArrived { event, data, fate: SignalFate::Taken, .. } => {
            Some(format!("event `{event}`: {}", short(data)))
        }
        PublicBody::EventArrived { event, data, fate, .. } => {
            Some(format!("event `{event}`, {}: {}", fate.to_string().replace('_', " "), short(data)))
        }
        PublicBody::ApprovalAsked { question, .. } => Some(format!("approval asked: {}", show::whole_line(question))),
        PublicBody::ApprovalGiven { answer, refused, by, .. } => {
            Some(format!("approval {}", show::answer_text(answer, *refused, by)))
        }
        PublicBody::PlanFault { fault, message, .. } => Some(format!("`{fault}`: {}", show::whole_line(message))),
        PublicBody::Replanned { .. } => Some("continues with another plan".to_owned()),
        PublicBody::StreamCancelled { reason, .. } => Some(format!("reply cut off: {reason}")),
        PublicBody::Repair { cause, .. } => Some(format!("reply not understood: {}", show::whole_line(cause))),
        PublicBody::Retry { cause, .. } => Some(format!("asked again: {}", show::whole_line(cause))),
        PublicBody::ProgramChanged { .. } => Some("continues with a changed program".to_owned()),
        PublicBody::Finished { value } => Some(format!("finished with {}", short(value))),
        PublicBody::Failed { fault, message } => Some(format!("failed: {} ({fault})", show::whole_line(message))),
        // What was said is told elsewhere; the rest is for debuggers.
        _ => None,
    }
}

/// A value as code, cut if it is long.
fn short(value: &Value) -> String {
    markdown_code(&cut(&value.to_json(), MAX_SHOWN))
}
