//! The runs of many stored sessions, one after the other, on threads: for whoever wants something of each and none whole.

use std::sync::{Arc, Mutex, PoisonError};

use crate::host::journal::address::Address;
use crate::host::program::ProgramCache;
use crate::host::replay::error::SessionError;
use crate::host::stored::look_at;
use crate::host::travel::run::Run;
use crate::lang::program::Program;

/// What `work` makes of the run of each session, in the order of the sessions. Each run is dropped after it; texts that
/// several have are read once.
pub async fn each_run<T: Send + 'static>(
    addresses: Vec<Address>,
    work: impl Fn(Run) -> T + Send + Sync + 'static,
) -> Vec<(Arc<str>, Result<T, SessionError>)> {
    let programs = ProgramCache::default();
    // The cache knows them as long as somebody has them.
    let kept: Mutex<Vec<Arc<Program>>> = Mutex::default();
    let look = move |records: Vec<_>| {
        let run = Run::one_of_many(&records, &programs)?;
        drop(records);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.iter().any(|known| Arc::ptr_eq(known, &run.program)) {
            kept.push(run.program.clone());
        }
        drop(kept);
        Ok(work(run))
    };
    look_at(addresses, look).await
}
