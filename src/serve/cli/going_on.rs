//! What a session that goes on needs again: the files it was begun with, and the tools that its program calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::journal::record::{Begun, GivenFiles, Record};
use crate::host::replay::{Stop, last_text, replay};
use crate::host::tool::registry::Registry;
use crate::lang::program::Program;
use crate::serve::cli::console::Failure;
use crate::serve::cli::ending::{place_of, place_of_line};
use crate::serve::cli::world::WorldArguments;
use crate::vm::protocol::Outcome;

/// The command line, and what is beside the program, for the journal.
pub(crate) fn to_keep(world: &WorldArguments, config: Option<&Path>, found_server: Option<String>) -> GivenFiles {
    let absolute = |path: &Path| {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Arc::from(whole.to_string_lossy())
    };
    GivenFiles {
        tools: world.tools.iter().map(|path| absolute(path)).collect(),
        config: config.map(absolute),
        working_directory: world.working_directory.as_deref().map(absolute),
        found_server: found_server.map(Arc::from),
    }
}

/// The command line with the files that the session was begun with, where it names no others.
pub(crate) fn with_kept(world: &WorldArguments, begun: &Begun) -> Result<WorldArguments, Failure> {
    let kept = |path: &Arc<str>, option: &str| {
        let path = PathBuf::from(&**path);
        if path.exists() {
            return Ok(path);
        }
        let (session, gone) = (&begun.session, path.display());
        Err(Failure::wrong(format!(
            "session {session} was begun with {gone}, which is not there now; name where it is, or another one, with \
             {option}"
        )))
    };
    let given = &begun.given;
    let mut world = world.clone();
    if world.tools.is_empty() {
        world.tools = given.tools.iter().map(|path| kept(path, "--tools FILE")).collect::<Result<_, _>>()?;
    }
    if world.config.is_none() {
        world.config = given.config.as_ref().map(|path| kept(path, "--config FILE")).transpose()?;
    }
    if world.working_directory.is_none() {
        let kept = given.working_directory.as_ref().map(|path| kept(path, "--working-directory DIR"));
        world.working_directory = kept.transpose()?;
    }
    Ok(world)
}

/// Whether all tools are there that the program's text calls.
///
/// # Errors
/// The first call of one that is gone, unless the program is over: whatever depends on it would go wrong, or be left
/// out.
pub(crate) fn check_tools(
    session: &str,
    program: &Program,
    records: &[Record],
    registry: &Registry,
) -> Result<(), Failure> {
    // Calls of what was no tool then, either, are of older built-ins.
    let known = last_text(records).map_or(&[][..], |(_, known)| known);
    let is_gone = |name: &str| known.iter().any(|tool| *tool.name == *name) && registry.get(name).is_none();
    let lines = program.playbooks.iter().flat_map(|playbook| playbook.steps.iter().map(move |step| (playbook, step)));
    let of_lines = lines.filter_map(|(playbook, step)| {
        let call = step.call().filter(|call| call.playbook.is_none())?;
        Some((&*call.callee, place_of_line(program, playbook, step)))
    });
    let of_plans = program.plans.iter().flat_map(|plan| plan.callees());
    let of_plans = of_plans.map(|(name, span)| (name, place_of(program, span)));
    let Some((name, place)) = of_lines.chain(of_plans).find(|(name, _)| is_gone(name)) else { return Ok(()) };
    if replay(records, None).is_ok_and(|replayed| matches!(replayed.stop, Stop::Finished(Outcome::Done { .. }))) {
        return Ok(());
    }
    let place = place.unwrap_or_default();
    let next = if registry.others().iter().any(|denied| **denied == *name) {
        "take it out of `deny` in the configuration"
    } else if name.contains('.') {
        "declare its plugin or server again, or name a file that has it with --tools FILE"
    } else {
        "name the file that has it with --tools FILE"
    };
    Err(Failure::wrong(format!(
        "{place}: session {session} cannot go on, as the tool `{name}` that is called here is not there now; {next}"
    )))
}
