//! The cassette of a test (`- model: recorded`): where it lies, and a run with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::cassette::file::{Cassette, CassetteError};
use crate::host::cassette::take::{Mode, Take, TakeOptions};
use crate::lang::files::test_file::TestFile;
use crate::lang::kind::TEST;

/// `late.cassette.jsonl` of `late.test.md`.
pub(crate) fn path_of(test: &Path) -> PathBuf {
    let name = test.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(TEST).unwrap_or(&name);
    test.with_file_name(format!("{name}.cassette.jsonl"))
}

/// A run of the test with the cassette that lies beside it; one that is recorded needs none.
///
/// # Errors
/// It is not there, or cannot be read.
pub(crate) fn take_beside(path: &Path, test: &TestFile, mode: Mode) -> Result<Arc<Take>, String> {
    let cassette = match Cassette::read(&path_of(path)) {
        Err(CassetteError::None(_)) if mode != Mode::Replay => Cassette::default(),
        Err(error @ CassetteError::None(_)) => {
            return Err(format!("{}: {error}; make one: {}", path.display(), command(path)));
        }
        Err(error) => return Err(error.to_string()),
        Ok(cassette) => cassette,
    };
    Ok(take_with(path, test, mode, cassette))
}

/// A run of the test with this cassette.
pub(crate) fn take_with(path: &Path, test: &TestFile, mode: Mode, cassette: Cassette) -> Arc<Take> {
    let stands_for_result = |name: &Arc<str>| cassette.secrets().any(|secret| secret == name);
    let options = TakeOptions {
        name: path.display().to_string(),
        command: command(path),
        run: 1,
        mode,
        with_tools: !test.live_tools,
        secrets: test.arguments.iter().filter(|(name, _)| stands_for_result(name)).map(own).collect(),
    };
    Arc::new(Take::new(Arc::new(cassette), options))
}

fn own<K: Clone, V: Clone>((key, value): (&K, &V)) -> (K, V) {
    (key.clone(), value.clone())
}

fn command(path: &Path) -> String {
    format!("playhouse test {} --record", path.display())
}
