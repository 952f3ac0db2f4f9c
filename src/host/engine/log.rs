//! The object `Log`, whose key is a session's id: its records, who owns them, and how the session stands (spec
//! `engine.md`, "Objects"). It knows nothing of what is in a record. What it decides stands in [`LogState`], which needs
//! no engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use restate_sdk::prelude::{
    ContextReadState, ContextWriteState, HandlerError, Json, ObjectContext, SharedObjectContext,
};
use serde::{Deserialize, Serialize};

use crate::host::engine::wire::{Appended, Appending, Closing, Opened, Opening, ROOM, Watching};
use crate::host::ledger::Served;
use crate::vm::protocol::Timestamp;

/// The key of a log's state.
const STATE: &str = "state";

/// What a log knows beside the records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LogState {
    /// How many owners there have been.
    epoch: u64,
    /// How many records there are.
    n_records: u64,
    /// Of all records.
    bytes: u64,
    /// The node that has the session.
    owner: Option<Arc<str>>,
    /// The last visit, and the number of the first record that it could have added.
    visit: Option<(Arc<str>, u64)>,
    /// How often the last visit has failed for a fault of the session.
    n_failures: u32,
    /// What the directory has of it, too.
    pub(super) served: Option<Served>,
    /// Nodes that want to hear of what is added, and until when.
    watchers: BTreeMap<Arc<str>, i64>,
}

impl LogState {
    /// Gives the journal to a node. A visit takes it over, whoever has it: the engine lets one at a time be. So does whoever
    /// finds it empty: a node that was about to begin it may have died.
    fn open(&mut self, Opening { node, visit }: Opening) -> Result<(u64, u64), Arc<str>> {
        if let (None, Some(owner)) = (&visit, &self.owner)
            && self.n_records > 0
        {
            return Err(owner.clone());
        }
        self.epoch += 1;
        self.owner = Some(node);
        let next = self.n_records + 1;
        let Some(visit) = visit else { return Ok((self.epoch, next)) };
        let first = match self.visit.take_if(|(last, _)| *last == visit) {
            Some((_, first)) => first,
            None => {
                self.n_failures = 0;
                next
            }
        };
        self.visit = Some((visit, first));
        Ok((self.epoch, first))
    }

    /// Takes records, if they are the owner's and the next ones. The same ones a second time are there already.
    fn append(&mut self, Appending { epoch, from, n, blocks }: &Appending) -> (Appended, bool) {
        let next = self.n_records + 1;
        let bytes = self.bytes + blocks.iter().map(|(_, block)| block.len() as u64).sum::<u64>();
        let done = |state: &LogState| Appended::Done {
            watchers: state.watchers.keys().cloned().collect(),
            bytes: state.bytes,
        };
        match () {
            () if *epoch != self.epoch => (Appended::Fenced, false),
            () if *from < next && from + n == next => (done(self), false),
            () if *from != next => (Appended::Gap(next), false),
            () if bytes > ROOM => (Appended::Full(self.bytes), false),
            () => {
                (self.n_records, self.bytes) = (self.n_records + n, bytes);
                (done(self), true)
            }
        }
    }

    /// The owner lets the session go; false: another one has it.
    fn close(&mut self, Closing { epoch, standing }: Closing) -> bool {
        if epoch != self.epoch {
            return false;
        }
        self.owner = None;
        if let (Some(served), Some((standing, wake))) = (&mut self.served, standing) {
            (served.standing, served.wake) = (Some(standing), wake.map(Timestamp));
            self.n_failures = 0;
        }
        true
    }

    fn watch(&mut self, Watching { node, now, until }: Watching) {
        self.watchers.retain(|_, until| *until > now);
        self.watchers.remove(&node);
        if until > now {
            self.watchers.insert(node, until);
        }
    }

    /// The node that has the session.
    pub(super) fn owner(&self) -> Option<&Arc<str>> {
        self.owner.as_ref()
    }

    /// How many records there are.
    pub(super) fn n_records(&self) -> u64 {
        self.n_records
    }
}

/// The key of the block whose first record has this number: keys sort as their numbers do.
fn block_key(from: u64) -> String {
    format!("r{from:012}")
}

/// The object.
pub(super) struct Log;

/// The state that was found; that of a log that is not there yet.
fn known(found: Option<Json<LogState>>) -> LogState {
    found.map(Json::into_inner).unwrap_or_default()
}

/// Which of these keys are those of blocks that have records with this number or a higher one, in order.
fn blocks_from(mut keys: Vec<String>, from: u64) -> Vec<String> {
    keys.retain(|key| key.starts_with('r'));
    keys.sort_unstable();
    let after = keys.partition_point(|key| **key <= *block_key(from));
    keys.split_off(after.saturating_sub(1))
}

#[allow(missing_docs, reason = "the clients that the macro makes are not used")]
#[restate_sdk::object]
impl Log {
    /// A node wants to own the journal.
    #[handler]
    async fn open(&self, context: ObjectContext<'_>, opening: Json<Opening>) -> Result<Json<Opened>, HandlerError> {
        let mut state = known(context.get(STATE).await?);
        Ok(Json(match state.open(opening.into_inner()) {
            Err(owner) => Opened::Held(owner),
            Ok((epoch, first)) => {
                context.set(STATE, Json(state));
                let mut blocks = Vec::new();
                for key in blocks_from(context.get_keys().await?, 1) {
                    blocks.extend(context.get::<String>(&key).await?);
                }
                Opened::Yours { epoch, first, blocks }
            }
        }))
    }

    /// The owner adds records.
    #[handler(lazy_state)]
    async fn append(
        &self,
        context: ObjectContext<'_>,
        appending: Json<Appending>,
    ) -> Result<Json<Appended>, HandlerError> {
        let (mut state, appending) = (known(context.get(STATE).await?), appending.into_inner());
        let (answer, is_new) = state.append(&appending);
        if is_new {
            for (from, block) in appending.blocks {
                context.set(&block_key(from), block);
            }
            context.set(STATE, Json(state));
        }
        Ok(Json(answer))
    }

    /// The owner lets the session go: its row, if it is served and was its owner's.
    #[handler(lazy_state)]
    async fn close(
        &self,
        context: ObjectContext<'_>,
        closing: Json<Closing>,
    ) -> Result<Json<Option<Served>>, HandlerError> {
        let mut state = known(context.get(STATE).await?);
        if !state.close(closing.into_inner()) {
            return Ok(Json(None));
        }
        let served = state.served.clone();
        context.set(STATE, Json(state));
        Ok(Json(served))
    }

    /// The last visit has failed for a fault of the session: how often it has by now.
    #[handler(lazy_state)]
    async fn fail(&self, context: ObjectContext<'_>, visit: Json<Arc<str>>) -> Result<Json<u32>, HandlerError> {
        let mut state = known(context.get(STATE).await?);
        let visit = visit.into_inner();
        if state.visit.as_ref().is_none_or(|(last, _)| *last != visit) {
            state.visit = Some((visit, state.n_records + 1));
            state.n_failures = 0;
        }
        state.n_failures += 1;
        let n = state.n_failures;
        context.set(STATE, Json(state));
        Ok(Json(n))
    }

    /// The session is about to begin, or its row is another one; false: it is there, and is to begin.
    #[handler(lazy_state)]
    async fn serve(
        &self,
        context: ObjectContext<'_>,
        served: Json<(Served, bool)>,
    ) -> Result<Json<bool>, HandlerError> {
        let (mut state, (served, is_new)) = (known(context.get(STATE).await?), served.into_inner());
        if is_new && state.served.is_some() {
            return Ok(Json(false));
        }
        state.served = Some(served);
        context.set(STATE, Json(state));
        Ok(Json(true))
    }

    /// A node wants to hear of what is added.
    #[handler(lazy_state)]
    async fn watch(&self, context: ObjectContext<'_>, watching: Json<Watching>) -> Result<Json<bool>, HandlerError> {
        let mut state = known(context.get(STATE).await?);
        state.watch(watching.into_inner());
        context.set(STATE, Json(state));
        Ok(Json(true))
    }

    /// All goes; false: there is nothing. What a visit adds that is under way is refused. With `only_unbegun` a session
    /// that has records stays.
    #[handler(lazy_state)]
    async fn delete(&self, context: ObjectContext<'_>, only_unbegun: Json<bool>) -> Result<Json<bool>, HandlerError> {
        let state = known(context.get(STATE).await?);
        let is_there = state.served.is_some() || state.n_records > 0;
        if !is_there || (only_unbegun.into_inner() && state.n_records > 0) {
            return Ok(Json(false));
        }
        context.clear_all();
        // The next session with this id must not take what an owner of this one still has to say.
        context.set(STATE, Json(LogState { epoch: state.epoch + 1, ..LogState::default() }));
        Ok(Json(true))
    }

    /// How it stands.
    #[handler(lazy_state)]
    async fn state(&self, context: SharedObjectContext<'_>) -> Result<Json<LogState>, HandlerError> {
        Ok(Json(known(context.get(STATE).await?)))
    }

    /// The blocks that have records with this number or a higher one; none: it has none.
    #[handler]
    async fn read(&self, context: SharedObjectContext<'_>, from: Json<u64>) -> Result<Json<Vec<String>>, HandlerError> {
        let mut blocks = Vec::new();
        for key in blocks_from(context.get_keys().await?, from.into_inner()) {
            blocks.extend(context.get::<String>(&key).await?);
        }
        Ok(Json(blocks))
    }
}
