//! Servers of models on this machine: which are found, by which answers, and what a run makes of them.

use std::future::{pending, ready};

use playhouse::host::llm::local::{FoundServer, LocalServer, SERVERS, at_ports, find};
use serde_json::{Value, json};

use crate::http_server::{Answer, Request, ServerHandle, start, start_with};
use crate::run::Run;

/// What the servers themselves answer to `GET /v1/models`, shortened.
fn ollama() -> Value {
    json!({"object": "list", "data": [
        {"id": "nomic-embed-text:latest", "object": "model", "created": 1_760_000_000, "owned_by": "library"},
        {"id": "qwen3:8b", "object": "model", "created": 1_760_000_001, "owned_by": "library"},
        {"id": "gemma3:4b", "object": "model", "created": 1_760_000_002, "owned_by": "library"},
    ]})
}

fn lm_studio() -> Value {
    json!({"data": [
        {"id": "google/gemma-3-4b", "object": "model", "owned_by": "organization_owner"},
        {"id": "text-embedding-nomic-embed-text-v1.5", "object": "model", "owned_by": "organization_owner"},
    ], "object": "list"})
}

fn llama_cpp() -> Value {
    json!({
        "models": [{"name": "/models/smol.gguf", "type": "model", "capabilities": ["completion"]}],
        "object": "list",
        "data": [{"id": "/models/smol.gguf", "object": "model", "created": 1, "owned_by": "llamacpp", "meta": {"n_vocab": 9}}],
    })
}

fn port(server: &ServerHandle) -> u16 {
    let url = server.url();
    url.trim_end_matches("/v1").rsplit_once(':').unwrap().1.parse().unwrap()
}

fn at(name: &'static str, server: &ServerHandle) -> LocalServer {
    LocalServer { name, port: port(server) }
}

fn found(name: &'static str, server: &ServerHandle, models: &[&str]) -> FoundServer {
    FoundServer { name, base_url: server.url(), models: models.iter().map(|&model| model.to_owned()).collect() }
}

#[tokio::test]
async fn servers_are_found_in_their_order() {
    let answers = [ollama(), lm_studio(), llama_cpp()];
    let servers = answers.map(|answer| start(vec![Answer::json(200, &answer)]));
    let [ollama, lm_studio, llama_cpp] = &servers;
    let asked = [at("Ollama", ollama), at("LM Studio", lm_studio), at("llama.cpp", llama_cpp)];
    // All of them answer, so that nothing has to be over.
    assert_eq!(
        find(&asked, pending()).await,
        [
            found("Ollama", ollama, &["qwen3:8b", "gemma3:4b"]),
            found("LM Studio", lm_studio, &["google/gemma-3-4b"]),
            found("llama.cpp", llama_cpp, &["/models/smol.gguf"]),
        ]
    );
    for server in &servers {
        let targets: Vec<String> = server.requests().into_iter().map(|request| request.target).collect();
        assert_eq!(targets, ["GET /v1/models"]);
    }
}

#[tokio::test]
async fn what_answers_something_else_is_none() {
    let list = |ids: &[&str]| {
        let data: Vec<Value> = ids.iter().map(|id| json!({"id": id, "object": "model"})).collect();
        Answer::json(200, &json!({"object": "list", "data": data}))
    };
    let long = "m".repeat(2_000_000);
    for (what, answer) in [
        ("a page", Answer::body(200, "text/html", "<!doctype html><title>It works</title>")),
        ("no JSON", Answer::body(200, "application/json", "{\"object\":\"list\",")),
        ("another object", Answer::json(200, &json!({"object": "error", "data": [{"id": "m"}]}))),
        ("no object", Answer::json(200, &json!({"data": [{"id": "m"}]}))),
        ("another list", Answer::json(200, &json!({"object": "list", "data": ["m"]}))),
        ("a refusal", Answer::json(401, &ollama())),
        ("not there", Answer::json(404, &json!({"error": "not found"}))),
        ("a redirect", Answer::json(302, &ollama()).header("location", "http://127.0.0.1:9/v1/models")),
        ("no models", Answer::json(200, &json!({"object": "list", "data": null}))),
        ("models for vectors only", list(&["text-embedding-3", "BGE-M3", "all-minilm:latest"])),
        ("names that write on a terminal", list(&["\u{1b}[2Jm", "", " ", &long[..300]])),
        ("too much", list(&[&long])),
        ("half of it", Answer::json(200, &ollama()).cut_after_bytes(40)),
    ] {
        let server = start(vec![answer]);
        assert_eq!(find(&[at("Ollama", &server)], pending()).await, [], "{what}");
        assert_eq!(server.requests().len(), 1, "{what}");
    }
    // Nobody listens there any more.
    let gone = port(&start(Vec::new()));
    assert_eq!(find(&[LocalServer { name: "Ollama", port: gone }], pending()).await, []);
    assert_eq!(find(&[], pending()).await, []);
}

/// A server that takes the connection and says nothing holds nobody up, and takes nothing from the others.
#[tokio::test]
async fn a_server_that_hangs_is_not_waited_for() {
    let hangs = start(vec![Answer::silence()]);
    assert_eq!(find(&[at("Ollama", &hangs)], ready(())).await, []);
    let answers = start(vec![Answer::json(200, &lm_studio()).header("connection", "close")]);
    // Closed by the client: it has read the answer.
    let until = async {
        answers.wait_for_closed(1).await;
    };
    let hangs = start(vec![Answer::silence()]);
    let asked = [at("Ollama", &hangs), at("LM Studio", &answers)];
    assert_eq!(find(&asked, until).await, [found("LM Studio", &answers, &["google/gemma-3-4b"])]);
}

#[test]
fn ports_are_read() {
    assert_eq!(at_ports("11434,1234,8080").unwrap(), SERVERS);
    assert_eq!(at_ports(" 0, 4321 ,0").unwrap(), [LocalServer { name: "LM Studio", port: 4321 }]);
    for wrong in ["", "1", "1,2", "1,2,3,4", "a,b,c", "1,2,65536", "-1,2,3"] {
        assert!(at_ports(wrong).unwrap_err().contains("11434,1234,8080"), "{wrong}");
    }
}

/// An Ollama whose model does the two lines of [`PROGRAM`].
fn with_a_model() -> ServerHandle {
    start_with(|request: &Request| match request.target.as_str() {
        "GET /v1/models" => Answer::json(200, &ollama()),
        _ if request.body.to_string().contains("Ada") => Answer::deltas(&[
            "{\"at\":\"01\",\"set\":{\"name\":\"Ada\"}}\n",
            "{\"at\":\"02\",\"say\":\"Hi Ada, far away.\"}\n",
        ]),
        _ => Answer::deltas(&["{\"at\":\"01\",\"say\":\"And you are?\"}\n", "{\"at\":\"01\",\"wait\":\"user\"}\n"]),
    })
}

const PROGRAM: &str = "# Desk\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- Ask the user for $name\n\
                       - Greet the user\n";

fn beside(server: &ServerHandle) -> Run {
    Run::new().program(PROGRAM).variable("PLAYHOUSE_LOCAL_PORTS", &format!("{},0,0", port(server)))
}

#[test]
fn auto_takes_what_is_found_and_goes_on_with_it() {
    let server = with_a_model();
    let run = beside(&server).variable("OPENAI_API_KEY", "secret-of-another");
    let done = run.line("run program.md --model auto --session one").code(3);
    let url = server.url();
    assert_eq!(
        done.stderr.lines().next().unwrap(),
        format!(
            "model openai:qwen3:8b, found in Ollama at {url}; --model openai:NAME --base-url {url} chooses another, \
             --model embedded the built-in one, and --model auto looks for one without a terminal, too"
        )
    );
    assert!(done.stdout.ends_with("And you are?\n"), "{}", done.stdout);
    // The session goes on with its server, whatever runs by then, and with no key either.
    let again = done.then().variable("OPENAI_API_KEY", "secret-of-another");
    let done = again.line("run program.md --session one").stdin("Ada\n").done();
    assert!(
        done.stdout.contains("Hi Ada, far away.") && done.stderr.contains("as the session began"),
        "{}",
        done.stderr
    );
    let keys = server.requests().iter().filter(|request| request.header("authorization").is_some()).count();
    assert_eq!((keys, server.requests().len() >= 3), (0, true));
}

/// The journal has the server, not the key.
#[test]
fn a_session_goes_on_at_the_server_that_it_began_with() {
    let (own, other) = (with_a_model(), with_a_model());
    let run = Run::new().program(PROGRAM).variable("OPENAI_API_KEY", "key-of-its-own");
    let run = run.variable("OPENAI_BASE_URL", &own.url());
    let done = run.line("run program.md --model openai:m --session one --journal one.jsonl").code(3);
    let journal = done.read("one.jsonl");
    let is_kept = journal.contains(&format!("\"server\":\"{}\"", own.url())) && !journal.contains("key-of-its-own");
    assert!(is_kept, "{journal}");
    // Another server is configured by now.
    let again = done.then().variable("OPENAI_API_KEY", "key-of-its-own").variable("OPENAI_BASE_URL", &other.url());
    let done = again.line("run program.md --session one --journal one.jsonl").stdin("Ada\n").code(0);
    assert_eq!(
        done.stderr.lines().next().unwrap(),
        format!(
            "model openai:m (as the session began), asked at {0} without your key, which is for another server; \
             --base-url {0} sends it",
            own.url()
        )
    );
    assert_eq!((done.stdout.contains("Hi Ada, far away."), other.requests().len()), (true, 0));
    let keys = own.requests().iter().filter(|request| request.header("authorization").is_some()).count();
    assert_eq!((keys, own.requests().len()), (1, 2));
    // The same one is configured.
    let run = Run::new().program(PROGRAM).file("one.jsonl", &journal).variable("OPENAI_BASE_URL", &own.url());
    let done = run.line("run program.md --session one --journal one.jsonl").stdin("Ada\n").code(0);
    assert_eq!(
        done.stderr.lines().next().unwrap(),
        format!("model openai:m (as the session began), asked at {}", own.url())
    );
    // A journal from before the server was kept.
    let old = journal.replace(&format!("\"server\":\"{}\"", own.url()), "\"tools\":[]");
    let run = Run::new().program(PROGRAM).file("old.jsonl", &old).variable("OPENAI_BASE_URL", &other.url());
    let done = run.line("run program.md --session one --journal old.jsonl").stdin("Ada\n").code(0);
    assert_eq!(
        done.stderr.lines().next().unwrap(),
        format!(
            "model openai:m (as the session began), asked at {}: the session does not say which server it began with; \
             --base-url names another one",
            other.url()
        )
    );
    // What was said then wins.
    let run = Run::new().program(PROGRAM).file("one.jsonl", &journal);
    let line = format!("run program.md --session one --journal one.jsonl --base-url {}", other.url());
    let done = run.line(&line).stdin("Ada\n").code(0);
    assert!(done.stderr.starts_with(&format!("model openai:m (as the session began), asked at {}\n", other.url())));
}

#[test]
fn a_password_in_the_address_of_a_server_gets_into_no_journal() {
    for url in ["http://ida:hush@127.0.0.1:9/v1", "http://127.0.0.1:9/v1?key=hush", "http://127.0.0.1:9/v1#hush"] {
        let run = Run::new().program(PROGRAM);
        let line = format!("run program.md --model openai:m --session one --journal one.jsonl --base-url {url}");
        let done = run.line(&line).code(2);
        let (told, is_kept) = (done.stderr.contains("hush"), done.folder().join("one.jsonl").exists());
        assert_eq!((told, is_kept), (false, false), "{}", done.stderr);
    }
}

#[test]
fn auto_that_finds_nothing_is_the_embedded_model() {
    let silent = start(vec![Answer::json(404, &json!({}))]);
    let done = beside(&silent).line("run program.md --model auto").stdin("Ada\n").code(0);
    assert_eq!(
        done.stderr.lines().next().unwrap(),
        "model embedded: built in, as neither Ollama nor LM Studio nor llama.cpp answers on this machine; start one of \
         them, or name a model as in --model openai:NAME"
    );
    assert!(done.stdout.contains("Hello!"), "{}", done.stdout);
}

/// Elsewhere than on a terminal nobody is asked unless `auto` says so.
#[test]
fn without_a_terminal_nothing_is_looked_for() {
    let server = with_a_model();
    let done = beside(&server).line("run program.md").stdin("Ada\n").code(0);
    assert!(done.stderr.starts_with("model embedded: built in, no key needed"), "{}", done.stderr);
    let done = done.then().variable("PLAYHOUSE_LOCAL_PORTS", "1,2").line("run program.md").code(2);
    assert!(done.stderr.contains("PLAYHOUSE_LOCAL_PORTS=1,2: write the ports of Ollama"), "{}", done.stderr);
    assert_eq!(server.n_connections(), 0);
}

#[test]
fn models_are_listed_and_shown() {
    let server = with_a_model();
    let url = server.url();
    let done = beside(&server).line("model list").code(0);
    assert_eq!(
        done.stdout,
        format!(
            "embedded          built in, no key needed; follows plain lines, and does not judge\n\
             openai:qwen3:8b   Ollama                                                            --base-url {url}\n\
             openai:gemma3:4b  Ollama                                                            --base-url {url}\n"
        )
    );
    let ports = format!("0,0,{}", port(&server));
    let done = done.then().variable("PLAYHOUSE_LOCAL_PORTS", &ports).line("model list --format json").code(0);
    let listed: Value = serde_json::from_str(&done.stdout).unwrap();
    let expected = json!({"model": "openai:gemma3:4b", "title": "llama.cpp", "server": url});
    assert_eq!((&listed[0]["model"], &listed[2]), (&json!("embedded"), &expected));
    let done = done.then().line("model show").code(0);
    assert!(done.stdout.starts_with("model embedded: built in, no key needed"), "{}", done.stdout);
    let done =
        done.then().variable("PLAYHOUSE_LOCAL_PORTS", &ports).line("model show --model auto --format json").code(0);
    let shown: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&shown["model"], &shown["server"]), (&json!("openai:qwen3:8b"), &json!(url)));
    assert_eq!(shown["has_key"], json!(false));
    let of_a_key = done.then().variable("OPENAI_API_KEY", "secret");
    let done = of_a_key.line("model show --model openai:small --base-url http://127.0.0.1:1/v1").code(0);
    assert_eq!(done.stdout, "model openai:small (--model)\nserver http://127.0.0.1:1/v1\nkey set (OPENAI_API_KEY)\n");
}

/// Who starts it on a terminal with nothing configured gets the model that is there.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_a_model_is_found() {
    use crate::terminal_screen::Screen;

    let server = with_a_model();
    // A run waits but a moment, and this machine may be busy: then it is begun again.
    let is_found = |_: &i32| {
        let mut screen = Screen::open(beside(&server).line("run program.md"));
        screen.prompt();
        let is_found = screen.written.contains("model openai:qwen3:8b, found in Ollama");
        assert!(is_found || screen.written.contains("model embedded"), "{}", screen.written);
        is_found
    };
    assert!((0..20).any(|attempt| is_found(&attempt)));
    // What is configured is not overruled, nor is anybody asked then.
    let n_before = server.n_connections();
    let mut screen = Screen::open(beside(&server).line("run program.md --model embedded"));
    screen.prompt();
    assert!(screen.written.contains("model embedded (--model)"), "{}", screen.written);
    assert_eq!(server.n_connections(), n_before);
}
