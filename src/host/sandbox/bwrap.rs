//! bubblewrap: a command in namespaces of its own, where reserved paths can be read and not written.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::sandbox::policy::Confinement;

/// Its name.
pub(super) const PROGRAM: &str = "bwrap";

/// The words before the command's own. `system` is what may be read beside what the policy names.
pub(super) fn words(confinement: &Confinement, system: impl Iterator<Item = PathBuf>) -> Vec<OsString> {
    let policy = &confinement.policy;
    let fixed = "--unshare-all --die-with-parent --new-session --cap-drop ALL --proc /proc --dev /dev";
    let mut words: Vec<OsString> = [PROGRAM].into_iter().chain(fixed.split(' ')).map(OsString::from).collect();
    if policy.network {
        words.push("--share-net".into());
    }
    let mut bind = |how: &str, path: &Path| words.extend([how.into(), path.into(), path.into()]);
    system.for_each(|path| bind("--ro-bind-try", &path));
    policy.readable.iter().for_each(|path| bind("--ro-bind-try", path));
    [&policy.working_directory, &confinement.temporary].into_iter().for_each(|path| bind("--bind", path));
    // What is bound later lies above.
    confinement.reserved.iter().for_each(|path| bind("--ro-bind-try", path));
    words.extend(["--chdir".into(), policy.working_directory.clone().into(), "--".into()]);
    words
}
