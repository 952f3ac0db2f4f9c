//! Cases that are measured (spec `evaluate.md`, sections 1 and 5): made so often, counted, compared.

pub mod compare;

pub mod measured;

pub mod part;

pub mod revision;

pub mod schedule;

pub mod user;
