//! Visits of sessions at this server ([`crate::residents::dispatch`]).

use std::sync::Arc;

use futures_util::TryStreamExt;
use playhouse_vm::protocol::{Timestamp, Wait};

use crate::journal::record::{Record, RecordBody};
use crate::launch::{Opened, StartOptions};
use crate::replay::replay;
use crate::residents::Residents;
use crate::residents::dispatch::{Dispatch, Visit};
use crate::residents::error::ResidentError;
use crate::session::{Deed, Kept, Receipt, SendError, SessionError, SessionGone, SessionHandle};

impl Residents {
    /// Visits a session here. `told` hears what came of it when that is in the journal. When it must be visited again,
    /// whoever wants it.
    ///
    /// # Errors
    /// It cannot be visited here: there is no room, this server has no such program or tool, its journal cannot be opened
    /// or written, or another visit has taken it over. What is no matter of this server is told to `told`.
    pub async fn visit(
        self: &Arc<Self>,
        id: &Arc<str>,
        visit: &Visit,
        told: impl FnOnce(Result<Receipt, SendError>) + Send,
    ) -> Result<Option<Timestamp>, ResidentError> {
        self.check_open()?;
        let mut known = None;
        let opened = self.sessions.open_or_resume(id, async || {
            let journal = self.store.open(id).await?;
            let first = self.dispatch.as_ref().map_or(u64::MAX, |dispatch| dispatch.first_record(id));
            if let Visit::Do(wanted) = visit
                && first < journal.next_seq()
            {
                let pieces: Vec<Record> = self.store.read(id, 1).try_collect().await?;
                known = done_before(&pieces, first, wanted)?;
            }
            let kept = Kept::read(journal).await?;
            match visit {
                Visit::Migrate(program) => self.take_up(id, kept, Some(&*self.program(program)?)).await,
                Visit::Do(_) | Visit::Wake => self.take_up(id, kept, None).await,
            }
        });
        let handle = opened.await?;
        let let_go = self.doors.get(id).map(|door| door.let_go.clone());
        let mut is_done = true;
        match visit {
            Visit::Do(body) => {
                let done = match known {
                    Some(receipt) => Ok(receipt),
                    None => deliver(&handle, RecordBody::clone(body)).await,
                };
                is_done = !matches!(done, Err(SendError::Gone(_)));
                told(done);
            }
            Visit::Migrate(_) | Visit::Wake => {
                // Seen when all is flushed.
                let mark = handle.present().await?.mark;
                told(Ok(Receipt { mark, is_repeated: false }));
            }
        }
        // One that has ended has been let go.
        let _ = handle.leave().await;
        let ending = handle.outcome().await?;
        if let Some(let_go) = let_go {
            let_go.cancelled().await;
        }
        let waits = |wait: &Wait| wait.is_for_person() || matches!(wait, Wait::Timer(_));
        match ending.outcome.is_some() || (is_done && ending.view.wait.as_ref().is_some_and(waits)) {
            true => Ok(ending.due),
            // It was stopped in the middle, or before anything was done, as this process is about to end.
            false => Err(SessionError::Draining.into()),
        }
    }

    /// Does something to a session that is live here, for another server.
    ///
    /// # Errors
    /// It is not here (any more), or nothing was done.
    pub async fn do_here(&self, id: &str, wanted: RecordBody) -> Result<Receipt, SendError> {
        deliver(&self.sessions.get(id).ok_or(SessionGone)?, wanted).await
    }

    /// Writes a session's beginning, with the text and the tools that this server has, and has some server go on with it.
    pub(super) async fn begin_somewhere(
        &self,
        dispatch: &dyn Dispatch,
        opened: Arc<Opened>,
        options: StartOptions,
    ) -> Result<(), ResidentError> {
        let id = options.id.clone();
        let held = self.held(opened).await?;
        let written = async {
            let journal = self.store.open(&id).await?;
            Ok::<_, ResidentError>(held.opened.start(journal, options)?.write_beginning().await?)
        };
        let written = written.await;
        held.close().await;
        written?;
        dispatch.hand_in(id, Visit::Wake, None).await.map(|_| ())
    }
}

/// Does what a journal has of it.
async fn deliver(handle: &SessionHandle, wanted: RecordBody) -> Result<Receipt, SendError> {
    let (deed, by) = Deed::of_record(wanted).ok_or(SessionGone)?;
    let handle = by.map_or_else(|| handle.clone(), |by| handle.on_behalf_of(by));
    handle.deliver(deed).await
}

/// What was wanted is in the journal since an earlier attempt of this visit: then what its doer is told of it. The records
/// are as they were written, for the number is one of those.
fn done_before(records: &[Record], first: u64, wanted: &RecordBody) -> Result<Option<Receipt>, ResidentError> {
    let Some(index) = records.iter().position(|record| record.seq >= first && record.body == *wanted) else {
        return Ok(None);
    };
    let mark = replay(&records[..index], None)?.maker.mark();
    Ok(Some(Receipt { mark, is_repeated: false }))
}
