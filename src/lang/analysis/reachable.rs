//! Which items can be reached from each node of a graph, in little memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use crate::graph::strongly_connected;

/// So many runs of numbers are kept per node at most; what lies in the smallest gaps between more of them counts as
/// reached too.
const MAX_RUNS: usize = 64;

/// The items that can be reached from each node.
///
/// Items are numbered in the order in which they are met from the ends of the graph, so that a set is a few runs of
/// numbers: from a line one reaches nearly all that stands after it. Never leaves an item out. In a graph so tangled
/// that a set has more than [`MAX_RUNS`] runs it may hold an item too many.
#[derive(Clone, Debug)]
pub(super) struct Reachable<T> {
    numbers: HashMap<T, u32>,
    cycles: Vec<usize>,
    /// Per cycle.
    sets: Vec<Arc<[Range<u32>]>>,
}

impl<T: Hash + Eq> Reachable<T> {
    /// For nodes with these edges; `items` gives those of a node, the last to be reached first.
    pub(super) fn new<I: Iterator<Item = T>>(edges: &[Vec<usize>], items: impl Fn(usize) -> I) -> Self {
        let cycles = strongly_connected(edges);
        let n_cycles = cycles.iter().max().map_or(0, |last| last + 1);
        let mut members = vec![Vec::new(); n_cycles];
        for (node, cycle) in cycles.iter().enumerate() {
            members[*cycle].push(node);
        }
        let mut numbers = HashMap::new();
        let mut sets: Vec<Arc<[Range<u32>]>> = Vec::with_capacity(n_cycles);
        for (cycle, members) in members.iter().enumerate() {
            let next = members.iter().flat_map(|node| &edges[*node]).map(|to| cycles[*to]);
            let mut reached: Vec<usize> = next.filter(|reached| *reached != cycle).collect();
            reached.sort_unstable();
            reached.dedup();
            let mut runs: Vec<Range<u32>> = reached.iter().flat_map(|reached| sets[*reached].iter().cloned()).collect();
            for item in members.iter().rev().flat_map(|node| items(*node)) {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX - 1);
                let number = *numbers.entry(item).or_insert(next);
                runs.push(number..number + 1);
            }
            join(&mut runs);
            let same = reached.iter().map(|reached| &sets[*reached]).find(|set| ***set == *runs).cloned();
            sets.push(same.unwrap_or_else(|| runs.into()));
        }
        Reachable { numbers, cycles, sets }
    }

    /// Whether an item can be reached from a node.
    pub(super) fn contains(&self, from: usize, item: &T) -> bool {
        let (Some(number), Some(cycle)) = (self.numbers.get(item), self.cycles.get(from)) else { return false };
        let set = &self.sets[*cycle];
        let index = set.partition_point(|run| run.end <= *number);
        set.get(index).is_some_and(|run| run.start <= *number)
    }

    /// How many runs are kept: a measure of the memory.
    pub(super) fn n_runs(&self) -> usize {
        self.sets.iter().map(|set| set.len()).sum()
    }
}

/// Sorts runs, joins those that touch, and as many others as are too many, where the gaps are smallest.
fn join(runs: &mut Vec<Range<u32>>) {
    runs.sort_unstable_by_key(|run| run.start);
    let join_over = |runs: &mut Vec<Range<u32>>, gap: u32| {
        runs.dedup_by(|run, last| {
            let touches = run.start.saturating_sub(last.end) <= gap;
            last.end = if touches { last.end.max(run.end) } else { last.end };
            touches
        });
    };
    join_over(runs, 0);
    if runs.len() > MAX_RUNS {
        let mut gaps: Vec<u32> = runs.windows(2).map(|pair| pair[1].start - pair[0].end).collect();
        gaps.sort_unstable();
        join_over(runs, gaps[gaps.len() - MAX_RUNS]);
    }
}
