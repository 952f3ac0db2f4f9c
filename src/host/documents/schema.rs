//! The tables of an index, and which files are none.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::documents::{Index, IndexError, IndexFault, fault, real};

/// What stands in the header of an index (`phdx`), so that no other database is taken for one.
const APPLICATION_ID: i32 = 0x7068_6478;

/// The version of the tables.
const VERSION: i32 = 2;

/// How long a write waits for another process that writes.
const BUSY: Duration = Duration::from_secs(2);

/// What words are found in. It holds no text of its own: `text` is a chunk with its title and headings, `parts` are the parts
/// of its identifiers, which count half.
pub(super) const WORDS: &str = "
    CREATE VIRTUAL TABLE words USING fts5(
        text, parts, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
    );
    INSERT INTO words (words, rank) VALUES ('rank', 'bm25(1.0, 0.5)');
";

/// The other tables. In `triple`, keys are names as they are compared; `asked` says which models have read which chunks for
/// facts. Of a document that is `paged`, lines are pages.
const TABLES: &str = "
    CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE root (path TEXT PRIMARY KEY, include TEXT NOT NULL, deleted INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE document (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL,
        size INTEGER NOT NULL,
        modified INTEGER NOT NULL,
        hash BLOB NOT NULL,
        paged INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE chunk (
        id INTEGER PRIMARY KEY,
        document INTEGER NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        title TEXT,
        heading TEXT NOT NULL,
        content TEXT NOT NULL
    ) STRICT;
    CREATE INDEX chunk_of_document ON chunk (document);
    CREATE TABLE vector (chunk INTEGER PRIMARY KEY, scale REAL NOT NULL, numbers BLOB NOT NULL) STRICT;
    CREATE TABLE triple (
        id INTEGER PRIMARY KEY,
        document INTEGER NOT NULL,
        line INTEGER NOT NULL,
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        predicate TEXT NOT NULL,
        object TEXT NOT NULL,
        subject_key TEXT NOT NULL,
        object_key TEXT NOT NULL
    ) STRICT;
    CREATE TABLE asked (chunk INTEGER NOT NULL, model TEXT NOT NULL, PRIMARY KEY (chunk, model)) STRICT, WITHOUT ROWID;
    CREATE INDEX triple_of_document ON triple (document);
    CREATE INDEX triple_of_subject ON triple (subject_key);
    CREATE INDEX triple_of_object ON triple (object_key);
";

/// Makes the tables in an empty database.
pub(super) fn make(connection: &Connection) -> rusqlite::Result<()> {
    let numbers = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};");
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {TABLES} {WORDS} {numbers} COMMIT;"))
}

impl Index {
    /// Opens an index to search it.
    ///
    /// # Errors
    /// It does not exist, is not an index, or was made by a newer program.
    pub fn open(path: &Path) -> Result<Index, IndexError> {
        if path.exists() {
            return Index::open_as(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
        }
        let advice = "make it with `playhouse index add FOLDER`, or name another one with --index";
        Err(IndexError::new(path.display().to_string(), IndexFault::IndexMissing, "there is no index", advice))
    }

    /// Opens an index to change it.
    ///
    /// # Errors
    /// It does not exist, is not an index, or was made by a newer program.
    pub fn open_to_write(path: &Path) -> Result<Index, IndexError> {
        Index::open(path)?;
        Index::open_as(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens an index to change it; one that is not there is made, for its owner only.
    ///
    /// # Errors
    /// It cannot be created, is not an index, or was made by a newer program.
    pub fn create(path: &Path) -> Result<Index, IndexError> {
        if path.exists() {
            return Index::open_as(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // SQLite gives its other files the rights of this one.
        options.open(path).map_err(|cause| {
            let cause = format!("the index cannot be made: {cause}");
            let advice = "name a file in an existing folder with --index";
            IndexError::new(path.display().to_string(), IndexFault::IndexUnreadable, cause, advice)
        })?;
        Index::open_as(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    fn open_as(path: &Path, rights: OpenFlags) -> Result<Index, IndexError> {
        let shown = path.display().to_string();
        let error = |cause: rusqlite::Error| fault(&shown, &cause);
        let folder = real(path.parent().unwrap_or(Path::new("")))?;
        let connection = Connection::open_with_flags(path, rights | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(error)?;
        connection.busy_timeout(BUSY).map_err(error)?;
        // The tables may be somebody else's work: they call no function with side effects.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(error)?;
        let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
        let mut state = (number("application_id").map_err(error)?, number("user_version").map_err(error)?);
        if state == (0, 0) && rights == OpenFlags::SQLITE_OPEN_READ_WRITE {
            connection.pragma_update(None, "journal_mode", "WAL").map_err(error)?;
            // Of two that make it at the same time one is late, and finds it made; of a foreign database nothing is touched.
            let made = make(&connection);
            state = (number("application_id").map_err(error)?, number("user_version").map_err(error)?);
            if state == (0, 0) {
                made.map_err(error)?;
            }
        }
        let (fault, cause, advice) = match state {
            (APPLICATION_ID, VERSION) => {
                connection.pragma_update(None, "synchronous", "NORMAL").map_err(error)?;
                return Ok(Index::on(connection, Some(path.to_owned()), folder));
            }
            (APPLICATION_ID, older) if older < VERSION => (
                IndexFault::IndexUnreadable,
                format!("its format is {older}, from an older Playhouse"),
                "remove it and add its documents again",
            ),
            (APPLICATION_ID, newer) => (
                IndexFault::IndexNewer,
                format!("its format is {newer}, and this Playhouse reads {VERSION}"),
                "use a newer playhouse, or remove it and add its documents again",
            ),
            _ => (
                IndexFault::IndexUnreadable,
                "this file is not an index of documents".to_owned(),
                "name another file with --index",
            ),
        };
        Err(IndexError::new(shown, fault, cause, advice))
    }
}
