//! `playhouse serve`: cases as text over real connections, streams that are cut and resumed, roles, limits.
//!
//! The server runs in this process, on a runtime of its own; [`binary`] starts the real one and kills it.

mod agui;
mod binary;
mod cases;
mod doors;
mod faults;
#[cfg(feature = "mcp")]
mod mcp;
mod openai;
mod revived;
mod streams;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use playhouse::host::config::FileConfig;
use playhouse::host::journal::address::Place;
use playhouse::host::launch::{Choices, Launch, Workshop};
use playhouse::host::ledger::Ledger;
use playhouse::host::residents::Residents;
use playhouse::serve::http::Server;
use playhouse::serve::http::access::tokens::Access;
use playhouse::serve::http::access::{Role, tokens};
use playhouse::vm::protocol::Timestamp;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// A server of this process. It ends when it is dropped.
pub(crate) struct Running {
    pub(crate) folder: TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) runtime: Runtime,
    pub(crate) residents: Arc<Residents>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An answer, read whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// What a server is made of: files of a folder, among them `playhouse.toml`; every `.md` file is a program.
pub(crate) fn write(folder: &Path, files: &[(String, String)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Running {
    pub(crate) fn start(files: &[(String, String)], tokens: &[(&str, Role)]) -> Running {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), files);
        Running::in_folder(folder, tokens)
    }

    /// A server of what stands in the folder already.
    pub(crate) fn in_folder(folder: TempDir, tokens: &[(&str, Role)]) -> Running {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let place = Place::at(&folder.path().join("serve.sqlite"));
        let (mut programs, mut tools) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().and_then(|end| end.to_str()) {
                Some("md") => programs.push(path),
                Some("json") => tools.push(path),
                _ => {}
            }
        }
        programs.sort();
        let script = folder.path().join("model.jsonl");
        let model = match script.is_file() {
            true => format!("script:{}", script.display()),
            false => "embedded".to_owned(),
        };
        let config = folder.path().join("playhouse.toml");
        let options = FileConfig::find(config.is_file().then_some(config.as_path()), None).unwrap().serve;
        let directory = Some(folder.path().to_owned());
        let choices = Choices { model: Some(model), tools, working_directory: directory, ..Choices::default() };
        let launch = Launch::new(Workshop::default(), choices);
        let (residents, listener, address) = runtime.block_on(async {
            let residents = Residents::open(launch, &place, &options).await.unwrap();
            for program in &programs {
                let name = program.file_stem().unwrap().to_str().unwrap();
                residents.offer(name, std::slice::from_ref(program)).await.unwrap();
            }
            residents.recover().await.unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            (residents, listener, address)
        });
        let ledger = residents.ledger();
        for (name, role) in tokens {
            runtime.block_on(add_token(ledger, name, *role));
        }
        let access = runtime.block_on(Access::new(ledger, options.has_strangers(), false)).unwrap();
        let server = Server::new(residents.clone(), options, access, address, [7; 64]);
        let (stop, stopped) = oneshot::channel::<()>();
        let handle = runtime.handle().clone();
        let thread = std::thread::spawn(move || {
            handle.block_on(server.serve(listener, None, async {
                // Dropped: the test is over.
                let _ = stopped.await;
            }));
        });
        Running { folder, address, runtime, residents, stop: Some(stop), thread: Some(thread) }
    }

    /// One request. `target` is the path.
    pub(crate) fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
        self.runtime.block_on(ask(self.address, method, target, headers, body))
    }

    /// The same, whose answer is JSON.
    pub(crate) fn json(&self, method: &str, target: &str, body: Option<&str>) -> serde_json::Value {
        let answer = self.ask(method, target, &[], body);
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
    }

    /// Begins a session of a program: its id.
    pub(crate) fn begin(&self, program: &str) -> String {
        let session = self.json("POST", "/api/sessions", Some(&format!(r#"{{"program":"{program}"}}"#)));
        session["id"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned()
    }

    /// The server ends as it does after SIGTERM; its folder stays.
    pub(crate) fn end(mut self) -> TempDir {
        self.stop.take();
        self.thread.take().unwrap().join().unwrap();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// `NAME`, or `NAME@PROGRAM`: a token that is for this program only.
async fn add_token(ledger: &dyn Ledger, name: &str, role: Role) {
    let (name, program) = name.split_once('@').map_or((name, None), |(name, program)| (name, Some(program)));
    let (_, row) = tokens::new_token(name, role, program, (Timestamp(0), None)).unwrap();
    let row = playhouse::host::ledger::TokenRow { hash: sha256(&format!("ph_{name}")), ..row };
    assert!(ledger.add_token(row).await.unwrap());
}

fn sha256(text: &str) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(text).into()
}

/// One request over a connection of its own.
pub(crate) async fn ask(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> Answer {
    let url = format!("http://{address}{target}");
    let client = client();
    let mut request = client.request(method.parse().unwrap(), url);
    if body.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(body) = body {
        request = request.body(body.to_owned());
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = answer.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    Answer { status, headers, body: answer.text().await.unwrap() }
}

#[test]
fn the_guide_has_all_routes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/serving.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- routes -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end of routes -->").unwrap();
    let table = playhouse::serve::http::routes_as_markdown();
    let right = format!("{before}<!-- routes -->\n{table}<!-- end of routes -->{after}");
    if crate::golden::is_blessing() {
        fs::write(&path, right).unwrap();
    } else {
        assert!(text == right, "docs/serving.md and the table of routes differ; BLESS=1 cargo test writes it");
    }
}

/// A client without proxies, that follows nothing.
pub(crate) fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(60))
        .build()
        .unwrap()
}
