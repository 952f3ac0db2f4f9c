//! What a server costs: the real binary with a store on disk, a model's server in a thread of this process, callers in
//! another. Linux only.
//!
//! `cargo bench --bench serve`; `-- PART`: one part; `-- load`: five minutes with two restarts, by itself only.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark looks at the clock, paces and prints")]

#[path = "shared/conversation.rs"]
mod conversation;

#[path = "serve/load.rs"]
mod load;

#[path = "serve/model.rs"]
mod model;

#[path = "serve/server.rs"]
mod server;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tempfile::TempDir;

use crate::model::{N_PIECES, Pace};
use crate::server::{Caller, Server, hear_model, make_tokens};

/// Callers at the same time, and turns of each: a token has 300 messages in a minute.
const N_CALLERS: usize = 16;
const N_TURNS: usize = 250;

/// Conversations that speak at the same time, and pieces of each in a second.
const N_SPEAKING: usize = 100;
const PIECE: Duration = Duration::from_millis(50);

const N_IDLE: usize = 1_000;
const N_RESTING: usize = 10_000;
const N_STREAMS: usize = 5_000;
const N_OPENED: usize = 200;

/// A server with its store, its model and its callers.
struct Stage {
    _folder: TempDir,
    model: SocketAddr,
    pace: Pace,
    server: Server,
    caller: Caller,
}

impl Stage {
    async fn new(n_tokens: usize, config: &str) -> Stage {
        let folder = tempfile::tempdir().expect("a folder");
        if !config.is_empty() {
            std::fs::write(folder.path().join("playhouse.toml"), config).expect("a file");
        }
        make_tokens(folder.path(), n_tokens).await;
        let (model, pace) = model::start();
        let server = Server::start(folder.path(), model, "127.0.0.1:0");
        let caller = Caller::new(server.address, 0);
        Stage { _folder: folder, model, pace, server, caller }
    }

    /// Begins so many sessions, which wait for the user then.
    async fn begin(&self, n: usize, n_tokens: usize) -> Vec<String> {
        let begin = async |one: usize| {
            let mut ids = Vec::new();
            for n in (one..n).step_by(N_CALLERS) {
                let caller = self.caller.with_token(n % n_tokens);
                let id = caller.begin().await;
                wait(&caller, &id).await;
                ids.push(id);
            }
            ids
        };
        join_all((0..N_CALLERS).map(begin)).await.concat()
    }
}

/// Until it waits for the user.
async fn wait(caller: &Caller, id: &str) {
    let mut listening = caller.listen(id, None).await.expect("a stream");
    while let Some(told) = listening.next().await {
        if told.name == "waiting" && told.data["for"] == "user" {
            return;
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let _ = rustls::crypto::ring::default_provider().install_default();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["start", "--bench"] => runtime.block_on(start()),
        ["turns", "--bench"] => runtime.block_on(turns()),
        ["deltas", "--bench"] => runtime.block_on(deltas()),
        ["idle", "--bench"] => runtime.block_on(idle()),
        ["opened", "--bench"] => runtime.block_on(opened()),
        ["streams", "--bench"] => runtime.block_on(streams()),
        ["restart", "--bench"] => runtime.block_on(load::restart()),
        ["load", "--bench"] => runtime.block_on(load::five_minutes()),
        ["--bench"] => {
            runtime.block_on(start());
            runtime.block_on(turns());
            runtime.block_on(deltas());
            runtime.block_on(idle());
            runtime.block_on(opened());
            runtime.block_on(streams());
            runtime.block_on(load::restart());
        }
        // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
        _ => {}
    }
}

/// So many of a hundred are as good or better.
fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn show(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1_000.0)
}

async fn start() {
    let mut times = Vec::new();
    let mut memory = 0;
    for _ in 0..10 {
        let stage = Stage::new(1, "").await;
        times.push(stage.server.started);
        memory = stage.server.memory();
    }
    println!("start: {} (median of 10), memory {:.1} MiB", show(percentile(&mut times, 50)), memory as f64 / 1024.0);
}

async fn turns() {
    let stage = Stage::new(N_CALLERS + 1, "").await;
    let alone = stage.caller.with_token(N_CALLERS);
    let id = alone.begin().await;
    wait(&alone, &id).await;
    let mut times = Vec::new();
    for _ in 0..N_TURNS {
        let begun = Instant::now();
        alone.turn(&id).await;
        times.push(begun.elapsed());
    }
    let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
    println!("a turn alone: p50 {}, p99 {}", show(p50), show(p99));
    let ids = stage.begin(N_CALLERS, N_CALLERS).await;
    let begun = Instant::now();
    let talk = async |(n, id): (usize, &String)| {
        let caller = stage.caller.with_token(n);
        for _ in 0..N_TURNS - 1 {
            caller.turn(id).await;
        }
    };
    join_all(ids.iter().enumerate().map(talk)).await;
    let n = N_CALLERS * (N_TURNS - 1);
    println!("turns of {N_CALLERS} callers: {:.0} a second", n as f64 / begun.elapsed().as_secs_f64());
}

/// From the model's write of a piece to its arrival at whoever listens.
/// How long the pieces of a text were under way, which have the clock in them.
fn ages(text: Option<&str>) -> Vec<Duration> {
    let now = model::clock();
    let pieces = text.unwrap_or_default().split_whitespace().filter_map(|piece| piece.parse::<u64>().ok());
    // Among them are numbers of the conversation.
    pieces.filter(|then| *then > now / 2).map(|then| Duration::from_micros(now - then)).collect()
}

async fn deltas() {
    let stage = Stage::new(N_SPEAKING, "").await;
    let ids = stage.begin(N_SPEAKING, N_SPEAKING).await;
    stage.pace.set(PIECE);
    let hear = async |(n, id): (usize, &String)| {
        let caller = stage.caller.with_token(n);
        // Not all in the same moment.
        tokio::time::sleep(PIECE * n as u32 / N_SPEAKING as u32).await;
        let body = serde_json::json!({"text": "43345678, please"});
        let taken = caller.ask("POST", &format!("/api/sessions/{id}/messages"), Some(body)).await;
        let mut listening = caller.listen(id, taken["mark"].as_str()).await.expect("a stream");
        let mut times = Vec::new();
        while let Some(told) = listening.next().await {
            if told.name == "waiting" && told.data["for"] == "user" {
                break;
            }
            times.extend(ages(told.data["text"].as_str().filter(|_| told.name == "said_delta")));
        }
        times
    };
    // The same pieces from the model to the same reader, with no server between.
    let hear_directly = async |n: usize| {
        tokio::time::sleep(PIECE * n as u32 / N_SPEAKING as u32).await;
        let mut listening = hear_model(stage.model).await;
        let mut times = Vec::new();
        while let Some(told) = listening.next().await {
            times.extend(ages(told.data["choices"][0]["delta"]["content"].as_str()));
        }
        times
    };
    let all = [join_all(ids.iter().enumerate().map(hear)).await, join_all((0..N_SPEAKING).map(hear_directly)).await];
    // Here all replies begin and end at the same time, and then sessions are synced to the disk.
    for (what, left_out) in [("a piece", 0), ("one that is none of a reply's first and last three", 3)] {
        let [mut with, mut without] = all.each_ref().map(|replies| {
            let between = |reply: &Vec<Duration>| reply[left_out..N_PIECES - left_out].to_vec();
            replies.iter().flat_map(between).collect::<Vec<_>>()
        });
        let mut difference = |percent| {
            let (with, without) = (percentile(&mut with, percent), percentile(&mut without, percent));
            format!("p{percent} {} ({} against {})", show(with.saturating_sub(without)), show(with), show(without))
        };
        let (p50, p99) = (difference(50), difference(99));
        println!("added to {what}, {N_SPEAKING} replies with 20 a second each: {p50}, {p99}");
    }
}

async fn idle() {
    let stage = Stage::new(100, "").await;
    stage.begin(N_CALLERS, 100).await;
    let before = stage.server.memory();
    stage.begin(N_IDLE, 100).await;
    let each = (stage.server.memory() - before) as f64 / N_IDLE as f64;
    println!("an idle session, live: {each:.1} KiB (of {N_IDLE})");
    let config = "[serve]\nidle = 0.001\nmax_live = 1000\n";
    let stage = Stage::new(100, config).await;
    stage.begin(N_IDLE, 100).await;
    let before = stage.server.memory();
    stage.begin(N_RESTING, 100).await;
    // Twice as long as the server looks for what can rest.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let memory = stage.server.memory();
    let each = memory.saturating_sub(before) as f64 / N_RESTING as f64;
    println!("a resting session: {each:.2} KiB; with {N_RESTING} of them memory {:.1} MiB", memory as f64 / 1024.0);
}

/// The first answer of a session that rests: its state.
async fn opened() {
    let stage = Stage::new(N_OPENED, "[serve]\nidle = 0.001\n").await;
    let ids = stage.begin(N_OPENED, N_OPENED).await;
    let talk = async |(n, id): (usize, &String)| {
        let caller = stage.caller.with_token(n);
        for _ in 0..19 {
            caller.turn(id).await;
        }
    };
    for some in ids.iter().enumerate().collect::<Vec<_>>().chunks(N_CALLERS) {
        join_all(some.iter().copied().map(talk)).await;
    }
    let open = async |n: usize| {
        let body = serde_json::json!({"name": "nothing_waits_for_this"});
        let begun = Instant::now();
        stage.caller.with_token(n).ask("POST", &format!("/api/sessions/{}/events", ids[n]), Some(body)).await;
        begun.elapsed()
    };
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut times = Vec::new();
    for n in 0..N_OPENED {
        times.push(open(n).await);
    }
    let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
    println!("a resting session of 20 turns takes an event: p50 {}, p99 {} (of {N_OPENED})", show(p50), show(p99));
    // Of each turn come sixty pieces of speech and some six other events: 10,000 in all.
    for _ in 20..150 {
        stage.caller.with_token(0).turn(&ids[0]).await;
    }
    let mut times = Vec::new();
    for _ in 0..20 {
        // Until it rests again.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        times.push(open(0).await);
    }
    let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
    println!("one of 150 turns, 10,000 events: p50 {}, p99 {} (of 20)", show(p50), show(p99));
}

async fn streams() {
    let n_sessions = N_STREAMS / 25;
    let stage = Stage::new(n_sessions, "").await;
    let ids = stage.begin(n_sessions, n_sessions).await;
    let before = stage.server.memory();
    let mut open = Vec::new();
    for (n, id) in ids.iter().enumerate() {
        let caller = stage.caller.with_token(n);
        let some = join_all((0..N_STREAMS / n_sessions).map(|_| caller.listen(id, None))).await;
        for listening in some {
            let mut listening = listening.expect("a stream");
            // What has been before.
            while listening.next().await.is_some_and(|told| told.name != "waiting") {}
            open.push(listening);
        }
    }
    let each = (stage.server.memory() - before) as f64 / N_STREAMS as f64;
    println!("an idle stream: {each:.1} KiB (of {})", open.len());
}
