//! The lines that were typed, in `$XDG_STATE_HOME/playhouse/history`: readable by their owner alone, and not for
//! ever.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The newest lines that are kept.
pub(crate) const MAX_ENTRIES: usize = 1_000;

/// Makes the file if there is none. False: there cannot be one, and lines are kept in memory only.
pub(crate) fn open(path: &Path) -> bool {
    let folder_is_there = match path.parent() {
        Some(folder) => folder.is_dir() || DirBuilder::new().recursive(true).mode(0o700).create(folder).is_ok(),
        None => true,
    };
    folder_is_there && OpenOptions::new().append(true).create(true).mode(0o600).open(path).is_ok()
}
