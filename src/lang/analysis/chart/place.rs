//! Where the items of ranks stand: as close as they may, and right below and above what they hang on as far as they can.

use crate::analysis::chart::ranked::{GAP, Point, Ranked, number};

/// Between an arrow and what stands beside it.
const BEND_GAP: f64 = 14.0;
/// Between a rank and the next; between two ranks of boxes there is a third.
const RANK_GAP: f64 = 24.0;
/// Between columns.
const COLUMN_GAP: f64 = 72.0;

/// How often all ranks are gone through, down and up by turns.
const N_SWEEPS: usize = 40;

/// Where everything stands.
pub(super) struct Placed {
    /// The middle of each item.
    pub(super) middles: Vec<Point>,
    /// Of each rank its top and its bottom.
    pub(super) ranks: Vec<(f64, f64)>,
    /// Of each column where it begins and ends.
    pub(super) columns: Vec<(f64, f64)>,
}

/// Places all items.
pub(super) fn places(ranked: &Ranked, n_columns: usize) -> Placed {
    let mut places = vec![Point::default(); ranked.items.len()];
    let (mut top, mut ranks) = (0.0, Vec::new());
    for rank in &ranked.ranks {
        let height = rank.iter().map(|item| ranked.items[*item].size.height).fold(0.0, f64::max);
        // Boxes begin at one height, so that no arrow that comes to one passes over another.
        for item in rank {
            let own = if ranked.items[*item].is_bend { height } else { ranked.items[*item].size.height };
            places[*item].y = top + own / 2.0;
        }
        ranks.push((top, top + height));
        top += height + RANK_GAP;
    }
    let mut columns = Vec::new();
    let mut left = 0.0;
    for column in 0..n_columns {
        let ranks: Vec<Vec<usize>> = ranked.ranks.iter().map(|rank| of_column(ranked, rank, column)).collect();
        place_column(ranked, &ranks, &mut places);
        let (mut begin, mut end) = (f64::MAX, f64::MIN);
        for item in ranks.iter().flatten() {
            let half = ranked.items[*item].size.width / 2.0;
            (begin, end) = (begin.min(places[*item].x - half), end.max(places[*item].x + half));
        }
        if begin > end {
            columns.push((left, left));
            continue;
        }
        ranks.iter().flatten().for_each(|item| places[*item].x += left - begin);
        columns.push((left, left + end - begin));
        left += end - begin + COLUMN_GAP;
    }
    Placed { middles: places, ranks, columns }
}

fn of_column(ranked: &Ranked, rank: &[usize], column: usize) -> Vec<usize> {
    rank.iter().copied().filter(|item| ranked.items[*item].column == column).collect()
}

/// Places what stands in a column, whatever stands in others.
fn place_column(ranked: &Ranked, ranks: &[Vec<usize>], places: &mut [Point]) {
    for rank in ranks {
        spread(ranked, rank, &vec![(0.0, 1.0); rank.len()], places);
    }
    for sweep in 0..N_SWEEPS {
        // At last both sides have their say.
        let is_last = sweep + 2 >= N_SWEEPS;
        let is_down = sweep % 2 == 0;
        for index in 0..ranks.len() {
            let rank = &ranks[if is_down { index } else { ranks.len() - 1 - index }];
            let wanted: Vec<(f64, f64)> = rank
                .iter()
                .map(|item| wanted(ranked, *item, (is_down || is_last, !is_down || is_last), places))
                .collect();
            spread(ranked, rank, &wanted, places);
        }
    }
}

/// Where an item would stand best, and how much it matters: the average of what it hangs on above, below, or both. That
/// arrows go straight from bend to bend matters most.
fn wanted(ranked: &Ranked, item: usize, (by_above, by_below): (bool, bool), places: &[Point]) -> (f64, f64) {
    let column = ranked.items[item].column;
    let (mut sum, mut weights) = (0.0, 0.0);
    let above = ranked.above[item].iter().filter(|_| by_above);
    for other in above.chain(ranked.below[item].iter().filter(|_| by_below)) {
        let is_straight = ranked.items[item].is_bend && ranked.items[*other].is_bend;
        let weight = if is_straight { 8.0 } else { 1.0 };
        if ranked.items[*other].column == column {
            sum += places[*other].x * weight;
            weights += weight;
        }
    }
    if weights > 0.0 { (sum / weights, weights) } else { (places[item].x, 0.1) }
}

/// Places the items of a rank in their order: none too close to the next, and all together as near to where they want to
/// stand as can be (least squares; those that press on each other move as one).
fn spread(ranked: &Ranked, rank: &[usize], wanted: &[(f64, f64)], places: &mut [Point]) {
    let mut offsets = Vec::with_capacity(rank.len());
    let mut offset = 0.0;
    for (index, item) in rank.iter().enumerate() {
        if let Some(before) = index.checked_sub(1) {
            offset += distance(ranked, rank[before], *item);
        }
        offsets.push(offset);
    }
    // Groups: the place of the group's beginning, its weight, how many items.
    let mut groups: Vec<(f64, f64, usize)> = Vec::new();
    for ((want, weight), offset) in wanted.iter().zip(&offsets) {
        groups.push((want - offset, *weight, 1));
        while let [.., before, last] = &groups[..]
            && before.0 > last.0
        {
            let weight = before.1 + last.1;
            let merged = ((before.0 * before.1 + last.0 * last.1) / weight, weight, before.2 + last.2);
            groups.truncate(groups.len() - 2);
            groups.push(merged);
        }
    }
    let begins = groups.iter().flat_map(|(begin, _, n)| std::iter::repeat_n(*begin, *n));
    for ((item, begin), offset) in rank.iter().zip(begins).zip(offsets) {
        places[*item].x = begin + offset;
    }
}

/// How far the middles of two neighbours are from each other at least.
fn distance(ranked: &Ranked, left: usize, right: usize) -> f64 {
    let (left, right) = (&ranked.items[left], &ranked.items[right]);
    let gap = if left.is_bend || right.is_bend { BEND_GAP } else { GAP };
    (left.size.width + right.size.width) / 2.0 + gap
}

impl Placed {
    /// Where each chain leaves its upper box and comes to its lower one: spread over the edges of the boxes, in the order
    /// of where they lead to and come from. None for a chain without items.
    pub(super) fn ends(&self, ranked: &Ranked, chains: &[Vec<usize>]) -> Vec<Option<(Point, Point)>> {
        let mut ends = vec![None; chains.len()];
        let (mut leaving, mut coming) = (vec![Vec::new(); ranked.items.len()], vec![Vec::new(); ranked.items.len()]);
        for (index, chain) in chains.iter().enumerate() {
            if let [first, .., last] = chain[..] {
                leaving[first].push((self.middles[chain[1]].x, index));
                coming[last].push((self.middles[chain[chain.len() - 2]].x, index));
                ends[index] = Some((Point::default(), Point::default()));
            }
        }
        for (item, (mut leaving, mut coming)) in leaving.into_iter().zip(coming).enumerate() {
            let (half, y) = (ranked.items[item].size.height / 2.0, self.middles[item].y);
            for (x, chain) in self.ports(ranked, item, &mut leaving) {
                ends[chain].iter_mut().for_each(|(first, _)| *first = Point { x, y: y + half });
            }
            for (x, chain) in self.ports(ranked, item, &mut coming) {
                ends[chain].iter_mut().for_each(|(_, last)| *last = Point { x, y: y - half });
            }
        }
        ends
    }

    /// Where on the edge of a box each of its chains begins or ends. Chains come with where their next item stands.
    fn ports(&self, ranked: &Ranked, item: usize, chains: &mut [(f64, usize)]) -> Vec<(f64, usize)> {
        chains.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let n = number(chains.len());
        let step = (ranked.items[item].size.width * 0.6 / n).min(24.0);
        let at = |place: usize| self.middles[item].x + (number(place) - (n - 1.0) / 2.0) * step;
        chains.iter().enumerate().map(|(place, (_, chain))| (at(place), *chain)).collect()
    }
}
