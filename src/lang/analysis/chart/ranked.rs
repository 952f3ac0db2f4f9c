//! Boxes and bends of arrows in ranks: what is put in order and placed.

/// The space between boxes that stand side by side.
pub(super) const GAP: f64 = 28.0;

/// How wide and how high something is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A place: to the right, and down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A box, or a bend of an arrow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Item {
    pub(super) size: Size,
    pub(super) column: usize,
    pub(super) rank: usize,
    pub(super) is_bend: bool,
}

/// Boxes and bends, and how they hang together from rank to rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranked {
    pub(super) items: Vec<Item>,
    /// Of each item those it hangs on, one rank above, and those below.
    pub(super) above: Vec<Vec<usize>>,
    pub(super) below: Vec<Vec<usize>>,
    /// The items of each rank, from left to right.
    pub(super) ranks: Vec<Vec<usize>>,
}

#[allow(clippy::cast_precision_loss, reason = "there are far fewer than 2^53 items")]
pub(super) fn number(n: usize) -> f64 {
    n as f64
}
