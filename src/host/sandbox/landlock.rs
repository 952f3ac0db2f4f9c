//! Landlock: which files a process and all that it starts may read and write, and whom it may reach (Linux, `landlock(7)`).
//!
//! `/proc` is not among what may be read, as it shows the environment and memory of other processes; nor is `/dev/shm`,
//! which all processes share. What Landlock does not know is left as it is: whoever owns a file can still change its
//! mode, its times and its attributes, wherever it lies.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use crate::sandbox::policy::Confinement;

/// Where programs, their libraries and data are.
pub(super) const SYSTEM: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/run/current-system"];

/// What programs ask of the machine.
const MACHINE: [&str; 10] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system/cpu",
    "/dev/urandom",
];

/// Devices that hold nothing.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random"];

/// The versions of Landlock that differ in what is asked of them here.
const VERSIONS: [(u32, ABI); 6] = [(6, ABI::V6), (5, ABI::V5), (4, ABI::V4), (3, ABI::V3), (2, ABI::V2), (1, ABI::V1)];

/// The version of this system, up to the last that is asked for here; 0: it has none.
pub(super) fn version() -> u32 {
    let has = |(number, abi): &(u32, ABI)| {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let rules = rules.handle_access(AccessFs::from_all(*abi));
        let rules = if *number < 4 { rules } else { rules.and_then(|rules| rules.handle_access(tcp())) };
        let rules = if *number < 6 { rules } else { rules.and_then(|rules| rules.scope(others())) };
        rules.and_then(Ruleset::create).is_ok()
    };
    VERSIONS.iter().find(|version| has(version)).map_or(0, |(number, _)| *number)
}

/// Confines this thread, and so the program that it becomes.
pub(super) fn confine(confinement: &Confinement) -> Result<(), String> {
    match rules(confinement) {
        Ok(RulesetStatus::NotEnforced) => Err("Landlock has no effect on this system".to_owned()),
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => Ok(()),
        Err(error) => Err(format!("Landlock: {error}")),
    }
}

fn rules(confinement: &Confinement) -> Result<RulesetStatus, RulesetError> {
    let policy = &confinement.policy;
    // The last is of Linux 7.1 and could not be tried: a socket that is a file is reached only where files are written.
    let all = AccessFs::from_all(ABI::V6) | AccessFs::ResolveUnix;
    let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let read = AccessFs::from_read(ABI::V6);
    let device = read | AccessFs::WriteFile;
    let rules = Ruleset::default().handle_access(all)?.scope(others())?;
    // With the network all of it may be used.
    let rules = if policy.network { rules } else { rules.handle_access(tcp())? };
    let system = SYSTEM.iter().chain(&MACHINE).map(PathBuf::from).chain(public_settings());
    let readable = system.chain(policy.readable.iter().cloned());
    let written = [&policy.working_directory, &confinement.temporary];
    let beneath = |paths: Vec<PathBuf>, access: BitFlags<AccessFs>| -> Vec<Result<PathBeneath<PathFd>, RulesetError>> {
        path_beneath_rules(paths, access).collect()
    };
    let created = rules
        .create()?
        .add_rules(beneath(readable.collect(), read))?
        .add_rules(beneath(DEVICES.map(PathBuf::from).to_vec(), device))?
        .add_rules(beneath(written.map(Clone::clone).to_vec(), write))?;
    Ok(created.restrict_self()?.ruleset)
}

fn tcp() -> BitFlags<AccessNet> {
    AccessNet::BindTcp | AccessNet::ConnectTcp
}

/// Processes that are not of this command: no signals to them, no abstract sockets of theirs.
fn others() -> BitFlags<Scope> {
    Scope::Signal | Scope::AbstractUnixSocket
}

/// What of `/etc` everybody may read: the superuser could read the rest, too.
pub(super) fn public_settings() -> impl Iterator<Item = PathBuf> {
    let is_public = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o004 != 0);
    let entries = std::fs::read_dir("/etc").into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(move |path| is_public(path))
}
