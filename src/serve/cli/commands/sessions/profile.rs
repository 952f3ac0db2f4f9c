//! `playhouse sessions profile`: what sessions have spent, by playbooks and lines.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};

use crate::host::config::{Config, FileConfig};
use crate::host::journal::record::Record;
use crate::host::profile::{Measure, Node, Part, Profile, Row, Spent, Step};
use crate::host::replay::begun_of;
use crate::host::resource::prices::PriceTable;
use crate::serve::cli::commands::sessions::kept::{Kept, waited};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, count, finish};
use crate::serve::show::flame;
use crate::value::markup::xml_text;

#[derive(Args)]
pub(crate) struct ProfileArguments {
    /// The ids of the sessions; those of several are added up
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// What to measure
    #[arg(long, value_enum, default_value_t = By::Tokens)]
    by: By,
    /// The output format: tables for people, folded stacks, a file for speedscope, a page with a flame graph, or a
    /// JSON object
    #[arg(long, value_enum, default_value_t = ProfileFormat::Text)]
    format: ProfileFormat,
    /// The configuration file with the prices [default: the one that the first session began with]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Tokens of requests and replies
    Tokens,
    /// Time spent on models, tools, the classifier and the user
    Time,
    /// Money, by `[prices]`
    Cost,
}

/// What a profile is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProfileFormat {
    /// Tables
    Text,
    /// `Main;Pay;03 Tell the user 120`
    Folded,
    /// For speedscope.app
    Speedscope,
    /// A self-contained page
    Html,
    /// One object
    Json,
}

impl By {
    fn measure(self) -> Measure {
        match self {
            By::Tokens => Measure::Tokens,
            By::Time => Measure::Time,
            By::Cost => Measure::Cost,
        }
    }
}

/// Counts the sessions, and shows what they have spent.
pub(crate) fn profile(console: &Console, kept: &Kept, arguments: &ProfileArguments) -> Result<Exit, Failure> {
    let measure = arguments.by.measure();
    let mut sessions = Vec::new();
    for id in &arguments.ids {
        sessions.push(waited(kept.find(id)?.read_pieces())??);
    }
    let prices = prices(arguments.config.as_deref(), sessions.first())?;
    let mut profile = Profile::default();
    for records in &sessions {
        profile.add(records, &prices)?;
    }
    check_prices(console, &profile, measure)?;
    let text = match arguments.format {
        ProfileFormat::Text => clean(&format!("{}\n{}", summary(&profile).join("\n"), texts(&profile, measure))),
        ProfileFormat::Folded => flame::folded(&profile, measure),
        ProfileFormat::Speedscope => format!("{}\n", flame::speedscope(&profile, measure)),
        ProfileFormat::Html => html(&profile, measure),
        ProfileFormat::Json => format!("{}\n", object(&profile)),
    };
    finish(&text)
}

/// The prices of `--config`, else of the configuration that the session was begun with, if that is there.
fn prices(given: Option<&Path>, records: Option<&Vec<Record>>) -> Result<Arc<PriceTable>, Failure> {
    let begun = records.and_then(|records| begun_of(records).ok()?.given.config.clone());
    let kept = begun.map(|path| PathBuf::from(&*path)).filter(|path| path.is_file());
    let Some(path) = given.map(Path::to_owned).or(kept) else { return Ok(Arc::default()) };
    let file = FileConfig::find(Some(&path), None).map_err(Failure::wrong)?;
    let config = Config::resolve(&Default::default(), &Default::default(), &file, &Default::default());
    Ok(config.map_err(Failure::wrong)?.session.prices)
}

/// A cost of which something is not known is told as such, and one of which nothing is known is none.
fn check_prices(console: &Console, profile: &Profile, measure: Measure) -> Result<(), Failure> {
    if measure != Measure::Cost || profile.unpriced.is_empty() {
        return Ok(());
    }
    let models = profile.unpriced.join(", ");
    let message =
        format!("the prices of {models} are unknown; write them under [prices] and name that file with --config");
    if profile.root.total().cost > 0.0 {
        console.warning(&message);
        return Ok(());
    }
    Err(Failure::wrong(message))
}

/// What there was in all, in words.
fn summary(profile: &Profile) -> Vec<String> {
    let total = profile.root.total();
    let mut lines = vec![format!("{}, {}", count(profile.n_sessions, "session"), count(profile.n_turns, "turn"))];
    lines.push(format!("prompt {} tokens, {}", total.prompt_tokens, cache_words(profile)));
    let of = |part| total_of(&profile.root, part);
    let mut reply = format!("reply {} tokens", total.completion_tokens);
    let dropped = of(Part::Dropped).completion_tokens;
    if dropped > 0 {
        let _ = write!(reply, ", {dropped} of them dropped");
    }
    if profile.is_estimated {
        reply.push_str("; if a server did not count, four bytes are taken as one token");
    }
    lines.push(reply);
    let times = [
        (Part::Model, "model"),
        (Part::Tool, "tools"),
        (Part::Classifier, "classifier"),
        (Part::Question, "questions of plans"),
        (Part::Timer, "timers"),
        (Part::User, "user"),
    ];
    let times = times.into_iter().map(|(part, what)| (of(part).ms, what)).filter(|(ms, _)| *ms > 0);
    let times: Vec<String> = times.map(|(ms, what)| format!("{what} {}", seconds(ms))).collect();
    if !times.is_empty() {
        lines.push(format!("time: {}", times.join(", ")));
    }
    if total.cost > 0.0 {
        lines.push(format!("cost {}", money(total.cost)));
    }
    lines
}

/// `cached 61 %, possible 88 %: lost at VARIABLES`
fn cache_words(profile: &Profile) -> String {
    let cache = &profile.cache;
    let mut words = format!(
        "cached {}, possible {}",
        percent(cache.cached_tokens, cache.prompt_tokens),
        percent(cache.possible_tokens, cache.prompt_tokens)
    );
    if let Some((block, _)) = cache.lost_at() {
        let _ = write!(words, ": lost at {block}");
    }
    words
}

/// A table: the last column is text, the others are numbers.
struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

fn tables(profile: &Profile, measure: Measure) -> [Table; 3] {
    [lines_table(profile, measure), uses_table(profile, measure), lost_table(profile)]
}

/// What each line has spent.
fn lines_table(profile: &Profile, measure: Measure) -> Table {
    let whole = profile.root.total().of(measure);
    let head = match measure {
        Measure::Tokens => vec!["TOKENS", "SHARE", "PROMPT", "CACHED", "REPLY", "LINE"],
        Measure::Time => vec!["TIME", "SHARE", "MODEL", "TOOLS", "CLASSIFIER", "USER", "LINE"],
        Measure::Cost => vec!["COST", "SHARE", "PROMPT", "CACHED", "REPLY", "LINE"],
    };
    let cells = |row: Row| {
        let total = row.total();
        let mut cells = vec![shown(&total, measure), share(total.of(measure), whole)];
        match measure {
            Measure::Tokens | Measure::Cost => {
                let numbers = [total.prompt_tokens, total.cached_tokens, total.completion_tokens];
                cells.extend(numbers.map(|n| n.to_string()));
            }
            Measure::Time => {
                let parts = [Part::Model, Part::Tool, Part::Classifier, Part::User];
                cells.extend(parts.map(|part| seconds(row.of(part).ms)));
            }
        }
        cells.push(row.path.join(" > "));
        cells
    };
    Table { head, rows: profile.rows(measure).into_iter().map(cells).collect() }
}

/// What it was spent on.
fn uses_table(profile: &Profile, measure: Measure) -> Table {
    let whole = profile.root.total().of(measure);
    let name = match measure {
        Measure::Tokens => "TOKENS",
        Measure::Time => "TIME",
        Measure::Cost => "COST",
    };
    let cells = |((part, name), spent): (Step, Spent)| {
        vec![shown(&spent, measure), share(spent.of(measure), whole), flame::frame_name(part, &name)]
    };
    Table { head: vec![name, "SHARE", "FOR"], rows: profile.uses(measure).into_iter().map(cells).collect() }
}

/// Where requests stopped to be like earlier ones.
fn lost_table(profile: &Profile) -> Table {
    let mut lost: Vec<_> = profile.cache.lost.iter().filter(|(_, n)| **n > 0).collect();
    lost.sort_by(|(_, a), (_, b)| b.cmp(a));
    let cells =
        |(block, n): (&String, &u64)| vec![n.to_string(), percent(*n, profile.cache.prompt_tokens), block.clone()];
    Table { head: vec!["NOT CACHEABLE", "SHARE", "FROM"], rows: lost.into_iter().map(cells).collect() }
}

fn texts(profile: &Profile, measure: Measure) -> String {
    let mut text = String::new();
    for Table { head, rows } in tables(profile, measure) {
        if rows.is_empty() {
            continue;
        }
        let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
        let all: Vec<&Vec<String>> = std::iter::once(&head).chain(&rows).collect();
        let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        text.push('\n');
        for row in &all {
            let Some((last, numbers)) = row.split_last() else { continue };
            for (column, cell) in numbers.iter().enumerate() {
                let _ = write!(text, "{cell:>width$}  ", width = width(column));
            }
            let _ = writeln!(text, "{last}");
        }
    }
    text
}

fn html(profile: &Profile, measure: Measure) -> String {
    let mut words = "<h1>Profile</h1>\n".to_owned();
    for line in summary(profile) {
        let _ = writeln!(words, "<p>{}</p>", xml_text(&line));
    }
    let titles = ["Lines", "Spent on", "Lost to the cache"];
    let mut text = String::new();
    for (title, Table { head, rows }) in titles.into_iter().zip(tables(profile, measure)) {
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(text, "<h2>{title}</h2>\n<div class=\"wide\"><table>");
        let class = |column: usize| if column + 1 == head.len() { "" } else { " class=\"n\"" };
        let row = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
            let cells =
                cells.enumerate().map(|(column, cell)| format!("<{tag}{}>{}</{tag}>", class(column), xml_text(cell)));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        text.push_str(&row("th", &mut head.iter().copied()));
        rows.iter().for_each(|cells| text.push_str(&row("td", &mut cells.iter().map(String::as_str))));
        text.push_str("</table></div>\n");
    }
    flame::page(profile, measure, &words, &text)
}

/// A public interface: fields are added, never changed or removed.
fn object(profile: &Profile) -> Json {
    json!({
        "sessions": profile.n_sessions,
        "turns": profile.n_turns,
        "estimated": profile.is_estimated,
        "total": profile.root.total(),
        "cache": profile.cache,
        "unpriced": profile.unpriced,
        "tree": profile.root.children,
    })
}

fn total_of(node: &Node, part: Part) -> Spent {
    let mut total = if node.part == part { node.spent } else { Spent::default() };
    node.children.iter().for_each(|child| total += total_of(child, part));
    total
}

fn shown(spent: &Spent, measure: Measure) -> String {
    match measure {
        Measure::Tokens => spent.tokens().to_string(),
        Measure::Time => seconds(spent.ms),
        Measure::Cost => money(spent.cost),
    }
}

/// `0.04 s`, `12.3 s`; `—` for nothing.
#[allow(clippy::cast_precision_loss, reason = "2^53 milliseconds are more than anybody waits")]
fn seconds(ms: u64) -> String {
    let seconds = ms as f64 / 1000.0;
    if ms == 0 {
        return "—".to_owned();
    }
    if ms < 10_000 { format!("{seconds:.2} s") } else { format!("{seconds:.1} s") }
}

fn money(cost: f64) -> String {
    format!("{cost:.6}")
}

fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", 100.0 * part / whole) } else { "—".to_owned() }
}

/// `61 %`; `—` of nothing.
fn percent(part: u64, whole: u64) -> String {
    (part * 100 + whole / 2).checked_div(whole).map_or("—".to_owned(), |percent| format!("{percent} %"))
}
