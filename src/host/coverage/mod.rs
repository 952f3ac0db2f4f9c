//! What runs have reached of programs: lines, ways of branches and loops, triggers, calls (spec `evaluate.md`, section
//! 7). Pure: runs and programs go in.
//!
//! [`reached`] counts one run by the ids of its program, [`Coverage`] puts the counts of many together by the places in
//! their files, so that a file which two programs import is one.

mod edges;
mod frames;
mod merged;
mod reached;
mod way;

pub use self::merged::{Coverage, Line, Part, PartKind, Totals, Tried};
pub(crate) use self::reached::Names;
pub use self::reached::{Reached, reached};
pub use self::way::Way;
