//! The runs of many stored sessions, one after the other, on threads: for whoever wants something of each and none whole.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, StreamExt};

use crate::host::journal::address::Address;
use crate::host::program::ProgramCache;
use crate::host::replay::error::SessionError;
use crate::host::replay::on_thread;
use crate::host::travel::run::Run;
use crate::lang::program::Program;

/// So many sessions are held at once, for each processor.
const AT_ONCE: usize = 2;

/// What `work` makes of the run of each session, in the order of the sessions. Each run is dropped after it; texts that
/// several have are read once.
pub async fn each_run<T: Send + 'static>(
    addresses: Vec<Address>,
    work: impl Fn(Run) -> T + Send + Sync + 'static,
) -> Vec<(Address, Result<T, SessionError>)> {
    let n_at_once = AT_ONCE * std::thread::available_parallelism().map_or(1, usize::from);
    let (work, programs) = (Arc::new(work), ProgramCache::default());
    // The cache knows them as long as somebody has them.
    let kept: Arc<Mutex<Vec<Arc<Program>>>> = Arc::default();
    let done = stream::iter(addresses).map(|address| {
        let (work, programs, kept) = (work.clone(), programs.clone(), kept.clone());
        async move {
            let done = async {
                let records = address.read().await?;
                let made = move || {
                    let run = Run::one_of_many(&records, &programs)?;
                    drop(records);
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    if !kept.iter().any(|known| Arc::ptr_eq(known, &run.program)) {
                        kept.push(run.program.clone());
                    }
                    drop(kept);
                    Ok(work(run))
                };
                on_thread(made).await
            };
            let done = done.await;
            (address, done)
        }
    });
    done.buffered(n_at_once).collect().await
}
