//! Connections: both transports, both generations, lost ones, closed ones, processes.

use std::path::Path;
use std::time::Duration;

use playhouse::host::tool::mcp::{Generation, McpError, McpFault, McpOptions, McpServer, Transport};
use playhouse::value::Value;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::server::{TestServer, tool};
use super::*;

/// A server that is this shell script.
pub(super) fn script(text: &str) -> McpOptions {
    let command = vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()];
    let environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("KEY".to_owned(), "key-4711".to_owned())];
    let options =
        McpOptions::new("test", Transport::Command { command, folder: Path::new("/").to_owned(), environment });
    options.secrets.add("key-4711");
    options
}

fn at(url: &str) -> McpOptions {
    McpOptions::new("test", Transport::Url { url: url.to_owned(), headers: Vec::new() })
}

async fn fault(options: McpOptions) -> McpError {
    match McpServer::connect(options).await {
        Ok(_) => panic!("it connected"),
        Err(error) => error,
    }
}

/// The beginning of a script that is a server of the older generation: it answers what it knows, line by line.
pub(super) const LEGACY: &str = r#"
id() { printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p'; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(id)" "$1"; }
refuse() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$(id)"; }
hello() { answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}'; }
tools() { answer '{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}'; }
result() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
"#;

/// All of it.
const SERVES: &str = r#"
while read -r line; do case "$line" in
  *server/discover*) refuse;;
  *'"initialize"'*) hello;;
  *tools/list*) tools;;
  *tools/call*) result "done by $$";;
esac; done
"#;

#[tokio::test]
async fn the_newer_generation_is_tried_first() {
    let (server, _events) = TestServer::new(vec![tool("one", json!({}), 0)]);
    for (generation, version) in
        [(Generation::Auto, "2026-07-28"), (Generation::Discover, "2026-07-28"), (Generation::Initialize, "2025-11-25")]
    {
        let world = World::new(server.options(generation)).await;
        assert_eq!(world.server.protocol_version().await.as_deref(), Some(version));
        let http = server.http().await;
        let mut options = at(&http.url);
        options.generation = generation;
        let world = World::new(options).await;
        assert_eq!(world.server.protocol_version().await.as_deref(), Some(version));
        assert_eq!(world.call("test.one", "{}").await, text("{}"));
        world.server.close().await;
    }
}

#[tokio::test]
async fn processes_of_the_older_generation_are_found_out() {
    let world = World::new(script(&format!("{LEGACY}{SERVES}"))).await;
    assert_eq!(world.server.protocol_version().await.as_deref(), Some("2025-06-18"));
    let done = world.call("test.go", "{}").await;
    assert!(matches!(&done, Came::Value(Value::Str(text)) if text.starts_with("done by ")), "{done:?}");
    // One that ends at a message that it does not know is started again.
    let ends = SERVES.replace("*server/discover*) refuse;;", "*server/discover*) exit 3;;");
    let world = World::new(script(&format!("{LEGACY}{ends}"))).await;
    assert!(matches!(world.call("test.go", "{}").await, Came::Value(_)));
    world.server.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_until_it_is_initialized_does_not_hang() {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let ends = std::sync::Mutex::new(Some(ours));
    let dial: playhouse::host::tool::mcp::Dial = Arc::new(move || {
        let ours = ends.lock().unwrap().take().unwrap();
        let (incoming, outgoing) = tokio::io::split(ours);
        Box::pin(async move { Ok((Box::new(incoming) as _, Box::new(outgoing) as _)) })
    });
    tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(theirs);
        let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(reader));
        let mut discover = None;
        while let Some(line) = lines.next_line().await.unwrap() {
            let message: serde_json::Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "server/discover" {
                discover = Some(message["id"].clone());
            }
            if message["method"] == "initialize" {
                let result = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                                    "serverInfo": {"name": "late", "version": "1"}});
                // The answer to the first question comes too late, and is not taken for that to the second.
                for answer in [
                    json!({"jsonrpc": "2.0", "id": discover.take(), "error": {"code": -32601, "message": "late"}}),
                    json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
                ] {
                    writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
                }
            }
        }
    });
    let began = tokio::time::Instant::now();
    let server = McpServer::connect(McpOptions::new("test", Transport::Stream(dial))).await.unwrap();
    assert_eq!(server.protocol_version().await.as_deref(), Some("2025-06-18"));
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

#[tokio::test]
async fn what_is_wrong_with_a_command_is_said() {
    let mut options = script("true");
    let missing = vec!["no-such-server-4711".to_owned()];
    let here = Path::new("/").to_owned();
    options.transport = Transport::Command { command: missing.clone(), folder: here.clone(), environment: Vec::new() };
    assert_eq!(
        fault(options.clone()).await.to_string(),
        "the MCP server `test` cannot be started: there is no command `no-such-server-4711`; install it, or correct \
         `command` and `PATH` in its entry under `mcp`"
    );
    options.transport = Transport::Command {
        command: missing,
        folder: Path::new("/no such folder").to_owned(),
        environment: Vec::new(),
    };
    assert_eq!(fault(options.clone()).await.fault, McpFault::Configuration);
    options.transport = Transport::Command { command: Vec::new(), folder: here, environment: Vec::new() };
    assert_eq!(fault(options).await.cause, "has an empty `command`");
    let talks = script("echo one >&2; echo \"bad key $KEY\" >&2; exit 3");
    assert_eq!(
        fault(talks).await.to_string(),
        "the MCP server `test` has ended (exit status: 3); it last wrote: one\nbad key ***; run its command by hand \
         to see why"
    );
    let mut hangs = script("exec sleep 60");
    hangs.start_timeout = Duration::from_millis(100);
    assert_eq!(
        fault(hangs).await.to_string(),
        "the MCP server `test` did not identify itself within 0.1 s (at `sh`); check that it runs, or raise its \
         `start_timeout`"
    );
}

#[tokio::test]
async fn a_process_has_only_the_environment_it_is_given_and_its_errors_are_read() {
    // More than a pipe holds, so that it would hang if nobody read.
    let noise =
        "i=0; while [ $i -lt 4000 ]; do echo 'much noise on standard error, line by line' >&2; i=$((i+1)); done";
    let serves = SERVES.replace("result \"done by $$\"", "result \"$KEY ${HOME:-none} ${CARGO:-none}\"");
    let world = World::new(script(&format!("{noise}\n{LEGACY}{serves}"))).await;
    assert_eq!(world.call("test.go", "{}").await, text("*** none none"));
}

#[tokio::test]
async fn a_process_and_what_it_started_end_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    // The child holds the other end open, ignores the end of its input, and the polite signal.
    let path = fifo.display();
    let child = format!("(trap '' TERM; exec sleep 300) > '{path}' &");
    for closes in [true, false] {
        // One of them ignores the signal, too.
        let trap = if closes { "trap '' TERM" } else { "" };
        let options = script(&format!("{child}\n{trap}\n{LEGACY}{SERVES}\nexec sleep 300"));
        let mut reads = tokio::fs::OpenOptions::new();
        let (connected, opened) = tokio::join!(McpServer::connect(options), reads.read(true).open(&fifo));
        let (server, mut reader) = (connected.unwrap(), opened.unwrap());
        if closes {
            server.close().await;
            let Err(error) = server.tools().await else { panic!() };
            assert_eq!(error.fault, McpFault::Closed);
        }
        drop(server);
        // The end of the pipe is the end of the last process that could write to it.
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_wrong_with_an_address_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = fault(at(&format!("http://user:pass@{address}/mcp?key=1"))).await;
    assert_eq!(error.fault, McpFault::NoConnection);
    assert_eq!(error.cause, format!("cannot be reached: Connection refused (os error 111) (at http://{address}/mcp)"));
    for (url, headers) in [
        ("localhost:80", vec![]),
        ("ftp://a.b/", vec![]),
        ("http://a.b/", vec![("Mcp-Session-Id", "1")]),
        ("http://a.b/", vec![("X-Key", "a\nb")]),
        ("http://a.b/", vec![("X Key", "a")]),
    ] {
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let options = McpOptions::new("test", Transport::Url { url: url.to_owned(), headers });
        assert_eq!(fault(options).await.fault, McpFault::Configuration, "{url}");
    }
    for (response, wanted) in [
        ("404 Not Found\r\ncontent-type: text/html", McpFault::Http(404)),
        ("401 Unauthorized\r\nwww-authenticate: Bearer", McpFault::Http(401)),
        ("403 Forbidden", McpFault::Http(403)),
        ("503 Service Unavailable", McpFault::Http(503)),
        ("302 Found\r\nlocation: http://127.0.0.1:1/", McpFault::Http(302)),
        ("200 OK\r\ncontent-type: text/html", McpFault::NoServer),
        ("200 OK\r\ncontent-type: application/json", McpFault::NoServer),
    ] {
        let (url, server) = raw_http(response).await;
        let error = fault(at(&url)).await;
        assert_eq!(error.fault, wanted, "{response}: {error}");
        server.abort();
    }
}

/// An HTTP server that answers everything with this.
async fn raw_http(response: &'static str) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 64 * 1024];
            let _ = stream.read(&mut request).await;
            let answer = format!("HTTP/1.1 {response}\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>");
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (url, task)
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut vec![0; 64 * 1024]).await;
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n\"";
        stream.write_all(head).await.unwrap();
        let mut n_bytes = 0;
        while n_bytes < 1 << 30 && stream.write_all(&[b'a'; 1 << 16]).await.is_ok() {
            n_bytes += 1 << 16;
        }
        n_bytes
    });
    let error = fault(at(&url)).await;
    assert_eq!(error.fault, McpFault::NoServer, "{error}");
    assert!(error.cause.starts_with("answered with more than 16777216 bytes"), "{}", error.cause);
    let n_bytes = server.await.unwrap();
    assert!(n_bytes < 64 << 20, "{n_bytes} bytes were taken");
}

#[tokio::test]
async fn headers_are_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let headers = vec![("Authorization".to_owned(), "Bearer key-4711".to_owned())];
    let connecting = tokio::spawn(McpServer::connect(McpOptions::new("test", Transport::Url { url, headers })));
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = vec![0; 64 * 1024];
    let n_bytes = stream.read(&mut request).await.unwrap();
    let request = String::from_utf8_lossy(&request[..n_bytes]).into_owned();
    assert!(request.contains("authorization: Bearer key-4711\r\n"), "{request}");
    connecting.abort();
}

#[tokio::test]
async fn a_lost_connection_is_made_again_at_the_next_call() {
    for generation in GENERATIONS {
        let (server, mut events) = TestServer::new(vec![tool("one", json!({}), 0), tool("hangs", json!({}), 0)]);
        let world = World::new(server.options(generation)).await;
        let hanging = tokio::spawn(world.begin(2, "test.hangs", "{}", None).outcome);
        while events.recv().await.unwrap() != "hangs" {}
        server.hang_up();
        // It may have had its effect, so it is not made again.
        let CallOutcome::Error(words) = hanging.await.unwrap().0 else { panic!() };
        assert_eq!(&*words, "the MCP server `test` closed the connection");
        assert_eq!(world.call("test.one", "{}").await, text("{}"));
        assert_eq!(server.n_connections(), 2);
        assert_eq!(server.calls(), ["hangs", "one"]);
    }
}

#[tokio::test]
async fn a_process_that_has_died_is_started_again_but_not_for_ever() {
    let dies = SERVES.replace("result \"done by $$\"", "echo 'out of paper' >&2; exit 7");
    let world = World::new(script(&format!("{LEGACY}{dies}"))).await;
    for _ in 0..5 {
        let lost = world.call("test.go", "{}").await;
        let why = "the MCP server `test` has ended (exit status: 7); it last wrote: out of paper";
        assert_eq!(lost, error(why));
    }
    assert_eq!(
        world.call("test.go", "{}").await,
        error(
            "the MCP server `test` was started 5 times within 30 s; the last time it has ended (exit status: 7); it \
             last wrote: out of paper; find out why it ends, then try again"
        )
    );
}

#[tokio::test]
async fn a_server_that_is_started_again_over_there_is_found_again() {
    for generation in GENERATIONS {
        let (server, _events) = TestServer::new(vec![tool("one", json!({}), 0)]);
        let http = server.http().await;
        let mut options = at(&http.url);
        options.generation = generation;
        let world = World::new(options).await;
        assert_eq!(world.call("test.one", "{}").await, text("{}"));
        let port = http.port;
        http.end().await;
        let gone = world.call("test.one", "{}").await;
        assert!(matches!(&gone, Came::Error(words) if words.contains("cannot be reached")), "{gone:?}");
        // The session is gone too.
        let _http = server.http_at(port).await;
        assert_eq!(world.call("test.one", "{}").await, text("{}"));
    }
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_the_pause_before_another_start() {
    let (server, _events) = TestServer::new(vec![tool("one", json!({}), 0)]);
    let (working, n_dialled) = (server.dial(), std::sync::atomic::AtomicUsize::new(0));
    let dial: playhouse::host::tool::mcp::Dial = Arc::new(move || {
        if n_dialled.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            return working();
        }
        Box::pin(async { Err(std::io::Error::other("nobody is there")) })
    });
    let world = World::new(McpOptions::new("test", Transport::Stream(dial))).await;
    server.hang_up();
    // The first call may be the one that sees it.
    while !matches!(world.call("test.one", "{}").await, Came::Error(words) if words.contains("nobody is there")) {}
    let began = tokio::time::Instant::now();
    let calling = world.call("test.one", "{}");
    let closing = async {
        // The other one has the state now, and waits.
        tokio::task::yield_now().await;
        world.server.close().await;
    };
    let (came, ()) = tokio::join!(calling, closing);
    assert!(matches!(&came, Came::Error(words) if words.contains("has been closed")), "{came:?}");
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn closing_does_not_wait_for_a_server_that_is_being_started() {
    let (server, _events) = TestServer::new(vec![tool("one", json!({}), 0)]);
    let (working, n_dialled) = (server.dial(), std::sync::atomic::AtomicUsize::new(0));
    let (dialled, mut again) = tokio::sync::mpsc::unbounded_channel();
    let dial: playhouse::host::tool::mcp::Dial = Arc::new(move || {
        if n_dialled.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            return working();
        }
        dialled.send(()).unwrap();
        Box::pin(std::future::pending())
    });
    let world = World::new(McpOptions::new("test", Transport::Stream(dial))).await;
    server.hang_up();
    // The first call may be the one that sees it.
    let calling = async {
        loop {
            let came = world.call("test.one", "{}").await;
            if matches!(&came, Came::Error(words) if words.contains("has been closed")) {
                return;
            }
        }
    };
    let closing = async {
        again.recv().await.unwrap();
        world.server.close().await;
    };
    tokio::join!(calling, closing);
}
