//! `--events FILE`: every public event of a session as a line of JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::host::session::{Notice, Subscription};
use crate::serve::cli::machinery::console::Failure;

/// Events that may wait to be written. More than one budget of the machine's directives can make.
pub(crate) const CAPACITY: usize = 100_000;

/// Makes the file, or empties it. A new one is for its owner only: it tells what the journal tells.
pub(crate) fn create(path: &Path) -> Result<File, Failure> {
    if path.as_os_str() == "-" {
        return Err(Failure::wrong(
            "--events -: standard output has what the program says; name a file, as in --events events.jsonl",
        ));
    }
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|cause| {
        Failure::wrong(format!("{}: cannot write: {cause}; check the path given with --events", path.display()))
    })
}

/// Writes all events; gives the number of those that were missed.
pub(crate) async fn write(mut subscription: Subscription, file: File) -> std::io::Result<u64> {
    let mut writer = BufWriter::new(file);
    let mut n_missed = 0;
    loop {
        let notice = match subscription.try_next() {
            Some(notice) => notice,
            None => {
                // Whoever follows the file sees everything there is so far.
                writer.flush()?;
                match subscription.next().await {
                    Some(notice) => notice,
                    None => return writer.flush().map(|()| n_missed),
                }
            }
        };
        match notice {
            Notice::Event(event) => {
                serde_json::to_writer(&mut writer, &event)?;
                writer.write_all(b"\n")?;
            }
            Notice::Missed(n) => n_missed += n,
        }
    }
}
