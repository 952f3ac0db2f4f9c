//! Work that waits for a disk, on threads for that.

use std::io;

use tokio::sync::Semaphore;

use crate::journal::JournalError;
use crate::tasks;

/// How much of it is done at one time in a process: more does not make a disk faster, but each costs a thread.
static ROOM: Semaphore = Semaphore::const_new(8);

/// Has `work` done on a thread for blocking calls.
pub(crate) async fn blocking<T: Send + 'static>(
    location: String,
    work: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, JournalError> {
    // Closed never: the error cannot happen, and without a permit nothing is lost but restraint.
    let _permit = ROOM.acquire().await;
    tasks::on_thread(work).await.unwrap_or_else(|cause| {
        Err(JournalError::unavailable(
            location,
            "use",
            io::Error::other(cause),
            "resume the session, and please report this",
        ))
    })
}
