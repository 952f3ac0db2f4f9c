//! Facts for a question: what it names, what is said of that, and what is said of its neighbours in the question's own words.

use std::collections::BTreeSet;

use rusqlite::params_from_iter;
use serde::Serialize;

use crate::documents::search::{Hit, Query, source};
use crate::documents::words::{key, share_a_stem, wanted, words};
use crate::documents::{Index, IndexError};

/// Relationships that are given at most.
const MAX_RELATIONSHIPS: usize = 60;

/// Chunks that are given at most.
const MAX_CHUNKS: usize = 3;

/// Words that the name of a thing has at most.
const MAX_WORDS: usize = 8;

/// Predicates whose object is another name of the subject.
const ALIASES: [&str; 5] = ["alias", "aliases", "also known as", "abbreviation", "title"];

/// Predicates whose object is what the subject is.
const KINDS: [&str; 4] = ["is a", "kind", "type", "instance of"];

/// What is known of the things that a question names.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// The things.
    pub entities: Vec<Entity>,
    /// What is said of them.
    pub relationships: Vec<Relationship>,
    /// The chunks that answer the question best.
    pub chunks: Vec<Hit>,
}

/// A thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entity {
    /// Its name.
    pub name: String,
    /// What it is: what a fact says, else `document`, `section`, `row`, `term`, `fact` or `claim`.
    pub kind: String,
    /// Where it is named first.
    pub source: String,
}

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Relationship {
    /// Of what.
    pub subject: String,
    /// What of it.
    pub predicate: String,
    /// What that is.
    pub object: String,
    /// Where it stands.
    pub source: String,
}

/// A row of the table of facts.
#[derive(Clone, Debug)]
struct Edge {
    id: i64,
    kind: String,
    subject_key: String,
    object_key: String,
    relationship: Relationship,
}

impl Index {
    /// What is known of the things that a question names; nothing if it names none and no chunk answers it.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn facts(&mut self, question: &str, vector: Option<&[f32]>) -> Result<Facts, IndexError> {
        let chunks = self.search(Query { text: question, by_words: true, vector, top: MAX_CHUNKS })?;
        let named = self.named(question)?;
        let asked = wanted(question);
        let is_asked = |edge: &Edge| {
            words(&edge.relationship.predicate).any(|word| asked.iter().any(|asked| share_a_stem(&word, asked)))
        };
        let own = self.edges_of(&named)?;
        let others = own.iter().flat_map(|edge| [&edge.subject_key, &edge.object_key]);
        let neighbours: BTreeSet<String> = others.filter(|key| !named.contains(*key)).cloned().collect();
        let of_neighbours: Vec<Edge> = self.edges_of(&neighbours)?.into_iter().filter(is_asked).collect();
        let (asked_of, rest): (Vec<Edge>, Vec<Edge>) = own.into_iter().partition(is_asked);
        let mut seen = BTreeSet::new();
        let all = asked_of.into_iter().chain(of_neighbours).chain(rest).filter(|edge| seen.insert(edge.id));
        let edges: Vec<Edge> = all.take(MAX_RELATIONSHIPS).collect();
        let entities = entities(&edges, &named);
        Ok(Facts { entities, relationships: edges.into_iter().map(|edge| edge.relationship).collect(), chunks })
    }

    /// The keys of the things that a question names: longer names first, and no word for two of them.
    fn named(&self, question: &str) -> Result<BTreeSet<String>, IndexError> {
        let question = key(question);
        let words: Vec<&str> = question.split(' ').filter(|word| !word.is_empty()).collect();
        let says = wanted(&question);
        let mut is_taken = vec![false; words.len()];
        let mut named = BTreeSet::new();
        for length in (1..=MAX_WORDS.min(words.len())).rev() {
            for start in 0..=words.len() - length {
                let place = start..start + length;
                let is_free = !is_taken[place.clone()].contains(&true);
                // A word that says nothing by itself names nothing by itself either.
                let says = words[place.clone()].iter().any(|word| says.iter().any(|other| other == word));
                if !is_free || !says {
                    continue;
                }
                let keys = self.known(&words[place.clone()].join(" "))?;
                if !keys.is_empty() {
                    is_taken[place].fill(true);
                    named.extend(keys);
                }
            }
        }
        Ok(named)
    }

    /// The things that a name means: the one of this name, and those that are also called so.
    fn known(&self, name: &str) -> Result<Vec<String>, IndexError> {
        let key = [name.to_owned()].into_iter().collect();
        let edges = self.edges_of(&key)?;
        let aliases = edges.iter().filter(|edge| {
            edge.object_key == name && ALIASES.contains(&edge.relationship.predicate.to_lowercase().as_str())
        });
        let mut known: Vec<String> = aliases.map(|edge| edge.subject_key.clone()).collect();
        if known.is_empty() && !edges.is_empty() {
            known.push(name.to_owned());
        }
        Ok(known)
    }

    /// All that is said of these things, or of others with them, in the order of the documents.
    fn edges_of(&self, keys: &BTreeSet<String>) -> Result<Vec<Edge>, IndexError> {
        let mut edges = Vec::new();
        // SQLite takes a bounded number of values at a time.
        let keys: Vec<&String> = keys.iter().collect();
        for keys in keys.chunks(500) {
            let marks = vec!["?"; keys.len()].join(", ");
            let sql = format!(
                "SELECT triple.id, kind, subject_key, object_key, subject, predicate, object, path, line, paged
                FROM triple JOIN document ON document.id = document WHERE triple.id IN (
                    SELECT id FROM triple WHERE subject_key IN ({marks})
                    UNION SELECT id FROM triple WHERE object_key IN ({marks})
                ) ORDER BY path, line, triple.id"
            );
            let found = self.rows(&sql, params_from_iter(keys.iter().chain(keys)), |row| {
                let (path, line): (String, u64) = (row.get(7)?, row.get(8)?);
                let source = source(&path, (line, line), row.get(9)?);
                let relationship =
                    Relationship { subject: row.get(4)?, predicate: row.get(5)?, object: row.get(6)?, source };
                Ok(Edge {
                    id: row.get(0)?,
                    kind: row.get(1)?,
                    subject_key: row.get(2)?,
                    object_key: row.get(3)?,
                    relationship,
                })
            })?;
            edges.extend(found);
        }
        Ok(edges)
    }
}

/// The things that these facts are about: those that the question names, then the other subjects.
fn entities(edges: &[Edge], named: &BTreeSet<String>) -> Vec<Entity> {
    let mut seen = BTreeSet::new();
    let mut entities = Vec::new();
    let is_named = |edge: &&Edge| named.contains(&edge.subject_key);
    for edge in edges.iter().filter(is_named).chain(edges.iter().filter(|edge| !is_named(edge))) {
        if seen.insert(&edge.subject_key) {
            let said = edges.iter().find(|other| {
                let is_kind = KINDS.contains(&other.relationship.predicate.to_lowercase().as_str());
                other.subject_key == edge.subject_key && is_kind
            });
            let kind = said.map_or_else(|| edge.kind.clone(), |said| said.relationship.object.clone());
            let Relationship { subject, source, .. } = edge.relationship.clone();
            entities.push(Entity { name: subject, kind, source });
        }
    }
    entities
}
