//! What runs the tasks of a command.

use std::future::Future;

use futures_util::FutureExt;
use tokio::runtime::Builder;

use crate::serve::cli::machinery::console::Failure;

/// A runtime, as all commands have it.
pub(crate) struct Runtime(tokio::runtime::Runtime);

impl Runtime {
    /// For one session: one thread is enough, and is there at once.
    pub(crate) fn for_one() -> Result<Runtime, Failure> {
        Runtime::build(Builder::new_current_thread())
    }

    /// For many sessions.
    #[cfg(feature = "serve")]
    pub(crate) fn for_many() -> Result<Runtime, Failure> {
        Runtime::build(Builder::new_multi_thread())
    }

    fn build(mut builder: Builder) -> Result<Runtime, Failure> {
        let runtime = builder.enable_all().build();
        let failed = |cause| Failure::failed(format!("cannot start: {cause}; close some programs and try again"));
        runtime.map(Runtime).map_err(failed)
    }

    /// Waits until it is done. It is boxed and leaves its result here: of each kind of future and of result the runtime's
    /// own code would else be compiled twice, for both of its schedulers.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let mut done = None;
        self.0.block_on(async { done = Some(work.await) }.boxed_local());
        done.unwrap_or_else(|| unreachable!("work that is over has a result"))
    }

    /// Ends without waiting for threads that nobody can stop, such as one that reads from a terminal.
    pub(crate) fn shutdown_background(self) {
        self.0.shutdown_background();
    }
}
