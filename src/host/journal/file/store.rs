//! Journals in files as a store: a folder of them, or a file for one session only.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};

use crate::journal::blocking::blocking;
use crate::journal::file::journal::{self, FileJournal};
use crate::journal::record::{Record, RecordBody};
use crate::journal::store::{Listed, Store, check_session_id};
use crate::journal::{Journal, JournalError, JournalErrorKind, RecordStream};

/// Journals in files.
#[derive(Debug)]
pub enum Files {
    /// Each in a file of its own: `ID.jsonl`, but one that was put there may have any name.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Files with other names, as far as they have been found.
        named: Mutex<HashMap<Arc<str>, PathBuf>>,
    },
    /// The only one, in this file.
    Only(PathBuf),
}

impl Files {
    /// The journals of a folder.
    pub fn folder(path: &Path) -> Arc<dyn Store> {
        Arc::new(Files::Folder { path: path.to_owned(), named: Mutex::default() })
    }

    /// A file for one session.
    pub fn only(path: &Path) -> Arc<dyn Store> {
        Arc::new(Files::Only(path.to_owned()))
    }

    fn path(&self) -> &Path {
        match self {
            Files::Folder { path, named: _ } | Files::Only(path) => path,
        }
    }

    fn path_of(&self, session: &str) -> PathBuf {
        match self {
            Files::Folder { path, named } => {
                let named = named.lock().unwrap_or_else(PoisonError::into_inner);
                named.get(session).cloned().unwrap_or_else(|| path.join(format!("{session}.jsonl")))
            }
            Files::Only(path) => path.clone(),
        }
    }
}

impl Store for Files {
    fn location(&self) -> String {
        self.path().display().to_string()
    }

    fn location_of(&self, session: &str) -> String {
        self.path_of(session).display().to_string()
    }

    fn open(&self, session: &str) -> BoxFuture<'static, Result<Box<dyn Journal>, JournalError>> {
        let path = match self.checked(session) {
            Ok(path) => path,
            Err(error) => return futures_util::future::ready(Err(error)).boxed(),
        };
        blocking(self.location(), move || Ok(Box::new(FileJournal::open(path)?) as Box<dyn Journal>)).boxed()
    }

    fn read(&self, session: &str, from: u64) -> RecordStream {
        match self.checked(session) {
            Ok(path) => journal::stream_of(path, from, false),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    fn find<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, JournalError>> {
        async move {
            let path = self.checked(session)?;
            let Files::Folder { path: folder, named } = self else {
                let wanted: Arc<str> = session.into();
                return blocking(self.location(), move || is_of(&path, &wanted)).await;
            };
            if is_there(&path) {
                return Ok(true);
            }
            let (folder, wanted) = (folder.clone(), session.to_owned());
            let find =
                move || Ok(files(&folder)?.into_iter().find(|path| session_in(path).as_deref() == Some(&*wanted)));
            let found = blocking(self.location(), find).await?;
            let is_found = found.is_some();
            let named = &mut *named.lock().unwrap_or_else(PoisonError::into_inner);
            named.extend(found.map(|path| (session.into(), path)));
            Ok(is_found)
        }
        .boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Listed>, JournalError>> {
        async move {
            let Files::Folder { path: folder, named } = self else {
                let path = self.path().to_owned();
                return Ok(is_there(&path).then(|| Listed::unknown(id_of(&path))).into_iter().collect());
            };
            let of_folder = folder.clone();
            let find = move || Ok(files(&of_folder)?.into_iter().map(|path| (id_of(&path), path)).collect::<Vec<_>>());
            let found = blocking(self.location(), find).await?;
            let named = &mut *named.lock().unwrap_or_else(PoisonError::into_inner);
            named.clear();
            let mut listed = Vec::new();
            for (id, path) in found {
                let own = folder.join(format!("{id}.jsonl"));
                // A copy of a session that is there is listed by its file's name.
                let is_copy = path != own && (is_there(&own) || named.contains_key(&id));
                let id = if is_copy { stem_of(&path) } else { id };
                if path != own && !is_copy {
                    named.insert(id.clone(), path);
                }
                listed.push(Listed::unknown(id));
            }
            Ok(listed)
        }
        .boxed()
    }

    fn holder(&self, session: &str) -> BoxFuture<'static, Option<String>> {
        futures_util::future::ready(journal::holder(&self.path_of(session))).boxed()
    }

    fn delete(&self, session: &str) -> BoxFuture<'static, Result<(), JournalError>> {
        let path = self.path_of(session);
        blocking(self.location(), move || journal::delete(&path)).boxed()
    }
}

impl Files {
    fn checked(&self, session: &str) -> Result<PathBuf, JournalError> {
        if let Files::Folder { .. } = self {
            check_session_id(session)?;
        }
        Ok(self.path_of(session))
    }
}

fn is_there(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// Whether a file for one session holds this one; false: it is not there.
fn is_of(path: &Path, wanted: &Arc<str>) -> Result<bool, JournalError> {
    if !is_there(path) {
        return Ok(false);
    }
    match begun_in(&journal::read_first(path)?) {
        Some(found) if *found != **wanted => {
            let kind = JournalErrorKind::OtherSession { found, wanted: wanted.clone() };
            Err(JournalError::new(path.display().to_string(), kind))
        }
        _ => Ok(true),
    }
}

/// Whose journal a file is, if it can be read.
fn session_in(path: &Path) -> Option<Arc<str>> {
    begun_in(&journal::read_first(path).ok()?)
}

fn begun_in(records: &[Record]) -> Option<Arc<str>> {
    let first = records.first()?;
    if let RecordBody::Begun(begun) = &first.body { Some(begun.session.clone()) } else { None }
}

/// The session's id; of a journal that cannot be read, its file's name.
fn id_of(path: &Path) -> Arc<str> {
    session_in(path).unwrap_or_else(|| stem_of(path))
}

fn stem_of(path: &Path) -> Arc<str> {
    path.file_stem().map(|stem| Arc::from(stem.to_string_lossy())).unwrap_or_default()
}

/// The journals of a folder; one that is not there has none.
fn files(folder: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let error = |cause| {
        JournalError::unavailable(
            folder.display().to_string(),
            "find",
            cause,
            "name a readable folder, or a file that keeps sessions",
        )
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(error(cause)),
    };
    let mut found = Vec::new();
    for entry in entries {
        found.push(entry.map_err(error)?.path());
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    found.sort();
    Ok(found)
}
