//! `playhouse sessions replay` and `fork`: a session's past, and ways out of it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use crate::host::clock::SystemClock;
use crate::host::journal::Durability;
use crate::host::journal::address::{Address, Place};
use crate::host::journal::record::{Record, RecordBody};
use crate::host::journal::secrets::names_of;
use crate::host::program::ToolInventory;
use crate::host::replay::start::program_changed;
use crate::host::sessions::new_id;
use crate::host::travel::{self, At, Changes, Point, Step, Timeline, can_go_on};
use crate::lang::analysis::diff::changes::ProgramChanges;
use crate::lang::program::Program;
use crate::serve::cli::commands::run::{argument, load};
use crate::serve::cli::commands::sessions::kept::{Kept, local, records, waited};
use crate::serve::cli::machinery::changed::lines;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, count, finish, put};
use crate::serve::cli::machinery::output::{Format, json_array};
use crate::serve::cli::machinery::travel_text::{record_text, step_text};
use crate::serve::show;
use crate::serve::show::past::step_json;
use crate::serve::show::variables::{NoPlace, edits};
use crate::value::Value;
use crate::vm::protocol::ToolSignature;

#[derive(Args)]
pub(crate) struct ReplayArguments {
    /// The session's id
    id: String,
    /// Show where the session was at this point: after record N, or after D moves of the machine after it
    #[arg(long, value_name = "N[.D]", value_parser = at)]
    to: Option<At>,
    /// List what happened from record N on [default: everything, or nothing with --to]
    #[arg(long, value_name = "N")]
    from: Option<u64>,
    /// The output format: text for people, or JSON for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Args)]
pub(crate) struct ForkArguments {
    /// The id of the session to fork; it stays as it is
    id: String,
    /// The point to fork at: after record N, or after D moves of the machine after it (`sessions replay` shows the
    /// numbers)
    #[arg(long, value_name = "N[.D]", value_parser = at)]
    at: At,
    /// A new value for a variable, as JSON or text (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = argument)]
    set: Vec<(Arc<str>, Value)>,
    /// The frame whose variables to set, by the number of frames below it [default: where the program finds the name]
    #[arg(long, value_name = "DEPTH", requires = "set")]
    frame: Option<usize>,
    /// Continue with another program: these files, from the last line that still exists
    #[arg(long, value_name = "FILE", num_args = 1..)]
    migrate: Vec<PathBuf>,
    /// The new session's id [default: the time and sixteen random characters]
    #[arg(long = "id", value_name = "ID")]
    new: Option<String>,
    /// Where to store it: a `.jsonl` file, a `.sqlite` or `.db` file, or a folder [default: beside the other]
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
}

/// A point as people write it.
pub(super) fn at(text: &str) -> Result<At, String> {
    text.parse().map_err(|_| {
        "write the number of a record, as in 41, or add the number of a move after it, as in 41.3".to_owned()
    })
}

pub(super) fn timeline(kept: &Kept, id: &str) -> Result<Timeline, Failure> {
    Ok(Timeline::new(records(&kept.find(id)?)?)?)
}

/// All that happened, or where the session stood.
pub(crate) fn replay(kept: &Kept, arguments: &ReplayArguments) -> Result<Exit, Failure> {
    let timeline = timeline(kept, &arguments.id)?;
    let to = arguments.to.map_or(timeline.end(), |to| timeline.point_at(to));
    let text = match (arguments.to, arguments.from, arguments.format) {
        (Some(_), None, Format::Text) => moment_text(&timeline, to)?,
        (Some(_), None, Format::Json) => moment_json(&timeline, to)?,
        (Some(_), Some(from), Format::Text) => {
            format!("{}\n{}", listing(&timeline, from, to, Format::Text)?, moment_text(&timeline, to)?)
        }
        (None, from, format) => listing(&timeline, from.unwrap_or(1), to, format)?,
        (Some(_), Some(from), Format::Json) => listing(&timeline, from, to, Format::Json)?,
    };
    finish(&text)
}

/// Record by record, with what each set off.
fn listing(timeline: &Timeline, from: u64, to: Point, format: Format) -> Result<String, Failure> {
    let secrets = names_of(timeline.records());
    let first = Point::new(from, 0);
    timeline.at(first)?;
    let steps = travel::steps(timeline, first, to)?;
    let mut steps = steps.iter().peekable();
    let (mut lines, width) = (Vec::new(), to.to_string().len() + 1);
    for record in timeline.records().iter().filter(|record| (from..=to.seq).contains(&record.seq)) {
        let shown = record.shown(&secrets);
        let point = Point::new(record.seq, 0);
        lines.push(match format {
            Format::Text => format!("{point:<width$} {}", record_text(&shown)),
            Format::Json => {
                let time = local(record.timestamp());
                json!({"point": point.to_string(), "time": time, "record": shown}).to_string()
            }
        });
        while let Some(step) = steps.next_if(|step| step.point.seq == record.seq) {
            let line = match format {
                Format::Text => step_text(step).map(|text| format!("{:<width$}   {text}", step.point)),
                Format::Json => Some(step_json(step).to_string()),
            };
            lines.extend(line);
        }
    }
    Ok(match format {
        Format::Text => lines.join("\n") + "\n",
        Format::Json => json_array(lines),
    })
}

/// What the move that led to a point did, if watchers are told of it.
fn last_step(timeline: &Timeline, point: Point) -> Result<Option<Step>, Failure> {
    let Some(before) = point.directive.checked_sub(1) else { return Ok(None) };
    let mut steps = travel::steps(timeline, Point::new(point.seq, before), point)?;
    Ok((!steps.is_empty()).then(|| steps.remove(0)))
}

fn moment_text(timeline: &Timeline, point: Point) -> Result<String, Failure> {
    let moment = timeline.at(point)?;
    let (begun, view) = (timeline.begun()?, moment.machine.view());
    let last = timeline.last_directive(point.seq).unwrap_or(0);
    let stands = match &moment.stop {
        Some(_) => show::state(&view),
        None => format!("in the middle, after {} of {}", point.directive, count(last, "move")),
    };
    let mut text = format!("session {} at {point} (of {}): {stands}\n", begun.session, timeline.end());
    // Writing to a `String` can't fail.
    let _ = writeln!(text, "program {}, model {}", begun.roots.join(", "), begun.model);
    let _ = writeln!(text, "at {}", local(moment.time));
    if let Some(record) = usize::try_from(point.seq).ok().and_then(|seq| timeline.records().get(seq - 1)) {
        let _ = writeln!(text, "record {}: {}", point.seq, record_text(&record.shown(&names_of(timeline.records()))));
    }
    if let Some(step) = last_step(timeline, point)?.as_ref().and_then(step_text) {
        let _ = writeln!(text, "last: {step}");
    }
    Ok(text + &show::all(&view, moment.machine.program()))
}

fn moment_json(timeline: &Timeline, point: Point) -> Result<String, Failure> {
    let moment = timeline.at(point)?;
    let last = last_step(timeline, point)?;
    let view = moment.machine.view();
    let stands = if moment.stop.is_none() { "in the middle".to_owned() } else { show::state(&view) };
    // A public interface: fields are added, never changed or removed.
    let mut told = json!({
        "session": timeline.begun()?.session,
        "point": point.to_string(),
        // The last point of the session.
        "end": timeline.end().to_string(),
        "time": local(moment.time),
        // What the last move before the point did.
        "event": last.as_ref().map(|step| &step.event),
    });
    show::merge(&mut told, show::to_json(&view, &stands));
    Ok(format!("{told}\n"))
}

/// Makes a new session out of an earlier point of another one.
pub(crate) fn fork(console: &Console, kept: &Kept, arguments: &ForkArguments) -> Result<Exit, Failure> {
    let timeline = timeline(kept, &arguments.id)?;
    let point = timeline.point_at(arguments.at);
    let moment = timeline.at(point)?;
    if !can_go_on(&moment, !arguments.migrate.is_empty()) {
        return Err(Failure::wrong(format!(
            "session {} was over at {point}, so a fork would have nothing to do; `playhouse sessions replay {}` shows earlier \
             points",
            arguments.id, arguments.id
        )));
    }
    let view = moment.machine.view();
    let edits = edits((&view, point), &arguments.set, arguments.frame).map_err(|fault| {
        Failure::wrong(match fault {
            NoPlace::Frame(text) => format!("--frame: {text}"),
            NoPlace::Variable(text) => format!(
                "--set: {text}; `playhouse sessions replay {} --to {point}` shows the variables, and --frame makes a \
                 new one",
                arguments.id
            ),
        })
    })?;
    let id: Arc<str> = arguments.new.as_deref().map_or_else(|| new_id(&SystemClock), Arc::from);
    let place = match &arguments.output {
        Some(path) => Place::at(path),
        None => kept.place.beside(&id),
    };
    let address = place.address(&id)?;
    let changes = Changes {
        edits,
        records: migration(console, (moment.machine.program(), moment.machine.tools()), &arguments.migrate)?,
    };
    let forked = travel::fork(&timeline, point, &changes, id.clone())?;
    waited(write(&address, &forked.records))??;
    put(&format!("{id}\n"))?;
    let answers = match forked.records.len() - forked.n_kept {
        0 => String::new(),
        n => format!(", and {} of answers that were still to come", count(n, "record")),
    };
    console.remark(&format!("forked from {} at {point}{answers}", arguments.id));
    if arguments.set.is_empty() && arguments.migrate.is_empty() && moment.stop.is_none() {
        console.remark("nothing is different: the fork continues from the end of what that record caused");
    }
    let journal = match kept.is_default && arguments.output.is_none() {
        true => String::new(),
        false => format!(" --journal {}", address.location()),
    };
    console.remark(&format!("to continue: playhouse sessions resume {id}{journal}"));
    Ok(Exit::Finished)
}

/// The record of another text of the program; nothing without files.
fn migration(
    console: &Console,
    (old, tools): (&Program, &[ToolSignature]),
    files: &[PathBuf],
) -> Result<Vec<RecordBody>, Failure> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let signatures = tools.iter().map(|tool| tool.signature.clone()).collect();
    let known = ToolInventory { signatures, ..ToolInventory::default() };
    let (text, program) = load(console, files, &known)?;
    for line in lines(&ProgramChanges::new(old, &program)) {
        console.remark(&line);
    }
    Ok(vec![RecordBody::ProgramChanged(Box::new(program_changed(&text, &program, tools, false)))])
}

/// Writes a new journal.
async fn write(address: &Address, records: &[Record]) -> Result<(), Failure> {
    let mut journal = address.open().await?;
    if journal.next_seq() > 1 {
        return Err(Failure::wrong(format!(
            "{}: the journal already holds a session; choose another --id, or another --output",
            address.location()
        )));
    }
    records.iter().for_each(|record| journal.append(record.clone()));
    let written = journal.flush(Durability::PowerCut).await;
    journal.close().await;
    if written.is_err() {
        // A part of a fork is a session that nobody wants. That it cannot be removed either is no news.
        let _ = address.delete().await;
    }
    Ok(written?)
}
