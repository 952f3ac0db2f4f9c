//! macOS: `sandbox-exec`, with a profile in its own language. Written by Apple's and Chromium's profiles; nobody has
//! tried it on a Mac yet.

use std::ffi::OsString;
use std::path::Path;

use crate::sandbox::policy::Confinement;

/// Where it is.
pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What every program needs.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read-metadata)
(allow file-read* (literal "/"))
(allow file-read* file-map-executable
  (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/opt") (subpath "/nix") (subpath "/System")
  (subpath "/Library") (subpath "/private/etc") (subpath "/private/var/select") (subpath "/private/var/db/timezone"))
(allow file-read* (literal "/dev/random") (literal "/dev/urandom"))
(allow file-read* file-write* (literal "/dev/null") (literal "/dev/zero"))
"#;

/// The words before the command's own.
pub(super) fn words(confinement: &Confinement) -> Vec<OsString> {
    let policy = &confinement.policy;
    let mut profile = BASE.to_owned();
    for path in &policy.readable {
        profile += &format!("(allow file-read* file-map-executable (subpath {}))\n", quoted(path));
    }
    for path in [&policy.working_directory, &confinement.temporary] {
        profile += &format!("(allow file-read* file-write* file-map-executable (subpath {}))\n", quoted(path));
    }
    // The last rule that fits counts.
    for path in &confinement.reserved {
        profile += &format!("(deny file-write* (subpath {}))\n", quoted(path));
    }
    if policy.network {
        profile += "(allow network*)\n(allow system-socket)\n";
    }
    vec![PROGRAM.into(), "-p".into(), profile.into()]
}

/// A path as a text of the profile's language.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
