//! Rows of the table of faults (spec `serving.md`, section 5) that need more than a request and its answer: too many at
//! the same time, a store that is slow, a journal that is damaged.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::tz::TimeZone;
use playhouse::host::clock::{Clock, SystemClock};
use playhouse::host::journal::address::Place;
use playhouse::host::launch::{Choices, Launch, Workshop};
use playhouse::host::residents::Residents;
use playhouse::host::serve_options::ServeOptions;
use playhouse::serve::http::Server;
use playhouse::serve::http::access::Role;
use playhouse::serve::http::access::tokens::Access;
use playhouse::vm::protocol::Timestamp;
use rusqlite::Connection;
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::streams::TALK;
use super::{Running, ask};

/// A reply that never comes to its end.
const ENDLESS: &str = r#"{"reply": "{\"at\":\"02\",\"say\":\"One ant\"}\n", "chunks": 1, "delay_ms": 100000000}
"#;

/// Nobody waits for its end.
const GRACE: &str = "[serve]\ngrace = 0.01\n";

fn files(model: &str, config: &str) -> Vec<(String, String)> {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    vec![file("desk.md", TALK), file("model.jsonl", model), file("playhouse.toml", config)]
}

fn seconds(answer: &super::Answer) -> u64 {
    let header = answer.headers.iter().find(|(name, _)| name == "retry-after");
    header.unwrap_or_else(|| panic!("{}", answer.body)).1.parse().unwrap()
}

#[test]
fn no_more_do_something_at_the_same_time_than_may() {
    let running = Running::start(&files(ENDLESS, &format!("{GRACE}max_busy = 1\n")), &[]);
    let id = running.begin("desk");
    let begin = || running.ask("POST", "/api/sessions", &[], Some(r#"{"program":"desk"}"#));
    let refused = begin();
    assert_eq!((refused.status, seconds(&refused)), (503, 1), "{}", refused.body);
    assert!(refused.body.contains("`max_busy` under [serve]"), "{}", refused.body);
    let listed = running.json("GET", "/api/sessions", None);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "of what was refused nothing is left");
    // The one that speaks can still be told something, and stopped.
    let message = running.ask("POST", &format!("/api/sessions/{id}/messages"), &[], Some(r#"{"text":"Stop"}"#));
    assert_eq!(message.status, 202, "{}", message.body);
    let deleted = running.ask("DELETE", &format!("/api/sessions/{id}"), &[], None);
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    assert_eq!(begin().status, 201);
}

#[test]
fn messages_and_streams_of_a_token_are_counted() {
    let running = Running::start(&files(ENDLESS, "[serve]\nvisitors = true\n"), &[("ida", Role::User)]);
    let visit = running.json("POST", "/api/visitors", Some(r#"{"program":"desk"}"#));
    let visitor = format!("Bearer {}", visit["token"].as_str().unwrap());
    let say = |token: &str| {
        let headers = [("authorization", token)];
        running.ask("POST", "/api/sessions/none/messages", &headers, Some(r#"{"text":"Hello"}"#))
    };
    let mut answers = std::iter::repeat_with(|| say(&visitor));
    assert!(answers.by_ref().take(30).all(|answer| answer.status == 404));
    // Every two seconds one more is taken.
    let refused = answers.find(|answer| answer.status == 429).unwrap();
    assert!((1..=60).contains(&seconds(&refused)));
    assert_eq!(say("Bearer ph_ida").status, 404, "somebody else is not kept out");
}

#[test]
fn what_a_busy_session_cannot_take_is_not_taken() {
    let running = Running::start(&files(ENDLESS, GRACE), &[]);
    let id = running.begin("desk");
    let path = format!("/api/sessions/{id}/messages");
    // Somebody else writes to the store: nothing comes into the journal meanwhile.
    let other = Connection::open(running.folder.path().join("serve.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let n = 64;
    let statuses: Vec<u16> = running.runtime.block_on(async {
        let mut asked = JoinSet::new();
        for index in 0..n {
            let (address, path) = (running.address, path.clone());
            asked.spawn(async move {
                let body = format!(r#"{{"text":"message {index}"}}"#);
                ask(address, "POST", &path, &[], Some(&body)).await
            });
        }
        let mut statuses = Vec::new();
        let mut other = Some(other);
        while let Some(answer) = asked.join_next().await {
            let answer = answer.unwrap();
            if answer.status == 503 {
                assert!(seconds(&answer) > 0);
                // The store is free again: all that was taken comes into the journal.
                other.take().map(|other| other.execute_batch("ROLLBACK"));
            }
            statuses.push(answer.status);
        }
        statuses
    });
    assert!(statuses.contains(&503), "{statuses:?}");
    let n_taken = statuses.iter().filter(|status| **status == 202).count();
    assert_eq!(n_taken + statuses.iter().filter(|status| **status == 503).count(), n);
    let journal = running.ask("GET", &format!("/api/sessions/{id}/export"), &[], None).body;
    assert_eq!(journal.matches("\"text\":\"message ").count(), n_taken, "{journal}");
}

#[test]
fn what_many_messages_wait_before_is_not_taken() {
    let running = Running::start(&files(ENDLESS, GRACE), &[]);
    let id = running.begin("desk");
    let say = |n: usize| {
        let body = format!(r#"{{"text":"Hello","id":"m{n}"}}"#);
        running.ask("POST", &format!("/api/sessions/{id}/messages"), &[], Some(&body))
    };
    assert!((0..100).all(|n| say(n).status == 202));
    let refused = say(100);
    assert_eq!((refused.status, seconds(&refused)), (503, 2), "{}", refused.body);
    assert!(refused.body.contains("has not read the earlier messages yet"), "{}", refused.body);
    // What was taken before is known, and is not refused.
    assert_eq!((say(99).status, say(100).status), (202, 503));
}

#[test]
fn a_damaged_journal_keeps_no_other_session_back() {
    let running = Running::start(&files(super::streams::MODEL, ""), &[]);
    let [damaged, sound] = [(); 2].map(|()| {
        let id = running.begin("desk");
        let message = running.json("POST", &format!("/api/sessions/{id}/messages?wait=30"), Some(r#"{"text":"4334"}"#));
        assert_eq!(message["session"]["state"], "finished", "{message}");
        id
    });
    let store = Connection::open(running.folder.path().join("serve.sqlite")).unwrap();
    let update = "UPDATE record SET body = '{\"type\":\"chu' WHERE seq = 3 \
                  AND session = (SELECT number FROM session WHERE id = ?)";
    assert_eq!(store.execute(update, [&damaged]).unwrap(), 1);
    for path in ["state", "steps", "export", "why"] {
        let answer = running.ask("GET", &format!("/api/sessions/{damaged}/{path}"), &[], None);
        assert_eq!(answer.status, 500, "{path}: {}", answer.body);
        let problem: Json = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(problem["type"], "urn:playhouse:internal");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("record 3"), "{path}: {detail}");
        assert_eq!(running.ask("GET", &format!("/api/sessions/{sound}/{path}"), &[], None).status, 200);
    }
}

/// A clock that can break.
#[derive(Default)]
struct Fragile(AtomicBool);

impl Clock for Fragile {
    fn now(&self) -> Timestamp {
        assert!(!self.0.load(Ordering::Relaxed), "the clock is broken");
        SystemClock.now()
    }

    fn zone(&self) -> TimeZone {
        SystemClock.zone()
    }
}

/// A server in this process, so that its clocks can be set.
struct Here {
    _folder: TempDir,
    address: SocketAddr,
    serving: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Here {
    async fn start(clock: Arc<dyn Clock>, options: ServeOptions) -> Here {
        let folder = tempfile::tempdir().unwrap();
        let launch = Launch::new(Workshop { clock, ..Workshop::default() }, Choices::default());
        let place = Place::at(&folder.path().join("serve.sqlite"));
        let residents = Residents::open(launch, &place, &options).await.unwrap();
        let access = Access::new(residents.ledger(), options.has_strangers(), false).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server::new(residents, options, access, address, [7; 64]);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(listener, None, async {
            let _ = stopped.await;
        }));
        Here { _folder: folder, address, serving, stop }
    }

    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    async fn get(&self, path: &str) -> String {
        let headers = format!("Host: {}\r\nCookie: playhouse=a\r\nConnection: close", self.address);
        let mut stream = self.send(&format!("GET {path} HTTP/1.1\r\n{headers}\r\n\r\n")).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap();
    }
}

/// Nothing outside of the process makes a request panic; so a part of it does.
#[tokio::test]
async fn a_panic_ends_one_request_and_no_other() {
    let clock = Arc::new(Fragile::default());
    let here = Here::start(clock.clone(), ServeOptions { visitors: true, ..ServeOptions::default() }).await;
    clock.0.store(true, Ordering::Relaxed);
    let answer = here.get("/api/me").await;
    clock.0.store(false, Ordering::Relaxed);
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    assert!(answer.contains("urn:playhouse:internal") && answer.contains("the clock is broken"), "{answer}");
    assert!(here.get("/api/me").await.starts_with("HTTP/1.1 401 "));
    here.stop().await;
}

#[tokio::test]
async fn a_head_that_does_not_end_is_not_waited_for() {
    let here = Here::start(Arc::new(SystemClock), ServeOptions::default()).await;
    let mut stream = here.send("GET /healthz HTTP/1.1\r\nHost: ").await;
    // From here on the clock goes as fast as it can.
    tokio::time::pause();
    let begun = Instant::now();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!((9..=11).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    tokio::time::resume();
    here.stop().await;
}

#[tokio::test]
async fn who_takes_nothing_is_cut_off() {
    const N: usize = 200;
    let here = Here::start(Arc::new(SystemClock), ServeOptions::default()).await;
    let whole = here.get("/openapi.json").await.len();
    let request = format!("GET /openapi.json HTTP/1.1\r\nHost: {}\r\n\r\n", here.address);
    let mut stream = here.send(&request.repeat(N)).await;
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(40)).await;
    tokio::time::resume();
    // What lay in the sockets is still there.
    let mut answers = Vec::new();
    let _ = stream.read_to_end(&mut answers).await;
    assert!(answers.len() < N * whole / 2, "{} of {}", answers.len(), N * whole);
    here.stop().await;
}
