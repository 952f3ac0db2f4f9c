//! Where a database's file is, and how a new one is made.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::component::paths::leads_out;
use crate::resource::ResourceError;
use crate::resource::sql::SqliteConfig;

/// How long a statement waits for another process that writes.
const BUSY: Duration = Duration::from_secs(1);

/// Bytes of one text, blob or row inside the database.
const MAX_VALUE_BYTES: i32 = 16 << 20;

/// Opens the database, and makes it first if it is new.
pub(super) fn open(folder: &Path, config: &SqliteConfig) -> Result<Connection, ResourceError> {
    let directory = Directory::open(folder)?;
    let init = config.init.as_deref().map(|path| directory.text(path).map(|text| (path, text))).transpose()?;
    let connection = if config.path == ":memory:" {
        let connection = Connection::open_in_memory().map_err(|error| unusable(config, &error))?;
        if let Some((path, text)) = &init {
            make(&connection, path, text)?;
        }
        connection
    } else {
        directory.open_file(config, init)?
    };
    harden(&connection).map_err(|error| unusable(config, &error))?;
    Ok(connection)
}

/// What SQLite itself can be told to refuse.
fn harden(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Functions with side effects are for statements, not for what a table or a view holds.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // A misspelt column in double quotes would be a text.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_WORKER_THREADS, 0)?;
    Ok(())
}

/// Runs the statements that make a database; they are the configuration's, and may do anything.
fn make(connection: &Connection, path: &str, text: &str) -> Result<(), ResourceError> {
    connection.execute_batch(text).map_err(|error| {
        ResourceError::new(format!("the statements of `{path}` fail: {error}"), "correct them; no database was created")
    })
}

/// The working directory, as the capability that says what lies in it, and as the path that SQLite wants.
struct Directory<'a> {
    inside: Dir,
    path: &'a Path,
}

impl<'a> Directory<'a> {
    fn open(path: &'a Path) -> Result<Directory<'a>, ResourceError> {
        let inside = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| {
            ResourceError::new(format!("the working directory cannot be opened: {error}"), "start in one that can")
        })?;
        Ok(Directory { inside, path })
    }

    fn text(&self, path: &str) -> Result<String, ResourceError> {
        let mut text = String::new();
        let read = self.inside.open(path).and_then(|mut file| file.read_to_string(&mut text));
        read.map_err(|error| {
            let advice = "`init` is a file of statements, relative to the working directory and inside it";
            ResourceError::new(format!("`{path}` cannot be read: {}", explain(&error)), advice)
        })?;
        Ok(text)
    }

    fn open_file(&self, config: &SqliteConfig, init: Option<(&str, String)>) -> Result<Connection, ResourceError> {
        let path = &config.path;
        let outside = |error: &io::Error| {
            let advice = "`path` is a file below the working directory, or `:memory:`";
            ResourceError::new(format!("`{path}` cannot be opened: {}", explain(error)), advice)
        };
        // Without links and `..`; of a file that is not there, its folder's.
        let name = Path::new(path).file_name().ok_or_else(|| outside(&io::ErrorKind::InvalidInput.into()))?;
        let resolved = match self.inside.canonicalize(path) {
            Ok(resolved) => resolved,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parent = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty());
                self.inside.canonicalize(parent.unwrap_or(Path::new("."))).map_err(|error| outside(&error))?.join(name)
            }
            Err(error) => return Err(outside(&error)),
        };
        // A file of no bytes is a database that nobody has begun.
        let is_new = match self.inside.symlink_metadata(&resolved) {
            Ok(found) if found.is_file() => found.len() == 0,
            Ok(_) => return Err(outside(&io::Error::other("it is not a file"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(outside(&error)),
        };
        if is_new && init.is_none() && !config.write {
            let advice = "name an existing one, give a file of statements that create it (`init`), or set `write: \
                          true`";
            return Err(ResourceError::new(format!("there is no database `{path}`"), advice));
        }
        let real = self.path.canonicalize().map_err(|error| outside(&error))?;
        // SQLite takes paths only; it refuses those with a link, also one that came there a moment ago.
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let changing = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let failed = |error: rusqlite::Error| unusable(config, &error);
        if let (true, Some((init_path, text))) = (is_new, &init) {
            // Made beside it and then renamed: it is there as a whole or not at all.
            let mut staged = resolved.clone().into_os_string();
            staged.push(".new");
            let _ = self.inside.remove_file(&staged);
            let connection = Connection::open_with_flags(real.join(&staged), changing).map_err(failed)?;
            let made = make(&connection, init_path, text);
            let closed = connection.close().map_err(|(_, error)| failed(error));
            if let Err(error) = made.and(closed) {
                let _ = self.inside.remove_file(&staged);
                return Err(error);
            }
            self.inside.rename(&staged, &self.inside, &resolved).map_err(|error| outside(&error))?;
        }
        let rights = if config.write { changing } else { flags | OpenFlags::SQLITE_OPEN_READ_ONLY };
        let connection = Connection::open_with_flags(real.join(&resolved), rights).map_err(failed)?;
        // A file that is no database shows itself when it is read.
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(())).map_err(failed)?;
        Ok(connection)
    }
}

fn unusable(config: &SqliteConfig, error: &rusqlite::Error) -> ResourceError {
    let advice = "check that the file is an SQLite database that this user may open";
    ResourceError::new(format!("`{}` cannot be opened: {error}", config.path), advice)
}

fn explain(error: &io::Error) -> String {
    if leads_out(error) { "it is outside the working directory".to_owned() } else { error.to_string() }
}
