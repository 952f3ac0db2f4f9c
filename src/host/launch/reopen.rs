//! A session that is kept and goes on: with what it was begun with, or with another text of its program.

use std::path::PathBuf;
use std::sync::Arc;

use playhouse_lang::analysis::diff::changes::ProgramChanges;
use playhouse_lang::program::{Program, Signature};
use playhouse_vm::protocol::Outcome;

use crate::journal::address::Address;
use crate::journal::record::{Begun, GivenFiles, Record};
use crate::launch::error::LaunchError;
use crate::launch::models::BegunWith;
use crate::launch::open::{Opened, Source};
use crate::launch::tools::first_file;
use crate::launch::workshop::{Choices, Launch, Remark};
use crate::program::{KnownTools, ProgramText, load_files};
use crate::replay::{Stop, begun_of, last_text, replay};
use crate::session::{Kept, Session, SessionError};
use crate::tool::registry::Registry;

/// Which session goes on, and with which text.
pub struct Reopening<'a> {
    /// Its journal.
    pub address: &'a Address,
    /// Its id, as it was given.
    pub id: &'a str,
    /// The program's files as they are now; none: those it began with are looked at, if they are there.
    pub files: &'a [PathBuf],
    /// Whether the session is to go on with their text.
    pub migrate: bool,
}

/// A session that can go on.
pub struct Reopened {
    /// What it goes on with.
    pub opened: Opened,
    /// What is different in the files from what the session has; none: nothing.
    pub changes: Option<ProgramChanges>,
    /// What it was begun with.
    pub begun: Begun,
    /// Whether it goes on with the text of the files.
    pub migrates: bool,
    kept: Kept,
}

impl Launch {
    /// Opens what a kept session goes on with. Its journal is held from now on.
    ///
    /// # Errors
    /// The journal cannot be read or is held by another process, a file or a tool that the session was begun with is
    /// gone, or as for [`Launch::open`].
    pub async fn reopen(&self, wanted: Reopening<'_>) -> Result<Reopened, LaunchError> {
        // Opened first: whoever else holds it is more important than anything that could be wrong here.
        let kept = Kept::read(wanted.address.open().await?).await?;
        let records = kept.records();
        let begun = begun_of(records)?;
        wanted.address.check(records)?;
        let (text, signatures) = kept_text(records)?;
        let program = Arc::new(text.load(&signatures).program);
        let skills = self.skills(first_file(&program).as_deref())?;
        let now = KnownTools { skills: Some(&skills), ..KnownTools::from(&signatures) };
        let changes = wanted.changes((&text, &program), now)?;
        let migrates = wanted.migrate && changes.is_some();
        let source = if migrates { Source::Files(wanted.files) } else { Source::Loaded(text, program) };
        let mut opened = self.open_kept(source, begun).await?;
        if !migrates && let Err(error) = check_tools(wanted.id, &opened.program, records, &opened.world.tools) {
            opened.close().await;
            return Err(error);
        }
        if opened.settings.classifier && !begun.settings.classifier && opened.has_classifier {
            opened.remarks.push(Remark::warning(
                "classifier",
                "the session began with the classifier off and keeps it off, so its triggers in words never fire; \
                 begin a new session to change that",
            ));
        }
        let begun = begun.clone();
        Ok(Reopened { opened, changes, begun, migrates, kept })
    }

    /// Opens a program with what a session was begun with.
    async fn open_kept(&self, source: Source<'_>, begun: &Begun) -> Result<Opened, LaunchError> {
        let launch = Launch { choices: with_kept(&self.choices, begun)?, ..self.clone() };
        launch.open_as(source, Some(&BegunWith::of(begun))).await
    }

    /// Opens what a kept session goes on with, for a process that keeps it open for all sessions that were begun with the
    /// same ([`Setting`]).
    ///
    /// # Errors
    /// As for [`Launch::reopen`].
    pub async fn open_for(&self, records: &[Record]) -> Result<Opened, LaunchError> {
        let begun = begun_of(records)?;
        let (text, signatures) = kept_text(records)?;
        let program = self.workshop.programs.load(&text, signatures).map_err(SessionError::Program)?;
        let opened = self.open_kept(Source::Loaded(text, program), begun).await?;
        match check_tools(&begun.session, &opened.program, records, &opened.world.tools) {
            Ok(()) => Ok(opened),
            Err(error) => {
                opened.close().await;
                Err(error)
            }
        }
    }
}

/// What sessions have in common that can share what is open: the text, and what it was begun with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    text: String,
    model: Arc<str>,
    classifier: Option<Arc<str>>,
    given: GivenFiles,
}

impl Setting {
    /// Of a kept session.
    ///
    /// # Errors
    /// The records hold no session.
    pub fn of_records(records: &[Record]) -> Result<Setting, LaunchError> {
        let Begun { model, classifier, given, .. } = begun_of(records)?.clone();
        let text = last_text(records).map(|(text, _)| text.hash()).unwrap_or_default();
        Ok(Setting { text, model, classifier, given })
    }

    /// Of sessions that begin with what is open.
    pub fn of_opened(opened: &Opened) -> Setting {
        let (model, classifier) = (opened.world.llm.id(), Some(opened.world.classifier.id()));
        Setting { text: opened.text.hash(), model, classifier, given: opened.given.clone() }
    }
}

impl Reopened {
    /// Takes the session up. What it goes on with is to be closed in any case.
    pub async fn resume(self) -> (Opened, Result<Session, LaunchError>) {
        let world = self.opened.world.clone();
        let text = self.migrates.then(|| self.opened.text.clone());
        let session = self.kept.take_up(world, text).await;
        (self.opened, session.map_err(LaunchError::from))
    }
}

impl Reopening<'_> {
    /// What is different in the files.
    fn changes(
        &self,
        (text, program): (&ProgramText, &Program),
        now: KnownTools<'_>,
    ) -> Result<Option<ProgramChanges>, LaunchError> {
        let own: Vec<PathBuf> = text.roots.iter().map(|root| PathBuf::from(&**root)).collect();
        let loaded = match self.files {
            // Nobody has asked for these: the session needs none of them.
            [] if !own.iter().all(|path| path.is_file()) => return Ok(None),
            [] => load_files(&own, now).ok(),
            files => Some(load_files(files, now)?),
        };
        let Some((now, loaded)) = loaded else { return Ok(None) };
        Ok((!now.has_texts_of(text)).then(|| ProgramChanges::new(program, &loaded.program)))
    }
}

/// The text that a session has, and what the tools that it was read with are called with.
fn kept_text(records: &[Record]) -> Result<(ProgramText, Vec<Signature>), SessionError> {
    let (text, known) = last_text(records).ok_or_else(|| SessionError::NoSession("it has no text".to_owned()))?;
    Ok((text, known.iter().map(|tool| tool.to_tool().signature).collect()))
}

/// The choices with the files that the session was begun with, where there are no others.
fn with_kept(choices: &Choices, begun: &Begun) -> Result<Choices, LaunchError> {
    let kept = |path: &Arc<str>, option: &str| {
        let path = PathBuf::from(&**path);
        if path.exists() {
            return Ok(path);
        }
        let (session, gone) = (&begun.session, path.display());
        Err(LaunchError::Gone(format!(
            "session {session} was begun with {gone}, which is not there now; name its new place, or another one, \
             with {option}"
        )))
    };
    let given = &begun.given;
    let mut choices = choices.clone();
    if choices.tools.is_empty() {
        choices.tools = given.tools.iter().map(|path| kept(path, "--tools FILE")).collect::<Result<_, _>>()?;
    }
    if choices.config.is_none() {
        choices.config = given.config.as_ref().map(|path| kept(path, "--config FILE")).transpose()?;
    }
    if choices.working_directory.is_none() {
        let kept = given.working_directory.as_ref().map(|path| kept(path, "--working-directory DIR"));
        choices.working_directory = kept.transpose()?;
    }
    Ok(choices)
}

/// Whether all tools are there that the program's text calls.
///
/// # Errors
/// The first call of one that is gone, unless the program is over: whatever depends on it would go wrong, or be left
/// out.
fn check_tools(session: &str, program: &Program, records: &[Record], registry: &Registry) -> Result<(), LaunchError> {
    // Calls of what was no tool then, either, are of older built-ins.
    let known = last_text(records).map_or(&[][..], |(_, known)| known);
    let is_gone = |name: &str| known.iter().any(|tool| *tool.name == *name) && registry.get(name).is_none();
    let lines = program.playbooks.iter().flat_map(|playbook| playbook.steps.iter().map(move |step| (playbook, step)));
    let of_lines = lines.filter_map(|(playbook, step)| {
        let call = step.call().filter(|call| call.playbook.is_none())?;
        Some((&*call.callee, program.place_of_line(playbook, step)))
    });
    let of_plans = program.plans.iter().flat_map(|plan| plan.callees());
    let of_plans = of_plans.map(|(name, span)| (name, program.place_of(span)));
    let Some((name, place)) = of_lines.chain(of_plans).find(|(name, _)| is_gone(name)) else { return Ok(()) };
    if replay(records, None).is_ok_and(|replayed| matches!(replayed.stop, Stop::Finished(Outcome::Done { .. }))) {
        return Ok(());
    }
    let place = place.unwrap_or_default();
    let next = if registry.others().iter().any(|denied| **denied == *name) {
        "remove it from `deny` in the configuration"
    } else if name.contains('.') {
        "declare its plugin or server again, or name a file that has it with --tools FILE"
    } else {
        "name the file that has it with --tools FILE"
    };
    Err(LaunchError::Gone(format!(
        "{place}: session {session} cannot continue, because the tool `{name}`, which is called here, is not there \
         now; {next}"
    )))
}
