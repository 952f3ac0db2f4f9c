//! In which order the items of a rank stand: so that few arrows cross.

use crate::analysis::chart::ranked::{Ranked, number};

/// How often all ranks are gone through, down and up by turns.
const N_SWEEPS: usize = 12;

/// Puts the items into ranks, in an order with few crossings. Columns stay beside each other.
pub(super) fn order(ranked: &mut Ranked) {
    let n_ranks = ranked.items.iter().map(|item| item.rank + 1).max().unwrap_or(0);
    ranked.ranks = vec![Vec::new(); n_ranks];
    for item in depth_first(ranked) {
        ranked.ranks[ranked.items[item].rank].push(item);
    }
    let mut places = vec![0; ranked.items.len()];
    for rank in 0..n_ranks {
        sort(ranked, rank, None, &mut places);
    }
    let mut best = (n_crossings(ranked, &places), ranked.ranks.clone());
    for sweep in 0..N_SWEEPS {
        if best.0 == 0 {
            break;
        }
        let is_down = sweep % 2 == 0;
        for index in 0..n_ranks {
            sort(ranked, if is_down { index } else { n_ranks - 1 - index }, Some(is_down), &mut places);
        }
        let n = n_crossings(ranked, &places);
        if n < best.0 {
            best = (n, ranked.ranks.clone());
        }
    }
    ranked.ranks = best.1;
}

/// All items, each after one that it hangs on, if it hangs on any.
fn depth_first(ranked: &Ranked) -> Vec<usize> {
    let mut order = Vec::with_capacity(ranked.items.len());
    let mut is_seen = vec![false; ranked.items.len()];
    // What hangs together is found whole, from its first item on.
    for root in 0..ranked.items.len() {
        let mut pending = vec![root];
        while let Some(item) = pending.pop() {
            if std::mem::replace(&mut is_seen[item], true) {
                continue;
            }
            order.push(item);
            pending.extend(ranked.above[item].iter().chain(&ranked.below[item]).rev());
        }
    }
    order
}

/// Sorts a rank by where those above stand on the average, or those below; or by columns alone.
fn sort(ranked: &mut Ranked, rank: usize, by_above: Option<bool>, places: &mut [usize]) {
    let mut keys: Vec<(usize, f64, usize)> = Vec::with_capacity(ranked.ranks[rank].len());
    for (place, item) in ranked.ranks[rank].iter().enumerate() {
        let around = match by_above {
            Some(true) => &ranked.above[*item][..],
            Some(false) => &ranked.below[*item][..],
            None => &[],
        };
        let sum: usize = around.iter().map(|other| places[*other]).sum();
        let mean = if around.is_empty() { number(place) } else { number(sum) / number(around.len()) };
        keys.push((ranked.items[*item].column, mean, *item));
    }
    keys.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    for (place, (_, _, item)) in keys.into_iter().enumerate() {
        ranked.ranks[rank][place] = item;
        places[item] = place;
    }
}

/// How many pairs of arrows cross between neighbouring ranks: the inversions of their lower ends, counted in a tree of
/// sums.
fn n_crossings(ranked: &Ranked, places: &[usize]) -> usize {
    let mut n = 0;
    for (upper, lower) in ranked.ranks.iter().zip(ranked.ranks.iter().skip(1)) {
        let mut sums = vec![0; lower.len() + 1];
        let mut n_before = 0;
        for item in upper {
            let mut ends: Vec<usize> = ranked.below[*item].iter().map(|end| places[*end]).collect();
            ends.sort_unstable();
            for end in &ends {
                let mut n_left = 0;
                let mut at = end + 1;
                while at > 0 {
                    n_left += sums[at];
                    at &= at - 1;
                }
                n += n_before - n_left;
            }
            n_before += ends.len();
            for end in ends {
                let mut at = end + 1;
                while at < sums.len() {
                    sums[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
    }
    n
}
