//! A case: a file that is played so often. A conversation's user lines are written, a user is played; a model takes the
//! place of the one that the file would have.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::render;
use crate::host::checks::Verified;
use crate::host::eval::measured::{Trial, Verdict};
use crate::host::eval::part::steps;
use crate::host::eval::schedule::Attempt;
use crate::host::eval::user::{self, ENDING as USER, Ended, Invalid};
use crate::host::events::PublicBody;
use crate::host::launch::{Choices, Launch, Workshop};
use crate::host::llm::Llm;
use crate::host::llm::answer::NoAnswer;
use crate::host::llm::script::{Repeat, Script, ScriptEntry};
use crate::host::summary::Summary;
use crate::host::text::text_hash;
use crate::host::travel::Run;
use crate::lang::SourceText;
use crate::lang::files::test_file::{ExpectedOutcome, TestFile, TestStepKind};
use crate::lang::kind::TEST;
use crate::serve::cli::commands::test::checked::{asks_judge, checked};
use crate::serve::cli::commands::test::compare::{Compared, compare};
use crate::serve::cli::machinery::beside::{read, read_by};
use crate::serve::cli::machinery::company::Company;
use crate::serve::cli::machinery::rules_file::RULES;
use crate::serve::cli::machinery::test_session::play_with;
use crate::serve::cli::machinery::user_session::UserCase;
use crate::serve::report::{CaseReport, TestVerdict};
use crate::span::Sources;
use crate::vm::protocol::fault::FaultKind;

/// How the names of cases end.
pub(super) const ENDINGS: [&str; 2] = [TEST, USER];

/// One case.
pub(super) struct Case {
    path: PathBuf,
    /// A name for its text.
    pub(super) hash: String,
    kind: CaseKind,
}

/// The kinds of cases.
enum CaseKind {
    /// What the user says is written.
    Conversation(Box<TestFile>, Sources),
    /// Somebody plays the user.
    User(Box<UserCase>),
}

/// With what a case is played.
pub(super) struct Cast<'a> {
    /// What the process has.
    pub(super) workshop: &'a Workshop,
    /// Who replies.
    pub(super) player: Player<'a>,
    /// The program: the case's own, or what stands in its place.
    pub(super) program: &'a Path,
    /// A text in place of the one that one of its files has.
    pub(super) changed: Option<&'a Arc<SourceText>>,
    /// Who plays users and judges.
    pub(super) company: &'a Company,
}

/// Who replies to a program.
#[derive(Clone, Copy)]
pub(super) enum Player<'a> {
    /// The model with this id; none: the one that is configured.
    Model(Option<&'a str>),
    /// One that does nothing but end: what passes with it passes without a program.
    Idle,
}

impl Case {
    /// Reads a case. The error is for people.
    pub(super) fn read(path: &Path, color: bool) -> Result<Case, String> {
        let name = path.display().to_string();
        if !ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            return Err(format!("{name}: this is not a case; the names of cases end in {}", ENDINGS.join(" or ")));
        }
        let hash = text_hash([("", read(path)?.as_str())]);
        let kind = if name.ends_with(USER) {
            CaseKind::User(Box::new(UserCase::read(path, color)?))
        } else {
            let (test, sources) = read_by(path, color, TestFile::parse)?;
            CaseKind::Conversation(Box::new(test), sources)
        };
        Ok(Case { path: path.to_owned(), hash, kind })
    }

    /// Whether a model must play the user.
    pub(super) fn needs_user_model(&self) -> bool {
        match &self.kind {
            CaseKind::Conversation(..) => false,
            CaseKind::User(user) => user.file.person.is_some(),
        }
    }

    /// Whether something is asked of a judge.
    pub(super) fn asks_judge(&self) -> bool {
        match &self.kind {
            CaseKind::Conversation(test, _) => asks_judge(&self.path, test),
            CaseKind::User(user) => user.asks_judge(),
        }
    }

    /// The file, as it was given.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The program that it is about.
    pub(super) fn program(&self) -> PathBuf {
        match &self.kind {
            CaseKind::Conversation(test, _) => self.path.with_file_name(&test.program),
            CaseKind::User(user) => self.path.with_file_name(&user.file.program),
        }
    }

    /// Whether anything of it counts whatever the wording is. What nothing is asked of passes always; a program that is
    /// refused asks no model.
    pub(super) fn can_fail(&self) -> bool {
        let counts = |kind: &TestStepKind| {
            if let TestStepKind::ExpectOutcome(outcome) = kind {
                !matches!(outcome, ExpectedOutcome::Refused { .. })
            } else {
                kind.is_expected() && !matches!(kind, TestStepKind::ExpectSay(_))
            }
        };
        match &self.kind {
            CaseKind::Conversation(test, _) => test.steps.iter().any(|step| counts(&step.kind)),
            // One of which nothing is expected is none.
            CaseKind::User(_) => true,
        }
    }

    /// Plays it once. The error says why it cannot begin.
    pub(super) async fn play(&self, cast: &Cast<'_>) -> Result<Attempt, String> {
        match &self.kind {
            CaseKind::Conversation(test, sources) => {
                let played = play_with(&self.path, cast.program, test, cast.launch()).await?;
                let differences = compare(&self.name(), test, &played.stretches, Compared::ButSpeech);
                let mut why: String = differences.into_iter().map(|(_, text)| text).collect();
                let mut sources = sources.clone();
                let checked = checked(&self.path, test, &played, &mut sources, cast.company.judge.as_ref()).await;
                checked.findings.iter().for_each(|(_, findings)| why.push_str(&render(findings, &sources, false)));
                let (undecided, failed): (Vec<CaseReport>, Vec<CaseReport>) =
                    checked.cases(&sources, &self.name()).partition(|case| case.verdict == TestVerdict::Undecided);
                failed.iter().for_each(|case| why.push_str(&case.text));
                let verdict = match (why.is_empty(), undecided.is_empty()) {
                    (true, true) => Verdict::Passed,
                    (true, false) => Verdict::Undecided,
                    (false, _) => Verdict::Failed,
                };
                undecided.iter().for_each(|case| why.push_str(&case.text));
                let came = (verdict, why, broken_rule(&checked.verified, &sources));
                let attempt = attempt(played.run.as_ref(), &played.summary, played.is_live, came);
                Ok(Attempt { cost_of_others: checked.cost_of_judge, ..attempt })
            }
            CaseKind::User(user) => self.play_user(user, cast).await,
        }
    }

    async fn play_user(&self, case: &UserCase, cast: &Cast<'_>) -> Result<Attempt, String> {
        // Where nothing is done, nobody is paid for talking with it.
        let silent = matches!(cast.player, Player::Idle).then(silent);
        let user = silent.as_ref().or(cast.company.user.as_ref());
        let company = user::Company { user: user.map(|user| &**user), judge: cast.company.judge.as_ref() };
        let played = case.play(cast.program, cast.launch(), company).await?;
        let (verdict, why) = case.verdict(&played);
        let came = (verdict, why, broken_rule(&played.verified, &case.sources));
        let attempt = attempt(Some(&played.run), &played.summary, played.is_live, came);
        let is_unreachable = matches!(played.ended, Ended::Invalid(Invalid::NoAnswer(NoAnswer::Unreachable(_))));
        let is_transient = attempt.is_transient || is_unreachable;
        Ok(Attempt { cost_of_others: played.cost_of_others, is_transient, ..attempt })
    }
}

impl Cast<'_> {
    /// A launch with it.
    fn launch(&self) -> Launch {
        let model = match self.player {
            Player::Model(id) => id.map(str::to_owned),
            Player::Idle => None,
        };
        let llm = matches!(self.player, Player::Idle).then(idle);
        let changed = self.changed.cloned();
        Launch { llm, changed, ..Launch::new(self.workshop.clone(), Choices { model, ..Choices::default() }) }
    }
}

/// The model that only ends.
fn idle() -> Arc<dyn Llm> {
    always("idle", r#"{"end":true}"#)
}

/// A user who says nothing but what is written.
fn silent() -> Arc<dyn Llm> {
    always("silent", r#"{"say":"","done":"gave up"}"#)
}

fn always(name: &str, reply: &str) -> Arc<dyn Llm> {
    let entry = ScriptEntry { repeat: Repeat::Always, ..ScriptEntry::reply(reply) };
    Arc::new(Script::from_entries(name, vec![entry]))
}

/// What came of a session: how it came out, why, and which rule was broken.
fn attempt(
    run: Option<&Run>,
    summary: &Summary,
    is_live: bool,
    (verdict, why, broken_rule): (Verdict, String, Option<Arc<str>>),
) -> Attempt {
    let unreachable = run.and_then(unreachable);
    let is_transient = unreachable.is_some();
    let (verdict, why) = unreachable.map_or((verdict, why), |reason| (Verdict::Invalid, reason));
    let why = (verdict != Verdict::Passed).then_some(why);
    let model_ms = is_live.then_some(summary.model_ms);
    let trial =
        Trial { verdict, why, cost: summary.cost, model_ms, broken_rule, steps: run.map(steps).unwrap_or_default() };
    Attempt { trial, cost_of_others: None, is_transient }
}

/// The first of the rules that was broken; checks of the case are none.
fn broken_rule(verified: &[Verified], sources: &Sources) -> Option<Arc<str>> {
    let is_rule = |verified: &&Verified| sources.get(verified.file).is_some_and(|file| file.name.ends_with(RULES));
    verified
        .iter()
        .filter(is_rule)
        .find(|verified| verified.verdict.is_no_at_end())
        .map(|verified| verified.label.clone())
}

/// Why the model could not be asked, if the session ended for that: it says nothing about the program.
fn unreachable(run: &Run) -> Option<String> {
    run.events.iter().rev().find_map(|event| {
        let PublicBody::Failed { fault: FaultKind::Model, message } = &event.body else { return None };
        Some(message.to_string())
    })
}
