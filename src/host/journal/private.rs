//! Files and folders that only their owner may read, and whose names outlive a power cut.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes the files that these options make readable by their owner only. A link in the place of one is not followed:
/// it could lead to a file of somebody else's choice.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options
}

/// Makes the folder of a file, and those above it that are not there: each for its owner only, and each of their names
/// on disk.
pub(crate) fn make_folder_of(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !is_there(folder)).collect();
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    // With all above it: somebody else may be making or removing them at the same time.
    builder.recursive(true).create(folder)?;
    missing.iter().rev().for_each(|folder| sync_folder_of(folder));
    Ok(())
}

fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.exists()
}

/// A new file's name outlives a power cut only once its folder is synced; where folders cannot be, nothing is lost
/// that could be kept.
pub(super) fn sync_folder_of(path: &Path) {
    let folder = path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    if let Some(folder) = folder.and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
}
