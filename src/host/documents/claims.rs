//! Facts that a model reads in chunks. Each chunk is asked about once, and only a fact with a literal quote of it is kept.

use std::time::Duration;

use playhouse_vm::protocol::{ChatMessage, Role, Usage};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value as Json, json};

use crate::documents::facts::{Triple, parts};
use crate::documents::write::insert_triples;
use crate::documents::{Index, IndexError};
use crate::llm::answer::{NoAnswer, ask_twice, json_in};
use crate::llm::{Llm, LlmRequest, Purpose};
use crate::text::one_line;

/// What a model is told first, always the same.
const PROMPT: &str = include_str!("../prompts/facts.md");

/// Files that are facts already.
const ARE_FACTS: &str = "path LIKE '%.facts.jsonl' OR path LIKE '%.facts.csv'";

/// A chunk that a model has not been asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The chunk, and its document.
    id: i64,
    document: i64,
    /// Its lines, from 1.
    first: usize,
    last: usize,
    /// What its document, or its record, is called.
    pub title: String,
    /// The headings that it stands under.
    pub heading: String,
    /// Its text.
    pub text: String,
}

/// What a model says that a passage says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Subject, predicate, object.
    pub fact: [String; 3],
    /// The words that say it.
    pub quote: String,
}

/// What came of the claims of a passage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Facts that are new.
    pub kept: usize,
    /// Claims whose quote does not stand in the passage, or that say nothing.
    pub dropped: usize,
}

/// The messages that a model is asked with; `problem` is what was wrong with its last answer.
pub fn messages(title: &str, heading: &str, text: &str, problem: Option<&str>) -> Vec<ChatMessage> {
    let mut passage = json!({"title": title, "heading": heading, "text": text});
    if let Some(problem) = problem {
        passage["problem"] = json!(problem);
    }
    let message = |role, text: String| ChatMessage { role, text: text.into() };
    vec![message(Role::System, PROMPT.to_owned()), message(Role::User, passage.to_string())]
}

/// Asks a model what a passage says, twice if its first answer cannot be read, and what the server counted.
pub async fn claims(llm: &dyn Llm, timeout: Duration, passage: &Passage) -> (Result<Vec<Claim>, NoAnswer>, Usage) {
    let request = |problem: Option<&str>| {
        let messages = messages(&passage.title, &passage.heading, &passage.text, problem);
        LlmRequest { purpose: Purpose::Facts, messages, schema: None, turn: None }
    };
    ask_twice(llm, timeout, request, read).await
}

/// The claims of an answer; one without any JSON says that there are none.
///
/// # Errors
/// A line is not a claim.
pub fn read(answer: &str) -> Result<Vec<Claim>, String> {
    let flat = json_in(answer).into_iter().flat_map(|json| if let Json::Array(all) = json { all } else { vec![json] });
    let claim = |json: Json| {
        let read = || Some((parts(json.as_object()?).ok()?, json["quote"].as_str()?.to_owned()));
        let wanted = r#"{"subject": "…", "predicate": "…", "object": "…", "quote": "…"}"#;
        read().map(|(fact, quote)| Claim { fact, quote }).ok_or_else(|| format!("a line is not {wanted}: {json}"))
    };
    flat.map(claim).collect()
}

impl Index {
    /// How many chunks a model has not been asked about.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn count_unasked(&self, model: &str) -> Result<usize, IndexError> {
        let sql = format!("SELECT count(*) FROM chunk WHERE {}", unasked());
        self.run(|connection| connection.query_row(&sql, params![model, 0], |row| row.get(0)))
    }

    /// The next chunk, after another one, that a model has not been asked about.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn next_unasked(&self, model: &str, after: Option<&Passage>) -> Result<Option<Passage>, IndexError> {
        let sql = format!(
            "SELECT chunk.id, document, first, last, coalesce(chunk.title, document.title), heading, content FROM chunk
            JOIN document ON document.id = document WHERE {} ORDER BY chunk.id LIMIT 1",
            unasked()
        );
        let passage = |row: &rusqlite::Row<'_>| {
            Ok(Passage {
                id: row.get(0)?,
                document: row.get(1)?,
                first: row.get(2)?,
                last: row.get(3)?,
                title: row.get(4)?,
                heading: row.get(5)?,
                text: row.get(6)?,
            })
        };
        let after = after.map_or(0, |passage| passage.id);
        self.run(|connection| connection.query_row(&sql, params![model, after], passage).optional())
    }

    /// Keeps what a model said of a passage, which it is not asked about again. Nothing if the passage is gone meanwhile.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn keep_claims(&mut self, model: &str, passage: &Passage, claims: &[Claim]) -> Result<Kept, IndexError> {
        let mut kept = Kept::default();
        self.change(|connection| {
            let sql = "SELECT content FROM chunk WHERE id = ?1 AND document = ?2";
            let known: Option<String> =
                connection.query_row(sql, [passage.id, passage.document], |row| row.get(0)).optional()?;
            if known.as_ref() != Some(&passage.text) {
                return Ok(());
            }
            for Claim { fact: [subject, predicate, object], quote } in claims {
                let triple = line_of(&passage.text, quote).and_then(|line| {
                    // A part of a line, and a record, stand in one line whatever is in them.
                    let line = (passage.first + line).min(passage.last);
                    Triple::new(line, "claim", [subject, predicate, object])
                });
                match triple {
                    Some(triple) if is_known(connection, passage.document, &triple)? => {}
                    Some(triple) => {
                        insert_triples(connection, passage.document, [&triple])?;
                        kept.kept += 1;
                    }
                    None => kept.dropped += 1,
                }
            }
            connection.execute("INSERT OR REPLACE INTO asked VALUES (?1, ?2)", params![passage.id, model]).map(drop)
        })?;
        Ok(kept)
    }
}

/// Which chunks model `?1` has not been asked about, of those after `?2`.
fn unasked() -> String {
    format!(
        "chunk.id > ?2 AND chunk.id NOT IN (SELECT chunk FROM asked WHERE model = ?1)
        AND document NOT IN (SELECT id FROM document WHERE {ARE_FACTS})"
    )
}

/// Whether this line says so already.
fn is_known(connection: &Connection, document: i64, triple: &Triple) -> rusqlite::Result<bool> {
    let sql =
        "SELECT 1 FROM triple WHERE document = ?1 AND line = ?2 AND subject = ?3 AND predicate = ?4 AND object = ?5";
    let values = params![document, triple.line, triple.subject, triple.predicate, triple.object];
    connection.prepare(sql)?.exists(values)
}

/// The line of a text, from 0, in which a quote begins. A line break is as good as a space: texts are broken into lines where
/// they are long, and nobody quotes that.
pub fn line_of(text: &str, quote: &str) -> Option<usize> {
    let mut words = String::new();
    // Where each line begins in them.
    let mut starts = Vec::new();
    for line in text.lines() {
        starts.push(words.len());
        for word in line.split_whitespace() {
            words.push_str(word);
            words.push(' ');
        }
    }
    let quote = one_line(quote);
    let at = words.find(&quote).filter(|_| quote.chars().any(char::is_alphanumeric))?;
    starts.partition_point(|start| *start <= at).checked_sub(1)
}
