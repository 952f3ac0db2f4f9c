//! What must not happen, whoever wants it.

mod journal;
