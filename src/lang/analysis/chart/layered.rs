//! Where boxes stand and how arrows go, by the method of Sugiyama: boxes in ranks so that arrows lead down, bends where
//! an arrow passes a rank, an order in each rank with few crossings, places that make long arrows straight. Deterministic,
//! and total: any graph has a layout.

use crate::analysis::chart::order;
use crate::analysis::chart::place::{self, Placed};
use crate::analysis::chart::ranked::{Item, Point, Ranked, Size};

/// How many bends there may be: a long arrow beyond them goes straight, over whatever stands there.
const MAX_BENDS: usize = 20_000;

/// How many boxes without arrows stand side by side.
const MAX_LONE: usize = 4;

/// What is laid out.
#[derive(Clone, Debug, Default)]
pub(super) struct Boxes {
    /// Of each box its size, and the column it stands in: columns stand side by side.
    pub(super) boxes: Vec<(Size, usize)>,
    pub(super) n_columns: usize,
    /// Arrows: from, to, and the size of what is written beside it.
    pub(super) arrows: Vec<(usize, usize, Size)>,
}

/// What stands where.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The middle of each box.
    pub(super) boxes: Vec<Point>,
    /// Of each arrow the points it goes through, and the middle of what is written beside it. One that leads back to where
    /// it begins has no points.
    pub(super) arrows: Vec<(Vec<Point>, Point)>,
    /// Of each column where it begins and ends to the right.
    pub(super) columns: Vec<(f64, f64)>,
}

/// Lays boxes out.
pub(super) fn layout(graph: &Boxes) -> Layout {
    let downwards = downwards(graph);
    let ranks = ranks(graph, &downwards);
    let (mut ranked, chains) = bend(graph, &downwards, &ranks);
    order::order(&mut ranked);
    let placed = place::places(&ranked, graph.n_columns);
    let arrows = chains.iter().zip(&downwards).zip(placed.ends(&ranked, &chains));
    let arrows = arrows.map(|((chain, (_, _, is_turned)), ends)| {
        let Some(ends) = ends else { return (Vec::new(), Point::default()) };
        let (mut points, label) = way(&ranked, &placed, chain, ends);
        if *is_turned {
            points.reverse();
        }
        (points, label)
    });
    let arrows = arrows.collect();
    Layout { arrows, boxes: placed.middles[..graph.boxes.len()].to_vec(), columns: placed.columns }
}

/// The points that an arrow goes through, from top to bottom, and the middle of what is written beside it. It is upright
/// where boxes stand beside it, keeps to its place where words do, and goes as it likes where nothing is.
fn way(ranked: &Ranked, placed: &Placed, chain: &[usize], (first, last): (Point, Point)) -> (Vec<Point>, Point) {
    let bounds = |item: usize| placed.ranks[ranked.items[item].rank];
    let mut points = vec![first, Point { x: first.x, y: bounds(chain[0]).1 }];
    let bends = &chain[1..chain.len() - 1];
    for item in bends {
        let (middle, (top, bottom)) = (placed.middles[*item], bounds(*item));
        if ranked.items[*item].rank.is_multiple_of(2) {
            points.extend([Point { y: top, ..middle }, Point { y: bottom, ..middle }]);
        } else if bottom > top {
            points.push(middle);
        }
    }
    points.push(last);
    points.dedup();
    let middle = Point { x: (first.x + last.x) / 2.0, y: (first.y + last.y) / 2.0 };
    let label = bends.first().filter(|item| ranked.items[**item].size.height > 0.0);
    (points, label.map_or(middle, |item| placed.middles[*item]))
}

/// Every arrow so that none leads back up, and whether it was turned round for that. Those that lead back to a box from
/// which they were come to are turned.
fn downwards(graph: &Boxes) -> Vec<(usize, usize, bool)> {
    let mut leaving = vec![Vec::new(); graph.boxes.len()];
    for (index, (from, to, _)) in graph.arrows.iter().enumerate() {
        if from != to {
            leaving[*from].push((index, *to));
        }
    }
    let mut turned = vec![false; graph.arrows.len()];
    let (mut is_seen, mut is_open) = (vec![false; graph.boxes.len()], vec![false; graph.boxes.len()]);
    for root in 0..graph.boxes.len() {
        let mut path = vec![(root, 0)];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            if *next == 0 && std::mem::replace(&mut is_seen[at], true) {
                path.pop();
                continue;
            }
            is_open[at] = true;
            let Some((arrow, to)) = leaving[at].get(*next) else {
                is_open[at] = false;
                path.pop();
                continue;
            };
            *next += 1;
            if is_open[*to] {
                turned[*arrow] = true;
            } else if !is_seen[*to] {
                path.push((*to, 0));
            }
        }
    }
    let arrows = graph.arrows.iter().zip(turned);
    arrows.map(|((from, to, _), turned)| if turned { (*to, *from, true) } else { (*from, *to, false) }).collect()
}

/// Of each box how many ranks lie above it. Between two ranks of boxes there is one for bends and for what is written.
fn ranks(graph: &Boxes, downwards: &[(usize, usize, bool)]) -> Vec<usize> {
    let n = graph.boxes.len();
    let arrows = || downwards.iter().filter(|(from, to, _)| from != to);
    let (mut below, mut n_above) = (vec![Vec::new(); n], vec![0; n]);
    for (from, to, _) in arrows() {
        below[*from].push(*to);
        n_above[*to] += 1;
    }
    let is_first: Vec<bool> = n_above.iter().map(|n| *n == 0).collect();
    let mut ranks: Vec<usize> = vec![0; n];
    let mut ready: Vec<usize> = (0..n).filter(|at| is_first[*at]).collect();
    while let Some(at) = ready.pop() {
        for to in &below[at] {
            ranks[*to] = ranks[*to].max(ranks[at] + 2);
            n_above[*to] -= 1;
            if n_above[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    // What nothing leads to stands right above where it leads.
    let nearest = |at: usize| below[at].iter().map(|to| ranks[*to]).min().filter(|_| is_first[at]);
    let mut moved: Vec<usize> = (0..n).map(|at| nearest(at).map_or(ranks[at], |rank| rank.saturating_sub(2))).collect();
    let mut n_lone = vec![0; graph.n_columns];
    for at in (0..n).filter(|at| is_first[*at] && below[*at].is_empty()) {
        let column = graph.boxes[at].1;
        moved[at] = n_lone[column] / MAX_LONE * 2;
        n_lone[column] += 1;
    }
    moved
}

/// The boxes with a bend for each rank that an arrow passes, the first as large as what is written there; and of each
/// arrow the items it goes through, from top to bottom.
fn bend(graph: &Boxes, downwards: &[(usize, usize, bool)], ranks: &[usize]) -> (Ranked, Vec<Vec<usize>>) {
    let boxes = graph.boxes.iter().zip(ranks);
    let items = boxes.map(|((size, column), rank)| Item { size: *size, column: *column, rank: *rank, is_bend: false });
    let mut ranked = Ranked { items: items.collect(), ..Ranked::default() };
    let mut chains = vec![Vec::new(); downwards.len()];
    let span = |arrow: usize| ranks[downwards[arrow].1].saturating_sub(ranks[downwards[arrow].0]);
    let mut shortest: Vec<usize> = (0..downwards.len()).collect();
    shortest.sort_by_key(|arrow| span(*arrow));
    let mut n_left = MAX_BENDS;
    for arrow in shortest {
        let (from, to, _) = downwards[arrow];
        if from == to {
            continue;
        }
        let n_bends = span(arrow).saturating_sub(1);
        let mut chain = vec![from];
        if let Some(left) = n_left.checked_sub(n_bends) {
            n_left = left;
            for rank in ranks[from] + 1..ranks[to] {
                let size = if chain.len() == 1 { graph.arrows[arrow].2 } else { Size::default() };
                chain.push(ranked.items.len());
                ranked.items.push(Item { size, column: ranked.items[from].column, rank, is_bend: true });
            }
        }
        chain.push(to);
        chains[arrow] = chain;
    }
    ranked.above = vec![Vec::new(); ranked.items.len()];
    ranked.below = ranked.above.clone();
    for pair in chains.iter().flat_map(|chain| chain.windows(2)) {
        if ranked.items[pair[0]].rank + 1 == ranked.items[pair[1]].rank {
            ranked.below[pair[0]].push(pair[1]);
            ranked.above[pair[1]].push(pair[0]);
        }
    }
    (ranked, chains)
}
