//! One user file (`*.user.md`): played by the embedded model as the program's own, without a network where nobody but
//! written answers speaks.

use std::path::Path;
use std::sync::Arc;

use super::checked::case_of;
use super::options::Options;
use crate::host::checks::Verified;
use crate::host::coverage::reached;
use crate::host::eval::user::{self, Ended, UserRun};
use crate::host::judge::transcript::Transcript;
use crate::host::llm::embedded::Embedded;
use crate::serve::cli::machinery::test_session::ChosenClassifier;
use crate::serve::cli::machinery::user_session::UserCase;
use crate::serve::report::{CaseReport, FileReport, Problem, TestVerdict};

/// What is said of a user whom a model must play.
const NOBODY: &str = "a model must play this user; name one with --user-model, or run it with `playhouse eval`\n";

/// What a case is called in reports whose title is not known.
const CASE: &str = "user";

/// Plays it.
pub(super) async fn run_user(path: &Path, options: Options<'_>, chosen: &ChosenClassifier<'_>) -> FileReport {
    let mut report = FileReport::new(path.display().to_string());
    if let Err(why) = try_run(path, options, chosen, &mut report).await {
        let title = if report.title.is_empty() { CASE } else { &report.title };
        let problem = Problem::told(&report.path, &why);
        report.cases = vec![CaseReport::failed(title, why, vec![problem])];
    }
    report
}

/// The error says why it cannot be played, or that it is not always the same.
async fn try_run(
    path: &Path,
    options: Options<'_>,
    chosen: &ChosenClassifier<'_>,
    report: &mut FileReport,
) -> Result<(), String> {
    let case = UserCase::read(path, options.color)?;
    report.title.clone_from(&case.file.title);
    if case.file.person.is_some() && options.company.user_model.is_none() {
        *report = FileReport::skipped(report.path.clone(), &*report.title, NOBODY);
        return Ok(());
    }
    let played = play(path, &case, options, chosen).await?;
    if let Some(gathered) = options.gathered {
        gathered.borrow_mut().add(&played.run.program, &reached(&played.run));
    }
    let told = conversation(&played);
    for round in 2..=options.repeat {
        let again = play(path, &case, options, chosen).await?;
        let other = conversation(&again);
        let (first, second) = (verdicts(&played), verdicts(&again));
        if (&told, &first) != (&other, &second) {
            let name = path.display();
            return Err(format!(
                "{name}: run {round} differs from run 1, which was\n{first}{told}and is now\n{second}{other}"
            ));
        }
    }
    match &played.ended {
        Ended::Invalid(why) => {
            let text = format!("{}: {why}\n", report.path);
            let problem = Problem::told(&report.path, &text);
            report.cases.push(CaseReport::failed(&*report.title, text, vec![problem]));
        }
        Ended::Program | Ended::Done(_) | Ended::Silent | Ended::Stop | Ended::CutOff(_) => {
            report.cases.extend(played.verified.iter().map(|verified| case_of(verified, &case.sources, &report.path)));
        }
    }
    if options.verbose || report.verdict() != TestVerdict::Passed {
        report.details = told;
    }
    report.transcript = Transcript::of(&played.run.events);
    Ok(())
}

/// What did not hold, a line each.
fn verdicts(played: &UserRun) -> String {
    let told = |verified: &Verified| Some(format!("{}: {}\n", verified.text, verified.verdict.told_at_end()?));
    played.verified.iter().filter_map(told).collect()
}

async fn play(
    path: &Path,
    case: &UserCase,
    options: Options<'_>,
    chosen: &ChosenClassifier<'_>,
) -> Result<UserRun, String> {
    let program = path.with_file_name(&case.file.program);
    let mut launch = chosen.launch();
    // Opened for each run: what is scripted begins anew.
    let company = options.company.open(&launch, &program, false).await?;
    launch.llm = Some(Arc::new(Embedded));
    let company = user::Company { user: company.user.as_deref(), judge: company.judge.as_ref() };
    case.play(&program, launch, company).await
}

/// What was said and done, and why it was over.
fn conversation(played: &UserRun) -> String {
    let lines = Transcript::of(&played.run.events).shown().into_iter().map(|line| format!("  {line}\n"));
    let over = match &played.ended {
        Ended::Program => "the program was over".to_owned(),
        Ended::Done(done) => format!("the user left: {done}"),
        Ended::Silent => "the user left: no answer fits the question".to_owned(),
        Ended::Stop => "the user had said as much as allowed (`stop`)".to_owned(),
        Ended::CutOff(why) => why.clone(),
        Ended::Invalid(_) => "it is invalid".to_owned(),
    };
    format!("conversation:\n{}  {over}\n", lines.collect::<String>())
}
