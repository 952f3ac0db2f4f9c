//! What a log decides: whose a session is, which records are taken, when it has failed, and how blocks are folded. It needs no engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use playhouse_vm::protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::engine::wire::{Appended, Appending, BLOCK, Closing, Opening, Watching};
use crate::ledger::Served;

/// Folding must save at least this many blocks.
pub const SAVED: usize = 16;

/// What a log knows beside the records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogState {
    /// How many owners there have been.
    epoch: u64,
    /// How many records there are.
    n_records: u64,
    /// Of all records.
    bytes: u64,
    /// The node that has the session.
    owner: Option<Arc<str>>,
    /// Whether it has it for a visit, which the engine sees to its end. Otherwise it writes a beginning, or a fork.
    is_visited: bool,
    /// The last visit, and the number of the first record that it could have added.
    visit: Option<(Arc<str>, u64)>,
    /// How often the last visit has failed for a fault of the session.
    n_failures: u32,
    /// What the directory has of it, too.
    pub(super) served: Option<Served>,
    /// Nodes that want to hear of what is added, and until when.
    watchers: BTreeMap<Arc<str>, i64>,
}

impl LogState {
    /// Gives the journal to a node. A visit takes it over, whoever has it: the engine lets one at a time be. So does whoever
    /// finds it empty: a node that was about to begin it may have died.
    ///
    /// The epoch, and the number of the first record that the visit could have added.
    ///
    /// # Errors
    /// This node has it.
    pub fn open(&mut self, Opening { node, visit }: Opening) -> Result<(u64, u64), Arc<str>> {
        if let (None, Some(owner)) = (&visit, &self.owner)
            && self.n_records > 0
        {
            return Err(owner.clone());
        }
        self.epoch += 1;
        self.owner = Some(node);
        self.is_visited = visit.is_some();
        let next = self.n_records + 1;
        let Some(visit) = visit else { return Ok((self.epoch, next)) };
        let first = match self.visit.take_if(|(last, _)| *last == visit) {
            Some((_, first)) => first,
            None => {
                self.n_failures = 0;
                next
            }
        };
        self.visit = Some((visit, first));
        Ok((self.epoch, first))
    }

    /// Takes records, if they are the owner's and the next ones. The same ones a second time are there already.
    /// `room` is the most bytes that are taken. True: they must be stored.
    pub fn append(&mut self, Appending { epoch, from, n, blocks }: &Appending, room: u64) -> (Appended, bool) {
        let next = self.n_records + 1;
        let bytes = self.bytes + blocks.iter().map(|(_, block)| block.len() as u64).sum::<u64>();
        let done = |state: &LogState| Appended::Done {
            watchers: state.watchers.keys().cloned().collect(),
            bytes: state.bytes,
            room,
            is_served: state.served.is_some(),
        };
        if *epoch != self.epoch {
            return (Appended::Fenced, false);
        }
        if *from < next && from + n == next {
            return (done(self), false);
        }
        if *from != next {
            return (Appended::Gap(next), false);
        }
        if bytes > room {
            return (Appended::Full { bytes: self.bytes, room }, false);
        }
        (self.n_records, self.bytes) = (self.n_records + n, bytes);
        (done(self), true)
    }

    /// The owner lets the session go; false: another one has it.
    pub fn close(&mut self, Closing { epoch, standing }: Closing) -> bool {
        if epoch != self.epoch {
            return false;
        }
        self.owner = None;
        if let (Some(served), Some((standing, wake))) = (&mut self.served, standing) {
            (served.standing, served.wake) = (Some(standing), wake.map(Timestamp));
            self.n_failures = 0;
        }
        true
    }

    /// A node wants to hear of what is added, or does not any more. Those whose time is over go.
    pub fn watch(&mut self, Watching { node, now, until }: Watching) {
        self.watchers.retain(|_, until| *until > now);
        self.watchers.remove(&node);
        if until > now {
            self.watchers.insert(node, until);
        }
    }

    /// A visit has failed for a fault of the session: how often it has by now.
    pub fn fail(&mut self, visit: Arc<str>) -> u32 {
        if self.visit.as_ref().is_none_or(|(last, _)| *last != visit) {
            self.visit = Some((visit, self.n_records + 1));
            self.n_failures = 0;
        }
        self.n_failures += 1;
        self.n_failures
    }

    /// Has this row from now on; false: it is to be new, and there is one.
    pub fn serve(&mut self, served: Served, is_new: bool) -> bool {
        if is_new && self.served.is_some() {
            return false;
        }
        self.served = Some(served);
        true
    }

    /// What stays when it is deleted. None: there is nothing; or, with `only_unbegun`, it has records.
    pub fn deleted(&self, only_unbegun: bool) -> Option<LogState> {
        let is_there = self.served.is_some() || self.n_records > 0;
        let goes = is_there && !(only_unbegun && self.n_records > 0);
        // The next session with this id must not take what an owner of this one still has to say.
        goes.then(|| LogState { epoch: self.epoch + 1, ..LogState::default() })
    }

    /// The node that has the session.
    pub(super) fn owner(&self) -> Option<&Arc<str>> {
        self.owner.as_ref()
    }

    /// The node that visits the session: if it dies, the engine has another one go on.
    pub(super) fn visitor(&self) -> Option<&Arc<str>> {
        self.owner().filter(|_| self.is_visited)
    }

    /// How many records there are.
    pub(super) fn n_records(&self) -> u64 {
        self.n_records
    }
}

/// The same records in as few blocks as they fit into, each with its key, if that saves at least [`SAVED`] of them: each
/// visit reads every block, and the engine writes down each reading. A block's key is that of the first that is in it.
pub fn fold(blocks: &[(String, String)]) -> Option<Vec<(String, String)>> {
    let mut folded: Vec<(String, String)> = Vec::new();
    for (key, block) in blocks {
        match folded.last_mut().filter(|(_, last)| last.len() + block.len() < BLOCK) {
            Some((_, last)) => {
                last.push('\n');
                last.push_str(block);
            }
            None => folded.push((key.clone(), block.clone())),
        }
    }
    (folded.len() + SAVED <= blocks.len()).then_some(folded)
}
