//! The sessions of a server: each is live as long as somebody needs it, and a row of the store otherwise (spec
//! `serving.md`, section 7). It begins them, opens them on demand, lets them rest, and wakes them when their time comes.

pub mod dispatch;

pub mod error;

pub mod feed;

pub mod fork;

pub mod offered;

mod opening;

pub mod standing;

pub mod visit;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use dashmap::DashMap;
use playhouse_lang::value::Map;
use playhouse_vm::protocol::Timestamp;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::journal::address::{Address, Place};
use crate::journal::record::Record;
use crate::journal::store::{Store, check_session_id};
use crate::journal::{Durability, JournalError, JournalErrorKind};
use crate::launch::{Launch, Opened, Setting, Source, StartOptions, find_entry};
use crate::ledger::sqlite::SqliteLedger;
use crate::ledger::{Ledger, Served};
use crate::program::ProgramCache;
use crate::replay::{Replayed, on_replay_thread, replay};
use crate::residents::dispatch::{Dispatch, Visit};
use crate::residents::error::ResidentError;
use crate::residents::offered::Offered;
use crate::residents::standing::Standing;
use crate::serve_options::ServeOptions;
use crate::session::{Present, SessionError, SessionHandle};
use crate::sessions::{Sessions, new_id};
use crate::travel::Timeline;

/// What a server's sessions are opened with.
pub struct Residents {
    launch: Launch,
    store: Arc<dyn Store>,
    ledger: Arc<dyn Ledger>,
    /// The store's file, if it is one.
    path: Option<PathBuf>,
    /// Who decides which server has a session; none: this one, or another one on the same store.
    dispatch: Option<Arc<dyn Dispatch>>,
    sessions: Arc<Sessions>,
    /// The doors of sessions whose row does not say yet how they stand.
    doors: DashMap<Arc<str>, Door>,
    programs: RwLock<BTreeMap<Arc<str>, Arc<Offered>>>,
    /// What is open for sessions that share it.
    open: Mutex<HashMap<Setting, Arc<Opened>>>,
    /// Those who write how a session stands that has ended.
    keepers: TaskTracker,
    /// Pasts that are walked at one time: each takes a processor.
    walks: Semaphore,
    max_busy: usize,
    draining: CancellationToken,
}

/// Pasts that are walked at one time.
const WALKS: usize = 4;

/// Where the sessions of a server are kept, and who decides which server has them.
pub struct Keeping {
    /// Their journals.
    pub store: Arc<dyn Store>,
    /// What is kept beside.
    pub ledger: Arc<dyn Ledger>,
    /// The store's file, if it is one.
    pub path: Option<PathBuf>,
    /// Who decides; none: this process, and others on the same file.
    pub dispatch: Option<Arc<dyn Dispatch>>,
}

impl Keeping {
    /// In a store in SQLite.
    ///
    /// # Errors
    /// It cannot be opened.
    pub async fn in_file(place: &Place) -> Result<Keeping, JournalError> {
        let ledger = SqliteLedger::open(place.path()).await?;
        let path = Some(ledger.path().to_owned());
        Ok(Keeping { store: place.store(), ledger: Arc::new(ledger), path, dispatch: None })
    }
}

/// The door to a session that this process has, or had a moment ago.
struct Door {
    /// The number by which this process has it.
    number: i64,
    handle: SessionHandle,
    /// Comes when its row says how it stands.
    let_go: CancellationToken,
}

/// A session that is to begin.
#[derive(Clone, Debug, Default)]
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

impl Residents {
    /// No programs yet; sessions are kept in `place`, which must be a store in SQLite.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub async fn open(launch: Launch, place: &Place, options: &ServeOptions) -> Result<Arc<Residents>, ResidentError> {
        Ok(Residents::new(launch, Keeping::in_file(place).await?, options))
    }

    /// No programs yet.
    pub fn new(launch: Launch, keeping: Keeping, options: &ServeOptions) -> Arc<Residents> {
        let Keeping { store, ledger, path, dispatch } = keeping;
        let max_live = options.max_live.min(most_by_files());
        Arc::new(Residents {
            launch,
            store,
            ledger,
            path,
            dispatch,
            sessions: Sessions::new(max_live),
            doors: DashMap::new(),
            programs: RwLock::default(),
            open: Mutex::default(),
            keepers: TaskTracker::new(),
            max_busy: options.max_busy,
            walks: Semaphore::new(WALKS),
            draining: CancellationToken::new(),
        })
    }

    /// What is kept beside the journals.
    pub fn ledger(&self) -> &dyn Ledger {
        &*self.ledger
    }

    /// Who decides which server has a session, if several share them.
    pub fn dispatch(&self) -> Option<&Arc<dyn Dispatch>> {
        self.dispatch.as_ref()
    }

    /// The live sessions.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// The store's file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The number of another process that has a session, if one has.
    pub async fn other_holder(&self, id: &Arc<str>) -> Option<String> {
        if self.path.is_none() || self.sessions.get(id).is_some() {
            return None;
        }
        let holder = self.store.holder(id).await?;
        (holder != std::process::id().to_string()).then_some(holder)
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
        self.check_room()?;
        let offered = self.program(&beginning.program)?;
        let entry = beginning.playbook.as_deref().map(|name| find_entry(&offered.opened.program, name)).transpose()?;
        let id = beginning.id.clone().unwrap_or_else(|| new_id(&*self.launch.workshop.clock));
        check_session_id(&id)?;
        let served = Served {
            session: id.clone(),
            program: offered.name.clone(),
            version: offered.version.clone(),
            owner: beginning.owner,
            labels: beginning.labels,
            created: self.now(),
            ..Served::default()
        };
        let is_noted = self.ledger.begin(served.clone()).await?;
        if !is_noted {
            let there = self.find(&id).await?;
            if there.program != served.program || there.owner != served.owner {
                return Err(ResidentError::Taken(id));
            }
            // Whoever has noted it may have died before its first record.
            if self.sessions.get(&id).is_some() || self.store.find(&id).await? {
                // Nobody has gone on with it since, and nobody does now: who wrote its beginning may have died after it.
                if let (Some(dispatch), None, None) = (&self.dispatch, &there.standing, &there.held_by) {
                    dispatch.hand_in(id, Visit::Wake, None).await?;
                }
                return Ok((there, false));
            }
        }
        let options = StartOptions { id: id.clone(), entry, arguments: beginning.arguments };
        let begun = match &self.dispatch {
            Some(dispatch) => self.begin_somewhere(&**dispatch, offered.opened.clone(), options).await,
            None => self.begin_here(offered.opened.clone(), options).await,
        };
        if let Err(error) = begun {
            if is_noted {
                self.ledger.forget(id).await?;
            }
            return Err(error);
        }
        Ok((served, true))
    }

    async fn begin_here(self: &Arc<Self>, opened: Arc<Opened>, options: StartOptions) -> Result<(), ResidentError> {
        let id = options.id.clone();
        let begun = self.sessions.open_or_resume(&id, async || {
            let journal = self.store.open(&id).await?;
            let held = self.held(opened).await?;
            match held.opened.start(journal, options) {
                Ok(session) => {
                    self.keep(&session, held, 1);
                    Ok::<_, ResidentError>(session)
                }
                Err(error) => {
                    held.close().await;
                    Err(error.into())
                }
            }
        });
        begun.await.map(|_| ())
    }

    /// Makes a session of records: a fork.
    ///
    /// # Errors
    /// It cannot be written.
    async fn add(&self, served: Served, records: &[Record]) -> Result<(), ResidentError> {
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

    /// How a session stands, without opening it.
    ///
    /// # Errors
    /// Its task has failed.
    pub async fn standing(&self, served: &Served) -> Result<(Standing, bool), ResidentError> {
        // Also of one that has just ended: its row comes a moment later.
        let handle = self.doors.get(&served.session).map(|door| door.handle.clone());
        if let Some(handle) = handle {
            let present = handle.present().await?;
            let is_live = !handle.has_ended();
            return Ok((Standing::of(&present, is_live), is_live));
        }
        // It may have been taken up, or let go, since this row was read.
        let again = match (&served.standing, &served.held_by) {
            (None, None) => self.ledger.find(served.session.clone()).await?,
            (Some(_), _) | (None, Some(_)) => None,
        };
        let served = again.as_ref().unwrap_or(served);
        if served.held_by.is_some() {
            return self.standing_by_records(served, true).await;
        }
        let kept = served.standing.as_ref().and_then(|standing| serde_json::from_str::<Standing>(standing).ok());
        let Some(kept) = kept else { return Ok((Standing::interrupted(served.created), false)) };
        match served.last_record.is_some_and(|last| last.0 > kept.last) {
            // The row says how it stood before somebody else went on with it.
            true => self.standing_by_records(served, self.store.holder(&served.session).await.is_some()).await,
            false => Ok((kept, false)),
        }
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

    /// How a session stands that another process has, or has had: as its records say.
    async fn standing_by_records(&self, served: &Served, is_live: bool) -> Result<(Standing, bool), ResidentError> {
        let (id, created) = (served.session.clone(), served.created);
        let records = match Address::new(self.store.clone(), &id).read().await {
            Err(error) if matches!(error.kind, JournalErrorKind::NoSession(_)) => {
                return Ok((Standing::interrupted(created), is_live));
            }
            records => records?,
        };
        let present = on_replay_thread(move || {
            let Replayed { machine, maker, time, .. } = replay(&records, None)?;
            let (view, program) = (Arc::new(machine.view()), machine.program().clone());
            Ok(Present { view, program, mark: maker.mark(), time, cost: None, due: None })
        });
        Ok((Standing::of(&present.await?, is_live), is_live))
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
        Ok(self.store.delete(id).await?)
    }

    /// The past of a session, built on a thread for that; few at a time.
    ///
    /// # Errors
    /// It cannot be read, or `work` fails.
    pub async fn past<T: Send + 'static>(
        &self,
        id: &Arc<str>,
        work: impl FnOnce(Timeline) -> Result<T, SessionError> + Send + 'static,
    ) -> Result<T, ResidentError> {
        let records = self.records(id).await?;
        let _walk = self.walk().await?;
        Ok(on_replay_thread(move || work(Timeline::new(records)?)).await?)
    }

    /// Waits for its turn to walk a past.
    async fn walk(&self) -> Result<SemaphorePermit<'_>, ResidentError> {
        Ok(self.walks.acquire().await.map_err(|_| SessionError::Draining)?)
    }

    /// Comes when the process is about to end.
    pub fn draining(&self) -> &CancellationToken {
        &self.draining
    }

    /// Whether something new may begin.
    ///
    /// # Errors
    /// The process is about to end.
    pub fn check_open(&self) -> Result<(), ResidentError> {
        match self.draining.is_cancelled() {
            true => Err(SessionError::Draining.into()),
            false => Ok(()),
        }
    }

    /// Whether one more session may do something.
    ///
    /// # Errors
    /// The process is about to end, or as many do something as may.
    fn check_room(&self) -> Result<(), ResidentError> {
        // Where another server may do it, this one need not have room.
        if self.dispatch.is_some() {
            return Ok(());
        }
        self.check_open()?;
        match self.sessions.len() >= self.max_busy && self.sessions.n_busy() >= self.max_busy {
            true => Err(ResidentError::TooBusy(self.max_busy)),
            false => Ok(()),
        }
    }

    /// Brings all to its end: nothing new begins, replies have so long to come to their end, and all sessions go to rest.
    pub async fn drain(&self, grace: Duration) {
        self.draining.cancel();
        self.sessions.drain(grace).await;
        // How each stands is written now.
        self.keepers.close();
        self.keepers.wait().await;
        let open: Vec<Arc<Opened>> = self.open.lock().await.drain().map(|(_, opened)| opened).collect();
        for opened in open {
            opened.close().await;
        }
    }
}

/// So many sessions can be live with the files that a process may open: one takes three files and a connection.
fn most_by_files() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    (files.saturating_sub(256) / 4).max(1)
}
