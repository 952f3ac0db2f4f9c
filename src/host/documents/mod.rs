//! Documents: folders of texts in one SQLite file, found by words, by meaning (if a server makes vectors) and by facts.
//!
//! Read on in the order of the data: `extract` makes chunks and facts of files, `write` keeps them in the tables of `schema`,
//! `search`, `vectors` and `graph` find them, `measure` says how well. `claims` are the facts that a model reads in them.

mod chunk;

pub mod claims;

pub mod command;

mod extract;

mod facts;

mod graph;

mod html;

mod markdown;

pub mod measure;

mod schema;

pub mod search;

mod vectors;

mod words;

pub mod write;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, Row};
use serde::Serialize;

use crate::documents::command::Extractors;
use crate::documents::vectors::Vectors;

/// What can go wrong with an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum IndexFault {
    /// There is none.
    IndexMissing,
    /// Another process writes it.
    IndexLocked,
    /// A newer program has made it.
    IndexNewer,
    /// Its vectors are another model's.
    IndexModel,
    /// It, or a document, cannot be read or written.
    IndexUnreadable,
}

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}; {advice}", self.what())]
pub struct IndexError {
    /// The index, or a document.
    pub path: String,
    /// What kind of fault it is.
    pub fault: IndexFault,
    /// What went wrong.
    pub cause: String,
    /// What to do about it.
    pub advice: String,
}

impl IndexError {
    fn new(
        path: impl Into<String>,
        fault: IndexFault,
        cause: impl Into<String>,
        advice: impl Into<String>,
    ) -> IndexError {
        IndexError { path: path.into(), fault, cause: cause.into(), advice: advice.into() }
    }

    /// What went wrong, and where.
    pub fn what(&self) -> String {
        format!("{}: {} ({})", self.path, self.cause, <&str>::from(self.fault))
    }
}

/// An index that is open.
#[derive(Debug)]
pub struct Index {
    connection: Connection,
    /// Its file; none: it is in memory.
    path: Option<PathBuf>,
    /// The folder that the names of documents are relative to, without links.
    folder: PathBuf,
    /// Its vectors as they were when they were needed last, and the version of the file then.
    vectors: Option<(i64, Vectors)>,
    /// What makes texts of files that are none.
    commands: Extractors,
}

/// What an index holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Files and folders that were added, and what of them was deleted.
    pub roots: Vec<Root>,
    /// Documents.
    pub documents: u64,
    /// Chunks of documents.
    pub chunks: u64,
    /// Facts of documents.
    pub facts: u64,
    /// The model of its vectors.
    pub embedding: Option<String>,
    /// Chunks that have a vector.
    pub vectors: u64,
}

/// A file or folder that was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Root {
    /// Its path, relative to the index's folder; empty for that folder itself.
    pub path: String,
    /// Patterns of the files that are wanted; all if there are none.
    pub include: Vec<String>,
    /// Whether it was deleted again from a folder that was added.
    pub deleted: bool,
}

/// A document of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Document {
    /// Its path, relative to the index's folder.
    pub path: String,
    /// What it is called.
    pub title: String,
    /// Its chunks.
    pub chunks: u64,
    /// Its facts.
    pub facts: u64,
}

impl Index {
    /// An index of documents below a folder that is in memory, and empty.
    ///
    /// # Errors
    /// The folder is not there.
    pub fn in_memory(folder: &Path) -> Result<Index, IndexError> {
        let folder = real(folder)?;
        let opened = Connection::open_in_memory().and_then(|connection| {
            schema::make(&connection)?;
            Ok(connection)
        });
        let connection = opened.map_err(|cause| fault(&folder.display().to_string(), &cause))?;
        Ok(Index::on(connection, None, folder))
    }

    fn on(connection: Connection, path: Option<PathBuf>, folder: PathBuf) -> Index {
        Index { connection, path, folder, vectors: None, commands: Extractors::default() }
    }

    /// Uses these commands to turn other files into text.
    pub fn extract_by(&mut self, commands: Extractors) {
        self.commands = commands;
    }

    /// Its file, for people.
    pub fn shown(&self) -> String {
        self.path.as_ref().map_or_else(|| "the index in memory".to_owned(), |path| path.display().to_string())
    }

    /// The model of its vectors; none: it is found by words alone.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn embedding(&self) -> Result<Option<String>, IndexError> {
        self.setting("embedding")
    }

    /// What it holds.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn status(&self) -> Result<Status, IndexError> {
        let count = |table: &str| {
            self.run(|connection| connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)))
        };
        Ok(Status {
            roots: self.roots()?,
            documents: count("document")?,
            chunks: count("chunk")?,
            facts: count("triple")?,
            embedding: self.embedding()?,
            vectors: count("vector")?,
        })
    }

    /// Its documents, by path.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn documents(&self) -> Result<Vec<Document>, IndexError> {
        let sql = "SELECT path, title, (SELECT count(*) FROM chunk WHERE document = document.id),
            (SELECT count(*) FROM triple WHERE document = document.id) FROM document ORDER BY path";
        self.rows(sql, [], |row| {
            Ok(Document { path: row.get(0)?, title: row.get(1)?, chunks: row.get(2)?, facts: row.get(3)? })
        })
    }

    fn roots(&self) -> Result<Vec<Root>, IndexError> {
        self.rows("SELECT path, include, deleted FROM root ORDER BY path", [], |row| {
            let include: String = row.get(1)?;
            let include = include.lines().map(str::to_owned).collect();
            Ok(Root { path: row.get(0)?, include, deleted: row.get(2)? })
        })
    }

    fn setting(&self, name: &str) -> Result<Option<String>, IndexError> {
        let sql = "SELECT value FROM setting WHERE name = ?1";
        self.run(|connection| connection.query_row(sql, [name], |row| row.get(0)).optional())
    }

    /// Works on the connection, and says which index it was that failed.
    fn run<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, IndexError> {
        work(&self.connection).map_err(|cause| fault(&self.shown(), &cause))
    }

    /// All rows of a statement.
    fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, IndexError> {
        self.run(|connection| connection.prepare(sql)?.query_map(values, row)?.collect())
    }
}

/// What SQLite says of an index, in our words.
fn fault(path: &str, cause: &rusqlite::Error) -> IndexError {
    let (fault, cause, advice) = match cause.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            IndexFault::IndexLocked,
            "another process writes this index".to_owned(),
            "wait until it is done, or stop it, then try again",
        ),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => (
            IndexFault::IndexUnreadable,
            format!("this is not an index, or it is damaged: {cause}"),
            "name another file with --index; a damaged index can be removed and built again",
        ),
        _ => (
            IndexFault::IndexUnreadable,
            format!("the index cannot be used: {cause}"),
            "check the file's permissions and the space on its disk",
        ),
    };
    IndexError::new(path, fault, cause, advice)
}

/// A folder without links.
fn real(folder: &Path) -> Result<PathBuf, IndexError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    folder.canonicalize().map_err(|cause| {
        let cause = format!("this folder cannot be opened: {cause}");
        IndexError::new(folder.display().to_string(), IndexFault::IndexMissing, cause, "check the path")
    })
}
