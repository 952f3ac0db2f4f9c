//! A model's server: each request is answered with the reply of the conversation, in one piece or at a pace, with the
//! clock in each piece of speech.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep_until};

use crate::conversation::REPLY;

/// How replies come: 0, all at once; else so many milliseconds between two pieces.
#[derive(Clone, Default)]
pub(crate) struct Pace(Arc<AtomicU64>);

impl Pace {
    pub(crate) fn set(&self, pause: Duration) {
        self.0.store(pause.as_millis() as u64, Ordering::Relaxed);
    }
}

/// Pieces of speech in a paced reply.
pub(crate) const N_PIECES: usize = 60;

/// Microseconds since 1970, in a piece of speech and wherever it is read.
pub(crate) fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_micros() as u64
}

/// Serves in a thread of its own, as a model does not live in the same process, either.
pub(crate) fn start() -> (SocketAddr, Pace) {
    let pace = Pace::default();
    let shared = pace.clone();
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            sender.send(listener.local_addr().expect("an address")).expect("somebody who waits for it");
            let router = axum::Router::new().route("/v1/chat/completions", post(reply)).with_state(shared);
            axum::serve(listener, router).await.expect("a server");
        });
    });
    (address.recv().expect("an address"), pace)
}

fn event(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}},\"finish_reason\":null}}]}}\n\n")
}

const END: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: \
                   {\"choices\":[],\"usage\":{\"prompt_tokens\":900,\"completion_tokens\":80}}\n\ndata: [DONE]\n\n";

async fn reply(State(Pace(pace)): State<Pace>) -> Response {
    let headers = [("content-type", "text/event-stream")];
    let pause = Duration::from_millis(pace.load(Ordering::Relaxed));
    if pause.is_zero() {
        return (headers, event(REPLY) + END).into_response();
    }
    // The clock is read when the piece is about to be written.
    let begin = Instant::now();
    let pieces = stream::unfold(0, move |n| async move {
        sleep_until(begin + pause * n as u32).await;
        let text = match n {
            0 => event("{\"at\":\"01\",\"set\":{\"order_id\":\"1\"}}\n{\"at\":\"02\",\"say\":\""),
            n if n <= N_PIECES => event(&format!("{} ", clock())),
            n if n == N_PIECES + 1 => {
                event(
                    "\"}\n{\"at\":\"03\"}\n{\"at\":\"01\",\"say\":\"Which other one?\"}\n{\"at\":\"01\",\"wait\":\"user\"}\n",
                ) + END
            }
            _ => return None,
        };
        Some((Ok::<_, Infallible>(Bytes::from(text)), n + 1))
    });
    (headers, Body::from_stream(pieces)).into_response()
}
