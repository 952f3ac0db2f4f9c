//! One SQLite file (`.sqlite`, `.db`) that holds the journals of many sessions, mode 0600.
//!
//! Several processes may have it open, each with other sessions: a session has a lease beside the file. Each process has
//! one thread that writes (`writer.rs`), so that its sessions share transactions. SQLite writes ahead (WAL): what is
//! committed is in the system's hands and outlives the process; a commit that waits for the disk outlives a power cut.
//! Whatever one flush has is in one transaction, so no state between is ever seen.

#[cfg(feature = "sqlite")]
mod journal;

#[cfg(feature = "sqlite")]
pub(crate) mod patience;

#[cfg(feature = "sqlite")]
mod read;

#[cfg(feature = "sqlite")]
pub(crate) mod schema;

#[cfg(feature = "sqlite")]
mod sessions;

#[cfg(feature = "sqlite")]
mod writer;

#[cfg(not(feature = "sqlite"))]
mod absent;

#[cfg(not(feature = "sqlite"))]
pub(super) use self::absent::at;
#[cfg(feature = "sqlite")]
pub(super) use self::sessions::at;
