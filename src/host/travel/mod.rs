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

pub use crate::host::frames::words_of;
pub(crate) use crate::host::travel::diff::is_same;
pub use crate::host::travel::diff::{Difference, VariableDifference, diff};
pub use crate::host::travel::fork::{Changes, Edit, Fork, can_go_on, fork};
pub use crate::host::travel::point::{At, Point, PointFault};
pub use crate::host::travel::run::Run;
pub use crate::host::travel::steps::{Retelling, Step, history, steps, whole_history};
pub use crate::host::travel::timeline::{Moment, Timeline};
