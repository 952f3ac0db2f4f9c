//! The prompt of a plugin, wherever it stands (spec `components.md`, 4.1).

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::component::config::Info;
use crate::component::identity::bad_part;
use crate::component::paths::leads_out;

/// Longer prompts would fill any model's context, in bytes.
const MAX_PROMPT: u64 = 1 << 20;

impl Info {
    /// What a model is told of the plugin: the description for models, or else the one for everybody.
    pub fn for_model(&self) -> &str {
        filled(&self.description_for_model).unwrap_or(&self.description)
    }

    /// What people are told of the plugin.
    pub fn for_human(&self) -> &str {
        filled(&self.description_for_human).unwrap_or(&self.description)
    }

    /// The plugin's prompt: `prompt`, or the file `prompt_file_name` beside its `config.yaml`, or the file
    /// `prompt_file_path`, in this order. `folder` is the folder of `config.yaml`; no file outside of it is read.
    ///
    /// # Errors
    /// The file that is named cannot be read, in one line.
    pub fn prompt_text(&self, folder: &Dir) -> Result<Option<Arc<str>>, String> {
        if let Some(prompt) = filled(&self.prompt) {
            return Ok(Some(prompt.clone()));
        }
        if let Some(name) = filled(&self.prompt_file_name) {
            if let Some(why) = bad_part(name) {
                return Err(format!(
                    "`prompt_file_name` must be the name of a file beside `config.yaml`; `{name}` {why}"
                ));
            }
            return read(folder, "prompt_file_name", name).map(Some);
        }
        filled(&self.prompt_file_path).map(|path| read(folder, "prompt_file_path", path)).transpose()
    }
}

/// A text that says something.
fn filled(text: &Option<Arc<str>>) -> Option<&Arc<str>> {
    text.as_ref().filter(|text| !text.trim().is_empty())
}

fn read(folder: &Dir, key: &str, path: &str) -> Result<Arc<str>, String> {
    let fault = |why: &str| format!("`{key}` names the file `{path}`, and {why}");
    let told = |cause: io::Error| {
        if cause.kind() == io::ErrorKind::NotFound {
            fault("there is no such file in the component's folder")
        } else if leads_out(&cause) {
            fault("that is outside the component's folder; write a path relative to it")
        } else {
            fault(&format!("it cannot be read: {cause}"))
        }
    };
    let path = Path::new(path);
    if !folder.metadata(path).map_err(told)?.is_file() {
        return Err(fault("that is not a file"));
    }
    let mut bytes = Vec::new();
    folder.open(path).map_err(told)?.take(MAX_PROMPT + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() as u64 > MAX_PROMPT {
        return Err(fault(&format!("it is larger than {MAX_PROMPT} bytes")));
    }
    String::from_utf8(bytes).map(Arc::from).map_err(|_| fault("it is not text (not UTF-8)"))
}
