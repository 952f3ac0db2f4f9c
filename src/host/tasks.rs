//! Work that goes on beside what is done: the one home of how the host and its doors start it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use tokio::task::{JoinError, JoinHandle};

/// Starts a task of the runtime that this is called in.
///
/// It is boxed: of each kind of future the runtime's own code would else be compiled four times, for both of its
/// schedulers and for small and large ones.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(work.boxed())
}

/// Begins what waits for a disk, or takes long, on a thread for that, and waits for its result. It is boxed and leaves
/// its result beside it for the same reason.
///
/// # Errors
/// The work has panicked, or the runtime is at its end.
pub fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, JoinError>> + Send + 'static {
    let result = Arc::new(Mutex::new(None));
    let place = result.clone();
    let work: Box<dyn FnOnce() + Send> = Box::new(move || {
        let done = work();
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    });
    let over = tokio::task::spawn_blocking(work);
    async move {
        over.await?;
        let result = result.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(result.unwrap_or_else(|| unreachable!("work that is over has a result")))
    }
}
