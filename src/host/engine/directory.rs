//! The object `Directory`: named rows of JSON. One for each program and shard has the sessions, others have tokens, and
//! what was answered to which history (spec `engine.md`, "Objects").

use restate_sdk::prelude::{
    ContextReadState, ContextWriteState, HandlerError, Json, ObjectContext, SharedObjectContext,
};

use crate::engine::wire::{DirectoryRow, Rows};

/// The object.
pub(super) struct Directory;

#[allow(missing_docs, reason = "the clients that the macro makes are not used")]
#[restate_sdk::object]
impl Directory {
    /// Keeps a row; false: there is one, and it is to be new.
    #[handler(lazy_state)]
    async fn put(&self, context: ObjectContext<'_>, row: Json<DirectoryRow>) -> Result<Json<bool>, HandlerError> {
        let DirectoryRow { name, value, is_new } = row.into_inner();
        if is_new && context.get::<String>(&name).await?.is_some() {
            return Ok(Json(false));
        }
        context.set(&name, value);
        Ok(Json(true))
    }

    /// Takes a row away; false: there is none.
    #[handler(lazy_state)]
    async fn remove(&self, context: ObjectContext<'_>, name: Json<String>) -> Result<Json<bool>, HandlerError> {
        let name = name.into_inner();
        let is_there = context.get::<String>(&name).await?.is_some();
        context.clear(&name);
        Ok(Json(is_there))
    }

    /// A row.
    #[handler(lazy_state)]
    async fn get(
        &self,
        context: SharedObjectContext<'_>,
        name: Json<String>,
    ) -> Result<Json<Option<String>>, HandlerError> {
        Ok(Json(context.get::<String>(&name.into_inner()).await?))
    }

    /// All rows.
    #[handler]
    async fn rows(&self, context: SharedObjectContext<'_>) -> Result<Json<Rows>, HandlerError> {
        let mut rows = Rows::new();
        for name in context.get_keys().await? {
            if let Some(value) = context.get::<String>(&name).await? {
                rows.insert(name, value);
            }
        }
        Ok(Json(rows))
    }
}
