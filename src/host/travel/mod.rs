//! Time travel: a session's past, from its records (spec `architecture.md`, "Journal").
//!
//! Nothing here runs a session or writes a journal: records go in, machines and other records come out.

mod fork;

mod point;

mod timeline;

pub use crate::host::travel::fork::{Changes, Edit, Fork, fork};
pub use crate::host::travel::point::{Point, PointFault};
pub use crate::host::travel::timeline::{Moment, Timeline};
