//! Sessions on a distributed engine. What needs a Restate server is ignored: `tests/third_party/restate/run.sh` runs it
//! with one whose binary is named by `RESTATE_SERVER`.

mod faults;
mod import;
mod log;
mod store;

use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use playhouse::host::engine::admin::Admin;
use playhouse::host::engine::wire::ROOM;
use playhouse::host::engine::{Engine, EngineOptions, listen};
use playhouse::host::journal::store::Store;
use playhouse::host::launch::{Choices, Launch, Workshop};
use playhouse::host::residents::Residents;
use playhouse::host::serve_options::ServeOptions;
use tempfile::TempDir;

use crate::serve::client;

/// A server that is a process of its own, and what it keeps; killed when it is dropped.
struct Server {
    child: Child,
    ingress: SocketAddr,
    admin: SocketAddr,
    _folder: TempDir,
}

#[allow(clippy::disallowed_methods, reason = "tests have no configuration")]
fn binary() -> OsString {
    std::env::var_os("RESTATE_SERVER").expect("RESTATE_SERVER names no server: tests/third_party/restate/run.sh does")
}

/// Addresses that nobody has.
fn free() -> [SocketAddr; 3] {
    // All at once, so that they differ.
    let held = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap())
}

impl Server {
    async fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let [ingress, admin, fabric] = free();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cluster/restate-server");
        let child = Command::new(script)
            .arg(binary())
            .arg(folder.path().join("kept"))
            .args(["server".to_owned()].into_iter().chain([ingress, admin, fabric].map(|one| one.port().to_string())))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Server { child, ingress, admin, _folder: folder };
        server.ready(&format!("http://{admin}/health")).await;
        server.ready(&format!("http://{ingress}/restate/health")).await;
        server
    }

    /// Waits until it answers with 200 there.
    async fn ready(&mut self, url: &str) {
        let client = client();
        for _ in 0..600 {
            if client.get(url).send().await.is_ok_and(|answer| answer.status() == 200) {
                return;
            }
            assert!(self.child.try_wait().unwrap().is_none(), "the server has ended by itself");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{url} does not answer");
    }

    /// A node that knows nobody, for sessions with so much room.
    async fn join(&self, room: u64) -> Arc<Engine> {
        let (ingress, secret) = (format!("http://{}", self.ingress), "a secret of a test".to_owned().into());
        Engine::join(EngineOptions { ingress, node: "http://127.0.0.1:1".into(), secret, room }).await.unwrap()
    }

    /// The engine can call the node from here on.
    async fn register(&self, engine: &Arc<Engine>, residents: Option<&Arc<Residents>>) {
        self.try_register(engine, residents, &[]).await.unwrap();
    }

    /// The same, of a node that knows the engine by these keys.
    async fn try_register(
        &self,
        engine: &Arc<Engine>,
        residents: Option<&Arc<Residents>>,
        keys: &[String],
    ) -> Result<Vec<String>, String> {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (engine, residents, keys) = (engine.clone(), residents.cloned(), keys.to_vec());
        tokio::spawn(async move {
            engine.serve(residents.as_ref(), listener, &keys, std::future::pending()).await.unwrap();
        });
        self.admin().register(&endpoint, false).await
    }

    fn admin(&self) -> Admin {
        Admin::of("http://127.0.0.1:1", Some(&format!("http://{}", self.admin))).unwrap()
    }

    /// Asks an object as a node does.
    async fn call(&self, path: &str, body: Option<serde_json::Value>) -> serde_json::Value {
        let mut request = client().post(format!("http://{}/{path}", self.ingress));
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The sessions of a node that offers one program, `desk`, with a scripted model.
async fn residents(engine: &Arc<Engine>, folder: &Path, program: &str, script: &str) -> Arc<Residents> {
    let (path, model) = (folder.join("desk.md"), folder.join("model.jsonl"));
    std::fs::write(&path, program).unwrap();
    std::fs::write(&model, script).unwrap();
    let model = Some(format!("script:{}", model.display()));
    let choices = Choices { model, working_directory: Some(folder.to_owned()), ..Choices::default() };
    let launch = Launch::new(Workshop::default(), choices);
    let residents = Residents::new(launch, engine.keeping(), &ServeOptions::default());
    residents.offer("desk", &[path]).await.unwrap();
    residents
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}

/// Does something with a server of its own.
fn with_server(test: impl AsyncFn(&Server)) {
    wait(async {
        let server = Server::start().await;
        test(&server).await;
    });
}

/// Does something with an empty store on the engine.
pub(crate) fn with_store(test: impl AsyncFn(&str, &Arc<dyn Store>)) {
    with_server(async |server| {
        let engine = server.join(ROOM).await;
        server.register(&engine, None).await;
        test("engine", &engine.store()).await;
    });
}
