//! What is said of programs and sessions by whoever measures them.

pub mod checks;
