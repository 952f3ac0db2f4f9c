//! Cassettes: what models and tools answered, kept, so that the same run needs neither (spec `evaluate.md`, section 2).
//!
//! [`file::Cassette`] is the file as data. A [`take::Take`] is one run with it: the wrappers around models, tools and the
//! trigger classifier (`recorded.rs` in `host/llm`, `host/tool`, `host/classify`) ask it for each answer, and tell it
//! what was answered live. [`recording::record`] makes the next cassette of one run or several.

pub mod entry;
pub mod file;
pub mod key;
pub mod lockstep;
mod nearest;
pub mod order;
pub mod recording;
pub mod redact;
pub mod take;
