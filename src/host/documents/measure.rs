//! How well an index answers questions whose sources are known.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::documents::search::{Hit, Source};

/// The ranks up to which found sources are counted.
pub const RANKS: [usize; 3] = [3, 10, 20];

/// The rank up to which the order counts.
const ORDERED: usize = 10;

/// Chunks that a search must give for this.
pub const TOP: usize = 100;

/// A question, and where it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question.
    pub query: String,
    /// Sources as searches name them: `docs/refunds.md:12-40`, or a whole document.
    pub sources: Vec<String>,
}

/// How well questions were answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measure {
    /// Questions.
    pub questions: usize,
    /// How near the order of the first ten was to the best one, from 0 to 1 (nDCG@10), on average.
    pub ndcg_10: f64,
    /// Which part of the sources was among the first 3, 10 and 20, on average.
    pub recall: [f64; RANKS.len()],
    /// Questions none of whose sources was among the first ten.
    pub misses: Vec<String>,
}

/// Reads a file of questions, one in each line.
///
/// # Errors
/// A line is not a question; the message says which.
pub fn questions(text: &str) -> Result<Vec<Question>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let question = |(index, line): (usize, &str)| {
        let question: Question = serde_json::from_str(line).map_err(|cause| format!("line {}: {cause}", index + 1))?;
        let has_sources = !question.sources.is_empty();
        has_sources.then_some(question).ok_or_else(|| format!("line {}: it has no sources", index + 1))
    };
    lines.map(question).collect()
}

impl Measure {
    /// Takes in what a search of [`TOP`] chunks gave for a question.
    pub fn add(&mut self, question: &Question, hits: &[Hit]) {
        let sources: Vec<Source<'_>> = question.sources.iter().map(|source| Source::read(source)).collect();
        let is_whole = sources.iter().all(|source| source.lines.is_none());
        // Several chunks of what is named as a whole are one hit.
        let mut seen = BTreeSet::new();
        let hits = hits.iter().map(|hit| &*hit.source);
        let ranked = hits.filter(|hit| seen.insert(if is_whole { Source::read(hit).path } else { hit }));
        let mut found = vec![false; sources.len()];
        // The rank, from 0, of each source that is found.
        let mut ranks = Vec::new();
        for (rank, hit) in ranked.enumerate() {
            let hit = Source::read(hit);
            let new = (0..sources.len()).find(|&index| !found[index] && is_in(hit, sources[index]));
            if let Some(index) = new {
                found[index] = true;
                ranks.push(rank);
            }
        }
        let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
        let best: f64 = (0..sources.len().min(ORDERED)).map(gain).sum();
        let ndcg = ranks.iter().filter(|rank| **rank < ORDERED).map(|rank| gain(*rank)).sum::<f64>() / best;
        let n_before = self.questions as f64;
        let mean = |old: f64, new: f64| (old * n_before + new) / (n_before + 1.0);
        self.ndcg_10 = mean(self.ndcg_10, ndcg);
        for (recall, most) in self.recall.iter_mut().zip(RANKS) {
            let n_found = ranks.iter().filter(|rank| **rank < most).count();
            *recall = mean(*recall, n_found as f64 / sources.len() as f64);
        }
        self.questions += 1;
        if ranks.first().is_none_or(|rank| *rank >= ORDERED) {
            self.misses.push(question.query.clone());
        }
    }
}

/// Whether a hit stands in a source.
fn is_in(hit: Source<'_>, source: Source<'_>) -> bool {
    let overlap = |(first, last): (u64, u64), (from, to): (u64, u64)| first <= to && last >= from;
    hit.path == source.path && source.lines.is_none_or(|lines| hit.lines.is_none_or(|of_hit| overlap(of_hit, lines)))
}
