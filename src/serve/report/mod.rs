//! Reports in other people's formats, and as one page that loads nothing.

pub mod coverage;
