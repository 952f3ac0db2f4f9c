//! The real binary: its command line, kill -9 in the middle of a sentence, two starts on one store.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as SocketPath, UnixDatagram};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::streams::TALK;
use super::{Answer, ask, client};

/// A server that is a process of its own; killed when it is dropped.
pub(super) struct Served {
    child: Child,
    pub(super) address: SocketAddr,
}

pub(super) fn playhouse(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_playhouse"));
    command.current_dir(folder).env_clear().env("XDG_STATE_HOME", folder.join("state"));
    command
}

impl Served {
    fn start(folder: &Path) -> Served {
        Served::start_with(folder, &["--model", "script:model.jsonl"])
    }

    pub(super) fn start_with(folder: &Path, arguments: &[&str]) -> Served {
        let mut child = playhouse(folder)
            .args(["serve", "desk.md", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        Served { child, address }
    }

    /// As a power cut would: nothing is said to it.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
}

/// What was said after a mark, and the mark of the last piece; at most so many pieces.
async fn hear(address: SocketAddr, id: &str, after: Option<&str>, n_pieces: usize) -> (Vec<String>, Option<String>) {
    let mut request = client().get(format!("http://{address}/api/sessions/{id}/events?show=speech"));
    if let Some(mark) = after {
        request = request.header("Last-Event-ID", mark);
    }
    let mut answer = request.send().await.unwrap();
    let (mut text, mut pieces, mut last) = (String::new(), Vec::new(), None);
    while let Ok(Some(chunk)) = answer.chunk().await {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some(end) = text.find("\n\n") {
            let event: String = text.drain(..end + 2).collect();
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            if event.contains("event: said_delta\n") {
                let data: Value = serde_json::from_str(&field("data: ").unwrap()).unwrap();
                pieces.push(data["text"].as_str().unwrap().to_owned());
                last = field("id: ");
            }
            if pieces.len() == n_pieces || event.contains("event: waiting\n") && event.contains("\"for\":\"user\"") {
                return (pieces, last);
            }
        }
    }
    (pieces, last)
}

#[test]
fn killed_in_mid_sentence_it_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("desk.md"), TALK).unwrap();
    let reply = r#"{"reply": "{\"at\":\"02\",\"say\":\"Größe ist relativ, sagt die Ameise.\"}\n{\"at\":\"03\",\"say\":\"Which number?\"}\n{\"at\":\"03\",\"wait\":\"user\"}\n", "chunks": 4, "delay_ms": 5}"#;
    let end = r#"{"reply": "{\"at\":\"03\",\"set\":{\"order_id\":\"4334\"}}\n{\"at\":\"04\"}\n", "when": "4334"}"#;
    fs::write(folder.path().join("model.jsonl"), format!("{reply}\n{reply}\n{end}\n")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut served = Served::start(folder.path());
    let begun = runtime.block_on(ask(served.address, "POST", "/api/sessions", &[], Some(r#"{"program":"desk"}"#)));
    let id = json(&begun)["id"].as_str().unwrap().to_owned();
    let (before, mark) = runtime.block_on(hear(served.address, &id, None, 4));
    served.kill();
    let mut served = Served::start(folder.path());
    let (after, _) = runtime.block_on(hear(served.address, &id, mark.as_deref(), usize::MAX));
    // The reply that was cut off is asked for again; what was said stands, and the new one begins anew.
    let (all, _) = runtime.block_on(hear(served.address, &id, None, usize::MAX));
    assert_eq!(before.concat() + &after.concat(), all.concat());
    assert!(all.concat().ends_with("Which number?"), "{all:?}");
    // A message that is sent again by somebody who has heard nothing of it is one message.
    let path = format!("/api/sessions/{id}/messages");
    let body = Some(r#"{"text":"4334","id":"m1"}"#);
    let first = json(&runtime.block_on(ask(served.address, "POST", &path, &[], body)));
    assert_eq!(first["duplicate"], false);
    served.kill();
    let served = Served::start(folder.path());
    let path_of = format!("/api/sessions/{id}");
    for _ in 0..2_000 {
        let session = json(&runtime.block_on(ask(served.address, "GET", &path_of, &[], None)));
        if session["state"] == "finished" {
            assert_eq!(session["value"], "4334");
            break;
        }
        let again = runtime.block_on(ask(served.address, "POST", &path, &[], body));
        // Where the machine is busy, it is sent more often than messages are taken.
        assert!([409, 429].contains(&again.status) || json(&again)["duplicate"] == true, "{}", again.body);
    }
    let (all, _) = runtime.block_on(hear(served.address, &id, None, usize::MAX));
    assert_eq!(all.concat().matches("Welcome").count(), 1);
    let steps = json(&runtime.block_on(ask(served.address, "GET", &format!("/api/sessions/{id}/steps"), &[], None)));
    let messages = steps["steps"].as_array().unwrap().iter().filter(|step| step["event"]["type"] == "user_message");
    assert_eq!(messages.count(), 1);
}

#[test]
fn an_answer_of_openais_interface_that_a_kill_has_cut_is_joined_by_the_retry() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("desk.md"), TALK).unwrap();
    fs::write(folder.path().join("model.jsonl"), super::openai::MODEL.replace("\\\"01\\\"", "\\\"02\\\"")).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut served = Served::start(folder.path());
    let (path, body) = ("/v1/chat/completions", super::openai::request(&["pears"], serde_json::json!({})));
    let cut = {
        let (address, body) = (served.address, body.clone());
        runtime.spawn(async move {
            let request = client().post(format!("http://{address}{path}")).header("content-type", "application/json");
            request.body(body).send().await
        })
    };
    let id = loop {
        let list = runtime.block_on(ask(served.address, "GET", "/api/sessions", &[], None));
        if let Some(id) = json(&list)["sessions"][0]["id"].as_str() {
            break id.to_owned();
        }
    };
    // The message is taken, and its answer has begun.
    loop {
        let steps = runtime.block_on(ask(served.address, "GET", &format!("/api/sessions/{id}/steps"), &[], None));
        if steps.body.contains("Pears") {
            break;
        }
    }
    served.kill();
    let _ = runtime.block_on(cut).unwrap();
    let served = Served::start(folder.path());
    let answer = runtime.block_on(ask(served.address, "POST", path, &[("x-stainless-retry-count", "1")], Some(&body)));
    let answer = json(&answer);
    assert_eq!(answer["playhouse"]["session"], *id, "{answer}");
    let said = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(said.starts_with("Welcome to the desk.") && said.ends_with("a while to tell."), "{said}");
    let steps = json(&runtime.block_on(ask(served.address, "GET", &format!("/api/sessions/{id}/steps"), &[], None)));
    let messages = steps["steps"].as_array().unwrap().iter().filter(|step| step["event"]["type"] == "user_message");
    assert_eq!(messages.count(), 1);
}

#[test]
fn of_two_servers_on_one_store_each_answers_for_all_sessions() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("desk.md"), TALK).unwrap();
    let reply = r#"{"reply": "{\"at\":\"02\",\"say\":\"One ant.\"}\n{\"at\":\"03\",\"say\":\"Which number?\"}\n{\"at\":\"03\",\"wait\":\"user\"}\n"}"#;
    let end = r#"{"reply": "{\"at\":\"03\",\"set\":{\"order_id\":\"4334\"}}\n{\"at\":\"04\"}\n", "when": "4334"}"#;
    fs::write(folder.path().join("model.jsonl"), format!("{reply}\n{end}\n")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut one = Served::start(folder.path());
    let begun = runtime.block_on(ask(one.address, "POST", "/api/sessions", &[], Some(r#"{"program":"desk"}"#)));
    let id = json(&begun)["id"].as_str().unwrap().to_owned();
    let path = format!("/api/sessions/{id}");
    let heard = runtime.block_on(hear(one.address, &id, None, usize::MAX));
    let other = Served::start(folder.path());
    let of_other = |method: &str, rest: &str, body: Option<&str>| {
        json(&runtime.block_on(ask(other.address, method, &format!("{path}{rest}"), &[], body)))
    };
    let session = of_other("GET", "", None);
    assert_eq!((&session["state"], &session["live"]), (&"waiting".into(), &true.into()), "{session}");
    assert_eq!(runtime.block_on(hear(other.address, &id, None, usize::MAX)), heard);
    assert_eq!(of_other("GET", "/state", None)["stack"][0]["line"], "03");
    let taken = of_other("POST", "/messages", Some(r#"{"text":" ","id":"m1"}"#));
    assert_eq!(taken["type"], "urn:playhouse:unprocessable");
    // The one that has it dies: the other one goes on with it.
    one.kill();
    let said = of_other("POST", "/messages?wait=60", Some(r#"{"text":"4334","id":"m1"}"#));
    assert_eq!((&said["session"]["state"], &said["session"]["value"]), (&"finished".into(), &"4334".into()), "{said}");
    let socket =
        |served: &Served| folder.path().join(format!("state/playhouse/serve.sqlite.{}.sock", served.child.id()));
    assert!(socket(&other).exists());
}

#[test]
fn of_two_servers_on_one_store_each_goes_on_with_conversations_of_openais_interface() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("desk.md"), TALK).unwrap();
    fs::write(folder.path().join("model.jsonl"), super::openai::MODEL.replace("\\\"01\\\"", "\\\"02\\\"")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut one = Served::start(folder.path());
    let other = Served::start(folder.path());
    let chat = |served: &Served, texts: &[&str]| {
        let body = super::openai::request(texts, serde_json::json!({}));
        json(&runtime.block_on(ask(served.address, "POST", "/v1/chat/completions", &[], Some(&body))))
    };
    let first = chat(&one, &["apples"]);
    let id = &first["playhouse"]["session"];
    let second = chat(&other, &["apples", "pears"]);
    assert_eq!(&second["playhouse"]["session"], id, "{second}");
    let response = format!("/v1/responses/{}", second["id"].as_str().unwrap().replace("chatcmpl-", "resp_"));
    let again = json(&runtime.block_on(ask(other.address, "GET", &response, &[], None)));
    assert_eq!(again["output"][0]["content"][0]["text"], second["choices"][0]["message"]["content"], "{again}");
    one.kill();
    let third = chat(&other, &["apples", "pears", "apples"]);
    assert_eq!(&third["playhouse"]["session"], id, "{third}");
}

#[test]
fn a_run_of_ag_ui_is_heard_whole_after_a_kill_and_from_another_server() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("desk.md"), TALK).unwrap();
    fs::write(folder.path().join("model.jsonl"), super::openai::MODEL.replace("\\\"01\\\"", "\\\"02\\\"")).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut one = Served::start(folder.path());
    let body = super::agui::input("r1", &[("m1", "pears")]);
    let steps =
        |served: &Served| runtime.block_on(ask(served.address, "GET", "/api/sessions/T1/steps", &[], None)).body;
    let cut = {
        let (address, body) = (one.address, body.clone());
        runtime.spawn(async move {
            let request =
                client().post(format!("http://{address}/agui/desk")).header("content-type", "application/json");
            request.body(body).send().await
        })
    };
    while !steps(&one).contains("Pears") {}
    one.kill();
    let _ = runtime.block_on(cut).unwrap();
    let mut one = Served::start(folder.path());
    let run = |served: &Served, body: &str| {
        let answer = runtime.block_on(ask(served.address, "POST", "/agui/desk", &[], Some(body)));
        super::agui::events(&answer.body)
    };
    let first = run(&one, &body);
    let said = super::agui::said(&first);
    assert!(said[0].1.starts_with("Welcome") && said.last().unwrap().1.ends_with("a while to tell."), "{first:?}");
    assert_eq!(steps(&one).matches("\"user_message\",\"agent").count(), 1, "{}", steps(&one));
    // It passes the run on to the one that has the session.
    let other = Served::start(folder.path());
    // Pieces of speech may be joined.
    assert_eq!(super::agui::said(&run(&other, &body)), said);
    let next = super::agui::input("r2", &[("m2", "apples")]);
    let second = run(&other, &next);
    assert_eq!(super::agui::said(&second).len(), 1, "{second:?}");
    one.kill();
    assert_eq!(super::agui::said(&run(&other, &next)), super::agui::said(&second));
}

fn fails(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let Output { status, stderr, .. } = playhouse(folder).args(arguments).output().unwrap();
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn the_command_line_says_what_is_wrong_before_it_listens() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("desk.md"), TALK).unwrap();
    fs::write(folder.join("wrong.md"), "# Desk\n\n## Main\n### Steps\n- $x = GetOrder(1)\n").unwrap();
    fs::write(folder.join("bad.toml"), "[serve]\nhost = \"a\"\n").unwrap();
    fs::write(folder.join("hosts.toml"), "[serve]\nhosts = [\"desk.example\"]\n").unwrap();
    for (arguments, expected) in [
        (&["serve", "wrong.md"][..], "there is no playbook or tool `GetOrder`"),
        (&["serve", "none.md"], "cannot read the program"),
        (&["serve", "desk.md", "desk.md"], "two programs are called desk"),
        (&["serve", "a b=desk.md"], "`a b` cannot be part of an address"),
        (&["serve", "desk.md", "--journal", "folder"], "is not a store for a server"),
        (&["serve", "desk.md", "--listen", "0.0.0.0:0"], "there are no tokens"),
        (&["serve", "desk.md", "--config", "hosts.toml"], "others could reach this server, and there are no tokens"),
        (&["serve", "desk.md", "--config", "bad.toml"], "unknown key `host`"),
        (&["serve", "token", "revoke", "nobody"], "there is no token for nobody"),
    ] {
        let (code, said) = fails(folder, arguments);
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_watched_text_is_told_with_its_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let text = |more: &str| {
        format!("# Desk\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- Say \"Hi.\"{more}\n")
    };
    fs::write(folder.path().join("desk.md"), text("")).unwrap();
    let mut command = playhouse(folder.path());
    let command = command.args(["serve", "desk.md", "--model", "embedded", "--watch", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdout, stderr) = (BufReader::new(child.stdout.take().unwrap()), child.stderr.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    let mut told = BufReader::new(stderr).lines().map(Result::unwrap);
    assert!(told.any(|line| line.starts_with("serves desk")));
    fs::write(folder.path().join("desk.md"), text("\n- Say \"{$nobody}\"")).unwrap();
    let told: Vec<String> = told.skip_while(|line| !line.contains("is reloaded")).take(2).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(told, ["desk is reloaded for new sessions", "1 warning; `playhouse check` shows what and where"]);
}

#[test]
fn tokens_are_made_listed_and_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| playhouse(folder.path()).args(arguments).output().unwrap();
    let made = run(&["serve", "token", "new", "ida", "--role", "operator"]);
    let token = String::from_utf8(made.stdout).unwrap();
    assert!(token.starts_with("ph_") && token.trim().len() == 46, "{token}");
    let again = run(&["serve", "token", "new", "ida"]);
    assert_eq!(again.status.code(), Some(2), "{}", String::from_utf8_lossy(&again.stderr));
    let listed = String::from_utf8(run(&["serve", "token", "list"]).stdout).unwrap();
    assert!(listed.starts_with("ida  operator  ") && listed.lines().count() == 1, "{listed}");
    let mut store = Vec::new();
    fs::File::open(folder.path().join("state/playhouse/serve.sqlite")).unwrap().read_to_end(&mut store).unwrap();
    let token = token.trim().as_bytes();
    assert!(!store.windows(token.len()).any(|bytes| bytes == token), "the token itself is kept");
    assert!(run(&["serve", "token", "revoke", "ida"]).status.success());
    assert!(run(&["serve", "token", "list"]).stdout.is_empty());
}

#[test]
fn a_service_manager_hears_when_it_listens_and_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("desk.md"), TALK).unwrap();
    let path = folder.path().join("notify");
    let name = format!("playhouse-test-{}", std::process::id());
    let places = [
        (path.display().to_string(), SocketPath::from_pathname(&path).unwrap()),
        (format!("@{name}"), SocketPath::from_abstract_name(&name).unwrap()),
    ];
    for (place, address) in places {
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        manager.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let hears = || {
            let mut buffer = [0; 64];
            let length = manager.recv(&mut buffer).unwrap();
            String::from_utf8_lossy(&buffer[..length]).into_owned()
        };
        let mut child = playhouse(folder.path())
            .args(["serve", "desk.md", "--model", "embedded", "--listen", "127.0.0.1:0"])
            .env("NOTIFY_SOCKET", &place)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        assert_eq!(hears(), "READY=1");
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        assert_eq!(hears(), "STOPPING=1");
        assert!(child.wait().unwrap().success());
    }
}
