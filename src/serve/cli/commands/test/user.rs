//! One user file (`*.user.md`): played by the embedded model as the program's own, without a network where nobody but
//! written answers speaks.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use super::{TestArguments, Verdict};
use crate::host::coverage::reached;
use crate::host::eval::measured;
use crate::host::eval::user::{self, Ended, UserRun};
use crate::host::judge::transcript::Transcript;
use crate::host::llm::embedded::Embedded;
use crate::serve::cli::machinery::coverage::Gathered;
use crate::serve::cli::machinery::test_session::ChosenClassifier;
use crate::serve::cli::machinery::user_session::UserCase;

/// What is said of a user whom a model must play.
const NOBODY: &str = "somebody must play this user; name a model with --user-model, or play it with `playhouse eval`\n";

/// Plays it. The error says why it cannot be played.
pub(super) async fn run_user(
    arguments: &TestArguments,
    (path, text): (&Path, &str),
    color: bool,
    chosen: &ChosenClassifier<'_>,
    gathered: Option<&RefCell<Gathered>>,
) -> Result<Verdict, String> {
    let case = UserCase::read(path, text, color)?;
    if case.file.person.is_some() && arguments.company.user_model.is_none() {
        return Ok(Verdict::Skipped(NOBODY.to_owned()));
    }
    let played = play(arguments, path, &case, chosen).await?;
    if let Some(gathered) = gathered {
        gathered.borrow_mut().add(&played.run.program, &reached(&played.run));
    }
    let (verdict, told) = case.verdict(&played);
    let conversation = conversation(&played);
    for round in 2..=arguments.repeat {
        let again = play(arguments, path, &case, chosen).await?;
        let (other, told_again) = (self::conversation(&again), case.verdict(&again).1);
        if (&told, &conversation) != (&told_again, &other) {
            let name = path.display();
            return Ok(Verdict::Failed(format!(
                "{name}: run {round} differs from run 1, which was\n{told}{conversation}and is now\n{told_again}{other}"
            )));
        }
    }
    Ok(match verdict {
        measured::Verdict::Passed => Verdict::Passed(if arguments.verbose { conversation } else { String::new() }),
        measured::Verdict::Failed | measured::Verdict::Undecided | measured::Verdict::Invalid => {
            Verdict::Failed(told + &conversation)
        }
    })
}

async fn play(
    arguments: &TestArguments,
    path: &Path,
    case: &UserCase,
    chosen: &ChosenClassifier<'_>,
) -> Result<UserRun, String> {
    let program = path.with_file_name(&case.file.program);
    let mut launch = chosen.launch();
    // Opened for each run: what is scripted begins anew.
    let company = arguments.company.open(&launch, &program, false).await?;
    launch.llm = Some(Arc::new(Embedded));
    let company = user::Company { user: company.user.as_deref(), judge: company.judge.as_ref(), rules: &[] };
    case.play(&program, launch, company).await
}

/// What was said and done, and why it was over.
fn conversation(played: &UserRun) -> String {
    let lines = Transcript::of(&played.run.events).shown().into_iter().map(|line| format!("  {line}\n"));
    let over = match &played.ended {
        Ended::Program => "the program was over".to_owned(),
        Ended::Done(done) => format!("the user left: {done}"),
        Ended::Silent => "the user left: no answer fits what was asked".to_owned(),
        Ended::Stop => "the user had said as much as they may (`stop`)".to_owned(),
        Ended::CutOff(why) => why.clone(),
        Ended::Invalid(why) => format!("it is invalid: {why}"),
    };
    format!("conversation:\n{}  {over}\n", lines.collect::<String>())
}
