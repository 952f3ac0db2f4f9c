//! A session that somebody wants: one that is kept goes on, else one begins.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse_lang::value::Map;

use crate::journal::address::{Address, Place};
use crate::launch::error::LaunchError;
use crate::launch::open::{Loading, Opened, Source, StartOptions, find_entry};
use crate::launch::reopen::{Reopened, Reopening};
use crate::launch::workshop::Launch;
use crate::session::Session;
use crate::sessions::new_id;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The program's files.
    pub files: Vec<PathBuf>,
    /// The playbook or plan to begin with.
    pub playbook: Option<String>,
    /// Its arguments, or variables.
    pub arguments: Map,
    /// How often a model may write another plan for one that has failed; none: as configured.
    pub max_replans: Option<u32>,
    /// The session's id: it goes on if it is kept; none: a new one.
    pub session: Option<Arc<str>>,
    /// Where it is kept.
    pub place: Place,
    /// Whether a session that goes on does so with the text of the files.
    pub migrate: bool,
}

/// A session that can begin or go on.
pub struct Ready {
    /// What it is opened with.
    pub what: Begins,
    /// Its journal.
    pub address: Address,
}

/// How it begins.
pub enum Begins {
    /// Anew.
    Anew(Box<Opened>, StartOptions),
    /// From where it stands.
    Again(Box<Reopened>),
}

impl Launch {
    /// Opens what is wanted; `watch` loads the files of a new session in place of whoever would do it.
    ///
    /// # Errors
    /// As for [`Launch::open`] and [`Launch::reopen`]; there is no such playbook.
    pub async fn prepare(&self, wanted: Wanted, watch: Option<&mut Loading<'_>>) -> Result<Ready, LaunchError> {
        let Wanted { files, playbook, arguments, max_replans, session, place, migrate } = wanted;
        if let Some(id) = &session {
            let address = place.address(id)?;
            if address.is_there().await? {
                let reopened = self.reopen(Reopening { address: &address, id, files: &files, migrate }).await?;
                return Ok(Ready { what: Begins::Again(Box::new(reopened)), address });
            }
        }
        let source = match watch {
            None => Source::Files(&files),
            Some(load) => Source::Watched(&files, load),
        };
        let mut opened = Box::new(self.open(source).await?);
        let id = session.unwrap_or_else(|| new_id(&*self.workshop.clock));
        let entry = playbook.as_deref().map(|name| find_entry(&opened.program, name)).transpose();
        match entry.and_then(|entry| Ok((entry, place.address(&id)?))) {
            Ok((entry, address)) => {
                opened.settings.max_replans = max_replans.unwrap_or(opened.settings.max_replans);
                let options = StartOptions { id, entry, arguments };
                Ok(Ready { what: Begins::Anew(opened, options), address })
            }
            Err(error) => {
                opened.close().await;
                Err(error)
            }
        }
    }
}

impl Ready {
    /// What it is opened with.
    pub fn opened(&self) -> &Opened {
        match &self.what {
            Begins::Anew(opened, _) => opened,
            Begins::Again(reopened) => &reopened.opened,
        }
    }

    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        match &self.what {
            Begins::Anew(_, options) => &options.id,
            Begins::Again(reopened) => &reopened.begun.session,
        }
    }

    /// Whether it is of a plan.
    pub fn is_plan(&self) -> bool {
        match &self.what {
            Begins::Anew(opened, options) => opened.is_plan(options.entry),
            Begins::Again(reopened) => match &reopened.begun.entry {
                Some(entry) => entry.is_plan,
                None => reopened.opened.is_plan(None),
            },
        }
    }

    /// The program's files that were given.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.opened().text.roots.iter().map(|root| Path::new(&**root))
    }

    /// Begins, or goes on. What it was opened with is to be closed after it, also where it can't.
    pub async fn begin(self) -> (Opened, Result<Session, LaunchError>) {
        match self.what {
            Begins::Anew(opened, options) => {
                let session = match self.address.open().await {
                    Ok(journal) => opened.start(journal, options),
                    Err(error) => Err(error.into()),
                };
                (*opened, session)
            }
            Begins::Again(reopened) => reopened.resume().await,
        }
    }
}
