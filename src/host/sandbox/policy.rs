//! What a command may do, and how much of it.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a command may touch beside the folders of the system that programs need. All paths are absolute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Files and folders that it may read, and programs in them that it may run.
    pub readable: Vec<PathBuf>,
    /// The folder where it begins, which it may read and write.
    pub working_directory: PathBuf,
    /// Whether it may use the network.
    pub network: bool,
    /// How much of all.
    pub limits: Limits,
}

/// How much a command may use. Memory, files and time of the processor count for each of its processes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// How long it may take; then it is ended.
    pub time: Duration,
    /// How much memory it may fill, in bytes: what is written to, not what is set aside, as V8 and Java set aside
    /// gigabytes that they never use.
    pub memory_bytes: u64,
    /// How many processes and threads it may start. The superuser's are not limited by Linux.
    pub processes: u64,
    /// How large a file may become, in bytes.
    pub file_bytes: u64,
    /// How many files may be open.
    pub open_files: u64,
    /// How much is kept of each of its two outputs, in bytes.
    pub output_bytes: usize,
}

impl Limits {
    /// The usual ones for so much time.
    pub fn of_time(time: Duration) -> Limits {
        Limits {
            time,
            memory_bytes: 4 << 30,
            processes: 1_024,
            file_bytes: 1 << 30,
            open_files: 4_096,
            output_bytes: 200_000,
        }
    }
}

/// By what means a command is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Means {
    /// What the system has.
    System,
    /// bubblewrap.
    Bwrap,
}

/// What `playhouse sandbox-exec` is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Confinement {
    pub(super) means: Means,
    pub(super) policy: Policy,
    /// The command's own folder for what it keeps for a moment.
    pub(super) temporary: PathBuf,
    /// Paths of the working directory that are not to be changed, as far as the means can say that.
    pub(super) reserved: Vec<PathBuf>,
}
