//! `playhouse sessions export --format test`: a session as a scripted conversation with its recording. Written is what
//! does the same, or nothing.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::Value as Json;

use crate::host::cassette::entry::Entry;
use crate::host::cassette::file::{Cassette, write_whole};
use crate::host::cassette::redact::Redaction;
use crate::host::cassette::take::Mode;
use crate::host::clock::iso_text;
use crate::host::config::{ModelId, limits_between};
use crate::host::journal::address::Address;
use crate::host::journal::record::{Begun, OutcomeWire, Record, RecordBody};
use crate::host::journal::wire::ToolWire;
use crate::host::launch::classifier_of;
use crate::host::program::{ProgramText, load_files};
use crate::host::replay::begun_of;
use crate::host::travel::heard::{Cast, tell_take};
use crate::host::travel::{self, At, Timeline};
use crate::lang::files::test_file::{TestFile, TestModel, TestStepKind};
use crate::lang::kind::TEST;
use crate::lang::program::Signature;
use crate::serve::cli::commands::sessions::kept::{exists_already, records};
use crate::serve::cli::commands::test::record::{cassette_of, replay, reread};
use crate::serve::cli::machinery::console::{Console, Exit, Failure};
use crate::serve::cli::machinery::recorded_test::{path_of, take_with};
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::session_test::{Unsaid, sections};
use crate::serve::cli::machinery::test_session::{ChosenClassifier, Played, Playing, open_test, play};
use crate::serve::cli::machinery::travel_text::step_text;
use crate::value::{Map, Value};
use crate::vm::dataflow::date;
use crate::vm::protocol::settings::Settings;

/// What a session is written down as.
pub(super) struct TestExport<'a> {
    pub(super) address: &'a Address,
    /// The test's file.
    pub(super) output: &'a Path,
    /// The last record that counts; none: all do.
    pub(super) until: Option<At>,
    /// Whether speech is expected, too.
    pub(super) golden: bool,
}

/// Writes the test and its cassette.
pub(super) fn export_test(console: &Console, export: &TestExport<'_>) -> Result<Exit, Failure> {
    let TestExport { address, output, until, golden } = export;
    let beside = path_of(output);
    if !output.to_string_lossy().ends_with(TEST) {
        return Err(Failure::wrong(format!("a test's file is named NAME{TEST}, not {}", output.display())));
    }
    if let Some(there) = [output, &*beside].into_iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(exists_already(there));
    }
    let mut records = records(address)?;
    if let Some(until) = until {
        let seq = Timeline::new(records.clone())?.point_at(*until).seq;
        records.truncate(usize::try_from(seq).unwrap_or(usize::MAX));
    }
    let chosen = ChosenClassifier { id: None, environment: &console.environment };
    let made = Runtime::for_one()?
        .block_on(make(records, output, &chosen))
        .map_err(|why| Failure::failed(format!("session {} cannot be written as a test: {why}", address.session())));
    let Made { cassette, mut test, played } = made?;
    test.bless(&played.stretches);
    if !golden {
        test.steps.retain(|step| !matches!(step.kind, TestStepKind::ExpectSay(_)));
    }
    let text = test.render();
    // Whatever people have said, it is read again as it was.
    reread(&output.display().to_string(), &text).map_err(Failure::failed)?;
    let recording = cassette.as_ref().map(|cassette| (&*beside, cassette.render()));
    for (path, text) in recording.into_iter().chain([(*output, text)]) {
        write_whole(path, &text).map_err(|cause| {
            Failure::failed(format!("{}: cannot write: {cause}; name another file with --output", path.display()))
        })?;
    }
    let recording = cassette.map_or_else(String::new, |_| format!(" and {}", beside.display()));
    console.remark(&format!("wrote {}{recording}", output.display()));
    Ok(Exit::Finished)
}

/// A test that does what the session did.
struct Made {
    /// None: all that answered answers the same again.
    cassette: Option<Cassette>,
    test: TestFile,
    played: Played,
}

/// The test with its recording, played: it does the same, or the error says where it does not.
async fn make(mut records: Vec<Record>, output: &Path, chosen: &ChosenClassifier<'_>) -> Result<Made, String> {
    let mut stand_ins = Vec::new();
    loop {
        let mut test = test_of(&records, output)?;
        let (cassette, redaction) = record(&records, &mut test, stand_ins, output, chosen).await?;
        if !redaction.is_empty() && cassette.stand_ins.is_empty() {
            return Err("something that must be redacted appears elsewhere in the test".to_owned());
        }
        if !redaction.is_empty() {
            // With its stand-ins it is a session like any other.
            records = redacted(&records, &redaction)?;
            stand_ins = cassette.stand_ins;
            continue;
        }
        if needs_no_recording(&records, &cassette) {
            test.model = Some(TestModel::Embedded);
            let played = play(output, &test, chosen).await?;
            check_same(&records, &played)?;
            return Ok(Made { cassette: None, test, played });
        }
        let played = replay(output, &test, chosen, &cassette).await?;
        check_same(&records, &played)?;
        return Ok(Made { cassette: Some(cassette), test, played });
    }
}

/// Whether only the embedded model answered, besides canned tools.
fn needs_no_recording(records: &[Record], cassette: &Cassette) -> bool {
    let is_reply = |entry: &Entry| matches!(entry, Entry::Request(_));
    begun_of(records).is_ok_and(|begun| ModelId::Embedded.to_string() == *begun.model)
        && cassette.classifier.as_deref().is_none_or(|id| id == "rules")
        && cassette.entries.iter().all(is_reply)
}

/// The test of a session, without what its session had besides; the error says what no test can say.
fn test_of(records: &[Record], output: &Path) -> Result<TestFile, String> {
    let begun = begun_of(records).map_err(|error| error.to_string())?;
    let several = |what: &str| format!("it began with several files{what}, and a test names only one");
    let [root] = &begun.roots[..] else { return Err(several("")) };
    let relative = |path: &str| relative(output, Path::new(path));
    let tools = match &begun.given.tools[..] {
        [] => None,
        [file] => Some(relative(file)?),
        [..] => return Err(several(" of tools")),
    };
    check_text(begun, Path::new(&**root))?;
    let arguments = begun.arguments.as_map().cloned().unwrap_or_default();
    if let Some(name) = arguments.keys().find(|name| begun.secrets.contains(name)) {
        return Err(format!("its argument `{name}` is secret, and the file of a test is not"));
    }
    let is_secret = |record: &&Record| {
        matches!(record.body, RecordBody::CallEnded { outcome: OutcomeWire::Value { secret: true, .. }, .. })
    };
    if let Some(secret) = records.iter().find(is_secret) {
        return Err(format!("at {} a tool returned a secret, and a recording cannot hold one", secret.seq));
    }
    let zone = date::zone(&begun.settings.zone).unwrap_or(TimeZone::UTC);
    let began = records.first().map(Record::timestamp).unwrap_or_default();
    let mut settings = Map::new();
    if let Some(file) = begun.classifier.as_deref().and_then(|id| id.strip_prefix("script:")) {
        settings.insert("classifier".into(), Value::from(format!("script:{}", relative(file)?)));
    }
    let steps = sections(records).map_err(|error| error.to_string())?.map_err(|unsaid| unsaid.text(begun))?;
    Ok(TestFile {
        title: format!("Session {}", begun.session),
        description: String::new(),
        program: relative(root)?,
        tools,
        model: Some(TestModel::Recorded),
        live_tools: false,
        playbook: begun.entry.as_ref().map(|entry| entry.playbook.to_string()),
        arguments,
        settings,
        now: Some(iso_text(began, &zone)),
        steps,
    })
}

/// The cassette of what a session heard, and what is redacted of it; adds to the test's settings what the session had
/// besides. `stand_ins` stand in its records already.
async fn record(
    records: &[Record],
    test: &mut TestFile,
    stand_ins: Vec<Arc<str>>,
    output: &Path,
    chosen: &ChosenClassifier<'_>,
) -> Result<(Cassette, Redaction), String> {
    let begun = begun_of(records).map_err(|error| error.to_string())?;
    let classifier = classifier_of(begun).filter(|id| !id.starts_with("script:"));
    let known = Cassette {
        model: begun.model.clone(),
        classifier: classifier.map(Arc::from),
        stand_ins,
        tools: begun.tools.iter().map(ToolWire::to_tool).collect(),
        ..Cassette::default()
    };
    let take = take_with(output, test, Mode::Replay, known);
    let mut launch = chosen.launch();
    launch.take = Some(take.clone());
    let secrets = launch.workshop.secrets.clone();
    let program = output.with_file_name(&test.program);
    let playing = Playing { path: output, test, program: &program, instead: None };
    let (opened, _) = open_test(playing, launch).await.map_err(|error| error.to_string())?;
    test.settings.extend(settings_beside(&opened.settings, &begun.settings));
    let around = &opened.world;
    let (llm, classifier) = (&*around.llm, &*around.classifier);
    let cast = Cast { llm, classifier, tools: &around.tools, constrain: around.options.constrain };
    let text = test.render();
    let made = tell_take(records, &cast, &take).map_err(|error| error.to_string()).and_then(|order| {
        let (cassette, redaction) = cassette_of(output, (&text, test), &opened.program, &take, &secrets, true)?;
        Ok((Cassette { order, ..cassette }, redaction))
    });
    opened.close().await;
    made
}

/// What a session had, and a test would not have by itself.
fn settings_beside(usual: &Settings, own: &Settings) -> Map {
    let mut settings = Map::new();
    let mut limits = limits_between(usual, own);
    // A test waits for no server.
    limits.retain(|key, _| !key.ends_with("retry_delay_ms"));
    if !limits.is_empty() {
        settings.insert("limits".into(), Value::from_json(&Json::Object(limits).to_string()).unwrap_or_default());
    }
    if own.zone != usual.zone {
        settings.insert("zone".into(), Value::Str(own.zone.clone()));
    }
    settings
}

/// The records with stand-ins.
fn redacted(records: &[Record], redaction: &Redaction) -> Result<Vec<Record>, String> {
    let redacted = records.iter().map(|record| {
        let text = serde_json::to_string(record)?;
        serde_json::from_str(&redaction.apply(&text))
    });
    redacted
        .collect::<Result<_, serde_json::Error>>()
        .map_err(|error| format!("with its stand-ins it is none: {error}"))
}

impl Unsaid {
    fn text(self, begun: &Begun) -> String {
        let Unsaid { seq, what, rest } = self;
        let rest = rest.filter(|rest| *rest < seq).map_or_else(String::new, |rest| {
            format!("; --until {rest} ends where the program last waited before that")
        });
        format!("at {seq} {what}{rest}; playhouse sessions replay {} --from {seq} shows it", begun.session)
    }
}

/// The program's file must be what the session began with.
fn check_text(begun: &Begun, root: &Path) -> Result<(), String> {
    let signatures: Vec<Signature> = begun.tools.iter().map(|tool| tool.to_tool().signature).collect();
    let own = ProgramText { roots: begun.roots.clone(), files: begun.files.clone() };
    match load_files(&[root.to_owned()], &signatures) {
        Ok((now, _)) if now.has_texts_of(&own) => Ok(()),
        Ok(_) => Err(format!("{} has changed since the session", root.display())),
        Err(error) => Err(format!("{error}, with which it began")),
    }
}

/// What was played must be what the session did.
fn check_same(records: &[Record], played: &Played) -> Result<(), String> {
    let timeline = |records: Vec<Record>| Timeline::new(records).map_err(|error| error.to_string());
    let (own, test) = (timeline(records.to_vec())?, timeline(played.journal.snapshot())?);
    let difference = travel::diff(&own, &test).map_err(|error| error.to_string())?;
    let [then, instead] = &difference.then;
    if then.is_empty() && instead.is_empty() && difference.variables.is_empty() {
        return Ok(());
    }
    let text = |steps: &[travel::Step]| {
        let told = steps.iter().find_map(|step| step_text(step).map(|text| format!("{text} ({})", step.point)));
        told.unwrap_or_else(|| "nothing".to_owned())
    };
    let variables: Vec<String> = difference.variables.iter().map(|variable| format!("${}", variable.name)).collect();
    let variables =
        if variables.is_empty() { String::new() } else { format!("; other values: {}", variables.join(", ")) };
    Err(format!(
        "after {} it did this: {}; the test does this: {}{variables}",
        difference.same_up_to[0],
        text(then),
        text(instead)
    ))
}

/// The path as it is written in a file at `from`.
fn relative(from: &Path, to: &Path) -> Result<String, String> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(|cause| format!("{}: {cause}", path.display()));
    let (from, to) = (absolute(from)?, absolute(to)?);
    let folder: Vec<Component<'_>> = from.parent().unwrap_or(Path::new("/")).components().collect();
    let parts: Vec<Component<'_>> = to.components().collect();
    let n_same = folder.iter().zip(&parts).take_while(|(a, b)| a == b).count();
    let up = folder[n_same..].iter().map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(parts[n_same..].iter().copied()).collect();
    Ok(path.display().to_string())
}
