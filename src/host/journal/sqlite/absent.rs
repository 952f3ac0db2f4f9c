//! What a build without SQLite says of its stores.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use futures_util::stream::{self, StreamExt};

use crate::journal::store::{Listed, Store};
use crate::journal::{Journal, JournalError, JournalErrorKind, RecordStream};

/// A store that cannot be opened.
struct Absent(PathBuf);

/// The store at a path.
pub(in crate::journal) fn at(path: &Path) -> Arc<dyn Store> {
    Arc::new(Absent(path.to_owned()))
}

impl Absent {
    fn error(&self) -> JournalError {
        JournalError::new(self.location(), JournalErrorKind::Unsupported("SQLite"))
    }

    fn refuse<T: Send + 'static>(&self) -> BoxFuture<'static, Result<T, JournalError>> {
        future::ready(Err(self.error())).boxed()
    }
}

impl Store for Absent {
    fn location(&self) -> String {
        self.0.display().to_string()
    }

    fn open(&self, _: &str) -> BoxFuture<'static, Result<Box<dyn Journal>, JournalError>> {
        self.refuse()
    }

    fn read(&self, _: &str, _: u64) -> RecordStream {
        stream::iter([Err(self.error())]).boxed()
    }

    fn find<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<bool, JournalError>> {
        self.refuse()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Listed>, JournalError>> {
        // What is not there has no sessions, whatever could have read it.
        if self.0.exists() { self.refuse() } else { future::ready(Ok(Vec::new())).boxed() }
    }

    fn holder(&self, _: &str) -> BoxFuture<'static, Option<String>> {
        future::ready(None).boxed()
    }

    fn delete(&self, _: &str) -> BoxFuture<'static, Result<(), JournalError>> {
        self.refuse()
    }
}
