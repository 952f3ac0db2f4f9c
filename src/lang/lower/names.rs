//! Which names a playbook owns, and which may be read before they are written (spec `execution.md`, "Variables").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::expr::LAST_CALL_FAILED;
use crate::program::flow_graph::{FlowGraph, Node};
use crate::program::{Mode, Playbook, Step, StepId, StepKind};

/// Per line the names that a later line may read before any line writes them, for the names that some line of
/// the playbook is certain to write.
pub(crate) struct Liveness {
    /// The names looked at, by their bit.
    names: BTreeMap<Arc<str>, usize>,
    n_words: usize,
    /// Per line, the bits of the names that are live when the line begins.
    live: Vec<u64>,
}

/// The bits of the names that a line uses.
struct Uses {
    writes: Vec<usize>,
    reads: Vec<usize>,
}

impl Liveness {
    /// Solves for `names`. A line that reads a name and writes it reads first.
    pub(crate) fn new(steps: &[Step], flow: &FlowGraph, names: impl Iterator<Item = Arc<str>>) -> Self {
        let mut index = BTreeMap::new();
        for name in names {
            let next = index.len();
            index.entry(name).or_insert(next);
        }
        let n_words = index.len().div_ceil(64);
        let mut liveness = Liveness { names: index, n_words, live: vec![0; n_words * steps.len()] };
        if n_words == 0 {
            return liveness;
        }
        let uses: Vec<Uses> = steps.iter().map(|step| liveness.uses(step)).collect();
        let mut row = vec![0_u64; n_words];
        // Backwards in document order: without loops one pass is enough, each level of loops costs one more. Every
        // other pass goes forwards, for lines that lead back one by one.
        for pass in 0_usize.. {
            let mut changed = false;
            for index in 0..steps.len() {
                let index = if pass % 2 == 0 { steps.len() - 1 - index } else { index };
                liveness.live_behind(flow, steps[index].id, &mut row);
                uses[index].writes.iter().for_each(|bit| row[bit / 64] &= !(1 << (bit % 64)));
                uses[index].reads.iter().for_each(|bit| row[bit / 64] |= 1 << (bit % 64));
                let start = steps[index].id.0 as usize * n_words;
                if liveness.live[start..start + n_words] != row[..] {
                    liveness.live[start..start + n_words].copy_from_slice(&row);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        liveness
    }

    fn uses(&self, step: &Step) -> Uses {
        // A loop without items writes nothing.
        let targets = if matches!(step.kind, StepKind::Loop(_)) { &[] } else { step.kind.targets() };
        let bit = |name: &Arc<str>| self.names.get(name).copied();
        Uses {
            writes: targets.iter().filter_map(|target| bit(&target.name)).collect(),
            reads: step.reads.iter().filter_map(bit).collect(),
        }
    }

    fn live_behind(&self, flow: &FlowGraph, step: StepId, row: &mut [u64]) {
        row.fill(0);
        for edge in flow.successors(step) {
            if let Node::Step(next) = edge.to {
                let start = next.0 as usize * self.n_words;
                for (word, live) in row.iter_mut().zip(&self.live[start..]) {
                    *word |= live;
                }
            }
        }
    }

    /// Whether `name` may be read from the beginning of `at` on before it is written.
    pub(crate) fn is_live_at(&self, at: Node, name: &str) -> bool {
        let (Node::Step(step), Some(&bit)) = (at, self.names.get(name)) else { return false };
        self.live[step.0 as usize * self.n_words + bit / 64] & (1 << (bit % 64)) != 0
    }

    /// Whether `name` may be read after `step` before it is written.
    pub(crate) fn is_live_behind(&self, flow: &FlowGraph, step: StepId, name: &str) -> bool {
        flow.successors(step).iter().any(|edge| self.is_live_at(edge.to, name))
    }
}

/// How many names are solved for together: a bound for the memory that a hostile playbook takes, which is this
/// many bits per line.
pub(super) const NAMES_AT_ONCE: usize = 4096;

/// Sorts the names of a playbook into own and outer. `in_triggers` count as read first, `declared` exist from
/// the start and are never own, `in_texts` are mentioned by description and notes.
pub(crate) fn sort_names(
    playbook: &mut Playbook,
    in_triggers: &BTreeSet<Arc<str>>,
    in_texts: &BTreeSet<Arc<str>>,
    declared: &dyn Fn(&str) -> bool,
) {
    let parameters: BTreeSet<Arc<str>> = playbook.parameters.iter().map(|p| p.name.clone()).collect();
    let mut own = parameters.clone();
    if playbook.mode == Mode::Steps {
        let loops = playbook.steps.iter().filter(|step| matches!(step.kind, StepKind::Loop(_)));
        own.extend(loops.flat_map(|step| step.kind.targets()).map(|target| target.name.clone()));
        let targets = playbook.steps.iter().flat_map(|step| step.kind.targets());
        let written: BTreeSet<Arc<str>> = targets.map(|target| target.name.clone()).collect();
        let written: Vec<Arc<str>> = written.into_iter().filter(|name| !in_triggers.contains(name)).collect();
        for names in written.chunks(NAMES_AT_ONCE) {
            let liveness = Liveness::new(&playbook.steps, &playbook.flow, names.iter().cloned());
            let entry = playbook.flow.entry;
            own.extend(names.iter().filter(|name| !liveness.is_live_at(entry, name)).cloned());
        }
        own.retain(|name| parameters.contains(name) || !declared(name));
    }
    let mentioned = playbook.steps.iter().flat_map(|step| step.reads.iter().chain(&step.writes));
    let all = mentioned.chain(in_triggers).chain(in_texts);
    playbook.outer = all.filter(|name| !own.contains(*name) && ***name != *LAST_CALL_FAILED).cloned().collect();
    playbook.own = own;
}
