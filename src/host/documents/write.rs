//! Documents into an index and out of it: each file in one transaction, so that it is there as a whole or not at all.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use crate::documents::command::{command_of, extracted, of_pages};
use crate::documents::extract::{Extract, extract};
use crate::documents::facts::Triple;
use crate::documents::vectors::Numbers;
use crate::documents::words::{identifier_parts, key};
use crate::documents::{Index, IndexError, IndexFault, Root, fault, real};
use crate::program::plain;
use crate::walk::{chosen, files_below};

/// Bytes that a document has at most.
const MAX_BYTES: u64 = 10 << 20;

/// Bytes at the beginning of a file among which a zero says that it is no text.
const BEGINNING: usize = 8_192;

/// The result of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// Documents that are new.
    pub added: usize,
    /// Documents whose text is another one.
    pub changed: usize,
    /// Documents that are gone.
    pub removed: usize,
    /// Documents that are as they were.
    pub unchanged: usize,
    /// Files that are not text, or too large, or outside the index's folder.
    pub left_out: usize,
    /// Files that cannot be read as what they are, and why.
    pub unreadable: Vec<(String, String)>,
}

/// What is known of a file before it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    /// Bytes.
    size: i64,
    /// Nanoseconds since 1970.
    modified: i64,
}

/// Whether these can be added to an index in this file, so that none is made for nothing.
///
/// # Errors
/// One is not there or not below the index's folder, or a pattern is wrong.
pub fn can_add(index: &Path, paths: &[PathBuf], include: &[String]) -> Result<(), IndexError> {
    roots(&real(index.parent().unwrap_or(Path::new("")))?, paths, include).map(drop)
}

impl Index {
    /// Adds files and folders, and reads all that is new or has changed in them. `include` are patterns of the files that are
    /// wanted, as in a `.gitignore`; `told` hears of each document that was written or removed.
    ///
    /// # Errors
    /// One is not there or not below the index's folder, a pattern is wrong, or the index cannot be written.
    pub fn add(
        &mut self,
        paths: &[PathBuf],
        include: &[String],
        told: &mut dyn FnMut(&str),
    ) -> Result<Update, IndexError> {
        let roots = roots(&self.folder, paths, include)?;
        for root in &roots {
            let include = root.include.join("\n");
            self.run(|connection| {
                let mut deleted = connection.prepare("SELECT path FROM root WHERE deleted")?;
                let deleted: Vec<String> = deleted.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
                // What is added again is not deleted any more.
                for path in deleted.iter().filter(|path| is_below(path, &root.path)) {
                    connection.execute("DELETE FROM root WHERE path = ?1", [path])?;
                }
                connection.execute("INSERT OR REPLACE INTO root VALUES (?1, ?2, 0)", [&root.path, &include])
            })?;
        }
        self.update(&roots, told)
    }

    /// Reads all that is new or has changed in what was added, and removes what is gone.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn refresh(&mut self, told: &mut dyn FnMut(&str)) -> Result<Update, IndexError> {
        let roots = self.roots()?.into_iter().filter(|root| !root.deleted).collect::<Vec<_>>();
        self.update(&roots, told)
    }

    /// Removes a document, or all below a folder; what stays on the disk is not added again by a refresh. How many there
    /// were.
    ///
    /// # Errors
    /// There is none, or the index cannot be written.
    pub fn delete(&mut self, path: &Path) -> Result<usize, IndexError> {
        let absolute = std::path::absolute(path).map(|path| plain(&path)).unwrap_or_else(|_| path.to_owned());
        let absolute = absolute.canonicalize().unwrap_or(absolute);
        let named = absolute.strip_prefix(&self.folder).ok().and_then(Path::to_str).unwrap_or_default().to_owned();
        let paths = self.run(paths)?;
        let below: Vec<String> = paths.into_iter().filter(|path| is_below(path, &named)).collect();
        let roots = self.roots()?;
        if below.is_empty() && !roots.iter().any(|root| root.path == named) {
            let cause = format!("{} has no document at this path or below it", self.shown());
            let advice = "`playhouse index list` names them";
            return Err(IndexError::new(path.display().to_string(), IndexFault::IndexMissing, cause, advice));
        }
        self.change(|connection| {
            below.iter().try_for_each(|path| remove(connection, path))?;
            for root in roots.iter().filter(|root| is_below(&root.path, &named)) {
                connection.execute("DELETE FROM root WHERE path = ?1", [&root.path])?;
            }
            if roots.iter().any(|root| !root.deleted && root.path != named && is_below(&named, &root.path)) {
                connection.execute("INSERT OR REPLACE INTO root VALUES (?1, '', 1)", [&named])?;
            }
            Ok(())
        })?;
        Ok(below.len())
    }

    fn update(&mut self, roots: &[Root], told: &mut dyn FnMut(&str)) -> Result<Update, IndexError> {
        let mut update = Update::default();
        let mut seen = BTreeSet::new();
        let deleted: Vec<String> =
            self.roots()?.into_iter().filter(|root| root.deleted).map(|root| root.path).collect();
        for root in roots {
            let is_wanted = wanted(&self.folder, &root.include)?;
            let start = self.folder.join(&root.path);
            for file in files_below(&start) {
                let file = match file {
                    Ok(file) => file,
                    Err(cause) => {
                        update.unreadable.push((root.path.clone(), cause.to_string()));
                        continue;
                    }
                };
                let inside = file.strip_prefix(&self.folder).unwrap_or(&file);
                let Some(name) = inside.to_str().map(slashes) else {
                    update.unreadable.push((inside.display().to_string(), "its name is not text".to_owned()));
                    continue;
                };
                if !is_wanted(&file) || self.is_own(&file) || deleted.iter().any(|path| is_below(&name, path)) {
                    continue;
                }
                if seen.insert(name.clone()) {
                    self.update_file(&file, &name, &mut update, told)?;
                }
            }
        }
        let gone = self
            .run(paths)?
            .into_iter()
            .filter(|path| !seen.contains(path) && roots.iter().any(|root| is_below(path, &root.path)));
        for path in gone.collect::<Vec<_>>() {
            self.forget(&path, &mut update, told)?;
        }
        Ok(update)
    }

    /// Whether this is the index's own file, or one that SQLite keeps beside it.
    fn is_own(&self, file: &Path) -> bool {
        let own = self.path.as_ref().and_then(|path| path.file_name()).and_then(|name| name.to_str());
        let is_beside = file.parent() == Some(&self.folder);
        let rest = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(own?));
        is_beside && matches!(rest, Some("" | "-wal" | "-shm" | "-journal"))
    }

    fn update_file(
        &mut self,
        file: &Path,
        name: &str,
        update: &mut Update,
        told: &mut dyn FnMut(&str),
    ) -> Result<(), IndexError> {
        let known = self.kept(name)?;
        let stamp = match self.stamp(file) {
            Ok(Some(stamp)) => stamp,
            Ok(None) => return self.pass_over(name, None, update, told),
            Err(cause) => return self.pass_over(name, Some(cause.to_string()), update, told),
        };
        if known.as_ref().is_some_and(|(known, _)| *known == stamp) {
            update.unchanged += 1;
            return Ok(());
        }
        let command = command_of(&self.commands, name).map(<[String]>::to_vec);
        let bytes = match std::fs::read(file) {
            Ok(bytes) if command.is_some() => bytes,
            Ok(_) if self.is_paged(name)? => {
                // Whoever asks for this has no command: what another one has made of it stays, and is stale.
                update.left_out += 1;
                return Ok(());
            }
            Ok(bytes) if bytes[..bytes.len().min(BEGINNING)].contains(&0) => {
                return self.pass_over(name, None, update, told);
            }
            Ok(bytes) => bytes,
            Err(cause) => return self.pass_over(name, Some(cause.to_string()), update, told),
        };
        let hash = Sha256::digest(&bytes).to_vec();
        if known.as_ref().is_some_and(|(_, known)| *known == hash) {
            let sql = "UPDATE document SET size = ?2, modified = ?3 WHERE path = ?1";
            self.change(|connection| connection.execute(sql, params![name, stamp.size, stamp.modified]).map(drop))?;
            update.unchanged += 1;
            return Ok(());
        }
        let is_paged = command.is_some();
        let read = match command {
            Some(command) => extracted(&self.commands, &command, &self.folder, file).map(|text| of_pages(name, &text)),
            None => {
                let no_text = |at| format!("it is not text: byte {at} is not UTF-8");
                let text = String::from_utf8(bytes).map_err(|cause| no_text(cause.utf8_error().valid_up_to()));
                text.and_then(|text| extract(name, text.strip_prefix('\u{feff}').unwrap_or(&text)))
            }
        };
        match read {
            Ok(extract) => {
                self.change(|connection| {
                    remove(connection, name)?;
                    insert(connection, name, (stamp, &hash, is_paged), &extract)
                })?;
                let (count, done) =
                    if known.is_some() { (&mut update.changed, "changed") } else { (&mut update.added, "added") };
                *count += 1;
                told(&format!("{done} {name}"));
                Ok(())
            }
            Err(cause) => self.pass_over(name, Some(cause), update, told),
        }
    }

    /// Whether a command has made the text of a document.
    fn is_paged(&self, name: &str) -> Result<bool, IndexError> {
        let sql = "SELECT paged FROM document WHERE path = ?1";
        let paged = self.run(|connection| connection.query_row(sql, [name], |row| row.get(0)).optional())?;
        Ok(paged.unwrap_or(false))
    }

    /// A file that is left out, or that cannot be read, and why: what was kept of it goes.
    fn pass_over(
        &mut self,
        name: &str,
        why: Option<String>,
        update: &mut Update,
        told: &mut dyn FnMut(&str),
    ) -> Result<(), IndexError> {
        match why {
            Some(why) => update.unreadable.push((name.to_owned(), why)),
            None => update.left_out += 1,
        }
        if self.kept(name)?.is_some() { self.forget(name, update, told) } else { Ok(()) }
    }

    /// What was kept of a file that is no document any more.
    fn forget(&mut self, name: &str, update: &mut Update, told: &mut dyn FnMut(&str)) -> Result<(), IndexError> {
        self.change(|connection| remove(connection, name))?;
        update.removed += 1;
        told(&format!("removed {name}"));
        Ok(())
    }

    /// What is known of a document: its file as it was read, and the hash of that.
    fn kept(&self, name: &str) -> Result<Option<(Stamp, Vec<u8>)>, IndexError> {
        let sql = "SELECT size, modified, hash FROM document WHERE path = ?1";
        self.run(|connection| {
            let row = |row: &Row<'_>| Ok((Stamp { size: row.get(0)?, modified: row.get(1)? }, row.get(2)?));
            connection.query_row(sql, [name], row).optional()
        })
    }

    /// Size and time of a file; none if it is left out.
    fn stamp(&self, file: &Path) -> std::io::Result<Option<Stamp>> {
        if file.symlink_metadata()?.is_symlink() && !file.canonicalize()?.starts_with(&self.folder) {
            return Ok(None);
        }
        let metadata = file.metadata()?;
        let is_document = metadata.is_file() && metadata.len() <= MAX_BYTES;
        let since = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        Ok(is_document.then(|| Stamp { size: i64::try_from(metadata.len()).unwrap_or(i64::MAX), modified }))
    }

    /// Whether a document has changed on the disk since it was read, or is not there any more.
    pub(super) fn is_stale(&self, name: &str) -> bool {
        let Ok(Some((known, hash))) = self.kept(name) else { return true };
        let file = self.folder.join(name);
        match self.stamp(&file) {
            Ok(Some(stamp)) if stamp == known => false,
            Ok(Some(stamp)) if stamp.size == known.size => {
                std::fs::read(&file).map_or(true, |bytes| Sha256::digest(&bytes).to_vec() != hash)
            }
            Ok(_) | Err(_) => true,
        }
    }

    /// Says which model makes its vectors. With `again`, those of another one are removed.
    ///
    /// # Errors
    /// There are vectors of another model, or the index cannot be written.
    pub fn use_embedding(&mut self, model: &str, again: bool) -> Result<(), IndexError> {
        if let Some(known) = self.embedding()?.filter(|known| known != model && !again) {
            let cause = format!("its vectors come from {known}, not from {model}");
            let advice = format!("compute all of them again with `playhouse index embed --again --embedding {model}`");
            return Err(IndexError::new(self.shown(), IndexFault::IndexModel, cause, advice));
        }
        self.change(|connection| {
            if again {
                connection.execute("DELETE FROM vector", [])?;
                connection.execute("DELETE FROM setting WHERE name = 'dimension'", [])?;
            }
            connection.execute("INSERT OR REPLACE INTO setting VALUES ('embedding', ?1)", [model]).map(drop)
        })
    }

    /// The next chunks without a vector: their numbers, and the texts that vectors are made of.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn without_vectors(&self, n_chunks: usize) -> Result<Vec<(i64, String)>, IndexError> {
        let sql = "SELECT chunk.id, coalesce(chunk.title, document.title), heading, content FROM chunk
            JOIN document ON document.id = document WHERE chunk.id NOT IN (SELECT chunk FROM vector)
            ORDER BY chunk.id LIMIT ?1";
        self.rows(sql, [n_chunks], |row| {
            let (title, heading, content): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, indexed_text(&title, &heading, &content)))
        })
    }

    /// Keeps the vectors of these chunks.
    ///
    /// # Errors
    /// They have another dimension than those that are there, or the index cannot be written.
    pub fn keep_vectors(&mut self, vectors: &[(i64, Vec<f32>)]) -> Result<(), IndexError> {
        let known = self.setting("dimension")?.and_then(|dimension| dimension.parse().ok());
        let Some(dimension) = known.or(vectors.first().map(|(_, vector)| vector.len())) else { return Ok(()) };
        if let Some((_, other)) = vectors.iter().find(|(_, vector)| vector.len() != dimension) {
            return Err(self.wrong_dimension(dimension, other.len()));
        }
        self.change(|connection| {
            let sql = "INSERT OR REPLACE INTO setting VALUES ('dimension', ?1)";
            connection.execute(sql, [dimension.to_string()])?;
            let mut of_vector = connection.prepare("INSERT OR REPLACE INTO vector VALUES (?1, ?2, ?3)")?;
            for (chunk, vector) in vectors {
                let Numbers { scale, bytes } = Numbers::of(vector);
                of_vector.execute(params![chunk, scale, bytes])?;
            }
            Ok(())
        })
    }

    pub(super) fn wrong_dimension(&self, known: usize, other: usize) -> IndexError {
        let cause =
            format!("its vectors have {known} numbers, and the server gives {other}: another model has this name");
        let advice = "compute all of them again with `playhouse index embed --again`";
        IndexError::new(self.shown(), IndexFault::IndexModel, cause, advice)
    }

    /// Changes the index in one transaction.
    pub(super) fn change(&mut self, work: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<(), IndexError> {
        self.vectors = None;
        let shown = self.shown();
        let changed =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|transaction| {
                work(&transaction)?;
                transaction.commit()
            });
        changed.map_err(|cause| fault(&shown, &cause))
    }
}

/// What words and vectors of a chunk are made of.
fn indexed_text(title: &str, heading: &str, content: &str) -> String {
    let title = if heading.split(" > ").next() == Some(title) { "" } else { title };
    [title, heading, content].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("\n")
}

fn insert(
    connection: &Connection,
    name: &str,
    (stamp, hash, is_paged): (Stamp, &[u8], bool),
    extract: &Extract,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO document (path, title, size, modified, hash, paged) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = params![name, extract.title, stamp.size, stamp.modified, hash, is_paged];
    let document = connection.prepare(sql)?.insert(values)?;
    let sql = "INSERT INTO chunk (document, first, last, title, heading, content) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut of_chunk = connection.prepare(sql)?;
    let mut of_words = connection.prepare("INSERT INTO words (rowid, text, parts) VALUES (?1, ?2, ?3)")?;
    for (title, chunk) in &extract.chunks {
        let id = of_chunk.insert(params![document, chunk.first, chunk.last, title, chunk.heading, chunk.content])?;
        let text = indexed_text(title.as_ref().unwrap_or(&extract.title), &chunk.heading, &chunk.content);
        let parts = identifier_parts(&text).join(" ");
        of_words.execute(params![id, text, parts])?;
    }
    insert_triples(connection, document, &extract.triples)
}

pub(super) fn insert_triples<'t>(
    connection: &Connection,
    document: i64,
    triples: impl IntoIterator<Item = &'t Triple>,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO triple (document, line, kind, subject, predicate, object, subject_key, object_key)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut of_triple = connection.prepare(sql)?;
    for Triple { line, subject, predicate, object, kind } in triples {
        let values = params![document, line, kind, subject, predicate, object, key(subject), key(object)];
        of_triple.execute(values)?;
    }
    Ok(())
}

/// Removes all that is kept of a document.
fn remove(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    let sql = "SELECT id FROM document WHERE path = ?1";
    let found: Option<i64> = connection.prepare(sql)?.query_row([name], |row| row.get(0)).optional()?;
    let Some(document) = found else { return Ok(()) };
    for sql in [
        "DELETE FROM words WHERE rowid IN (SELECT id FROM chunk WHERE document = ?1)",
        "DELETE FROM asked WHERE chunk IN (SELECT id FROM chunk WHERE document = ?1)",
        "DELETE FROM vector WHERE chunk IN (SELECT id FROM chunk WHERE document = ?1)",
        "DELETE FROM chunk WHERE document = ?1",
        "DELETE FROM triple WHERE document = ?1",
        "DELETE FROM document WHERE id = ?1",
    ] {
        connection.prepare(sql)?.execute([document])?;
    }
    Ok(())
}

/// The paths of all documents.
fn paths(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection.prepare("SELECT path FROM document ORDER BY path")?.query_map([], |row| row.get(0))?.collect()
}

/// What is added to an index in this folder, which has no links.
fn roots(folder: &Path, paths: &[PathBuf], include: &[String]) -> Result<Vec<Root>, IndexError> {
    let _ = wanted(folder, include)?;
    let root = |path: &PathBuf| {
        let shown = path.display().to_string();
        let real = path.canonicalize().map_err(|cause| {
            IndexError::new(&*shown, IndexFault::IndexMissing, format!("cannot be read: {cause}"), "check the path")
        })?;
        let inside = real.strip_prefix(folder).ok().and_then(Path::to_str).ok_or_else(|| {
            let advice = "put the index into a folder above it, with --index FILE";
            IndexError::new(&*shown, IndexFault::IndexUnreadable, "is outside the index's folder", advice)
        })?;
        Ok(Root { path: inside.to_owned(), include: include.to_vec(), deleted: false })
    };
    paths.iter().map(root).collect()
}

/// Whether a path is another one, or below it.
fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A relative path as the index has it on every system.
fn slashes(path: &str) -> String {
    let parts = Path::new(path)
        .components()
        .filter_map(|part| if let Component::Normal(part) = part { part.to_str() } else { None });
    parts.collect::<Vec<_>>().join("/")
}

/// Whether files below a folder are wanted.
fn wanted(folder: &Path, include: &[String]) -> Result<impl Fn(&Path) -> bool + use<>, IndexError> {
    chosen(folder, include).map_err(|(pattern, cause)| {
        let cause = format!("this pattern cannot be read: {cause}");
        let advice = "write one as in a .gitignore, such as --include '*.md'";
        IndexError::new(pattern, IndexFault::IndexUnreadable, cause, advice)
    })
}
