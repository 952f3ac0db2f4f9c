//! What the system has to confine a process with.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::sandbox::policy::Confinement;

/// What this system's means are, in words: what they do not keep a command from. None at all is why.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn available() -> Result<Vec<String>, String> {
    let version = crate::sandbox::landlock::version();
    if version == 0 {
        return Err(
            "this system has no Landlock and seccomp to confine commands with; Linux has both since 5.13, if `lsm=` on \
             its command line names `landlock`"
                .to_owned(),
        );
    }
    let signals = "commands can kill other processes of this user; Linux prevents that since 6.12";
    Ok((version < 6).then(|| signals.to_owned()).into_iter().collect())
}

#[cfg(target_os = "macos")]
pub(super) fn available() -> Result<Vec<String>, String> {
    let program = crate::sandbox::macos::PROGRAM;
    let is_there = std::path::Path::new(program).exists();
    is_there.then(Vec::new).ok_or_else(|| format!("{program}, which confines commands on macOS, is missing"))
}

#[cfg(not(any(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")), target_os = "macos")))]
pub(super) fn available() -> Result<Vec<String>, String> {
    Err("Playhouse has no way to confine commands on this system".to_owned())
}

/// Confines this thread, or gives the words of the program that confines the command.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn confine(confinement: &Confinement) -> Result<Vec<OsString>, String> {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let version = crate::sandbox::landlock::version();
    // Of the superuser's privileges the one stays without which it could not work in folders of others. Which folders
    // those are is said by Landlock.
    let kept = rustix::thread::capabilities(None).map(|sets| sets.permitted & CapabilitySet::DAC_OVERRIDE);
    let sets = |kept| CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    let dropped = kept.and_then(|kept| set_capabilities(None, sets(kept)));
    dropped.map_err(|error| format!("privileges cannot be dropped: {error}"))?;
    crate::sandbox::landlock::confine(confinement)?;
    // Before its third version Landlock lets a file be cut off that may not be written to.
    crate::sandbox::seccomp::confine(confinement.policy.network, version >= 3)?;
    Ok(Vec::new())
}

#[cfg(target_os = "macos")]
pub(super) fn confine(confinement: &Confinement) -> Result<Vec<OsString>, String> {
    Ok(crate::sandbox::macos::words(confinement))
}

#[cfg(not(any(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")), target_os = "macos")))]
pub(super) fn confine(_: &Confinement) -> Result<Vec<OsString>, String> {
    available().map(|_| Vec::new())
}

/// What every command may read.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn readable() -> impl Iterator<Item = PathBuf> {
    use crate::sandbox::landlock::{SYSTEM, public_settings};
    SYSTEM.iter().map(PathBuf::from).chain(public_settings())
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) fn readable() -> impl Iterator<Item = PathBuf> {
    std::iter::empty()
}
