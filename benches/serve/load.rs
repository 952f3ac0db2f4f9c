//! Servers that are killed while they speak: nothing is lost, and nothing comes twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::task::JoinSet;

use crate::model;
use crate::server::{Caller, Server, make_tokens};
use crate::{percentile, show, wait};

const N_SPEAKING: usize = 200;
const N_TALKING: usize = 500;
const N_STREAMS: usize = 5_000;

/// What somebody has heard who comes back with the last mark whenever the stream ends.
struct Heard {
    text: String,
    mark: Option<String>,
    /// The longest time between the end of a stream and the next event.
    gap: Duration,
}

/// Listens until `is_over` says so at an event, through all restarts.
async fn hear(
    caller: &Caller,
    id: &str,
    after: Option<String>,
    is_over: impl Fn(&crate::server::Told) -> bool,
) -> Heard {
    let mut heard = Heard { text: String::new(), mark: after, gap: Duration::ZERO };
    let mut lost: Option<Instant> = None;
    loop {
        if let Ok(mut listening) = caller.listen(id, heard.mark.as_deref()).await {
            while let Some(told) = listening.next().await {
                if let Some(lost) = lost.take() {
                    heard.gap = heard.gap.max(lost.elapsed());
                }
                if told.mark.is_some() {
                    heard.mark = told.mark.clone();
                }
                match told.name.as_str() {
                    "said_delta" => heard.text.push_str(told.data["text"].as_str().expect("a text")),
                    "reset" => panic!("{id}: the mark {:?} is not known", heard.mark),
                    _ => {}
                }
                if is_over(&told) {
                    return heard;
                }
            }
        }
        lost.get_or_insert_with(Instant::now);
        // As the `retry` of the stream, and less.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn is_waiting(told: &crate::server::Told) -> bool {
    told.name == "waiting" && told.data["for"] == "user"
}

/// All that a session has said after a mark, from its beginning on.
async fn whole(caller: &Caller, id: &str, after: Option<String>) -> String {
    hear(caller, id, after, is_waiting).await.text
}

/// The server is killed while many sessions speak, and started again at the same address.
pub(crate) async fn restart() {
    let folder = tempfile::tempdir().expect("a folder");
    make_tokens(folder.path(), N_SPEAKING).await;
    let (model, pace) = model::start();
    let mut server = Server::start(folder.path(), model, "127.0.0.1:0");
    let address = server.address;
    let caller = Caller::new(address, 0);
    let mut ids = Vec::new();
    for n in 0..N_SPEAKING {
        let caller = caller.with_token(n);
        let id = caller.begin().await;
        wait(&caller, &id).await;
        ids.push(id);
    }
    pace.set(Duration::from_millis(50));
    let mut talking = JoinSet::new();
    for (n, id) in ids.into_iter().enumerate() {
        let caller = caller.with_token(n);
        talking.spawn(async move {
            let body = serde_json::json!({"text": "43345678, please"});
            let taken = caller.ask("POST", &format!("/api/sessions/{id}/messages"), Some(body)).await;
            let mark = taken["mark"].as_str().map(str::to_owned);
            let heard = hear(&caller, &id, mark.clone(), is_waiting).await;
            let whole = whole(&caller, &id, mark).await;
            assert_eq!(heard.text, whole, "{id}");
            heard
        });
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    server.kill();
    let _server = Server::start(folder.path(), model, &address.to_string());
    let heard = talking.join_all().await;
    let n_bytes: usize = heard.iter().map(|heard| heard.text.len()).sum();
    let mut gaps: Vec<Duration> = heard.iter().map(|heard| heard.gap).collect();
    let n_cut = gaps.iter().filter(|gap| !gap.is_zero()).count();
    let (p50, p99) = (percentile(&mut gaps, 50), percentile(&mut gaps, 99));
    println!(
        "killed while {N_SPEAKING} speak ({n_cut} cut off): of {n_bytes} bytes 0 lost, 0 twice; gap p50 {}, p99 {}",
        show(p50),
        show(p99)
    );
}

/// 500 sessions talk and 5,000 streams are idle for five minutes; the server is killed twice.
pub(crate) async fn five_minutes() {
    let folder = tempfile::tempdir().expect("a folder");
    make_tokens(folder.path(), N_TALKING).await;
    let (model, pace) = model::start();
    let mut server = Server::start(folder.path(), model, "127.0.0.1:0");
    let address = server.address;
    let caller = Caller::new(address, 0);
    // One half talks, and of the other nobody says anything.
    let begin = async |first: usize| {
        let mut ids = Vec::new();
        for n in (first..2 * N_TALKING).step_by(16) {
            let caller = caller.with_token(n % N_TALKING);
            let id = caller.begin().await;
            wait(&caller, &id).await;
            ids.push((n, id));
        }
        ids
    };
    let ids = join_all((0..16).map(begin)).await.concat();
    let (is_over, n_turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    // A piece each 250 ms: a reply takes fifteen seconds, and 2,000 pieces come in a second.
    pace.set(Duration::from_millis(250));
    let (mut talking, mut idle) = (JoinSet::new(), JoinSet::new());
    for (n, id) in ids {
        let caller = caller.with_token(n % N_TALKING);
        if n >= N_TALKING {
            let session = caller.ask("GET", &format!("/api/sessions/{id}"), None).await;
            let mark = session["mark"].as_str().map(str::to_owned);
            for _ in 0..N_STREAMS / N_TALKING {
                let (caller, id, mark) = (caller.clone(), id.clone(), mark.clone());
                // Whatever has a mark would be something that was told before.
                idle.spawn(async move { hear(&caller, &id, mark, |told| told.mark.is_some()).await.text });
            }
            continue;
        }
        let (is_over, n_turns) = (is_over.clone(), n_turns.clone());
        talking.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let message = format!("{n}-{}", n_turns.fetch_add(1, Ordering::Relaxed));
                let body = serde_json::json!({"text": "43345678, please", "id": message});
                let path = format!("/api/sessions/{id}/messages");
                // Until it is known that it was taken: however often it is sent, it is one message.
                let mark = loop {
                    match caller.try_ask("POST", &path, Some(body.clone())).await {
                        Ok(taken) => break taken["mark"].as_str().map(str::to_owned),
                        Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
                    }
                };
                let heard = hear(&caller, &id, mark.clone(), is_waiting).await;
                assert_eq!(heard.text, whole(&caller, &id, mark).await, "{id}");
            }
        });
    }
    let begun = Instant::now();
    for n in 1..=10 {
        tokio::time::sleep_until((begun + Duration::from_secs(30 * n)).into()).await;
        println!(
            "{} s: {} turns, memory {:.1} MiB",
            30 * n,
            n_turns.load(Ordering::Relaxed),
            server.memory() as f64 / 1024.0
        );
        if n == 3 || n == 6 {
            server.kill();
            server = Server::start(folder.path(), model, &address.to_string());
            println!("killed and started again, {}", show(server.started));
        }
    }
    is_over.store(true, Ordering::Relaxed);
    talking.join_all().await;
    assert_eq!((idle.len(), idle.try_join_next().is_none()), (N_STREAMS, true), "an idle stream was told something");
    println!("{} turns: nothing lost, nothing twice; {N_STREAMS} idle streams", n_turns.load(Ordering::Relaxed));
    idle.shutdown().await;
}
