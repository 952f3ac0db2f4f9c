//! Chunks for a question: by words (BM25) and by vectors, the two lists made one.

use std::collections::BTreeMap;

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use crate::documents::schema::WORDS;
use crate::documents::vectors::Vectors;
use crate::documents::words::{identifier_parts, share_a_stem, wanted, words};
use crate::documents::{Index, IndexError, IndexFault};

/// The length of the lists that are made one.
const N_CANDIDATES: usize = 100;

/// What a rank is added to before it divides 1: the smaller, the more the first of a list count (reciprocal rank fusion).
const K: usize = 10;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// The question.
    pub text: &'q str,
    /// Whether its words count.
    pub by_words: bool,
    /// Its vector, if that counts.
    pub vector: Option<&'q [f32]>,
    /// How many chunks are wanted at most.
    pub top: usize,
}

/// A chunk that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// Its text.
    pub content: String,
    /// Where it stands: `docs/refunds.md:12-40`.
    pub source: String,
    /// What its document, or its record, is called.
    pub title: String,
    /// The headings that it stands under: `Refunds > Late`.
    pub heading: String,
    /// The sum of 1 / (10 + rank) in both lists.
    pub score: f64,
    /// Whether its file has changed since, or is gone.
    pub stale: bool,
    /// Why it was found.
    #[serde(skip)]
    pub why: Why,
}

/// Why a chunk was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Why {
    /// Its rank by words, from 1.
    pub by_words: Option<usize>,
    /// Its rank by vectors, from 1.
    pub by_vectors: Option<usize>,
    /// The cosine of its vector and the question's.
    pub cosine: Option<f32>,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Excerpt {
    /// Its text.
    pub content: String,
    /// Where it stands.
    pub source: String,
    /// What its document is called.
    pub title: String,
    /// Whether its file has changed since, or is gone.
    pub stale: bool,
}

impl Index {
    /// The chunks that answer a question best, the best first; none if there are none.
    ///
    /// # Errors
    /// The index cannot be read, or the vector is no model's of it.
    pub fn search(&mut self, query: Query<'_>) -> Result<Vec<Hit>, IndexError> {
        let mut found: BTreeMap<i64, Why> = BTreeMap::new();
        if query.by_words {
            for (index, chunk) in self.by_words(query.text)?.into_iter().enumerate() {
                found.entry(chunk).or_default().by_words = Some(index + 1);
            }
        }
        if let Some(vector) = query.vector {
            for (index, (chunk, cosine)) in self.by_vector(vector)?.into_iter().enumerate() {
                let why = found.entry(chunk).or_default();
                (why.by_vectors, why.cosine) = (Some(index + 1), Some(cosine));
            }
        }
        let score = |why: &Why| {
            let ranks = [why.by_words, why.by_vectors].into_iter().flatten();
            ranks.map(|rank| 1.0 / (K + rank) as f64).sum::<f64>()
        };
        let mut ranked: Vec<(i64, f64, Why)> =
            found.into_iter().map(|(chunk, why)| (chunk, score(&why), why)).collect();
        // Equal scores stay in the order of their documents.
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        let best = ranked.into_iter().take(query.top);
        best.map(|(chunk, score, why)| self.hit(chunk, score, why)).collect()
    }

    /// Chunks that hold words of a question, the best first.
    fn by_words(&self, question: &str) -> Result<Vec<i64>, IndexError> {
        self.run(|connection| matches(connection, question, N_CANDIDATES))
    }

    fn by_vector(&mut self, vector: &[f32]) -> Result<Vec<(i64, f32)>, IndexError> {
        let version = self.run(|connection| connection.pragma_query_value(None, "data_version", |row| row.get(0)))?;
        let vectors = match self.vectors.take().filter(|(known, _)| *known == version) {
            Some((_, vectors)) => vectors,
            None => self.run(|connection| {
                let mut vectors = Vectors::default();
                let mut statement = connection.prepare("SELECT chunk, scale, numbers FROM vector")?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    vectors.push(row.get(0)?, row.get(1)?, row.get_ref(2)?.as_blob()?);
                }
                Ok(vectors)
            })?,
        };
        let dimension = vectors.dimension;
        let nearest = vectors.nearest(vector, N_CANDIDATES);
        self.vectors = Some((version, vectors));
        if !nearest.is_empty() && dimension != vector.len() {
            return Err(self.wrong_dimension(dimension, vector.len()));
        }
        Ok(nearest)
    }

    /// The words of a question that a chunk holds.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn matched_words(&self, question: &str, hit: &Hit) -> Vec<String> {
        let text = [&hit.title, " ", &hit.heading, " ", &hit.content].concat();
        let stems = |word: &String| words(&text).chain(identifier_parts(&text)).any(|other| share_a_stem(word, &other));
        wanted(question).into_iter().filter(stems).collect()
    }

    fn hit(&self, chunk: i64, score: f64, why: Why) -> Result<Hit, IndexError> {
        let sql = "SELECT content, path, first, last, coalesce(chunk.title, document.title), heading, paged FROM chunk
            JOIN document ON document.id = document WHERE chunk.id = ?1";
        let mut hit = self.run(|connection| {
            connection.prepare(sql)?.query_row([chunk], |row| {
                let path: String = row.get(1)?;
                Ok(Hit {
                    content: row.get(0)?,
                    source: source(&path, (row.get(2)?, row.get(3)?), row.get(6)?),
                    title: row.get(4)?,
                    heading: row.get(5)?,
                    score,
                    stale: false,
                    why,
                })
            })
        })?;
        hit.stale = self.is_stale(Source::read(&hit.source).path);
        Ok(hit)
    }

    /// The part of a document that a source names, as `docs/refunds.md:12-40`, `docs/refunds.md:12` or `docs/refunds.md`
    /// do, with so many chunks before and after it.
    ///
    /// # Errors
    /// There is no such part.
    pub fn read(&self, named: &str, before: usize, after: usize) -> Result<Excerpt, IndexError> {
        let missing = |cause: String| {
            let advice = "name a source as a search returns it, such as docs/refunds.md:12-40";
            IndexError::new(named, IndexFault::IndexMissing, cause, advice)
        };
        let wanted = Source::read(named);
        let document: Option<(i64, String, String, bool)> = self.run(|connection| {
            let sql = "SELECT id, path, title, paged FROM document WHERE path IN (?1, ?2) ORDER BY path = ?1 DESC";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            connection.query_row(sql, [named, wanted.path], row).optional()
        })?;
        let Some((document, path, title, is_paged)) = document else {
            return Err(missing(format!("{} has no document `{}`", self.shown(), wanted.path)));
        };
        // A file may be called like a place in another one.
        let lines = if path == named { None } else { wanted.lines };
        let sql = "SELECT first, last, content FROM chunk WHERE document = ?1 ORDER BY id";
        let chunks: Vec<(u64, u64, String)> =
            self.rows(sql, [document], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let is_named =
            |(first, last, _): &(u64, u64, String)| lines.is_none_or(|(from, to)| *first <= to && *last >= from);
        let first = chunks.iter().position(is_named);
        let last = chunks.iter().rposition(is_named);
        let (Some(first), Some(last)) = (first, last) else {
            return Err(missing(format!("`{path}` has no text there")));
        };
        let chunks = &chunks[first.saturating_sub(before)..(last + after + 1).min(chunks.len())];
        let mut content = String::new();
        let mut line = 0;
        for (first, last, text) in chunks {
            // As they stand there: the lines between chunks are empty.
            let n_lines = if is_paged { 2 } else { usize::try_from(first.saturating_sub(line)).unwrap_or(1).min(3) };
            content.push_str(&"\n".repeat(n_lines * usize::from(line > 0)));
            content.push_str(text);
            line = *last;
        }
        let lines = (chunks.first().map_or(1, |chunk| chunk.0), line);
        let stale = self.is_stale(&path);
        Ok(Excerpt { content, source: source(&path, lines, is_paged), title, stale })
    }
}

/// Where a chunk stands, as people and models name it.
pub(super) fn source(path: &str, (first, last): (u64, u64), is_paged: bool) -> String {
    let mark = if is_paged { PAGE } else { ":" };
    if first == last { format!("{path}{mark}{first}") } else { format!("{path}{mark}{first}-{last}") }
}

/// What stands between a document and its page.
const PAGE: &str = "#page=";

/// A place in a document, as it is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source<'s> {
    pub(super) path: &'s str,
    /// First and last line, or page, from 1; none: the whole document.
    pub(super) lines: Option<(u64, u64)>,
}

impl<'s> Source<'s> {
    pub(super) fn read(named: &'s str) -> Source<'s> {
        let lines = named.rsplit_once(PAGE).or_else(|| named.rsplit_once(':')).and_then(|(path, lines)| {
            let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
            Some((path, (first.parse().ok()?, last.parse().ok()?)))
        });
        match lines {
            Some((path, lines)) => Source { path, lines: Some(lines) },
            None => Source { path: named, lines: None },
        }
    }
}

/// The numbers of what holds any of a question's words in the table `words`, the best first, up to `top`.
fn matches<T: FromSql>(connection: &Connection, question: &str, top: usize) -> rusqlite::Result<Vec<T>> {
    // Words are letters and digits, so nothing of the question is read as a part of SQLite's language.
    let words: Vec<String> = wanted(question).iter().map(|word| format!("\"{word}\"")).collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let mut find = connection.prepare("SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT ?2")?;
    find.query_map(params![words.join(" OR "), top], |row| row.get(0))?.collect()
}

/// Those of some texts that hold words of a question, by their places among them, the best first, up to `top`.
///
/// # Errors
/// SQLite cannot.
pub(crate) fn best_of(question: &str, texts: &[String], top: usize) -> rusqlite::Result<Vec<usize>> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(WORDS)?;
    let mut add = connection.prepare("INSERT INTO words (rowid, text, parts) VALUES (?1, ?2, ?3)")?;
    for (index, text) in texts.iter().enumerate() {
        add.execute(params![index, text, identifier_parts(text).join(" ")])?;
    }
    matches(&connection, question, top)
}
