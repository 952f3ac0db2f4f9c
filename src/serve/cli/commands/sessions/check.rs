//! `playhouse sessions check`: rules held against stored sessions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diagnostic::render;
use crate::host::checks::{Breach, Checks, Verdict, Verified, verify};
use crate::host::journal::address::Address;
use crate::host::journal::record::Record;
use crate::host::journal::store::Listed;
use crate::host::launch::{Choices, Launch, Workshop};
use crate::host::program::{ProgramCache, file_name};
use crate::host::replay::error::SessionError;
use crate::host::stored::look_at;
use crate::host::travel::Run;
use crate::lang::program::Program;
use crate::serve::cli::commands::sessions::kept::{Kept, waited};
use crate::serve::cli::machinery::beside::{load_beside, read};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, count, put};
use crate::serve::cli::machinery::output::Format;
use crate::serve::cli::machinery::rules_file::RulesFile;
use crate::span::Sources;

/// Of sessions that cannot be read this part may be there, one in so many: else too little is known.
const ONE_IN: usize = 10;

#[derive(Args)]
pub(crate) struct CheckArguments {
    /// The ids of the sessions [default: all sessions of the program that the rules name]
    ids: Vec<String>,
    /// The rules: a file `NAME.rules.md` beside the program
    #[arg(long, value_name = "FILE")]
    rules: PathBuf,
    /// The output format: text for people, or a JSON object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What came of one session.
enum Checked {
    /// What came of each rule.
    Verified(Vec<Verified>),
    /// It is of another program.
    Other,
    /// It cannot be read.
    Unreadable(SessionError),
}

/// What came of all sessions.
struct Found {
    sessions: Vec<(Arc<str>, Checked)>,
    n_rules: usize,
    /// Of other programs, and not even read.
    n_others: usize,
}

/// How often what came of sessions.
#[derive(Default)]
struct Counts {
    n: usize,
    hold: usize,
    broken: usize,
    open: usize,
    undecided: usize,
    unreadable: usize,
    others: usize,
}

/// Checks the sessions that are named, or all.
pub(super) fn check(console: &Console, kept: &Kept, arguments: &CheckArguments) -> Result<Exit, Failure> {
    let (checks, program) = read_rules(&arguments.rules, console.color)?;
    let (addresses, n_others) = addresses(kept, &arguments.ids, &program)?;
    let n_rules = checks.written().len();
    // Whoever names a session means it.
    let of = (arguments.ids.is_empty()).then_some(program);
    let work = move |run: Run| {
        let is_other = of.as_ref().is_some_and(|program| file_name(&run.program.name()) != *program);
        if is_other { Checked::Other } else { Checked::Verified(verify(&checks, &run)) }
    };
    let programs = ProgramCache::default();
    // The cache knows them as long as somebody has them.
    let held: Mutex<Vec<Arc<Program>>> = Mutex::default();
    let look = move |records: Vec<Record>| {
        let run = Run::one_of_many(&records, &programs)?;
        drop(records);
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.iter().any(|known| Arc::ptr_eq(known, &run.program)) {
            held.push(run.program.clone());
        }
        drop(held);
        Ok(work(run))
    };
    let checked = waited(look_at(addresses, look))?.into_iter();
    let sessions = checked.map(|(session, checked)| (session, checked.unwrap_or_else(Checked::Unreadable)));
    let found = Found { sessions: sessions.collect(), n_rules, n_others };
    let counts = found.counts();
    put(&match arguments.format {
        Format::Text => clean(&found.text(&counts, (!kept.is_default).then_some(kept.place.path()))),
        Format::Json => format!("{}\n", found.json(&counts)),
    })?;
    Ok(if counts.broken > 0 {
        Exit::Failed
    } else if counts.undecided > 0 || counts.unreadable * ONE_IN > counts.n {
        Exit::TooLittle
    } else {
        Exit::Finished
    })
}

/// The rules of a file, and the name of their program's file.
fn read_rules(path: &Path, color: bool) -> Result<(Checks, String), Failure> {
    let name = path.display().to_string();
    let text = read(path).map_err(Failure::wrong)?;
    let mut sources = Sources::default();
    let file = sources.add(name.as_str(), text.as_str());
    let shown = |findings: Vec<_>| {
        Failure::wrong(format!("{name}: these are not rules\n{}", render(&findings, &sources, color)))
    };
    let RulesFile { program, tools, rules } = RulesFile::parse(file, &text).map_err(&shown)?;
    let (loaded, known) = load_beside(path, &program, tools.as_deref(), color).map_err(Failure::wrong)?;
    let mut read = |_, schema: &str| {
        std::fs::read_to_string(path.with_file_name(schema)).map_err(|cause| format!("cannot read: {cause}"))
    };
    let checks = Checks::new(rules, &loaded, &known, &mut read).map_err(&shown)?;
    let launch = Launch::new(Workshop::default(), Choices::default());
    let config = launch.configure(&[path.with_file_name(&program)], &loaded);
    let config = config.map_err(Failure::wrong)?;
    Ok((checks.with_prices(config.session.prices.clone()), file_name(&program)))
}

/// Those that are named, or all that may be of the program; and how many are of others.
fn addresses(kept: &Kept, ids: &[String], program: &str) -> Result<(Vec<Address>, usize), Failure> {
    if !ids.is_empty() {
        return Ok((ids.iter().map(|id| kept.find(id)).collect::<Result<_, _>>()?, 0));
    }
    let store = kept.place.store();
    let mut listed = waited(store.list())??;
    let n_all = listed.len();
    listed.retain(|Listed { known, .. }| known.as_ref().is_none_or(|known| file_name(&known.program) == program));
    let n_others = n_all - listed.len();
    Ok((listed.into_iter().map(|listed| Address::new(store.clone(), &listed.id)).collect(), n_others))
}

impl Found {
    fn counts(&self) -> Counts {
        let mut counts = Counts { others: self.n_others, ..Counts::default() };
        for (_, checked) in &self.sessions {
            let place = match checked {
                Checked::Other => &mut counts.others,
                Checked::Unreadable(_) => &mut counts.unreadable,
                Checked::Verified(verified) => {
                    let has = |is: fn(&Verdict) -> bool| verified.iter().any(|verified| is(&verified.verdict));
                    if has(|verdict| matches!(verdict, Verdict::Broken(_))) {
                        &mut counts.broken
                    } else if has(|verdict| matches!(verdict, Verdict::Undecided { .. })) {
                        &mut counts.undecided
                    } else if has(|verdict| matches!(verdict, Verdict::Open { .. })) {
                        &mut counts.open
                    } else {
                        &mut counts.hold
                    }
                }
            };
            *place += 1;
        }
        counts.n = self.sessions.len() + self.n_others - counts.others;
        counts
    }

    /// All that did not simply hold, rule by rule.
    fn by_rule(&self) -> Vec<Vec<(&Arc<str>, &Verified)>> {
        let mut rules = vec![Vec::new(); self.n_rules];
        for (session, checked) in &self.sessions {
            let Checked::Verified(verified) = checked else { continue };
            for (index, verified) in verified.iter().enumerate() {
                if verified.verdict != Verdict::Holds {
                    rules[index].push((session, verified));
                }
            }
        }
        rules
    }

    fn text(&self, counts: &Counts, journal: Option<&Path>) -> String {
        let mut text = counts.text(self.n_rules);
        let journal = journal.map_or_else(String::new, |path| format!(" --journal {}", path.display()));
        for found in self.by_rule() {
            let mut undecided: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            let mut lines = String::new();
            for (session, verified) in &found {
                match &verified.verdict {
                    Verdict::Broken(breach) => lines.push_str(&broken_line(session, breach, &journal)),
                    Verdict::Undecided { why } => undecided.entry(why).or_default().push(session),
                    Verdict::Holds | Verdict::Open { .. } => {}
                }
            }
            for (why, sessions) in undecided {
                let others = match sessions.len() {
                    1 => String::new(),
                    n => format!(" and {}", count(n - 1, "other")),
                };
                let _ = writeln!(lines, "  undecided in {}{others}: {why}", sessions[0]);
            }
            if let (Some((_, first)), false) = (found.first(), lines.is_empty()) {
                let _ = write!(text, "{}  {}\n{lines}", first.label, first.text);
            }
        }
        for (session, checked) in &self.sessions {
            if let Checked::Unreadable(error) = checked {
                let _ = writeln!(text, "unreadable: {session}: {error}");
            }
        }
        text
    }

    /// A public interface: fields are added, never changed or removed.
    fn json(&self, counts: &Counts) -> Json {
        let told = |(session, verified): (&Arc<str>, &Verified)| {
            let mut told = json!({
                "rule": verified.label, "line": verified.line, "check": verified.text, "session": session,
            });
            let (word, why) = match &verified.verdict {
                Verdict::Holds => ("holds", None),
                Verdict::Broken(breach) => {
                    told["point"] = json!(breach.point.map(|point| point.to_string()));
                    told["place"] = json!(breach.place);
                    ("broken", Some(&breach.sentence))
                }
                Verdict::Open { why } => ("open", Some(why)),
                Verdict::Undecided { why } => ("undecided", Some(why)),
            };
            (told["verdict"], told["why"]) = (json!(word), json!(why));
            told
        };
        let unreadable = self.sessions.iter().filter_map(|(session, checked)| match checked {
            Checked::Unreadable(error) => Some(json!({"session": session, "why": error.to_string()})),
            Checked::Verified(_) | Checked::Other => None,
        });
        json!({
            "rules": self.n_rules,
            "sessions": counts.n,
            "hold": counts.hold,
            "broken": counts.broken,
            "open": counts.open,
            "undecided": counts.undecided,
            "other_programs": counts.others,
            "unreadable": unreadable.collect::<Vec<_>>(),
            "found": self.by_rule().into_iter().flatten().map(told).collect::<Vec<_>>(),
        })
    }
}

/// Where a rule was broken, and the command to look.
fn broken_line(session: &str, Breach { point, place, sentence, .. }: &Breach, journal: &str) -> String {
    let at = point.map_or_else(String::new, |point| format!(" at {point}"));
    let place = place.as_ref().map_or_else(String::new, |place| format!(", {place}"));
    let look = point.map_or_else(String::new, |point| format!("; sessions replay {session} --to {point}{journal}"));
    format!("  broken in {session}{at}{place}: {sentence}{look}\n")
}

impl Counts {
    /// `3 rules, 4120 sessions: 4118 hold, 1 broken, 1 open`
    fn text(&self, n_rules: usize) -> String {
        let mut text = format!("{}, {}: {} hold", count(n_rules, "rule"), count(self.n, "session"), self.hold);
        let others = [
            (self.broken, "broken"),
            (self.open, "open"),
            (self.undecided, "undecided"),
            (self.unreadable, "unreadable"),
        ];
        for (n, word) in others.into_iter().filter(|(n, _)| *n > 0) {
            let _ = write!(text, ", {n} {word}");
        }
        if self.others > 0 {
            let _ = write!(text, "; {} of other programs skipped", self.others);
        }
        text.push('\n');
        text
    }
}
