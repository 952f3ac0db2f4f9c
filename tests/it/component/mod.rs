//! Components: their configuration, what is passed to them, what others may change, where their files are.

mod check;
mod config;
mod contracts;
mod runtime;

use playhouse::diagnostic::Diagnostic;
use playhouse::host::component::ComponentConfig;
use playhouse::span::{FileId, Sources};

/// The configuration, the findings, and these as they are shown.
pub(crate) fn read(name: &str, text: &str) -> (Option<ComponentConfig>, Vec<Diagnostic>, String) {
    let (config, findings) = ComponentConfig::read(FileId(0), text);
    let mut sources = Sources::default();
    sources.add(name, text);
    let shown = playhouse::diagnostic::render(&findings, &sources, false);
    (config, findings, shown)
}

/// The configuration of a text that is sound.
#[track_caller]
pub(crate) fn sound(text: &str) -> ComponentConfig {
    let (config, _, shown) = read("config.yaml", text);
    config.unwrap_or_else(|| panic!("{shown}"))
}

/// A plugin whose commands are these lines, indented by two.
pub(crate) fn plugin(commands: &str) -> String {
    format!(
        "group_id: org.example\nartifact_id: demo\nversion: 0.0.1\ntype: plugin\nas_plugin: true\n\
         info: {{title: Demo, description: Shows things.}}\nsetup: {{package: demo}}\ncommands:\n{commands}"
    )
}
