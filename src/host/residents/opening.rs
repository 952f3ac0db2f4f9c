//! Sessions are opened when somebody wants them, or when their time comes, and go on with what they share.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::journal::JournalErrorKind;
use crate::journal::record::Record;
use crate::launch::{LaunchError, Opened, Setting};
use crate::ledger::Served;
use crate::llm::ModelKind;
use crate::residents::dispatch::Visit;
use crate::residents::error::ResidentError;
use crate::residents::offered::Offered;
use crate::residents::standing::{Standing, State};
use crate::residents::{Door, Residents};
use crate::session::{Kept, SendError, Session, SessionError, SessionGone, SessionHandle};

/// So long a session may take from its row to its first record, in milliseconds.
const BEGINNING: i64 = 60_000;

/// What a live session goes on with.
pub(super) struct Held {
    pub(super) opened: Arc<Opened>,
    /// Nobody else has it: it is closed with the session.
    is_own: bool,
}

impl Held {
    pub(super) async fn close(&self) {
        if self.is_own {
            self.opened.close().await;
        }
    }
}

impl Residents {
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
    /// As for [`Residents::handle`]; the text has an error, or the program has come to its end.
    pub async fn migrate(self: &Arc<Self>, served: &Served, program: &str) -> Result<(), ResidentError> {
        let (offered, id) = (self.program(program)?, &served.session);
        if self.standing(served).await?.0.state == State::Finished {
            return Err(SendError::from(SessionGone).into());
        }
        if let Some(dispatch) = &self.dispatch {
            return dispatch.hand_in(id.clone(), Visit::Migrate(offered.name.clone()), None).await.map(|_| ());
        }
        loop {
            if let Some(live) = self.sessions.get(id) {
                live.stop().await;
                // How it ended is seen when it is read again.
                let _ = live.outcome().await;
            }
            let mut is_mine = false;
            let handle = self.sessions.open_or_resume(id, async || {
                is_mine = true;
                self.resume(id, Some(&offered)).await
            });
            handle.await?;
            // Otherwise somebody else has opened it just then, with the text it had.
            if is_mine {
                return Ok(());
            }
        }
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

    async fn wake(self: &Arc<Self>, also_held: bool) -> Result<usize, ResidentError> {
        let mut n_woken = 0;
        for id in self.ledger.wanted_back(self.now(), also_held).await? {
            match self.handle(&id).await {
                Ok(_) => n_woken += 1,
                Err(ResidentError::Journal(error)) if matches!(error.kind, JournalErrorKind::Held(_)) => {}
                // It never came to a first record, so nobody has heard of it; unless another process is about to begin it.
                Err(ResidentError::Launch(LaunchError::Session(SessionError::NoSession(_)))) => {
                    let noted = self.ledger.find(id.clone()).await?;
                    if noted.is_some_and(|noted| self.now().0 - noted.created.0 > BEGINNING) {
                        self.ledger.forget(id).await?;
                    }
                }
                // There is no room now.
                Err(ResidentError::Session(SessionError::TooMany { .. } | SessionError::Draining)) => break,
                Err(error) => {
                    tracing::warn!(session = &*id, %error, "the session cannot continue; it is opened again when \
                     somebody asks for it");
                    self.ledger.let_sleep(id).await?;
                }
            }
        }
        Ok(n_woken)
    }

    async fn resume(self: &Arc<Self>, id: &Arc<str>, migrate: Option<&Offered>) -> Result<Session, ResidentError> {
        let kept = Kept::read(self.store.open(id).await?).await?;
        self.take_up(id, kept, migrate).await
    }

    /// Goes on with a session whose records are read; with a program, with the text of that.
    pub(super) async fn take_up(
        self: &Arc<Self>,
        id: &Arc<str>,
        kept: Kept,
        migrate: Option<&Offered>,
    ) -> Result<Session, ResidentError> {
        let (held, text) = match migrate {
            Some(offered) => (self.held(offered.opened.clone()).await?, Some(offered.opened.text.clone())),
            None => (self.held_for(kept.records()).await?, None),
        };
        let taken = async {
            let world = held.opened.world.clone();
            // Whoever hears of a session that several servers share hears what its records say.
            let session = match self.dispatch.is_some() && kept.records().len() == 1 && text.is_none() {
                true => kept.begin(world)?,
                false => kept.take_up(world, text).await?,
            };
            // From here on its row says that a process has it; until here it says how it stood.
            let number = self.ledger.take_up(id.clone()).await?;
            Ok((session, number.ok_or_else(|| ResidentError::NoSession(id.clone()))?))
        };
        match taken.await {
            Ok((session, number)) => {
                self.keep(&session, held, number);
                if let Some(Offered { name, version, .. }) = migrate {
                    self.ledger.change_program(id.clone(), name.clone(), version.clone()).await?;
                }
                Ok(session)
            }
            Err(error) => {
                held.close().await;
                Err(error)
            }
        }
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
    pub(super) async fn held(&self, opened: Arc<Opened>) -> Result<Held, ResidentError> {
        match is_scripted(&opened) {
            true => Ok(Held { opened: Arc::new(opened.again().await?), is_own: true }),
            false => Ok(Held { opened, is_own: false }),
        }
    }

    /// Notes how the session stands when it ends, and closes what was opened for it alone.
    pub(super) fn keep(self: &Arc<Self>, session: &Session, held: Held, opened: i64) {
        let (residents, handle, let_go) = (self.clone(), session.handle(), CancellationToken::new());
        let door = Door { number: opened, handle: handle.clone(), let_go: let_go.clone() };
        self.doors.insert(handle.id().clone(), door);
        let keeping = async move {
            // A session whose task has failed is interrupted: whoever wants it hears why.
            if let Ok(ending) = handle.outcome().await {
                let standing = Standing::of(&ending.present(), false);
                let row = (handle.id().clone(), opened);
                let standing = serde_json::to_string(&standing).unwrap_or_default();
                if let Err(error) = residents.ledger.let_go(row, standing, ending.due).await {
                    tracing::warn!(session = &**handle.id(), %error, "the session's standing could not be stored");
                }
            }
            residents.doors.remove_if(handle.id(), |_, door| door.number == opened);
            let_go.cancel();
            held.close().await;
        };
        self.keepers.spawn(keeping.boxed());
    }
}

fn is_scripted(opened: &Opened) -> bool {
    opened.world.llm.kind() == ModelKind::Recorded
}
