//! Tests that are debugged: the program runs with what the test says and replies, and at the end it is told what differs.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::diagnostic::render;
use crate::host::config::Environment;
use crate::host::debuggee::{Ground, Launcher};
use crate::host::tasks;
use crate::lang::files::test_file::TestFile;
use crate::serve::cli::commands::test::checked::checked;
use crate::serve::cli::commands::test::compare::{Compared, compare};
use crate::serve::cli::machinery::beside::read_by;
use crate::serve::cli::machinery::test_session::{Begun, ChosenClassifier, Played, begin};
use crate::serve::dap::{Launched, Subject};
use crate::serve::report::TestVerdict;
use crate::span::Sources;

/// Opens the test at `path`. The error is for people.
pub(super) async fn launch_test(
    path: &Path,
    classifier: Option<&str>,
    environment: &Environment,
) -> Result<Launched, String> {
    let (test, sources) = read_by(path, false, TestFile::parse)?;
    let chosen = ChosenClassifier { id: classifier, environment };
    let mut begun = begin(path, &test, &chosen).await?;
    let heard = begun.hear();
    let Begun { session, opened, script } = begun;
    let subject = Subject { program: opened.program.clone(), is_plan: opened.is_plan(None) };
    let (told, verdict) = oneshot::channel();
    let (closed, closing) = oneshot::channel();
    let path = path.to_owned();
    // Beside the debugger, which holds the session where it wants.
    tasks::spawn(async move {
        let played = script.perform(&path, &test, heard, &opened).await;
        let verdict = match played {
            Ok(played) => judged(&path, &test, &played, sources).await,
            Err(why) => Err(format!("{}\n", why.trim_end())),
        };
        let _ = told.send(verdict);
        opened.close().await;
        let _ = closed.send(());
    });
    let gone = |_| Err("the test was given up\n".to_owned());
    Ok(Launched {
        session,
        subject,
        launcher: Arc::new(NoFork),
        remarks: Vec::new(),
        warnings: Vec::new(),
        verdict: Some(Box::pin(async move { verdict.await.unwrap_or_else(gone) })),
        closing: Box::pin(async move { closing.await.unwrap_or_default() }),
    })
}

/// What differs from what the test expects, for people.
async fn judged(path: &Path, test: &TestFile, played: &Played, mut sources: Sources) -> Result<(), String> {
    let name = path.display().to_string();
    let differences = compare(&name, test, &played.stretches, Compared::All);
    let problems = played.problems.iter().map(|problem| format!("{problem}\n"));
    let mut text: String = problems.chain(differences.into_iter().map(|(_, text)| text)).collect();
    let checked = checked(path, test, played, &mut sources, None).await;
    checked.findings.iter().for_each(|(_, findings)| text.push_str(&render(findings, &sources, false)));
    let cases = checked.cases(&sources, &name);
    // Nobody is asked here what a judge is asked.
    cases.filter(|case| case.verdict == TestVerdict::Failed).for_each(|case| text.push_str(&case.text));
    if text.is_empty() { Ok(()) } else { Err(text) }
}

/// A test's replies are those of one way.
struct NoFork;

impl Launcher for NoFork {
    fn ground(&self) -> BoxFuture<'_, Result<Ground, String>> {
        let why = "a test has replies for one course only, so its past can be viewed but not changed; to change it, \
                   debug the program itself";
        Box::pin(async move { Err(why.to_owned()) })
    }
}
