//! `test --record`: a test is played with a live model and live tools, and what they answer is kept beside it.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::render;
use crate::host::cassette::file::{Cassette, write_whole};
use crate::host::cassette::recording::{Case, record};
use crate::host::cassette::redact::Redaction;
use crate::host::cassette::take::{Counts, Mode, Take};
use crate::host::config::FileConfig;
use crate::host::secrets::Secrets;
use crate::lang::files::test_file::TestFile;
use crate::lang::program::Program;
use crate::serve::cli::machinery::recorded_test::{path_of, take_beside, take_with};
use crate::serve::cli::machinery::test_session::{ChosenClassifier, Played, play_with};
use crate::span::Sources;

/// A test that has been recorded.
pub(super) struct Recorded {
    /// Its text, perhaps with stand-ins.
    pub(super) text: String,
    /// The same, read.
    pub(super) test: TestFile,
    /// What happened, as it will happen again.
    pub(super) played: Played,
    /// What was asked, for people.
    pub(super) report: String,
}

/// Records the test at `path`; `model` is the one that was chosen, if one was. Nothing is written unless the recording
/// replays.
///
/// # Errors
/// Why there is no recording; in words.
pub(super) async fn record_test(
    path: &Path,
    (text, test): (&str, &TestFile),
    chosen: &ChosenClassifier<'_>,
    mode: Mode,
    model: Option<&str>,
) -> Result<Recorded, String> {
    let name = path.display().to_string();
    let unkept = |why: String| format!("{name}: {why}; nothing was written");
    let take = take_beside(path, test, mode)?;
    let mut launch = chosen.launch_to_record(model);
    launch.take = Some(take.clone());
    let secrets = launch.workshop.secrets.clone();
    let played = play_with(path, &path.with_file_name(&test.program), test, launch).await?;
    let program = played.run.as_ref().map(|run| run.program.clone());
    let program = program.ok_or_else(|| unkept("the program was refused, so there is nothing to record".to_owned()))?;
    let (cassette, redaction) = cassette_of(path, (text, test), &program, &take, &secrets, false).map_err(unkept)?;
    let text = redaction.apply(text);
    let test = reread(&name, &text)?;
    let missing = check_arguments(&test, &take, &cassette).map_err(unkept)?;
    // Tools that are not recorded would be called once more.
    let played = if test.live_tools || missing.is_some() {
        played
    } else {
        replay(path, &test, chosen, &cassette)
            .await
            .map_err(|why| unkept(format!("the recording cannot be replayed: {why}")))?
    };
    keep(&path_of(path), &cassette.render())?;
    keep(path, &text)?;
    match missing {
        Some(missing) => Err(format!("{name}: recorded, but cannot be replayed yet: {missing}")),
        None => {
            let report = report(take.counts(), &take, &cassette) + &public(redaction.n_public());
            Ok(Recorded { report, text, test, played })
        }
    }
}

/// The cassette of what a take was told, and what has to be done with the test's text, too. `is_exact`: everything is to
/// happen again.
///
/// # Errors
/// Something has no stand-in, or a secret would be in it; in words.
pub(in crate::serve::cli::commands) fn cassette_of(
    path: &Path,
    (text, test): (&str, &TestFile),
    program: &Program,
    take: &Arc<Take>,
    secrets: &Secrets,
    is_exact: bool,
) -> Result<(Cassette, Redaction), String> {
    let file = FileConfig::find(None, Some(&path.with_file_name(&test.program))).map_err(|error| error.to_string())?;
    if test.live_tools && !file.redact.is_empty() {
        return Err(
            "the answers of live tools cannot be redacted; remove `redact` from playhouse.toml, or `- tools: live` \
             from the test"
                .to_owned(),
        );
    }
    let case = Case {
        rules: &file.redact,
        text,
        public: &public_text(path, test, program),
        declared: &declared_secrets(program),
        secrets,
        is_exact,
    };
    record(std::slice::from_ref(take), &case)
}

/// What is no secret of anybody's: the program's text, and tools that are written down.
fn public_text(path: &Path, test: &TestFile, program: &Program) -> String {
    let sources = program.sources.iter().map(|(_, file)| file.text.to_string());
    let canned = test.tools.iter().filter_map(|file| std::fs::read_to_string(path.with_file_name(file)).ok());
    sources.chain(canned).collect::<Vec<_>>().join("\n")
}

fn declared_secrets(program: &Program) -> Vec<Arc<str>> {
    let variables = program.agents.iter().flat_map(|agent| &agent.variables);
    variables.filter(|variable| variable.secret).map(|variable| variable.name.clone()).collect()
}

pub(in crate::serve::cli::commands) fn reread(name: &str, text: &str) -> Result<TestFile, String> {
    let mut sources = Sources::default();
    let file = sources.add(name, text);
    TestFile::parse(file, text).map_err(|findings| {
        format!(
            "after redaction the test is no longer valid; nothing was written\n{}",
            render(&findings, &sources, false)
        )
    })
}

/// An argument stands for each secret result; what is said of one that is not there.
///
/// # Errors
/// One was the program's while it was recorded.
fn check_arguments(test: &TestFile, take: &Take, cassette: &Cassette) -> Result<Option<String>, String> {
    let mut missing = None;
    for name in cassette.secrets() {
        if !test.arguments.contains_key(name) {
            missing = missing.or_else(|| {
                Some(format!(
                    "a result is secret and is not recorded; write `- argument {name}: VALUE` (any value of its type)"
                ))
            });
        } else if take.secret(name).is_none() {
            return Err(format!(
                "the test gives the argument `{name}`, which will stand for a secret result from now on; remove that \
                 line, record, and write it again"
            ));
        }
    }
    Ok(missing)
}

/// Plays the test with what was recorded, and nothing else.
pub(in crate::serve::cli::commands) async fn replay(
    path: &Path,
    test: &TestFile,
    chosen: &ChosenClassifier<'_>,
    cassette: &Cassette,
) -> Result<Played, String> {
    let take = take_with(path, test, Mode::Replay, cassette.clone());
    let mut launch = chosen.launch();
    launch.take = Some(take.clone());
    let played = play_with(path, &path.with_file_name(&test.program), test, launch).await?;
    if take.has_used_all() {
        Ok(played)
    } else {
        Err("it asks less the second time; does something in the program depend on the time?".to_owned())
    }
}

/// Writes what is not there already.
fn keep(path: &Path, text: &str) -> Result<(), String> {
    if std::fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    write_whole(path, text).map_err(|cause| format!("{}: cannot write: {cause}; make it writable", path.display()))
}

/// What is said of values that have no stand-in though a rule means them.
fn public(n: usize) -> String {
    match n {
        0 => String::new(),
        1 => "1 value is in the program's own text, so it is not redacted\n".to_owned(),
        n => format!("{n} values are in the program's own text, so they are not redacted\n"),
    }
}

/// `recorded: 2 of 5 requests and 0 of 1 calls were made, 3 entries are gone`.
fn report(counts: Counts, take: &Take, cassette: &Cassette) -> String {
    let Counts { n_requests, n_new_requests, n_calls, n_new_calls } = counts;
    let n_kept = (n_requests - n_new_requests) + (n_calls - n_new_calls);
    let n_gone = take.cassette().entries.len().saturating_sub(n_kept);
    let gone = match n_gone {
        0 => String::new(),
        1 => ", 1 entry removed".to_owned(),
        n => format!(", {n} entries removed"),
    };
    let of_calls = if n_calls == 0 { String::new() } else { format!(" and {n_new_calls} of {n_calls} calls") };
    format!("recorded with {}: made {n_new_requests} of {n_requests} requests{of_calls}{gone}\n", cassette.model)
}
