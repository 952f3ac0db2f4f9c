//! Work that goes on beside what is done: the one home of how the host and its doors start it.

use std::future::Future;

use futures_util::FutureExt;
use tokio::task::JoinHandle;

/// Starts a task of the runtime that this is called in.
///
/// It is boxed: of each kind of future the runtime's own code would else be compiled four times, for both of its
/// schedulers and for small and large ones.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(work.boxed())
}

/// Begins what waits for a disk, or takes long, on a thread for that. It is boxed for the same reason.
pub fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
    tokio::task::spawn_blocking(work)
}
