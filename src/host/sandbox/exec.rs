//! The process that confines itself and then becomes the command: `playhouse sandbox-exec`. Nothing here comes back but a
//! reason why it could not.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::sandbox::policy::{Confinement, Means};
use crate::sandbox::{bwrap, limits, system};

/// Becomes the command, confined as the policy says; answers why that is not possible.
pub fn become_command(policy: &str, command: &[OsString]) -> String {
    let confinement: Confinement = match serde_json::from_str(policy) {
        Ok(confinement) => confinement,
        Err(error) => return format!("the policy cannot be read: {error}; this command is for Playhouse itself"),
    };
    if let Err(error) = limits::limit(&confinement.policy.limits) {
        return format!("the limits cannot be set: {error}");
    }
    let before = match confinement.means {
        Means::System => system::confine(&confinement),
        Means::Bwrap => Ok(bwrap::words(&confinement, system::readable())),
    };
    let words = match before {
        Ok(before) => before.into_iter().chain(command.iter().cloned()),
        Err(fault) => return fault,
    };
    let words: Vec<OsString> = words.collect();
    let Some((program, arguments)) = words.split_first() else { return "there is no command".to_owned() };
    let error = Command::new(program).args(arguments).exec();
    format!("{} cannot be started: {error}", program.display())
}
