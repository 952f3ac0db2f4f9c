//! The object `Log`, whose key is a session's id: its records, who owns them, and how the session stands (spec
//! `engine.md`, "Objects"). It knows nothing of what is in a record. What it decides stands in [`LogState`].

use std::sync::Arc;

use restate_sdk::prelude::{
    ContextReadState, ContextWriteState, HandlerError, Json, ObjectContext, SharedObjectContext,
};

use crate::engine::log_state::{LogState, fold};
use crate::engine::wire::{Appended, Appending, Closing, Opened, Opening, Watching};
use crate::ledger::Served;

/// The key of a log's state.
const STATE: &str = "state";

/// The key of the block whose first record has this number: keys sort as their numbers do.
fn block_key(from: u64) -> String {
    format!("r{from:012}")
}

/// The object.
pub(super) struct Log {
    /// So many bytes of records a session may have.
    pub(super) room: u64,
}

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
                    if let Some(block) = context.get::<String>(&key).await? {
                        blocks.push((key, block));
                    }
                }
                if let Some(folded) = fold(&blocks) {
                    // Whoever reads meanwhile finds a record twice, and never not at all.
                    let is_new = |block: &&(String, String)| !blocks.contains(block);
                    folded.iter().filter(is_new).for_each(|(key, block)| context.set(key, block.clone()));
                    let stays = |key: &String| folded.iter().any(|(folded, _)| folded == key);
                    blocks.iter().filter(|(key, _)| !stays(key)).for_each(|(key, _)| context.clear(key));
                    blocks = folded;
                }
                Opened::Yours { epoch, first, blocks: blocks.into_iter().map(|(_, block)| block).collect() }
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
        let (answer, is_new) = state.append(&appending, self.room);
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
        let n = state.fail(visit.into_inner());
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
        let is_taken = state.serve(served, is_new);
        if is_taken {
            context.set(STATE, Json(state));
        }
        Ok(Json(is_taken))
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
        let Some(deleted) = state.deleted(only_unbegun.into_inner()) else { return Ok(Json(false)) };
        context.clear_all();
        context.set(STATE, Json(deleted));
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
