//! Connections are accepted, one after the other, also after the system has refused one.

use std::io;
use std::time::Duration;

/// How long is waited after the first refusal.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// How long is waited at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The next connection. A process that has no descriptor left is refused it again at once, and would do nothing else
/// than ask: so it waits, twice as long after each refusal.
pub async fn accept<T, F: Future<Output = io::Result<T>>>(mut accept: impl FnMut() -> F) -> T {
    let mut pause = FIRST_PAUSE;
    loop {
        match accept().await {
            Ok(accepted) => return accepted,
            Err(cause) => {
                tracing::warn!("no connection can be accepted: {cause}");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}
