//! How much a process and all that it starts may use: limits that it sets to itself before it becomes the command.

use std::io;
use std::thread::available_parallelism;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::sandbox::policy::Limits;

/// Sets them. None is raised above what this process has.
pub(super) fn limit(limits: &Limits) -> io::Result<()> {
    // A second of time is one of each processor's.
    let n_processors = available_parallelism().map_or(1, |n| n.get() as u64);
    let seconds = limits.time.as_secs().saturating_add(1).saturating_mul(n_processors);
    let mut all = vec![
        (Resource::Cpu, seconds),
        (Resource::Data, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Core, 0),
    ];
    // The system counts all processes of the user, so the limit stands above those that run.
    all.extend(n_running().map(|n| (Resource::Nproc, n.saturating_add(limits.processes))));
    for (resource, wanted) in all {
        let most = getrlimit(resource).maximum.map_or(wanted, |maximum| maximum.min(wanted));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// How many processes and threads there are, of all users.
fn n_running() -> Option<u64> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}
