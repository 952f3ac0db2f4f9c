//! What commands give a session to act with: tools, a model, a configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::clock::SystemClock;
use crate::host::tool::builtin::{WorkingDirectory, add_builtins};
use crate::host::tool::canned;
use crate::host::tool::registry::Registry;
use crate::lang::program::Signature;
use crate::serve::cli::console::Failure;
use crate::vm::limits::Settings;

/// Plans are programs too, but of a later version.
pub(crate) fn refuse_plans(files: &[PathBuf]) -> Result<(), Failure> {
    let is_plan = |path: &&PathBuf| {
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        extension.is_some_and(|extension| ["json", "yaml", "yml"].iter().any(|plan| extension == *plan))
    };
    match files.iter().find(is_plan) {
        Some(path) => Err(Failure::wrong(format!(
            "{}: plans are not supported yet; write a playbook program (`.md`)",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// The built-in tools, and the canned ones of `files` in front of them. File tools stay below `directory`.
pub(crate) fn tools(files: &[PathBuf], directory: &Path) -> Result<Registry, Failure> {
    let folder = WorkingDirectory::open(directory).map_err(|cause| {
        Failure::wrong(format!(
            "{}: cannot open the working directory: {cause}; check the path given with --working-directory",
            directory.display()
        ))
    })?;
    let mut registry = Registry::new();
    add_builtins(&mut registry, &folder, Arc::new(SystemClock), Settings::default().value_bytes);
    for path in files {
        for tool in canned::load(path, &folder).map_err(|error| Failure::wrong(error.to_string()))? {
            registry.replace(tool);
        }
    }
    Ok(registry)
}

/// What the compiler needs to know of the tools.
pub(crate) fn signatures(registry: &Registry) -> Vec<Signature> {
    registry.signatures().iter().map(|tool| tool.signature.clone()).collect()
}
