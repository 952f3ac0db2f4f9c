//! Files that are no texts, by a command that the configuration declares: what it writes is their text, page by page.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::host::child::FILE;
use crate::host::documents::chunk::{Chunk, paragraphs};
use crate::host::documents::extract::Extract;
use crate::host::text::shorten;

/// What makes texts of files that are none.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    /// Commands by the ending of a file in lower case: `pdf` has `["pdftotext", "-layout", "{file}", "-"]`.
    pub by_ending: BTreeMap<String, Vec<String>>,
    /// All that they get of the environment.
    pub environment: Vec<(String, String)>,
}

/// Bytes that a command writes at most.
const MAX_BYTES: u64 = 10 << 20;

/// Characters of what a command says of its failure that are shown.
const MAX_SHOWN: usize = 200;

/// The command for a file of this name.
pub(super) fn command_of<'c>(commands: &'c Commands, name: &str) -> Option<&'c [String]> {
    let (_, ending) = name.rsplit_once('.')?;
    commands.by_ending.get(&ending.to_ascii_lowercase()).map(|command| &**command)
}

/// What is kept of a file whose text a command has written: its pages end with form feeds, and a page's number stands in the
/// place of lines.
pub(super) fn of_pages(name: &str, text: &str) -> Extract {
    let pages = text.split('\u{c}').enumerate();
    let on_page = |(index, page): (usize, &str)| {
        let page_number = index + 1;
        let chunk = move |chunk| (None, Chunk { first: page_number, last: page_number, ..chunk });
        paragraphs(page).into_iter().map(chunk).collect::<Vec<_>>()
    };
    let title = name.rsplit('/').next().unwrap_or(name).to_owned();
    Extract { title, chunks: pages.flat_map(on_page).collect(), triples: Vec::new() }
}

/// Runs a command on a file, in the index's folder, with nothing of the environment but this.
///
/// # Errors
/// It cannot be started, fails, writes too much or no text; in words for people.
pub(super) fn extracted(
    command: &[String],
    environment: &[(String, String)],
    folder: &Path,
    file: &Path,
) -> Result<String, String> {
    let Some((program, arguments)) = command.split_first() else { return Err("its command is empty".to_owned()) };
    let shown = file.to_str().ok_or("its name is no text")?;
    let failed = |cause: String| format!("`{program}` gives no text of it: {cause}; see `[index.extract]`");
    let mut child = Command::new(program)
        .args(arguments.iter().map(|argument| argument.replace(FILE, shown)))
        .current_dir(folder)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|cause| failed(cause.to_string()))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    // Both are read at the same time, so that it never waits for us.
    let said = std::thread::spawn(move || read(stderr));
    let bytes = read(stdout);
    if bytes.len() as u64 > MAX_BYTES {
        // It may have ended meanwhile.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|cause| failed(cause.to_string()))?;
    let said = said.join().unwrap_or_default();
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed("it writes more than 10 MB".to_owned()));
    }
    if !status.success() {
        let said = String::from_utf8_lossy(&said);
        return Err(failed(format!("{status}: {}", shorten(said.trim(), MAX_SHOWN))));
    }
    String::from_utf8(bytes).map_err(|_| failed("what it writes is not UTF-8".to_owned()))
}

/// All that is written, or one byte more than may be.
fn read(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // What is broken off is told by the exit status.
        let _ = pipe.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    }
    bytes
}
