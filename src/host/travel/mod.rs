//! Time travel: a session's past, from its records (spec `architecture.md`, "Journal").
//!
//! Nothing here runs a session or writes a journal: records go in, machines and other records come out.

mod diff;

mod fork;

pub mod heard;

mod point;

mod run;

mod steps;

mod timeline;

pub use crate::frames::words_of;
pub(crate) use crate::travel::diff::is_same;
pub use crate::travel::diff::{Difference, VariableDifference, diff};
pub use crate::travel::fork::{Changes, Edit, Fork, can_go_on, fork};
pub use crate::travel::point::{At, Point, PointFault};
pub use crate::travel::run::Run;
pub use crate::travel::steps::{Retelling, Step, history, steps, whole_history};
pub use crate::travel::timeline::{Moment, Timeline};
