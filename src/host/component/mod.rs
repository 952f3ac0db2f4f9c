//! Components: what makes the parts of a running program replaceable (spec `components.md`).

pub mod message;
