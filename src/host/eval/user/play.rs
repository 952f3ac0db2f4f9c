//! One user case is played once: a session of its own, its journal in memory, and somebody who talks with it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::evaluation::checks::{CheckKind, Written};
use playhouse_lang::files::judge_file::TranscriptLine;
use playhouse_lang::files::user_file::{Limit, UserFile};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::Usage;

use super::database::{check_tools, look};
use super::speaker::{Done, Spoken, invented, speak};
use crate::checks::{Checks, ReadSchema, Verdict, Verified, verify};
use crate::events::{PublicBody, PublicEvent};
use crate::journal::memory::MemoryJournal;
use crate::judge::Judge;
use crate::judge::transcript::Transcript;
use crate::launch::{Launch, LaunchError, Opened, Source, StartOptions, inventory};
use crate::llm::answer::NoAnswer;
use crate::llm::{Llm, ModelKind};
use crate::patterns::{Polarity, answer};
use crate::session::{Interest, Notice, SendError, Session, SessionHandle, Subscription, Wanted};
use crate::summary::Summary;
use crate::travel::Run;

/// The id of every played session.
const SESSION: &str = "user";

/// Events of one run that may wait to be read.
const EVENTS: usize = 1_000_000;

/// Who takes part besides the program.
#[derive(Clone, Copy, Default)]
pub struct Company<'a> {
    /// The model that plays the user; none: only written answers speak.
    pub user: Option<&'a dyn Llm>,
    /// Who is asked what checks ask a judge; none: that is undecided.
    pub judge: Option<&'a Judge>,
}

/// What came of a run.
#[derive(Debug)]
pub struct UserRun {
    /// All that happened.
    pub run: Run,
    /// Why it was over.
    pub ended: Ended,
    /// What came of each check; nothing if the run is invalid.
    pub verified: Vec<Verified>,
    /// What the program has cost, and the lines that were left out.
    pub summary: Summary,
    /// Whether a model replied, and not what stands in for one.
    pub is_live: bool,
    /// What user and judge have cost, as far as their prices are known; none: there were none.
    pub cost_of_others: Option<f64>,
}

/// Why a run was over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The program was.
    Program,
    /// The user wants nothing more.
    Done(Done),
    /// No answer fits what was asked last.
    Silent,
    /// The user has said as much as they may.
    Stop,
    /// It was cut off: at its limit, or for want of money; in words.
    CutOff(String),
    /// It says nothing about the program.
    Invalid(Invalid),
}

/// Why a run says nothing about the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The model that played the user made something up.
    #[error("the user's model made up {0:?}, which is neither in the brief nor in the transcript")]
    Invented(String),
    /// What the user said cannot be given to the program, and why.
    #[error("the user's message was not accepted: {0}")]
    Unheard(String),
    /// The model that played the user did not play it.
    #[error("the user's model: {0}")]
    NoAnswer(NoAnswer),
}

/// Why a case cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// The program cannot be opened, or its session failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// What is expected does not fit the program.
    #[error("the checks do not fit the program")]
    Checks(Vec<Diagnostic>),
    /// A model must play the user, and there is none.
    #[error("somebody must play this user; name a model with --user-model")]
    NoUser,
    /// What a run costs cannot be known.
    #[error("`budget` is set, but the prices of {0} are unknown; add them to [prices] of playhouse.toml")]
    NoPrices(Arc<str>),
}

/// What is to be true of all cases of a program, besides what a file expects; and where schemas are read.
pub struct Rules<'a> {
    /// The rules.
    pub written: Vec<Written>,
    /// Reads a schema that a check names.
    pub read: &'a mut ReadSchema<'a>,
}

/// Plays the case once against the program at this path; `launch` says with what it runs.
///
/// # Errors
/// It cannot begin.
pub async fn play(
    file: &UserFile,
    program: &Path,
    launch: &Launch,
    company: Company<'_>,
    rules: Rules<'_>,
) -> Result<UserRun, UserError> {
    if file.person.is_some() && company.user.is_none() {
        return Err(UserError::NoUser);
    }
    let opened = launch.open(Source::Files(&[program.to_owned()])).await?;
    let played = play_in(file, &opened, company, rules).await;
    opened.close().await;
    played
}

async fn play_in(
    file: &UserFile,
    opened: &Opened,
    company: Company<'_>,
    rules: Rules<'_>,
) -> Result<UserRun, UserError> {
    let checks = checks(file, opened, rules)?;
    if file.budget.is_some() {
        let llms = [Some(&*opened.world.llm), company.user, company.judge.map(Judge::llm)];
        let unpriced =
            |llm: &&dyn Llm| llm.kind() == ModelKind::Live && opened.world.options.prices.of(&llm.id()).is_none();
        if let Some(llm) = llms.into_iter().flatten().find(unpriced) {
            return Err(UserError::NoPrices(llm.id()));
        }
    }
    let options = StartOptions { id: SESSION.into(), entry: None, arguments: Map::new() };
    let session = opened.start(Box::new(MemoryJournal::new()), options)?;
    let mut player = Player::new(file, opened, company.user);
    let (ended, summary) = player.perform(session).await?;
    let run = Run::listened(SESSION.into(), opened.program.clone(), std::mem::take(&mut player.events));
    let mut verified = Vec::new();
    if !matches!(ended, Ended::Invalid(_)) {
        verified = verify(&checks, &run);
        verified.extend(look(&file.database, opened, &run.session, run.events.len().saturating_sub(1)).await);
    }
    if let Ended::CutOff(why) = &ended {
        let kinds = checks.written().map(|written| Some(&written.check.kind)).chain(std::iter::repeat(None));
        verified.iter_mut().zip(kinds).for_each(|(verified, kind)| cut_off(verified, kind, why));
    }
    let mut usage_of_judge = Usage::default();
    if let Some(judge) = company.judge {
        usage_of_judge = judge.settle(&run, &mut verified).await;
    }
    let cost_of_judge = company.judge.map(|judge| player.cost(judge.llm(), usage_of_judge));
    let costs: Vec<f64> = company.user.map(|_| player.cost_of_user()).into_iter().chain(cost_of_judge).collect();
    let cost_of_others = (!costs.is_empty()).then(|| costs.iter().sum());
    let is_live = opened.world.llm.kind() == ModelKind::Live;
    Ok(UserRun { run, ended, verified, summary, is_live, cost_of_others })
}

/// The checks of the file, and the rules of its program.
fn checks(file: &UserFile, opened: &Opened, Rules { mut written, read }: Rules<'_>) -> Result<Checks, UserError> {
    written.splice(0..0, file.checks.iter().cloned());
    let mut findings = check_tools(&file.database, &opened.world.tools);
    match Checks::new(written, &opened.program, &inventory(&opened.world.tools), read) {
        Ok(checks) if findings.is_empty() => Ok(checks.with_prices(opened.world.options.prices.clone())),
        Ok(_) => Err(UserError::Checks(findings)),
        Err(more) => {
            findings.extend(more);
            Err(UserError::Checks(findings))
        }
    }
}

/// In a run that was cut off nothing is known of its end: neither what is asked of that, nor whether what is missing would
/// have come.
fn cut_off(verified: &mut Verified, kind: Option<&CheckKind>, why: &str) {
    let is_of_end = match kind {
        // What is no check is a look at the database.
        None | Some(CheckKind::AtEnd(_) | CheckKind::Matches { .. } | CheckKind::Judge(_)) => true,
        Some(
            CheckKind::Happens(_)
            | CheckKind::Never(_)
            | CheckKind::Times(..)
            | CheckKind::AtMost { .. }
            | CheckKind::OnlyAfter(..)
            | CheckKind::OnlyKnowing(..)
            | CheckKind::OnlyIf(..)
            | CheckKind::After { .. }
            | CheckKind::FollowedBy { .. }
            | CheckKind::Bounded { .. },
        ) => false,
    };
    if is_of_end || matches!(verified.verdict, Verdict::Open { .. }) {
        verified.question = None;
        verified.verdict = Verdict::Undecided { why: why.to_owned() };
    }
}

/// Somebody who talks with a program.
struct Player<'a> {
    file: &'a UserFile,
    user: Option<&'a dyn Llm>,
    opened: &'a Opened,
    events: Vec<PublicEvent>,
    transcript: Transcript,
    /// Whether the question that waits for an answer wants a yes or a no.
    wants_consent: bool,
    has_opened: bool,
    n_messages: usize,
    n_turns: u64,
    usage: Usage,
    usage_of_user: Usage,
    /// They are, once what they said last has been heard.
    done: Option<Done>,
}

impl<'a> Player<'a> {
    fn new(file: &'a UserFile, opened: &'a Opened, user: Option<&'a dyn Llm>) -> Player<'a> {
        Player {
            file,
            user,
            opened,
            events: Vec::new(),
            transcript: Transcript::default(),
            wants_consent: false,
            has_opened: false,
            n_messages: 0,
            n_turns: 0,
            usage: Usage::default(),
            usage_of_user: Usage::default(),
            done: None,
        }
    }

    /// Talks with the session until one of them has enough.
    async fn perform(&mut self, mut session: Session) -> Result<(Ended, Summary), LaunchError> {
        let mut events = session.subscribe(Interest::Everything { capacity: EVENTS });
        let handle = session.spawn();
        let ended = self.talk(&handle, &mut events).await;
        handle.stop().await;
        while let Some(notice) = events.next().await {
            // What the session still did when it was cut off already is not of the run.
            if !matches!(ended, Ended::CutOff(_)) {
                self.note(notice);
            }
        }
        let ending = handle.outcome().await.map_err(|error| LaunchError::Model(error.to_string()))?;
        Ok((ended, ending.summary.clone()))
    }

    async fn talk(&mut self, handle: &SessionHandle, events: &mut Subscription) -> Ended {
        let Limit::Time(ms) = self.file.limit else { return self.talk_on(handle, events).await };
        let time = Duration::from_millis(ms);
        match tokio::time::timeout(time, self.talk_on(handle, events)).await {
            Ok(ended) => ended,
            Err(_) => Ended::CutOff(format!("it was cut off after {} s (`limit`)", time.as_secs_f64())),
        }
    }

    async fn talk_on(&mut self, handle: &SessionHandle, events: &mut Subscription) -> Ended {
        while let Some(notice) = events.next().await {
            let wanted = self.note(notice);
            if let Some(why) = self.excess() {
                return Ended::CutOff(why);
            }
            let Some(wanted) = wanted else { continue };
            let words = match self.words(wanted).await {
                Ok(words) => words,
                Err(ended) => return ended,
            };
            self.n_messages += 1;
            match self.give(handle, wanted, &words).await {
                // It would wait for ever.
                Err(error @ (SendError::TooLarge { .. } | SendError::Busy)) => {
                    return Ended::Invalid(Invalid::Unheard(error.to_string()));
                }
                // A session that has ended, or wants something else by now, says so by its events.
                Ok(()) | Err(SendError::Gone(_) | SendError::Refused(_)) => {}
            }
        }
        Ended::Program
    }

    /// Keeps what has happened; gives what the user is asked for.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is none of a user's business")]
    fn note(&mut self, notice: Notice) -> Option<Wanted> {
        let Notice::Event(event) = notice else { return None };
        self.transcript.note(&event);
        self.events.push(PublicEvent::clone(&event));
        match &event.body {
            PublicBody::TurnStarted { .. } => self.n_turns += 1,
            PublicBody::TurnFinished { prompt_tokens, cached_tokens, completion_tokens, .. } => {
                let (prompt_tokens, cached_tokens) = (*prompt_tokens, *cached_tokens);
                self.usage += Usage { prompt_tokens, cached_tokens, completion_tokens: *completion_tokens };
            }
            PublicBody::ApprovalAsked { by_tool, .. } => self.wants_consent = !by_tool,
            PublicBody::Waiting { on } => return Wanted::of(on),
            _ => {}
        }
        None
    }

    /// Why the run is to be cut off.
    fn excess(&self) -> Option<String> {
        if let Limit::Turns(most) = self.file.limit
            && self.n_turns > most
        {
            return Some(format!("it was cut off after {most} turns (`limit`)"));
        }
        let spent = self.cost(&*self.opened.world.llm, self.usage) + self.cost_of_user();
        let budget = self.file.budget.filter(|budget| spent > *budget)?;
        Some(format!("it was cut off when more than {budget} was spent (`budget`)"))
    }

    fn cost_of_user(&self) -> f64 {
        self.user.map_or(0.0, |user| self.cost(user, self.usage_of_user))
    }

    fn cost(&self, llm: &dyn Llm, usage: Usage) -> f64 {
        self.opened.world.options.prices.cost(&llm.id(), &usage).unwrap_or(0.0)
    }

    /// What the user says next; or that it is over.
    async fn words(&mut self, wanted: Wanted) -> Result<Arc<str>, Ended> {
        let is_question = matches!(wanted, Wanted::Approval(_));
        if let Some(done) = self.done.filter(|_| !is_question) {
            return Err(Ended::Done(done));
        }
        if self.n_messages >= self.file.stop.get() {
            return Err(Ended::Stop);
        }
        if let Some(opens) = self.file.opens.as_ref().filter(|_| !is_question && !self.has_opened) {
            self.has_opened = true;
            return Ok(opens.clone());
        }
        if let Some(says) = self.file.answer(&self.transcript.unanswered()) {
            return Ok(says.clone());
        }
        let (Some(person), Some(user)) = (&self.file.person, self.user) else { return Err(Ended::Silent) };
        let spoken = self.transcript.spoken();
        let timeout = self.opened.world.options.turn_timeout;
        let (reply, usage) = speak(user, timeout, (person, &spoken), is_question).await;
        self.usage_of_user += usage;
        let Spoken { say, done } = reply.map_err(|error| Ended::Invalid(Invalid::NoAnswer(error)))?;
        if let Some(what) = invented(&say, person, &spoken) {
            return Err(Ended::Invalid(Invalid::Invented(what)));
        }
        match done {
            Some(done) if say.is_empty() => Err(Ended::Done(done)),
            // Whoever is asked something answers that, and says later whether it is over; who has said so before stays
            // with it.
            done => {
                self.done = self.done.or(done.filter(|_| !is_question));
                Ok(say.into())
            }
        }
    }

    async fn give(&mut self, handle: &SessionHandle, wanted: Wanted, words: &Arc<str>) -> Result<(), SendError> {
        let Wanted::Approval(call) = wanted else { return wanted.give(handle, words).await };
        self.transcript.push(TranscriptLine::User(words.clone()));
        // "Yes, please": people, and models that play them, say more than a word.
        if self.wants_consent && answer(words) == Some(Polarity::Yes) {
            return Ok(handle.approve(call, Value::Bool(true)).await?);
        }
        wanted.give(handle, words).await
    }
}
