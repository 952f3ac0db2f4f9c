//! `playhouse backtest`: what another text of a program would have meant for the sessions that are kept.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use jiff::tz::TimeZone;
use serde_json::{Value as Json, json};

use crate::host::backtest::{Asking, Backtest, Fate, Parting};
use crate::host::clock::iso_text;
use crate::host::journal::record::Record;
use crate::host::launch::inventory;
use crate::host::program::ToolInventory;
use crate::host::replay::error::SessionError;
use crate::host::stored::look_at_all;
use crate::host::travel::{Point, Step};
use crate::serve::cli::commands::run::load;
use crate::serve::cli::commands::sessions::kept::waited;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, count, finish};
use crate::serve::cli::machinery::output::Format;
use crate::serve::cli::machinery::travel_text::step_text;
use crate::serve::cli::machinery::world::{WorldArguments, launch_failure, sessions_place};
use crate::serve::show::{merge, one_line};
use crate::vm::protocol::Timestamp;

const EXAMPLES: &str = "\
Examples:
  playhouse backtest desk.md --sessions desk.sqlite
  playhouse backtest desk.md --since 2026-11-01 --limit 500 --format json";

/// So many sessions are named for each way to part.
const N_NAMED: usize = 3;

/// Replays stored sessions against a changed program, without a model
///
/// For each session it reports whether it runs as before, at which line it diverges, or where it asks a model
/// something else
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BacktestArguments {
    /// The files of the program as it is now
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Where the sessions are stored: a `.sqlite` or `.db` file, a `.jsonl` file, or a folder of these [default:
    /// $PLAYHOUSE_SESSIONS, or $XDG_STATE_HOME/playhouse/sessions]
    #[arg(long, value_name = "PLACE")]
    sessions: Option<PathBuf>,
    /// Only sessions that began at this time or later (2026-11-01, or with a time and zone)
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only the newest N sessions
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// The output format: text for people, or a JSON object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// A file of canned tools (repeatable)
    #[arg(long, value_name = "FILE")]
    tools: Vec<PathBuf>,
    /// The configuration file [default: playhouse.toml beside the program]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A day (in UTC), or a moment.
fn moment(text: &str) -> Result<Timestamp, String> {
    let day = text.parse::<jiff::civil::Date>().ok().and_then(|day| day.to_zoned(TimeZone::UTC).ok());
    let moment = day.map(|day| day.timestamp()).or_else(|| text.parse::<jiff::Timestamp>().ok());
    let moment = moment.ok_or("write a day (2026-11-01) or a moment with its zone (2026-11-01T08:00:00Z)")?;
    Ok(Timestamp(moment.as_millisecond()))
}

/// What was found of one session.
struct Found {
    session: Arc<str>,
    began: Timestamp,
    fate: Fate,
}

/// All that was found.
#[derive(Default)]
struct Findings {
    found: Vec<Found>,
    /// Of other programs.
    n_others: usize,
    unreadable: Vec<(Arc<str>, SessionError)>,
}

/// What one session is to a backtest.
enum Looked {
    /// It began too early.
    Earlier,
    /// It is of another program.
    Other,
    /// What the text means for it, and when it began.
    Fate(Timestamp, Fate),
}

/// Performs the command.
pub(crate) fn backtest(console: &Console, arguments: &BacktestArguments) -> Result<Exit, Failure> {
    let backtest = opened(console, arguments)?;
    let place = sessions_place(console, arguments.sessions.as_deref())?;
    let since = arguments.since;
    let look = move |records: Vec<Record>| {
        let began = records.first().map(Record::timestamp).unwrap_or_default();
        if since.is_some_and(|since| began < since) {
            return Ok(Looked::Earlier);
        }
        Ok(if backtest.is_of(&records)? { Looked::Fate(began, backtest.fate(&records)?) } else { Looked::Other })
    };
    let mut findings = Findings::default();
    for (session, looked) in waited(look_at_all(&place, look))?? {
        match looked {
            Ok(Looked::Fate(began, fate)) => findings.found.push(Found { session, began, fate }),
            Ok(Looked::Other) => findings.n_others += 1,
            Ok(Looked::Earlier) => {}
            Err(error) => findings.unreadable.push((session, error)),
        }
    }
    if findings.found.is_empty() && findings.unreadable.is_empty() {
        let since = if since.is_some() { " since then" } else { "" };
        let others = match findings.n_others {
            0 => String::new(),
            n => format!(" ({n} of other programs)"),
        };
        return Err(Failure::wrong(format!(
            "{}: there are no sessions{since}{others} to test the program on; name the place where they are stored, with \
             --sessions PLACE",
            place.path().display()
        )));
    }
    findings.found.sort_by_key(|found| found.began);
    let n_left_out = findings.found.len().saturating_sub(arguments.limit.unwrap_or(usize::MAX));
    findings.found.drain(..n_left_out);
    finish(&match arguments.format {
        Format::Text => clean(&text(&findings)),
        Format::Json => format!("{}\n", to_json(&findings)),
    })
}

/// The text to test, and what it can call.
fn opened(console: &Console, arguments: &BacktestArguments) -> Result<Backtest, Failure> {
    let BacktestArguments { files, tools, config, .. } = arguments;
    let world = WorldArguments { tools: tools.clone(), config: config.clone(), ..WorldArguments::default() };
    let (equipment, _) = world.launch(console).survey(files).map_err(|error| launch_failure(console, error))?;
    // What a session had besides is known when it is read.
    let known = ToolInventory { are_more: true, ..inventory(&equipment.tools) };
    let (text, _) = load(console, files, &known)?;
    Ok(Backtest::new(text, equipment.tools.signatures().to_vec()))
}

/// Sessions of which the same is said.
struct Group<'f> {
    said: String,
    members: Vec<(&'f Found, Option<Point>)>,
}

/// The groups of those that `say` says something of, the largest first.
fn groups<'f>(found: &'f [Found], say: impl Fn(&Fate) -> Option<(String, Option<Point>)>) -> Vec<Group<'f>> {
    let mut groups: Vec<Group<'f>> = Vec::new();
    for found in found {
        let Some((said, at)) = say(&found.fate) else { continue };
        match groups.iter_mut().find(|group| group.said == said) {
            Some(group) => group.members.push((found, at)),
            None => groups.push(Group { said, members: vec![(found, at)] }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    groups
}

fn text(findings: &Findings) -> String {
    let n = |is: fn(&Fate) -> bool| findings.found.iter().filter(|found| is(&found.fate)).count();
    let n_same = n(|fate| matches!(fate, Fate::Same | Fate::Changed(_)));
    let (n_part, n_ask) = (n(|fate| matches!(fate, Fate::Parts(_))), n(|fate| matches!(fate, Fate::Asks(..))));
    let mut parts = vec![format!("{n_same} same"), format!("{n_part} parts"), format!("{n_ask} asks")];
    let n_unfit = n(|fate| matches!(fate, Fate::Unfit(_)));
    if n_unfit > 0 {
        parts.push(format!("{n_unfit} cannot continue"));
    }
    if !findings.unreadable.is_empty() {
        parts.push(format!("{} unreadable", findings.unreadable.len()));
    }
    if findings.n_others > 0 {
        parts.push(format!("{} skipped (of other programs)", findings.n_others));
    }
    let mut text = format!("{}: {}\n", count(findings.found.len(), "session"), parts.join(" · "));
    let sections = [
        (
            "parts",
            groups(&findings.found, |fate| if let Fate::Parts(parting) = fate { Some(parted(parting)) } else { None }),
        ),
        (
            "asks",
            groups(
                &findings.found,
                |fate| if let Fate::Asks(asking, then) = fate { Some(asked(asking, then)) } else { None },
            ),
        ),
        ("cannot continue", groups(&findings.found, unfit)),
        ("changed meanwhile, and the same up to there", groups(&findings.found, changed)),
    ];
    for (title, groups) in sections {
        if !groups.is_empty() {
            let _ = writeln!(text, "\n{title}");
        }
        for Group { said, members } in groups {
            let _ = writeln!(text, "  {:>5}  {}", members.len(), said.replace('\n', "\n         "));
            let named = members.iter().take(N_NAMED).map(|(found, at)| match at {
                Some(at) => format!("{} at {at}", found.session),
                None => found.session.to_string(),
            });
            let more = if members.len() > N_NAMED { ", …" } else { "" };
            let _ = writeln!(text, "         {}{more}", named.collect::<Vec<_>>().join(", "));
        }
    }
    for (session, error) in &findings.unreadable {
        let _ = writeln!(text, "\n{session} is skipped: {error}");
    }
    text
}

fn unfit(fate: &Fate) -> Option<(String, Option<Point>)> {
    if let Fate::Unfit(why) = fate { Some((one_line(why), None)) } else { None }
}

fn changed(fate: &Fate) -> Option<(String, Option<Point>)> {
    if let Fate::Changed(at) = fate { Some(("its own text was changed".to_owned(), Some(*at))) } else { None }
}

/// `Refund:02 If $total is more than 50: then 02.01, was 03`
fn parted(parting: &Parting) -> (String, Option<Point>) {
    let Parting { at, after, then, was } = parting;
    let sides = [then, was].map(|step| deed_text(step.as_ref(), after.as_ref()));
    let [then, was] = match sides {
        // The numbers are the same: the words are not, or something that these leave out.
        [a, b] if a == b => match [then, was].map(|step| whole_text(step.as_ref())) {
            [a, b] if a == b => unlike([then, was]),
            whole => whole,
        },
        sides => sides,
    };
    (format!("{}then {then}, was {was}", after_text(after.as_ref())), Some(*at))
}

/// What was done, with all its words.
fn whole_text(step: Option<&Step>) -> String {
    step.map_or_else(|| "nothing more".to_owned(), |step| step_text(step).unwrap_or_default())
}

/// Of two things that read alike what differs in them: `$total = 5 with origin "user"`.
fn unlike(steps: [&Option<Step>; 2]) -> [String; 2] {
    let events = steps.map(|step| step.as_ref().map_or(Json::Null, |step| json!(step.event)));
    let [a, b] = &events;
    let is_counted = |key: &str| ["seq", "session", "turn"].contains(&key);
    let key = a.as_object().and_then(|members| {
        members
            .keys()
            .chain(b.as_object().into_iter().flat_map(|others| others.keys()))
            .find(|key| !is_counted(key) && a.get(key.as_str()) != b.get(key.as_str()))
    });
    let texts = [0, 1].map(|side| {
        let whole = whole_text(steps[side].as_ref());
        key.map(|key| format!("{whole} with {key} {}", events[side].get(key).unwrap_or(&Json::Null))).unwrap_or(whole)
    });
    match texts {
        // Two lines of the same number with the same words.
        [a, b] if a == b => [format!("the new line {a}"), format!("the line {b} that is gone")],
        texts => texts,
    }
}

/// Who is asked what, and what comes of it if the answers are those that were given.
fn asked(asking: &Asking, then: &Fate) -> (String, Option<Point>) {
    let [was, is] = &asking.line;
    let lines = [("-", was), ("+", is)].map(|(mark, line)| format!("\n{mark} {}", one_line(line)));
    let then = match then {
        Fate::Same | Fate::Asks(..) | Fate::Changed(_) => "it runs as before".to_owned(),
        Fate::Parts(parting) => parted(parting).0,
        Fate::Unfit(why) => one_line(why),
    };
    let after = after_text(asking.after.as_ref());
    (format!("{after}asks the {}{}\nwith the same answers: {then}", asking.whom, lines.concat()), Some(asking.at))
}

fn after_text(after: Option<&Step>) -> String {
    after.and_then(step_text).map_or_else(|| "at the beginning: ".to_owned(), |line| format!("{line}: "))
}

/// What was done; of a line in the playbook where it was before the number is enough.
fn deed_text(step: Option<&Step>, after: Option<&Step>) -> String {
    let Some(step) = step else { return "nothing more".to_owned() };
    let is_near = after.is_some_and(|after| after.event.playbook == step.event.playbook);
    match &step.event.line {
        Some(line) if is_near && step.words.is_some() => line.to_string(),
        Some(_) | None => step_text(step).unwrap_or_default(),
    }
}

/// A public interface: fields are added, never changed or removed.
fn to_json(findings: &Findings) -> Json {
    let session = |found: &Found| {
        let mut told = json!({"session": found.session, "began": iso_text(found.began, &TimeZone::UTC)});
        merge(&mut told, fate_json(&found.fate));
        told
    };
    let unreadable = findings.unreadable.iter();
    let unreadable = unreadable.map(|(session, error)| json!({"session": session, "why": error.to_string()}));
    json!({
        "sessions": findings.found.iter().map(session).collect::<Vec<_>>(),
        "others": findings.n_others,
        "unreadable": unreadable.collect::<Vec<_>>(),
    })
}

fn fate_json(fate: &Fate) -> Json {
    let step = |step: &Option<Step>| step.as_ref().map(|step| json!(step.event));
    match fate {
        Fate::Same => json!({"fate": "same"}),
        Fate::Parts(parting) => {
            let Parting { at, after, then, was } = &**parting;
            let (after, then, was) = (step(after), step(then), step(was));
            json!({"fate": "parts", "at": at.to_string(), "after": after, "then": then, "was": was})
        }
        Fate::Asks(asking, then) => {
            let Asking { at, after, whom, line: [was, is] } = &**asking;
            json!({
                "fate": "asks", "at": at.to_string(), "after": step(after), "whom": whom.to_string(),
                "line": {"was": was, "is": is}, "with_the_same_answers": fate_json(then),
            })
        }
        Fate::Changed(at) => json!({"fate": "changed", "at": at.to_string()}),
        Fate::Unfit(why) => json!({"fate": "unfit", "why": why}),
    }
}
