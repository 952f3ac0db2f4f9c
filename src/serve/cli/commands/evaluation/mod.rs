//! Commands that measure programs.

mod case;
