//! What a distributed engine costs: a Restate server, two nodes of the real binary, a model's server in a thread of this
//! process, callers in another; beside it one server with a store. Linux only.
//!
//! `RESTATE_SERVER=… cargo bench --bench engine --features restate`; `-- turns|load|rest`: one part.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark looks at the clock and prints")]

#[path = "engine/cluster.rs"]
mod cluster;

#[path = "shared/conversation.rs"]
mod conversation;

#[allow(dead_code, reason = "`serve` has replies at a pace, too")]
#[path = "serve/model.rs"]
mod model;

#[allow(dead_code, reason = "`serve` kills servers, too")]
#[path = "serve/server.rs"]
mod server;

use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::cluster::Cluster;
use crate::server::{Caller, Listening, Server, make_tokens};

/// Sessions that are talked with one after the other, and turns of each.
const N_ALONE: usize = 6;
const N_TURNS: usize = 100;

/// Callers at the same time, and turns of each.
const N_CALLERS: usize = 32;
const N_TURNS_AT_ONCE: usize = 60;

/// Sessions that come to rest, and those before that the memory is looked at.
const N_RESTING: usize = 2_000;
const N_WARM: usize = 500;

/// The memory is looked at so often meanwhile.
const N_STEPS: usize = 4;

/// What the user says.
const TEXT: &str = "43345678, please";

/// A token has 300 messages in a minute.
const N_TOKENS: usize = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let part = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--bench"] => None,
        [part @ ("turns" | "load" | "rest"), "--bench"] => Some(part),
        // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
        _ => return,
    };
    let Some(binary) = cluster::binary() else {
        println!(
            "RESTATE_SERVER must name the Restate server's binary; examples/cluster/install FOLDER prints where it is"
        );
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let _ = rustls::crypto::ring::default_provider().install_default();
    runtime.block_on(async {
        if part.is_none_or(|part| part == "turns") {
            turns(&binary).await;
        }
        if part.is_none_or(|part| part == "load") {
            load(&binary).await;
        }
        if part.is_none_or(|part| part == "rest") {
            rest(&binary).await;
        }
    });
}

/// So many of a hundred are as good or better.
fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn show(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

/// Until it waits for the user.
async fn hear(listening: &mut Listening) {
    while let Some(told) = listening.next().await {
        if told.name == "waiting" && told.data["for"] == "user" {
            return;
        }
    }
    panic!("the stream has ended");
}

/// One turn: from the moment at which the message is sent to the one at which the reader hears that the session waits.
async fn turn(sender: &Caller, reader: &mut Listening, id: &str, text: &str) -> Duration {
    let begun = Instant::now();
    let body = serde_json::json!({"text": text});
    let path = format!("/api/sessions/{id}/messages");
    let heard = async {
        hear(reader).await;
        begun.elapsed()
    };
    tokio::join!(sender.ask("POST", &path, Some(body)), heard).1
}

/// Turns of sessions one after the other, each time with a session that rests.
async fn alone(sender: &Caller, reader: &Caller, rest: impl AsyncFn(&str)) -> Vec<Duration> {
    let mut times = Vec::new();
    for n in 0..N_ALONE {
        let (sender, reader) = (sender.with_token(n), reader.with_token(n));
        let id = sender.begin().await;
        let mut listening = reader.listen(&id, None).await.expect("a stream");
        hear(&mut listening).await;
        for _ in 0..N_TURNS {
            rest(&id).await;
            times.push(turn(&sender, &mut listening, &id, TEXT).await);
        }
        rest(&id).await;
    }
    times
}

async fn turns(binary: &Path) {
    let (model, _) = model::start();
    let folder = tempfile::tempdir().expect("a folder");
    make_tokens(folder.path(), N_ALONE).await;
    let server = Server::start(folder.path(), model, "127.0.0.1:0");
    let caller = Caller::new(server.address, 0);
    let mut without = alone(&caller, &caller, async |_| {}).await;
    drop(server);
    let cluster = Cluster::start(binary, model, 2, N_ALONE).await;
    // Who speaks has one node, and who listens the other: the visits are anywhere.
    let mut with = alone(&cluster.callers[0], &cluster.callers[1], async |id| cluster.rest(id).await).await;
    for (percent, bar) in [(50, 25), (99, 80)] {
        let (with, without) = (percentile(&mut with, percent), percentile(&mut without, percent));
        let added = show(with.saturating_sub(without));
        println!("added to a turn, p{percent}: {added} ({} against {}); bar {bar} ms", show(with), show(without));
    }
    let n = (N_ALONE * N_TURNS) as f64;
    println!("of {n} turns, a session after the other");
    cost(&cluster).await;
    long(&cluster).await;
}

/// What the engine does for a turn, and keeps of it.
async fn cost(cluster: &Cluster) {
    let (sender, reader) = (&cluster.callers[0], &cluster.callers[1]);
    let id = sender.begin().await;
    let mut listening = reader.listen(&id, None).await.expect("a stream");
    hear(&mut listening).await;
    cluster.rest(&id).await;
    let mut done = cluster.done().await;
    for _ in 0..N_TURNS {
        cluster.rest(&id).await;
    }
    let rested = cluster.done().await.since(done, N_TURNS);
    let kept = cluster.kept().await;
    done = cluster.done().await;
    for first in (0..N_TURNS).step_by(N_TURNS / 4) {
        let mut times = Vec::new();
        for _ in 0..N_TURNS / 4 {
            times.push(turn(sender, &mut listening, &id, TEXT).await);
            cluster.rest(&id).await;
        }
        let now = cluster.done().await;
        let turn = now.since(done, N_TURNS / 4).since(rested, 1);
        done = now;
        println!(
            "turns from {first} on: {}; each has {:.2} calls from outside, and {:.0} records with {:.0} bytes of the \
             server's log",
            show(percentile(&mut times, 50)),
            turn.calls,
            turn.steps,
            turn.bytes,
        );
    }
    for (name, (n, bytes)) in cluster.kept().await {
        let (n_before, bytes_before) = kept.get(&name).copied().unwrap_or_default();
        let each = |more: u64, before: u64| (more as f64 - before as f64) / N_TURNS as f64;
        println!("kept by {name} for a turn: {:.2} keys, {:.0} bytes", each(n, n_before), each(bytes, bytes_before));
    }
}

/// Turns of a session that grows: each visit reads all of it.
async fn long(cluster: &Cluster) {
    let (sender, reader) = (cluster.callers[0].with_token(1), &cluster.callers[1].with_token(1));
    let id = sender.begin().await;
    let mut listening = reader.listen(&id, None).await.expect("a stream");
    hear(&mut listening).await;
    let text = "tea ".repeat(15 << 10);
    let mut n_said = 0;
    for megabytes in [0, 1, 2, 4, 8] {
        while n_said * text.len() < megabytes << 20 {
            turn(&sender, &mut listening, &id, &text).await;
            n_said += 1;
        }
        let mut times = Vec::new();
        for _ in 0..10 {
            cluster.rest(&id).await;
            times.push(turn(&sender, &mut listening, &id, TEXT).await);
        }
        println!("a turn of a session of {megabytes} MiB: {} (median of 10)", show(percentile(&mut times, 50)));
    }
}

/// Begins so many sessions, which have come to rest then.
async fn begin(cluster: &Cluster, n: usize) -> Vec<String> {
    let begin = async |one: usize| {
        let mut ids = Vec::new();
        for n in (one..n).step_by(N_CALLERS) {
            let caller = cluster.callers[n % cluster.callers.len()].with_token(n % N_TOKENS);
            let id = caller.begin().await;
            cluster.rest(&id).await;
            ids.push(id);
        }
        ids
    };
    join_all((0..N_CALLERS).map(begin)).await.concat()
}

async fn load(binary: &Path) {
    let (model, _) = model::start();
    let cluster = Cluster::start(binary, model, 2, N_TOKENS).await;
    let ids = begin(&cluster, N_CALLERS).await;
    let (begun, before) = (Instant::now(), cluster.processor_time());
    let talk = async |(n, id): (usize, &String)| {
        let caller = cluster.callers[n % 2].with_token(n);
        let mut listening = caller.listen(id, None).await.expect("a stream");
        hear(&mut listening).await;
        for _ in 0..N_TURNS_AT_ONCE {
            turn(&caller, &mut listening, id, TEXT).await;
        }
    };
    join_all(ids.iter().enumerate().map(talk)).await;
    let n = N_CALLERS * N_TURNS_AT_ONCE;
    println!("turns of {N_CALLERS} callers: {:.0} a second; bar 100", n as f64 / begun.elapsed().as_secs_f64());
    let [nodes, server] = cluster.processor_time();
    let [nodes, server] = [nodes - before[0], server - before[1]].map(|time| show(time / n as u32));
    println!("processor time for a turn: the nodes {nodes}, the server {server}");
}

async fn rest(binary: &Path) {
    let (model, _) = model::start();
    let cluster = Cluster::start(binary, model, 2, N_TOKENS).await;
    begin(&cluster, N_WARM).await;
    let mut before = cluster.memory();
    for _ in 0..N_STEPS {
        begin(&cluster, N_RESTING / N_STEPS).await;
        let after = cluster.memory();
        let more: i64 = after.iter().zip(&before).map(|(after, before)| *after as i64 - *before as i64).sum();
        let each = more as f64 * 1_024.0 / (N_RESTING / N_STEPS) as f64;
        println!("a resting session: {each:.0} bytes of the nodes' memory ({after:?} KiB); bar 0");
        before = after;
    }
    println!("the server's memory: {} MiB", cluster.server_memory() / 1_024);
}
