//! What a server keeps beside the journals, in the engine: a session's row is in its log; directories have what is looked
//! for by something else than an id. A directory may lag by a second.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use futures_util::{FutureExt, TryFutureExt};
use playhouse_vm::protocol::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::engine::ingress::Wait;
use crate::engine::node::Engine;
use crate::engine::wire::{Closing, DirectoryRow, Rows};
use crate::events::Mark;
use crate::journal::JournalError;
use crate::ledger::answers::{Answer, CANDIDATES, KeptAnswer, RowId};
use crate::ledger::{Filter, Kept, Ledger, Served, TokenRow};
use crate::tasks;
use crate::text::{hex, unique};

/// So many directories a program's sessions are spread over.
const SHARDS: u64 = 64;

/// So many directories are read at one time.
const AT_ONCE: usize = 16;

/// The directories that are one each.
const PROGRAMS: &str = "programs";
const TOKENS: &str = "tokens";
/// Sessions that were stored without a server.
const STORED: &str = "stored";

/// The ledger.
pub(super) struct EngineLedger {
    pub(super) engine: Arc<Engine>,
}

/// The directory that has a session of a program: the same in every process and version.
fn sessions_of(program: &str, session: &str) -> String {
    shard(program, u64::from(Sha256::digest(session)[0]) % SHARDS)
}

fn shard(program: &str, number: u64) -> String {
    format!("sessions.{program}.{number}")
}

impl Engine {
    pub(super) async fn rows<T: DeserializeOwned>(&self, directory: &str) -> Result<Vec<(String, T)>, JournalError> {
        let rows = self.ingress.call(("Directory", directory, "rows"), None::<&()>, None, Wait::Briefly);
        let rows: Rows = rows.await?;
        // What another version has written is not understood here, and is passed over.
        Ok(rows.into_iter().filter_map(|(name, value)| Some((name, serde_json::from_str(&value).ok()?))).collect())
    }

    pub(super) async fn put(
        &self,
        directory: &str,
        name: &str,
        value: &(impl Serialize + Sync),
        is_new: bool,
    ) -> Result<bool, JournalError> {
        let value = serde_json::to_string(value).unwrap_or_default();
        let row = DirectoryRow { name: name.to_owned(), value, is_new };
        let id = is_new.then(unique);
        self.ingress.call(("Directory", directory, "put"), Some(&row), id.as_deref(), Wait::Briefly).await
    }

    async fn get<T: DeserializeOwned>(&self, directory: &str, name: &str) -> Result<Option<T>, JournalError> {
        let get = self.ingress.call(("Directory", directory, "get"), Some(&name), None, Wait::Briefly);
        let value: Option<String> = get.await?;
        Ok(value.and_then(|value| serde_json::from_str(&value).ok()))
    }

    async fn remove(&self, directory: &str, name: &str) -> Result<bool, JournalError> {
        self.ingress.call(("Directory", directory, "remove"), Some(&name), None, Wait::Briefly).await
    }

    /// A session is stored without a server.
    pub(super) async fn note_stored(&self, session: &str) -> Result<(), JournalError> {
        self.put(STORED, session, &(), false).await.map(|_| ())
    }

    /// The ids of all sessions, in their order.
    pub(super) async fn stored_sessions(&self) -> Result<Vec<Arc<str>>, JournalError> {
        let stored = self.rows::<()>(STORED).await?.into_iter().map(|(id, ())| Arc::from(id));
        let mut ids: Vec<Arc<str>> = stored.collect();
        ids.extend(self.served(None).await?.into_iter().map(|served| served.session));
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// The sessions of a program, or of all.
    async fn served(&self, program: Option<&str>) -> Result<Vec<Served>, JournalError> {
        let programs = match program {
            Some(program) => vec![program.to_owned()],
            None => self.rows::<()>(PROGRAMS).await?.into_iter().map(|(name, ())| name).collect(),
        };
        let mut rows = Vec::new();
        for program in &programs {
            rows.extend((0..SHARDS).map(|number| self.rows_of(shard(program, number)).boxed()));
        }
        let all: Vec<Vec<_>> = stream::iter(rows).buffer_unordered(AT_ONCE).try_collect().await?;
        Ok(all.into_iter().flatten().collect())
    }

    async fn rows_of(&self, directory: String) -> Result<Vec<Served>, JournalError> {
        let rows = self.rows(&directory).await?;
        Ok(rows.into_iter().map(|(_, served)| served).collect())
    }

    /// Keeps a session's row where it is looked for.
    async fn put_row(&self, served: &Served) -> Result<(), JournalError> {
        let directory = sessions_of(&served.program, &served.session);
        self.put(&directory, &served.session, served, false).await.map(|_| ())
    }

    /// The same, a moment later.
    fn note(self: &Arc<Self>, served: Served) {
        let engine = self.clone();
        tasks::spawn(async move {
            if let Err(error) = engine.put_row(&served).await {
                tracing::warn!(session = &*served.session, %error, "the session's row could not be written");
            }
        });
    }

    /// Deletes a session; false: there is none, or one that has begun where only another one was to go.
    pub(super) async fn delete(
        &self,
        session: &str,
        served: Option<Served>,
        only_unbegun: bool,
    ) -> Result<bool, JournalError> {
        let delete = self.ingress.call(("Log", session, "delete"), Some(&only_unbegun), None, Wait::Briefly);
        let is_deleted: bool = delete.await?;
        if is_deleted {
            match served {
                Some(served) => self.remove(&sessions_of(&served.program, session), session).await?,
                None => self.remove(STORED, session).await?,
            };
            for (name, history) in self.rows::<String>(&answers_of(session)).await? {
                self.remove(&history, &row_of(session, &name)).await?;
                self.remove(&answers_of(session), &name).await?;
            }
        }
        Ok(is_deleted)
    }
}

/// The directory of what a session has answered: the mark at which an answer began, and the directory of its history.
fn answers_of(session: &str) -> String {
    format!("answers.{session}")
}

/// The directory of a history: the sessions that have answered it.
fn history_of(key: &[u8; 32]) -> String {
    format!("history.{}", hex(key))
}

fn row_of(session: &str, began: &str) -> String {
    format!("{session}@{began}")
}

impl EngineLedger {
    /// Takes over the row of a session that another ledger had. It is served when all else is kept.
    pub(super) async fn take_over(&self, served: &Served) -> Result<(), JournalError> {
        self.engine.put(PROGRAMS, &served.program, &(), false).await?;
        self.engine.put_row(served).await?;
        self.serve(served, true).await.map(|_| ())
    }

    async fn serve(&self, served: &Served, is_new: bool) -> Result<bool, JournalError> {
        let id = is_new.then(unique);
        let row = (served, is_new);
        let serve = ("Log", &*served.session, "serve");
        self.engine.ingress.call(serve, Some(&row), id.as_deref(), Wait::Briefly).await
    }

    async fn find_served(&self, session: &str) -> Result<Option<Served>, JournalError> {
        let state = self.engine.state_of(session).await?;
        let held_by = state.visitor().cloned();
        Ok(state.served.map(|served| Served { held_by, ..served }))
    }

    /// An answer with its session; none: one of them is gone.
    async fn kept(&self, row: RowId, answer: Answer) -> Result<Option<KeptAnswer>, JournalError> {
        let Some(served) = self.find_served(&answer.session).await? else { return Ok(None) };
        let later = self.engine.rows::<String>(&answers_of(&answer.session)).await?;
        let later = later.into_iter().filter_map(|(began, _)| began.parse::<Mark>().ok());
        let is_last = later.max().is_none_or(|last| last <= answer.began);
        Ok(Some(KeptAnswer { row, answer, served, is_last }))
    }
}

impl Ledger for EngineLedger {
    fn begin(&self, served: Served) -> Kept<'_, bool> {
        async move {
            let is_new = self.serve(&served, true).await?;
            if is_new {
                self.engine.put(PROGRAMS, &served.program, &(), false).await?;
                self.engine.note(served);
            }
            Ok(is_new)
        }
        .boxed()
    }

    fn take_up(&self, session: Arc<str>) -> Kept<'_, Option<i64>> {
        let owned = self.engine.owned.get(&session).map(|owned| i64::try_from(owned.epoch).unwrap_or(i64::MAX));
        async move { Ok(owned) }.boxed()
    }

    fn let_go(&self, (session, opened): (Arc<str>, i64), standing: String, wake: Option<Timestamp>) -> Kept<'_, ()> {
        async move {
            let epoch = u64::try_from(opened).unwrap_or(0);
            let closing = Closing { epoch, standing: Some((standing, wake.map(|wake| wake.0))) };
            if let Some(served) = self.engine.close(&session, closing).await? {
                self.engine.note(served);
            }
            Ok(())
        }
        .boxed()
    }

    fn let_sleep(&self, _: Arc<str>) -> Kept<'_, ()> {
        // The engine wakes sessions, and knows itself which cannot go on.
        async { Ok(()) }.boxed()
    }

    fn change_program(&self, session: Arc<str>, program: Arc<str>, version: Arc<str>) -> Kept<'_, ()> {
        async move {
            let Some(served) = self.engine.state_of(&session).await?.served else { return Ok(()) };
            if served.program != program {
                self.engine.remove(&sessions_of(&served.program, &session), &session).await?;
            }
            let served = Served { program, version, ..served };
            self.serve(&served, false).await?;
            self.engine.note(served);
            Ok(())
        }
        .boxed()
    }

    fn forget(&self, session: Arc<str>) -> Kept<'_, ()> {
        async move {
            let served = self.engine.state_of(&session).await?.served;
            self.engine.delete(&session, served, true).await.map(|_| ())
        }
        .boxed()
    }

    fn find(&self, session: Arc<str>) -> Kept<'_, Option<Served>> {
        async move { self.find_served(&session).await }.boxed()
    }

    fn list(&self, filter: Filter) -> Kept<'_, Vec<Served>> {
        async move {
            let Filter { program, owner, before, limit } = filter;
            let mut served = self.engine.served(program.as_deref()).await?;
            served.retain(|served| owner.as_ref().is_none_or(|owner| *owner == served.owner));
            let key = |served: &Served| (served.created, served.session.clone());
            served.sort_unstable_by_key(|served| std::cmp::Reverse(key(served)));
            let after = before.and_then(|before| served.iter().position(|served| served.session == before));
            Ok(served.into_iter().skip(after.map_or(0, |index| index + 1)).take(limit).collect())
        }
        .boxed()
    }

    fn wanted_back(&self, _: Timestamp, _: bool) -> Kept<'_, Vec<Arc<str>>> {
        // The engine calls when a session's time has come, and again when a node has died.
        async { Ok(Vec::new()) }.boxed()
    }

    fn add_token(&self, token: TokenRow) -> Kept<'_, bool> {
        async move {
            let rows = self.engine.rows::<TokenRow>(TOKENS).await?;
            for (name, row) in &rows {
                if row.expires.is_some_and(|expires| expires <= token.created) {
                    self.engine.remove(TOKENS, name).await?;
                } else if row.name == token.name {
                    return Ok(false);
                }
            }
            self.engine.put(TOKENS, &hex(&token.hash), &token, true).await
        }
        .boxed()
    }

    fn tokens(&self) -> Kept<'_, Vec<TokenRow>> {
        let tokens = self.engine.rows::<TokenRow>(TOKENS).map_ok(|rows| {
            let mut tokens: Vec<TokenRow> = rows.into_iter().map(|(_, token)| token).collect();
            tokens.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            tokens
        });
        tokens.boxed()
    }

    fn token(&self, hash: [u8; 32]) -> Kept<'_, Option<TokenRow>> {
        async move {
            if let Some(known) = self.engine.tokens.get(&hash) {
                return Ok(Some(known));
            }
            let token: Option<TokenRow> = self.engine.get(TOKENS, &hex(&hash)).await?;
            token.iter().for_each(|token| self.engine.tokens.note(token.clone()));
            Ok(token)
        }
        .boxed()
    }

    fn revoke(&self, name: Arc<str>) -> Kept<'_, bool> {
        async move {
            let rows = self.engine.rows::<TokenRow>(TOKENS).await?;
            let Some((row, _)) = rows.into_iter().find(|(_, token)| token.name == name) else { return Ok(false) };
            self.engine.remove(TOKENS, &row).await
        }
        .boxed()
    }

    fn is_writable(&self) -> Kept<'_, ()> {
        self.engine.rows::<()>(PROGRAMS).map_ok(|_| ()).boxed()
    }

    fn add_answer(&self, answer: Answer) -> Kept<'_, RowId> {
        async move {
            let (history, began) = (history_of(&answer.key), answer.began.to_string());
            let row = row_of(&answer.session, &began);
            self.engine.put(&history, &row, &answer, false).await?;
            self.engine.put(&answers_of(&answer.session), &began, &history, false).await?;
            Ok(RowId(format!("{history}/{row}").into()))
        }
        .boxed()
    }

    fn end_answer(&self, RowId(id): RowId, mark: Mark, reply: String) -> Kept<'_, ()> {
        async move {
            let Some((history, row)) = id.split_once('/') else { return Ok(()) };
            let Some(answer) = self.engine.get::<Answer>(history, row).await? else { return Ok(()) };
            let answer = Answer { ended: Some((mark, reply)), ..answer };
            self.engine.put(history, row, &answer, false).await.map(|_| ())
        }
        .boxed()
    }

    fn answers(&self, key: [u8; 32]) -> Kept<'_, Vec<KeptAnswer>> {
        async move {
            let history = history_of(&key);
            let mut answers = self.engine.rows::<Answer>(&history).await?;
            answers.sort_by_key(|(_, answer)| std::cmp::Reverse(answer.created));
            let mut kept = Vec::new();
            for (row, answer) in answers.into_iter().take(CANDIDATES) {
                kept.extend(self.kept(RowId(format!("{history}/{row}").into()), answer).await?);
            }
            Ok(kept)
        }
        .boxed()
    }

    fn answer(&self, session: Arc<str>, began: Option<Mark>) -> Kept<'_, Option<KeptAnswer>> {
        async move {
            let answers = self.engine.rows::<String>(&answers_of(&session)).await?;
            let answers = answers.into_iter().filter_map(|(name, history)| Some((name.parse().ok()?, history)));
            let mut answers: Vec<(Mark, String)> = answers.collect();
            answers.retain(|(mark, _)| began.is_none_or(|began| *mark == began));
            let Some((mark, history)) = answers.into_iter().max() else { return Ok(None) };
            let row = row_of(&session, &mark.to_string());
            let Some(answer) = self.engine.get::<Answer>(&history, &row).await? else { return Ok(None) };
            self.kept(RowId(format!("{history}/{row}").into()), answer).await
        }
        .boxed()
    }
}
