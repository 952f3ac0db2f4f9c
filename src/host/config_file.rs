//! `playhouse.toml`: every key known, every value checked, every fault with its line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use playhouse_lang::span::LineIndex;
use playhouse_lang::value::Value;
use playhouse_vm::dataflow::date::{self, TimesOfDay};
use playhouse_vm::protocol::settings::Settings;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cassette::redact::Rule;
use crate::child::FILE;
use crate::equipment::declaration::{self, Source, Written};
use crate::keys::{ConfigError, read, unknown_key};
use crate::otel::options::OtelOptions;
use crate::serve_options::ServeOptions;
use crate::settings::SettingsWire;
use crate::skills::options::SkillsOptions;

/// The name of the file beside a program.
const FILE_NAME: &str = "playhouse.toml";

/// The keys outside of tables.
const KEYS: &[&str] = &[
    "base_url",
    "canned_tools",
    "classifier",
    "classifier_timeout",
    "connect_timeout",
    "constrain",
    "extra_body",
    "extra_headers",
    "index",
    "judge_votes",
    "limits",
    "max_sessions",
    "max_tokens",
    "mcp",
    "model",
    "mutants",
    "otel",
    "plugins",
    "prices",
    "read_timeout",
    "record",
    "resources",
    "resume",
    "serve",
    "skills",
    "starts_in_think",
    "temperature",
    "times_of_day",
    "tools",
    "turn_timeout",
    "yield_grace",
    "zone",
];

/// What is said of `[embedded]`, which named and fetched weights.
const NO_WEIGHTS: &str = "the embedded model no longer has weights; remove the table `[embedded]`, and name a real \
                          model with `model` if you want one";

/// What a configuration file says. Times are written in seconds (`yield_grace = 1.5`).
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the fields are the file's keys; what they do stands at Config")]
pub struct FileConfig {
    /// The file; empty if there is none.
    pub path: PathBuf,
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    pub extra_headers: Vec<(String, String)>,
    pub constrain: Option<bool>,
    pub starts_in_think: Option<bool>,
    pub resume_fresh: Option<bool>,
    pub connect_timeout: Option<Duration>,
    pub read_timeout: Option<Duration>,
    pub turn_timeout: Option<Duration>,
    pub classifier: Option<String>,
    pub classifier_timeout: Option<Duration>,
    pub yield_grace: Option<Duration>,
    pub max_sessions: Option<usize>,
    pub judge_votes: Option<NonZeroU32>,
    pub zone: Option<String>,
    pub times_of_day: TimesOfDay,
    /// `[limits]`: the fields of the machine's settings, by name; checked.
    pub limits: Vec<(String, serde_json::Value)>,
    /// `redact` of `[record]`: what is in no recording.
    pub redact: Vec<Rule>,
    /// `[mutants] skip`: mutants that no test need notice.
    pub skipped_mutants: Vec<SkippedMutant>,
    /// Files of canned tools.
    pub canned_tools: Vec<PathBuf>,
    /// `[index.extract]`: what makes texts of files that are none.
    pub extract: BTreeMap<String, Vec<String>>,
    /// `[serve]`.
    pub serve: ServeOptions,
    /// `[skills]`.
    pub skills: SkillsOptions,
    /// `[otel]`, and where it stands: the variables that it names are looked up where it is needed.
    pub otel: Option<(Value, String)>,
    /// `plugins`, `mcp`, `resources` and `tools`, one entry of them each.
    pub declared: Vec<Written>,
}

/// A mutant that no test need notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedMutant {
    /// `Pay:03 drop`, where several programs lie in a folder with the program's file before it.
    pub name: String,
    /// Why.
    pub reason: String,
    /// Where that is said, for people: `playhouse.toml:3`.
    pub place: String,
}

impl FileConfig {
    /// Reads the file that `--config` names, or `playhouse.toml` beside the program, if there is one.
    ///
    /// # Errors
    /// It cannot be read, or a key or value is wrong.
    pub fn find(given: Option<&Path>, program: Option<&Path>) -> Result<FileConfig, ConfigError> {
        if let Some(path) = given {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|cause| ConfigError::Io { path: path.to_owned(), cause })?;
            return FileConfig::from_text(path, &text);
        }
        let Some(program) = program else { return Ok(FileConfig::default()) };
        let path = program.with_file_name(FILE_NAME);
        match std::fs::read_to_string(&path) {
            Ok(text) => FileConfig::from_text(&path, &text),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(FileConfig::default()),
            Err(cause) => Err(ConfigError::Io { path, cause }),
        }
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// It is no TOML, or a key or value is wrong.
    pub fn from_text(path: &Path, text: &str) -> Result<FileConfig, ConfigError> {
        let places = Places { path, lines: LineIndex::new(text) };
        let table = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            places.fault(offset, error.message().lines().next().unwrap_or("this is not TOML").to_owned())
        })?;
        let mut config = FileConfig { path: path.to_owned(), ..FileConfig::default() };
        for (key, value) in table.get_ref() {
            config.set(key, value, &places)?;
        }
        Ok(config)
    }

    fn set(
        &mut self,
        key: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        places: &Places<'_>,
    ) -> Result<(), ConfigError> {
        let (key, offset) = (key.get_ref().as_ref(), key.span().start);
        let at = |message: String| places.fault(offset, message);
        let wanted = |what: &str| at(format!("`{key}` must be {what}"));
        let json = to_json(value.get_ref());
        let text = || json.as_str().map(str::to_owned).ok_or_else(|| wanted("text in quotes"));
        let truth = || json.as_bool().ok_or_else(|| wanted("true or false"));
        let whole = || json.as_u64().filter(|&number| number > 0).ok_or_else(|| wanted("a whole number above 0"));
        let seconds = || {
            let seconds = json.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            seconds.ok_or_else(|| wanted("a number of seconds"))
        };
        let table = || json.as_object().cloned().ok_or_else(|| wanted("a table"));
        let members =
            || if let DeValue::Table(members) = value.get_ref() { Ok(members) } else { Err(wanted("a table")) };
        // The value of the only key that a table may have, with its place.
        let only = |known: &'static str| {
            let mut found = None;
            for (key, value) in members()? {
                if key.get_ref() != known {
                    return Err(places.fault(key.span().start, unknown_key(key.get_ref(), [known].into_iter())));
                }
                found = Some((value, key.span().start));
            }
            Ok(found)
        };
        // What serde reads, and whose faults are told of the table as a whole.
        let written = || serde_json::from_value::<Value>(json.clone()).map_err(|error| at(error.to_string()));
        let of_table = |message: String| at(format!("[{key}]: {message}"));
        match key {
            "model" => self.model = Some(text()?),
            "base_url" => self.base_url = Some(text()?),
            "canned_tools" => {
                let files: Option<Vec<&str>> =
                    json.as_array().and_then(|files| files.iter().map(serde_json::Value::as_str).collect());
                let files = files.ok_or_else(|| wanted("a list of files, as in [\"program.tools.json\"]"))?;
                self.canned_tools = files.into_iter().map(|file| self.path.with_file_name(file)).collect();
            }
            "temperature" => self.temperature = Some(json.as_f64().ok_or_else(|| wanted("a number"))?),
            "max_tokens" => self.max_tokens = Some(whole()?),
            "extra_body" => self.extra_body = table()?,
            "extra_headers" => {
                for (name, value) in table()? {
                    let value = value.as_str().ok_or_else(|| at(format!("header `{name}` must be text in quotes")))?;
                    self.extra_headers.push((name, value.to_owned()));
                }
            }
            "constrain" => self.constrain = Some(truth()?),
            "starts_in_think" => self.starts_in_think = Some(truth()?),
            "resume" => self.resume_fresh = Some(resume(json.as_str()).map_err(at)?),
            "connect_timeout" => self.connect_timeout = Some(seconds()?),
            "read_timeout" => self.read_timeout = Some(seconds()?),
            "record" => {
                if let Some((rules, offset)) = only("redact")? {
                    let wanted = "`redact` must be a list, as in [\"email\", \"/REGEX/\"]";
                    let rules = rules.get_ref().as_array().ok_or_else(|| places.fault(offset, wanted.to_owned()))?;
                    self.redact = rules.iter().map(|rule| read_rule(rule, places)).collect::<Result<_, _>>()?;
                }
            }
            "serve" => self.serve = read(&written()?).map_err(of_table)?,
            "skills" => self.skills = read(&written()?).map_err(of_table)?,
            "otel" => {
                let value = written()?;
                // With any value for a variable: keys and kinds are right or wrong whatever it is.
                let shape = declaration::resolve_secrets(&value, &|_| Some(String::new()), &mut |_| {});
                shape.and_then(|shape| read::<OtelOptions>(&shape)).map_err(of_table)?;
                self.otel = Some((value, places.place(offset)));
            }
            "classifier" => self.classifier = Some(text()?),
            "classifier_timeout" => self.classifier_timeout = Some(seconds()?),
            "turn_timeout" => self.turn_timeout = Some(seconds()?),
            "yield_grace" => self.yield_grace = Some(seconds()?),
            "zone" => {
                let name = text()?;
                date::zone(&name).map_err(|message| at(format!("`zone`: {message}")))?;
                self.zone = Some(name);
            }
            "times_of_day" => {
                for (key, value) in members()? {
                    let set = set_time_of_day(&mut self.times_of_day, key.get_ref(), &to_json(value.get_ref()));
                    set.map_err(|message| places.fault(key.span().start, message))?;
                }
            }
            "judge_votes" => self.judge_votes = u32::try_from(whole()?).ok().and_then(NonZeroU32::new),
            "mutants" => {
                if let Some((reasons, offset)) = only("skip")? {
                    self.skip_mutants(reasons, places, offset)?;
                }
            }
            "index" => {
                if let Some((commands, offset)) = only("extract")? {
                    let wanted = "`extract` must be a table of commands";
                    let commands = commands.get_ref().as_table();
                    for (ending, command) in commands.ok_or_else(|| places.fault(offset, wanted.to_owned()))? {
                        let (name, offset) = (ending.get_ref().to_ascii_lowercase(), ending.span().start);
                        let command = command_of(command.get_ref()).ok_or_else(|| {
                            let example = r#"["pdftotext", "-layout", "{file}", "-"]"#;
                            let message = format!("`{name}` must be a command that names its file, as in {example}");
                            places.fault(offset, message)
                        })?;
                        self.extract.insert(name, command);
                    }
                }
            }
            "max_sessions" => self.max_sessions = usize::try_from(whole()?).ok(),
            // A table of files that older versions have read.
            "embedded" => return Err(at(NO_WEIGHTS.to_owned())),
            "limits" => {
                let mut scratch = Settings::default();
                for (key, value) in members()? {
                    let json = to_json(value.get_ref());
                    let set = set_limit(&mut scratch, key.get_ref(), json.clone());
                    set.map_err(|message| places.fault(key.span().start, message))?;
                    self.limits.push((key.get_ref().to_string(), json));
                }
            }
            _ if declaration::declares(key) => self.declare(key, value, places, offset),
            _ => return Err(at(unknown_key(key, KEYS.iter().copied()))),
        }
        Ok(())
    }

    fn skip_mutants(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        places: &Places<'_>,
        offset: usize,
    ) -> Result<(), ConfigError> {
        let wanted = "`skip` must be a table, as in skip = {\"Pay:03 drop\" = \"REASON\"}";
        let reasons = value.get_ref().as_table();
        for (name, reason) in reasons.ok_or_else(|| places.fault(offset, wanted.to_owned()))? {
            let (name, offset) = (name.get_ref().to_string(), name.span().start);
            let reason = reason.get_ref().as_str().map(str::trim).filter(|reason| !reason.is_empty());
            let reason = reason.ok_or_else(|| places.fault(offset, format!("`{name}` needs a reason, in quotes")))?;
            let place = places.place(offset);
            self.skipped_mutants.push(SkippedMutant { name, reason: reason.to_owned(), place });
        }
        Ok(())
    }

    /// Keeps what is declared with its line: of a table each key by itself.
    fn declare(&mut self, key: &str, value: &Spanned<DeValue<'_>>, places: &Places<'_>, offset: usize) {
        let mut add = |value: serde_json::Value, offset: usize| {
            self.declared.push(Written {
                key: key.to_owned(),
                value: serde_json::from_value(value).unwrap_or_default(),
                place: places.place(offset),
                folder: self.path.parent().unwrap_or(Path::new("")).to_owned(),
                source: Source::Operator,
            });
        };
        match value.get_ref() {
            DeValue::Table(table) => {
                for (name, value) in table {
                    let one = [(name.get_ref().to_string(), to_json(value.get_ref()))];
                    add(serde_json::Value::Object(one.into_iter().collect()), name.span().start);
                }
            }
            DeValue::Array(items) if key == "resources" => {
                items.iter().for_each(|item| add(vec![to_json(item.get_ref())].into(), item.span().start));
            }
            other @ (DeValue::Array(_)
            | DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)) => add(to_json(other), offset),
        }
    }
}

/// A command that names its file; none: it is something else.
fn command_of(value: &DeValue<'_>) -> Option<Vec<String>> {
    let words: Vec<String> = serde_json::from_value(to_json(value)).ok()?;
    words.iter().skip(1).any(|word| word.contains(FILE)).then_some(words)
}

/// Where things stand in a file.
struct Places<'p> {
    path: &'p Path,
    lines: LineIndex,
}

impl Places<'_> {
    /// For people: `playhouse.toml:3`.
    fn place(&self, offset: usize) -> String {
        format!("{}:{}", self.path.display(), self.lines.line_column(offset).0)
    }

    fn fault(&self, offset: usize, message: String) -> ConfigError {
        ConfigError::File { place: self.place(offset), message }
    }
}

/// One item of `redact`.
fn read_rule(rule: &Spanned<DeValue<'_>>, places: &Places<'_>) -> Result<Rule, ConfigError> {
    let written = rule.get_ref().as_str().ok_or_else(|| "write text in quotes".to_owned());
    written.and_then(Rule::read).map_err(|message| places.fault(rule.span().start, format!("`redact`: {message}")))
}

/// Settings of the machine that are no limits: they have keys of their own outside of `[limits]`.
const NO_LIMITS: [&str; 3] = ["classifier", "times_of_day", "zone"];

#[derive(Deserialize)]
#[serde(transparent)]
struct Limits(#[serde(with = "SettingsWire")] Settings);

/// Sets one of the machine's settings by its name.
///
/// # Errors
/// There is none of this name, or the value is not of its kind.
pub(crate) fn set_limit(settings: &mut Settings, key: &str, value: serde_json::Value) -> Result<(), String> {
    // By way of JSON, so that names and kinds are written down once, in the type.
    let Ok(serde_json::Value::Object(mut all)) = SettingsWire::serialize(settings, serde_json::value::Serializer)
    else {
        return Err("the settings cannot be written as JSON".to_owned());
    };
    if NO_LIMITS.contains(&key) {
        return Err(format!("`{key}` is not a limit; write `{key}` outside of the limits"));
    }
    let Some(slot) = all.get_mut(key) else {
        return Err(unknown_key(key, all.keys().map(String::as_str).filter(|key| !NO_LIMITS.contains(key))));
    };
    *slot = value;
    let all: Value = serde_json::from_value(all.into()).unwrap_or_default();
    *settings = read::<Limits>(&all)?.0;
    Ok(())
}

/// The limits of `to` that are others than in `from`, by name.
pub fn limits_between(from: &Settings, to: &Settings) -> serde_json::Map<String, serde_json::Value> {
    let all = |settings| SettingsWire::serialize(settings, serde_json::value::Serializer).unwrap_or_default();
    let (from, to) = (all(from), all(to));
    let members = to.as_object().cloned().unwrap_or_default().into_iter();
    members.filter(|(key, value)| !NO_LIMITS.contains(&&**key) && from.get(key) != Some(value)).collect()
}

/// Sets one of the times that have a name in dataflow plans: `15:30`, `23:59:59`.
fn set_time_of_day(times: &mut TimesOfDay, key: &str, value: &serde_json::Value) -> Result<(), String> {
    let mut slots = [
        ("morning", &mut times.morning),
        ("midday", &mut times.midday),
        ("afternoon", &mut times.afternoon),
        ("evening", &mut times.evening),
        ("night", &mut times.night),
        ("endofday", &mut times.end_of_day),
        ("closeofbusiness", &mut times.close_of_business),
    ];
    let Some((_, slot)) = slots.iter_mut().find(|(name, _)| *name == key) else {
        return Err(unknown_key(key, slots.iter().map(|(name, _)| *name)));
    };
    let time = value.as_str().and_then(|text| text.parse::<jiff::civil::Time>().ok());
    **slot = time.ok_or_else(|| format!("`{key}` must be a time, as in \"15:30\" or \"23:59:59\""))?;
    Ok(())
}

/// Reads `resume`: whether a frame goes on in a fresh chat session.
pub(crate) fn resume(text: Option<&str>) -> Result<bool, String> {
    match text {
        Some("fresh") => Ok(true),
        Some("continue") => Ok(false),
        _ => Err("`resume` must be \"continue\" or \"fresh\"".to_owned()),
    }
}

fn to_json(value: &DeValue<'_>) -> serde_json::Value {
    match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).map_or(serde_json::Value::Null, Into::into)
        }
        DeValue::Float(float) => float.as_str().parse::<f64>().map_or(serde_json::Value::Null, Into::into),
        DeValue::Boolean(truth) => (*truth).into(),
        // A time without quotes (`morning = 08:30:00`) is one in TOML.
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let members = table.iter().map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref())));
            serde_json::Value::Object(members.collect())
        }
    }
}
