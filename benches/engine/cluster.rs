//! A Restate server and nodes, as processes on loopback, and what the server tells of itself.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use playhouse::host::engine::admin::Admin;
use playhouse::host::engine::wire::ROOM;
use playhouse::host::engine::{Engine, EngineOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Caller, Server, add_tokens, memory_of};

/// What starts a server with the settings that nodes of one machine need.
const START: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/cluster/restate-server");

/// With visitors, so that a token is asked for from the beginning.
const CONFIG: &str = "[serve]\ngrace = 1\nmax_live = 20000\nmax_busy = 1000\nvisitors = true\n";

const SECRET: &str = "the secret of the nodes of one bench";

/// A server and its nodes; all of them are killed when this is dropped, the nodes first.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Server>,
    /// One for each node.
    pub(crate) callers: Vec<Caller>,
    server: EngineServer,
    client: reqwest::Client,
}

/// What a server has done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    /// Calls of its objects from outside, those of [`Cluster::rest`], too.
    pub(crate) calls: f64,
    /// Records of the server's own log: it writes down each step of an invocation.
    pub(crate) steps: f64,
    /// Of these records.
    pub(crate) bytes: f64,
}

struct EngineServer {
    child: Child,
    folder: TempDir,
    ingress: String,
    admin: String,
    /// Where it tells its own figures.
    fabric: String,
}

impl Done {
    /// What came since, for each of `n`.
    pub(crate) fn since(self, before: Done, n: usize) -> Done {
        let each = |after: f64, before: f64| (after - before) / n as f64;
        Done {
            calls: each(self.calls, before.calls),
            steps: each(self.steps, before.steps),
            bytes: each(self.bytes, before.bytes),
        }
    }
}

impl Drop for EngineServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ports that are free at this moment.
fn free_ports(n: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..n).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    held.iter().map(|one| one.local_addr().expect("an address").port()).collect()
}

/// The server's binary, if somebody has said where it is.
pub(crate) fn binary() -> Option<PathBuf> {
    std::env::var_os("RESTATE_SERVER").map(PathBuf::from).filter(|path| path.is_file())
}

impl EngineServer {
    fn start(binary: &Path) -> EngineServer {
        let folder = tempfile::tempdir().expect("a folder");
        let ports = free_ports(3);
        let child = Command::new(START)
            .arg(binary)
            .arg(folder.path().join("data"))
            .arg("server")
            .args(ports.iter().map(u16::to_string))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(fs::File::create(folder.path().join("server.log")).expect("a file"))
            .stderr(Stdio::null())
            .spawn()
            .expect("a Restate server");
        let [ingress, admin, fabric] = [0, 1, 2].map(|n| format!("http://127.0.0.1:{}", ports[n]));
        EngineServer { child, folder, ingress, admin, fabric }
    }
}

impl Cluster {
    /// All of them are ready, and have so many tokens.
    pub(crate) async fn start(binary: &Path, model: SocketAddr, n_nodes: usize, n_tokens: usize) -> Cluster {
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let server = EngineServer::start(binary);
        until_ready(&client, &format!("{}/health", server.admin)).await;
        until_ready(&client, &format!("{}/restate/health", server.ingress)).await;
        let endpoint = format!("127.0.0.1:{}", free_ports(1)[0]);
        let engine = format!("restate:{}", server.ingress);
        // In threads: a node tells its address once the server knows where it is.
        let start = |port: u16| {
            let folder = server.folder.path().join(port.to_string());
            fs::create_dir(&folder).expect("a folder");
            fs::write(folder.join("playhouse.toml"), CONFIG).expect("a file");
            let (address, endpoint, engine) = (format!("127.0.0.1:{port}"), endpoint.clone(), engine.clone());
            std::thread::spawn(move || {
                let node = format!("http://{address}");
                let listens = ["--listen", &address, "--engine-listen", &endpoint];
                let options = [&listens[..], &["--engine", &engine, "--node", &node]].concat();
                Server::start_with(&folder, model, &options, SECRET)
            })
        };
        let starting: Vec<_> = free_ports(n_nodes).into_iter().map(start).collect();
        let admin = Admin::of(&server.ingress, Some(&server.admin)).expect("an address");
        let uri = format!("http://{endpoint}");
        until(async || admin.register(&uri, false).await.is_ok(), "the nodes").await;
        let nodes: Vec<Server> = starting.into_iter().map(|one| one.join().expect("a node")).collect();
        let callers: Vec<Caller> = nodes.iter().map(|node| Caller::new(node.address, 0)).collect();
        let options =
            EngineOptions { ingress: server.ingress.clone(), node: "".into(), secret: SECRET.into(), room: ROOM };
        add_tokens(&*Engine::join(options).await.expect("an engine").ledger(), n_tokens).await;
        Cluster { nodes, callers, server, client }
    }

    /// Until no visit of the session is under way or waits: what is asked of it here comes after them, and does nothing.
    pub(crate) async fn rest(&self, session: &str) {
        let wake = self.client.post(format!("{}/Session/{session}/wake", self.server.ingress)).json(&0);
        wake.send().await.and_then(reqwest::Response::error_for_status).expect("an answer");
    }

    /// What the server has done so far.
    pub(crate) async fn done(&self) -> Done {
        let request = self.client.get(format!("{}/metrics", self.server.fabric));
        let text = request.send().await.expect("an answer").text().await.expect("figures");
        let mut done = Done::default();
        for line in text.lines() {
            let Some((name, number)) = line.rsplit_once(' ') else { continue };
            let Ok(number) = number.parse::<f64>() else { continue };
            let is = |what: &str| name.starts_with(&format!("restate_{what}{{"));
            if is("ingress_requests_total") && name.contains("status=\"admitted\"") {
                done.calls += number;
            } else if is("bifrost_sequencer_committed_records_total") {
                done.steps += number;
            } else if is("bifrost_sequencer_committed_records_bytes_total") {
                done.bytes += number;
            }
        }
        done
    }

    /// Keys and bytes that the server keeps for objects, of all sessions.
    pub(crate) async fn kept(&self) -> BTreeMap<String, (u64, u64)> {
        let query = "SELECT service_name, count(*) AS n, sum(key_length + value_length) AS bytes FROM state \
                     GROUP BY service_name";
        let query = self.client.post(format!("{}/query", self.server.admin)).json(&json!({"query": query}));
        let answer = query.header("accept", "application/json").send().await.expect("an answer").text().await;
        let answer: Value = serde_json::from_str(&answer.expect("rows")).expect("JSON");
        let number = |value: &Value| value.as_u64().expect("a number");
        let rows = answer["rows"].as_array().expect("rows").iter();
        let named = |row: &Value| row["service_name"].as_str().expect("a name").to_owned();
        rows.map(|row| (named(row), (number(&row["n"]), number(&row["bytes"])))).collect()
    }

    /// The memory of the nodes, each in KiB.
    pub(crate) fn memory(&self) -> Vec<u64> {
        self.nodes.iter().map(Server::memory).collect()
    }

    /// The memory of the server in KiB.
    pub(crate) fn server_memory(&self) -> u64 {
        memory_of(self.server.child.id())
    }

    /// The processor time that the nodes have taken so far, and the server.
    pub(crate) fn processor_time(&self) -> [Duration; 2] {
        let nodes = self.nodes.iter().map(|node| processor_time_of(node.id())).sum();
        [nodes, processor_time_of(self.server.child.id())]
    }
}

/// User and system time of a process, all its threads (proc_pid_stat(5)): Linux counts in hundredths of a second.
fn processor_time_of(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("a process");
    let (_, fields) = stat.rsplit_once(") ").expect("fields behind the name");
    let times = fields.split(' ').skip(11).take(2).map(|time| time.parse::<u64>().expect("a number"));
    Duration::from_millis(times.sum::<u64>() * 10)
}

/// Until whoever has just been started answers.
async fn until_ready(client: &reqwest::Client, url: &str) {
    let is_ready = async || client.get(url).send().await.is_ok_and(|answer| answer.status().is_success());
    until(is_ready, url).await;
}

/// Until it is so: a process that has just been started tells nobody.
async fn until(is_so: impl AsyncFn() -> bool, what: &str) {
    for _ in 0..600 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what} cannot be reached");
}
