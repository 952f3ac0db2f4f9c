//! Connections that the system refuses for a while.

use std::io;
use std::time::Duration;

use playhouse::serve::dap::accept::accept;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn nobody_asks_without_a_pause_where_the_system_refuses_connections() {
    let began = Instant::now();
    let mut asked = Vec::new();
    let accepted = accept(|| {
        asked.push(began.elapsed().as_millis());
        let is_full = asked.len() <= 10;
        async move { if is_full { Err(io::Error::other("no descriptor is left")) } else { Ok("a connection") } }
    })
    .await;
    assert_eq!(accepted, "a connection");
    assert_eq!(asked, [0, 5, 15, 35, 75, 155, 315, 635, 1_275, 2_275, 3_275]);
    // After a connection it begins anew.
    let mut n_asked = 0;
    let again = Instant::now();
    accept(|| {
        n_asked += 1;
        let is_full = n_asked == 1;
        async move { if is_full { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) } }
    })
    .await;
    assert_eq!(again.elapsed(), Duration::from_millis(5));
}
