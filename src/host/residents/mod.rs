//! The sessions of a server: each is live as long as somebody needs it, and a row of the store otherwise (spec
//! `serving.md`, section 7). It begins them, opens them on demand, lets them rest, and wakes them when their time comes.

pub mod error;

pub mod offered;

pub mod standing;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use dashmap::DashMap;
use tokio::sync::Mutex;

use crate::host::journal::address::{Address, Place};
use crate::host::journal::record::Record;
use crate::host::journal::store::{Store, is_session_id};
use crate::host::journal::{Durability, JournalError, JournalErrorKind};
use crate::host::launch::{Launch, LaunchError, Opened, Setting, Source, StartOptions, find_entry};
use crate::host::ledger::{Ledger, Served};
use crate::host::llm::ModelKind;
use crate::host::program::{ProgramCache, ProgramText};
use crate::host::residents::error::ResidentError;
use crate::host::residents::offered::Offered;
use crate::host::residents::standing::Standing;
use crate::host::session::{Kept, Session, SessionError, SessionHandle};
use crate::host::sessions::{Sessions, new_id};
use crate::value::Map;
use crate::vm::protocol::Timestamp;

/// What a server's sessions are opened with.
pub struct Residents {
    launch: Launch,
    store: Arc<dyn Store>,
    ledger: Ledger,
    sessions: Arc<Sessions>,
    /// The doors of sessions whose row does not say yet how they stand, with the number by which this process has them.
    doors: DashMap<Arc<str>, (i64, SessionHandle)>,
    programs: RwLock<BTreeMap<Arc<str>, Arc<Offered>>>,
    /// What is open for sessions that share it.
    open: Mutex<HashMap<Setting, Arc<Opened>>>,
}

/// A session that is to begin.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// The program's name at this server.
    pub program: Arc<str>,
    /// The session's id; none: a new one.
    pub id: Option<Arc<str>>,
    /// The playbook or plan to begin with.
    pub playbook: Option<String>,
    /// Its arguments, or variables.
    pub arguments: Map,
    /// Whose it is.
    pub owner: Arc<str>,
    /// What its owner says of it, as JSON.
    pub labels: String,
}

/// What a live session goes on with.
struct Held {
    opened: Arc<Opened>,
    /// Nobody else has it: it is closed with the session.
    is_own: bool,
}

impl Residents {
    /// No programs yet; sessions are kept in `place`, which must be a store in SQLite.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub async fn open(launch: Launch, place: &Place, max_live: usize) -> Result<Arc<Residents>, ResidentError> {
        let ledger = Ledger::open(place.path()).await?;
        Ok(Arc::new(Residents {
            launch,
            store: place.store(),
            ledger,
            sessions: Sessions::new(max_live),
            doors: DashMap::new(),
            programs: RwLock::default(),
            open: Mutex::default(),
        }))
    }

    /// What is kept beside the journals.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The live sessions.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Programs that were read.
    pub fn program_cache(&self) -> ProgramCache {
        self.launch.workshop.programs.clone()
    }

    /// The clock of all sessions.
    pub fn now(&self) -> Timestamp {
        self.launch.workshop.clock.now()
    }

    /// Offers a program under a name, in place of the one that has it: new sessions have its text, the others stay with
    /// theirs.
    ///
    /// # Errors
    /// It cannot be opened; what was offered before stays.
    pub async fn offer(&self, name: &str, files: &[PathBuf]) -> Result<Arc<Offered>, ResidentError> {
        let opened = Arc::new(self.launch.open(Source::Files(files)).await?);
        let setting = Setting::of_opened(&opened);
        let mut open = self.open.lock().await;
        let shared = match open.get(&setting) {
            Some(shared) => {
                opened.close().await;
                shared.clone()
            }
            None => {
                open.insert(setting, opened.clone());
                opened
            }
        };
        drop(open);
        let offered = Arc::new(Offered::new(name, files, shared));
        let mut programs = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        programs.insert(offered.name.clone(), offered.clone());
        Ok(offered)
    }

    /// All programs, by name.
    pub fn programs(&self) -> Vec<Arc<Offered>> {
        self.programs.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The program with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn program(&self, name: &str) -> Result<Arc<Offered>, ResidentError> {
        let programs = self.programs.read().unwrap_or_else(PoisonError::into_inner);
        programs.get(name).cloned().ok_or_else(|| ResidentError::NoProgram {
            name: name.to_owned(),
            known: programs.keys().map(ToString::to_string).collect(),
        })
    }

    /// Begins a session. One with the id that was asked for may be there already, of the same program: then it is that
    /// one, and nothing begins.
    ///
    /// # Errors
    /// There is no such program or playbook, the id is taken by a session of another program, there is no room, or it
    /// cannot be written.
    pub async fn begin(self: &Arc<Self>, beginning: Beginning) -> Result<(Served, bool), ResidentError> {
        let offered = self.program(&beginning.program)?;
        let entry = beginning.playbook.as_deref().map(|name| find_entry(&offered.opened.program, name)).transpose()?;
        let id = beginning.id.clone().unwrap_or_else(|| new_id(&*self.launch.workshop.clock));
        if !is_session_id(&id) {
            return Err(JournalError::new("", JournalErrorKind::SessionId(id)).into());
        }
        let served = Served {
            session: id.clone(),
            program: offered.name.clone(),
            version: offered.version.clone(),
            owner: beginning.owner,
            labels: beginning.labels,
            created: self.now(),
            forked: None,
            standing: None,
            wake: None,
        };
        if !self.ledger.begin(served.clone()).await? {
            let there = self.find(&id).await?;
            return match there.program == served.program && there.owner == served.owner {
                true => Ok((there, false)),
                false => Err(ResidentError::Taken(id)),
            };
        }
        let options = StartOptions { id: id.clone(), entry, arguments: beginning.arguments };
        let begun = self.sessions.open_or_resume(&id, async || {
            let journal = self.store.open(&id).await?;
            let held = self.held(offered.opened.clone()).await?;
            let session = held.opened.start(journal, options)?;
            self.keep(&session, held, 1);
            Ok::<_, ResidentError>(session)
        });
        if let Err(error) = begun.await {
            self.ledger.forget(id).await?;
            return Err(error);
        }
        Ok((served, true))
    }

    /// Makes a session of records: a fork.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn add(&self, served: Served, records: &[Record]) -> Result<(), ResidentError> {
        let mut journal = self.store.open(&served.session).await?;
        let session = served.session.clone();
        if !self.ledger.begin(served).await? {
            return Err(ResidentError::Taken(session));
        }
        records.iter().for_each(|record| journal.append(record.clone()));
        let written = journal.flush(Durability::PowerCut).await;
        journal.close().await;
        if let Err(error) = written {
            self.ledger.forget(session).await?;
            return Err(error.into());
        }
        Ok(())
    }

    /// A session that is served.
    ///
    /// # Errors
    /// There is none.
    pub async fn find(&self, id: &Arc<str>) -> Result<Served, ResidentError> {
        self.ledger.find(id.clone()).await?.ok_or_else(|| ResidentError::NoSession(id.clone()))
    }

    /// The door to a session, which is opened for it where it rests.
    ///
    /// # Errors
    /// There is none, another process has it, there is no room, or what it was begun with is gone.
    pub async fn handle(self: &Arc<Self>, id: &Arc<str>) -> Result<SessionHandle, ResidentError> {
        self.sessions.open_or_resume(id, async || self.resume(id, None).await).await
    }

    /// Goes on with a session with the text of a program that is offered now.
    ///
    /// # Errors
    /// As for [`Residents::handle`]; the text has an error.
    pub async fn migrate(self: &Arc<Self>, id: &Arc<str>, program: &str) -> Result<SessionHandle, ResidentError> {
        let offered = self.program(program)?;
        if let Some(live) = self.sessions.get(id) {
            live.stop().await;
            // How it ended is seen when it is read again.
            let _ = live.outcome().await;
        }
        let handle = self.sessions.open_or_resume(id, async || self.resume(id, Some(&offered)).await).await?;
        self.ledger.change_program(id.clone(), offered.name.clone(), offered.version.clone()).await?;
        Ok(handle)
    }

    /// How a session stands, without opening it.
    ///
    /// # Errors
    /// Its task has failed.
    pub async fn standing(&self, served: &Served) -> Result<(Standing, bool), ResidentError> {
        // Also of one that has just ended: its row comes a moment later.
        let handle = self.doors.get(&served.session).map(|door| door.1.clone());
        if let Some(handle) = handle {
            let present = handle.present().await?;
            let is_live = !handle.has_ended();
            return Ok((Standing::of(&present, is_live), is_live));
        }
        let row = match &served.standing {
            Some(standing) => Some(standing.clone()),
            // It may have been let go since this row was read.
            None => self.ledger.find(served.session.clone()).await?.and_then(|served| served.standing),
        };
        let kept = row.and_then(|standing| serde_json::from_str(&standing).ok());
        Ok((kept.unwrap_or_else(|| Standing::interrupted(served.created)), false))
    }

    /// All records of a session, of one that rests, too; it is not opened. Secrets are in them.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn records(&self, id: &Arc<str>) -> Result<Vec<Record>, ResidentError> {
        if let Some(handle) = self.sessions.get(id)
            && let Ok(records) = handle.records().await
        {
            return Ok(records?);
        }
        Ok(Address::new(self.store.clone(), id).read().await?)
    }

    /// Removes a session for good.
    ///
    /// # Errors
    /// Another process has it, or it cannot be removed.
    pub async fn delete(&self, id: &Arc<str>) -> Result<(), ResidentError> {
        if let Some(live) = self.sessions.get(id) {
            live.stop().await;
            let _ = live.outcome().await;
        }
        match self.store.delete(id).await {
            Ok(()) => {}
            // It never came to a first record.
            Err(error) if matches!(error.kind, JournalErrorKind::NoSession(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.ledger.forget(id.clone()).await?)
    }

    /// Goes on with the sessions that a process had when it died.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn recover(self: &Arc<Self>) -> Result<usize, ResidentError> {
        self.wake(true).await
    }

    /// Lets sessions rest that nobody needs for so long, wakes those whose time has come, and closes what no session
    /// needs any more. Never ends.
    pub async fn tend(self: Arc<Self>, idle: Duration) {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.sessions.rest(idle);
            if let Err(error) = self.wake(false).await {
                tracing::warn!(%error, "sessions whose time has come cannot be looked for");
            }
            let unused: Vec<Arc<Opened>> = {
                let mut open = self.open.lock().await;
                let programs = self.programs();
                let is_used = |opened: &Arc<Opened>| {
                    Arc::strong_count(opened) > 1 || programs.iter().any(|offered| Arc::ptr_eq(&offered.opened, opened))
                };
                open.extract_if(|_, opened| !is_used(opened)).map(|(_, opened)| opened).collect()
            };
            for opened in unused {
                opened.close().await;
            }
        }
    }

    /// Closes what sessions were opened with; they must have ended.
    pub async fn close(&self) {
        let open: Vec<Arc<Opened>> = self.open.lock().await.drain().map(|(_, opened)| opened).collect();
        for opened in open {
            opened.close().await;
        }
    }

    async fn wake(self: &Arc<Self>, also_held: bool) -> Result<usize, ResidentError> {
        let mut n_woken = 0;
        for id in self.ledger.wanted_back(self.now(), also_held).await? {
            match self.handle(&id).await {
                Ok(_) => n_woken += 1,
                Err(ResidentError::Journal(error)) if matches!(error.kind, JournalErrorKind::Held(_)) => {}
                // It never came to a first record, so nobody has heard of it.
                Err(ResidentError::Launch(LaunchError::Session(SessionError::NoSession(_)))) => {
                    self.ledger.forget(id).await?;
                }
                Err(error) => tracing::warn!(session = &*id, %error, "the session cannot go on"),
            }
        }
        Ok(n_woken)
    }

    async fn resume(self: &Arc<Self>, id: &Arc<str>, migrate: Option<&Offered>) -> Result<Session, ResidentError> {
        let journal = self.store.open(id).await?;
        let Some(opened) = self.ledger.take_up(id.clone()).await? else {
            return Err(ResidentError::NoSession(id.clone()));
        };
        let kept = Kept::read(journal).await?;
        let (held, text) = match migrate {
            Some(offered) => (self.held(offered.opened.clone()).await?, Some(offered.opened.text.clone())),
            None => (self.held_for(kept.records()).await?, None::<ProgramText>),
        };
        let session = kept.take_up(held.opened.world.clone(), text).await?;
        self.keep(&session, held, opened);
        Ok(session)
    }

    /// What a session goes on with.
    async fn held_for(&self, records: &[Record]) -> Result<Held, ResidentError> {
        let setting = Setting::of_records(records)?;
        // Held while it is opened: what many sessions want at once is opened once.
        let mut open = self.open.lock().await;
        if let Some(opened) = open.get(&setting).cloned() {
            drop(open);
            return self.held(opened).await;
        }
        let opened = Arc::new(self.launch.open_for(records).await?);
        match is_scripted(&opened) {
            true => Ok(Held { opened, is_own: true }),
            false => {
                open.insert(setting, opened.clone());
                Ok(Held { opened, is_own: false })
            }
        }
    }

    /// What is open, for one session: what is scripted begins anew for each.
    async fn held(&self, opened: Arc<Opened>) -> Result<Held, ResidentError> {
        match is_scripted(&opened) {
            true => Ok(Held { opened: Arc::new(opened.again().await?), is_own: true }),
            false => Ok(Held { opened, is_own: false }),
        }
    }

    /// Notes how the session stands when it ends, and closes what was opened for it alone.
    fn keep(self: &Arc<Self>, session: &Session, held: Held, opened: i64) {
        let (residents, handle) = (self.clone(), session.handle());
        self.doors.insert(handle.id().clone(), (opened, handle.clone()));
        tokio::spawn(async move {
            // A session whose task has failed is interrupted: whoever wants it hears why.
            if let Ok(ending) = handle.outcome().await {
                let standing = Standing::of(&ending.present(), false);
                let row = (handle.id().clone(), opened);
                let standing = serde_json::to_string(&standing).unwrap_or_default();
                if let Err(error) = residents.ledger.let_go(row, standing, ending.due).await {
                    tracing::warn!(session = &**handle.id(), %error, "how the session stands is not kept");
                }
            }
            residents.doors.remove_if(handle.id(), |_, (number, _)| *number == opened);
            if held.is_own {
                held.opened.close().await;
            }
        });
    }
}

fn is_scripted(opened: &Opened) -> bool {
    opened.world.llm.kind() == ModelKind::Recorded
}
