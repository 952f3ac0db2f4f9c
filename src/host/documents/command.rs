//! Files that are no texts, by a command that the configuration declares: what it writes is their text, page by page.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::child::FILE;
use crate::documents::chunk::{Chunk, paragraphs};
use crate::documents::extract::Extract;
use crate::sandbox::policy::{Limits, Policy};
use crate::sandbox::{Ended, Finished, Job, Sandbox};
use crate::secrets::Secrets;
use crate::text::shorten;

/// Commands that turn other files into text.
#[derive(Clone, Debug, Default)]
pub struct Extractors {
    /// Extractors by the ending of a file in lower case: `pdf` has `["pdftotext", "-layout", "{file}", "-"]`.
    pub by_ending: BTreeMap<String, Vec<String>>,
    /// What confines them.
    pub sandbox: Sandbox,
}

/// Bytes that a command writes at most.
const MAX_BYTES: usize = 10 << 20;

/// How long a command may take.
const TIME: Duration = Duration::from_secs(120);

/// Characters of what a command says of its failure that are shown.
const MAX_SHOWN: usize = 200;

/// The command for a file of this name.
pub(super) fn command_of<'c>(commands: &'c Extractors, name: &str) -> Option<&'c [String]> {
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

/// Begins a command in a folder that it may read and not write.
const IN_FOLDER: [&str; 4] = ["/bin/sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh"];

/// Runs a command on a file, in the index's folder, confined: of all that is not the system's it reads this folder alone, and
/// writes nothing that stays.
///
/// # Errors
/// It cannot be confined or started, fails, takes too long, writes too much or no text; in words for people.
pub(super) fn extracted(
    commands: &Extractors,
    command: &[String],
    folder: &Path,
    file: &Path,
) -> Result<String, String> {
    let Some((program, arguments)) = command.split_first() else { return Err("its command is empty".to_owned()) };
    let failed = |cause: String| format!("`{program}` extracts no text from it: {cause}; see `[index.extract]`");
    let file = file.canonicalize().map_err(|cause| failed(cause.to_string()))?;
    let shown = file.to_str().ok_or("its name is not text")?;
    let words = arguments.iter().map(|argument| argument.replace(FILE, shown));
    let begun = IN_FOLDER.map(str::to_owned).into_iter().chain([folder.display().to_string(), program.clone()]);
    let words: Vec<String> = begun.chain(words).collect();
    let temporary = tempfile::tempdir().map_err(|cause| failed(cause.to_string()))?;
    let working_directory = temporary.path().canonicalize().map_err(|cause| failed(cause.to_string()))?;
    let limits = Limits { output_bytes: 2 * MAX_BYTES, ..Limits::of_time(TIME) };
    let policy = Policy { readable: vec![folder.to_owned(), file.clone()], working_directory, network: false, limits };
    let finished = run(commands, &words, &policy).map_err(failed)?;
    match finished.ended {
        Ended::Exited(0) if finished.stdout.n_left_out > 0 || finished.stdout.text.len() > MAX_BYTES => {
            Err(failed("it writes more than 10 MB".to_owned()))
        }
        Ended::Exited(0) if finished.stdout.text.contains(char::REPLACEMENT_CHARACTER) => {
            Err(failed("what it writes is not UTF-8".to_owned()))
        }
        Ended::Exited(0) => Ok(finished.stdout.text),
        Ended::Exited(code) => {
            Err(failed(format!("exit code {code}: {}", shorten(finished.stderr.text.trim(), MAX_SHOWN))))
        }
        Ended::Signalled(signal) => Err(failed(format!("it was killed by signal {signal}"))),
        Ended::TimedOut => Err(failed(format!("it took more than {} seconds", TIME.as_secs()))),
    }
}

/// Whoever waits for it may be a part of a runtime, so it has one on a thread of its own.
fn run(commands: &Extractors, words: &[String], policy: &Policy) -> Result<Finished, String> {
    let (sandbox, secrets) = (&commands.sandbox, Secrets::default());
    let job = Job { command: words, policy, variables: &[], secrets: &secrets };
    let running =
        async { if sandbox.is_waived() { sandbox.run_unconfined(job).await } else { sandbox.run(job).await } };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|cause| cause.to_string())?;
    let ran = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(running)).join());
    let ran = ran.map_err(|_| "internal error: the command was lost; please report this".to_owned())?;
    ran.map_err(|cause| cause.to_string())
}
