//! Programs as tools: a client in this process; over HTTP; beside the real binary.

mod binary;
mod http;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use playhouse::host::config::FileConfig;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::address::Place;
use playhouse::host::launch::{Choices, Launch, Workshop};
use playhouse::host::residents::Residents;
use playhouse::host::residents::feed::{Heard, Until};
use playhouse::serve::mcp::stdio;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, Implementation, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RequestContext, RoleClient,
    RunningService, ServiceError,
};
use rmcp::{ClientHandler, ErrorData};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

const DESK: &str = "# Desk
Helps with orders.

## Main
### Triggers
- At the beginning
### Steps
- Say \"Welcome to the desk.\"
- Ask the user for $order_id:str
- Say \"I look for {$order_id}.\"
- Return $order_id

## Twice($word:str, $day:date | None = None, $loud:bool = false)
public: true
Says a word twice.
### Steps
- Say \"{$word}, {$word}!\"
- Return $word

## Mood($name:str) -> str
public: true
Asks for somebody's mood.
### Steps
- Say \"Hello, {$name}.\"
- Ask the user for $mood:str
- Say \"So it is.\"
- Return $mood

## Refund
public: true
### Steps
- $done = PayBack(4334)
- Return $done
";

/// For `Mood`: it asks, and takes what is said.
const MOOD: &str = r#"{"reply": "{\"at\":\"02\",\"say\":\"How are you?\"}\n{\"at\":\"02\",\"wait\":\"user\"}\n", "when": "Mood"}
{"reply": "{\"at\":\"02\",\"set\":{\"mood\":\"fine\"}}\n{\"at\":\"03\"}\n", "when": "fine"}
"#;

const TOOLS: &str = r#"{"PayBack": {"args": ["order"], "effect": "write", "responses": [{"return": "paid back"}]}}"#;

fn desk(model: &str, config: &str) -> Vec<(String, String)> {
    [("desk.md", DESK), ("model.jsonl", model), ("tools.json", TOOLS), ("playhouse.toml", config)]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into()
}

const ASK: &str = "[tools]\nPayBack = { approval = \"ask\" }\n";

/// Somebody at a client.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// Whether the client has forms.
    has_forms: bool,
    /// What will be answered, in order.
    answers: VecDeque<ElicitResult>,
    /// What was asked.
    asked: Vec<String>,
    /// How far a call has come, and what was said of it.
    progress: Vec<(f64, String)>,
}

impl Person {
    /// One who fills in forms.
    fn who_says(answers: impl IntoIterator<Item = Json>) -> Person {
        let accept = |content| ElicitResult::new(ElicitationAction::Accept).with_content(content);
        Person(Arc::new(Mutex::new(Seen {
            has_forms: true,
            answers: answers.into_iter().map(accept).collect(),
            ..Seen::default()
        })))
    }

    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.0.lock().unwrap().has_forms {
            true => ClientCapabilities::builder().enable_elicitation().build(),
            false => ClientCapabilities::default(),
        };
        ClientConfig::new(capabilities, Implementation::new("test", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let mut seen = self.0.lock().unwrap();
        seen.asked.push(serde_json::to_value(&request).unwrap()["message"].as_str().unwrap().to_owned());
        Ok(seen.answers.pop_front().unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }

    async fn on_progress(&self, news: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.lock().unwrap().progress.push((news.progress, news.message.unwrap_or_default()));
    }
}

/// `initialize`, as a client sends it.
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

type Client = RunningService<RoleClient, Person>;

/// Programs of a folder, for a client in this process.
struct Door {
    folder: TempDir,
    residents: Arc<Residents>,
    client: Client,
    serving: JoinHandle<()>,
}

fn old() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

fn new() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

impl Door {
    async fn open(files: &[(String, String)], person: &Person, mode: ClientLifecycleMode) -> Door {
        let folder = tempfile::tempdir().unwrap();
        crate::serve::write(folder.path(), files);
        let path = |name: &str| folder.path().join(name);
        let choices = Choices {
            model: Some(format!("script:{}", path("model.jsonl").display())),
            tools: vec![path("tools.json")],
            ..Choices::default()
        };
        let launch = Launch::new(Workshop::default(), choices);
        let options = FileConfig::find(Some(&path("playhouse.toml")), None).unwrap().serve;
        let residents = Residents::open(launch, &Place::at(&path("mcp.sqlite")), &options).await.unwrap();
        for (name, _) in files.iter().filter(|(name, _)| name.ends_with(".md")) {
            residents.offer(name.trim_end_matches(".md"), &[path(name)]).await.unwrap();
        }
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let served = residents.clone();
        let serving = tokio::spawn(async move {
            stdio::serve(served, &options, &[7; 64], tokio::io::split(theirs), std::future::pending()).await;
        });
        let client = person.clone().serve_with_lifecycle(tokio::io::split(ours), mode).await.unwrap();
        Door { folder, residents, client, serving }
    }

    /// The client goes, and all sessions rest.
    async fn close(self) -> TempDir {
        self.client.cancel().await.unwrap();
        self.serving.await.unwrap();
        self.folder
    }
}

fn request(tool: &'static str, arguments: Json) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

async fn call(client: &Client, tool: &'static str, arguments: Json) -> CallToolResult {
    client.call_tool(request(tool, arguments)).await.unwrap()
}

/// What a result says in its structure; its text is the same.
fn told(result: &CallToolResult) -> Json {
    let told = result.structured_content.clone().unwrap_or_else(|| panic!("{result:?}"));
    let text = serde_json::to_value(&result.content[0]).unwrap();
    assert_eq!(serde_json::from_str::<Json>(text["text"].as_str().unwrap()).unwrap(), told);
    told
}

/// What is wrong, as the client's model reads it.
fn wrong(result: &CallToolResult) -> String {
    assert_eq!(result.is_error, Some(true), "{result:?}");
    serde_json::to_value(&result.content[0]).unwrap()["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn public_playbooks_are_tools_with_their_signatures() {
    let door = Door::open(&desk("", ""), &Person::default(), old()).await;
    let tools = door.client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["Twice", "Mood", "Refund", "talk", "reply", "wait"]);
    let twice = serde_json::to_value(&tools[0]).unwrap();
    assert_eq!(twice["description"], "Says a word twice.");
    let schema = json!({
        "type": "object",
        "properties": {
            "word": {"type": "string"},
            "day": {"type": ["string", "null"], "format": "date", "description": "a day such as 2026-05-03", "default": null},
            "loud": {"type": "boolean", "default": false},
        },
        "required": ["word"],
        "additionalProperties": false,
    });
    assert_eq!(twice["inputSchema"], schema);
    assert_eq!(serde_json::to_value(&tools[1]).unwrap()["description"], "Asks for somebody's mood.\n\nReturns str.");
    assert_eq!(tools[2].description.as_deref(), Some("Refund"));
    assert_eq!(tools[5].annotations.as_ref().unwrap().read_only_hint, Some(true));
    let talk = serde_json::to_value(&tools[3]).unwrap();
    assert_eq!(
        talk["inputSchema"]["properties"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["message", "session"]
    );
    door.close().await;
}

#[tokio::test]
async fn of_several_programs_tools_have_the_programs_name() {
    let mut files = desk("", "");
    files.push(("shop.md".to_owned(), DESK.replace("# Desk", "# Shop")));
    let door = Door::open(&files, &Person::default(), old()).await;
    let tools = door.client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let all =
        ["desk_Twice", "desk_Mood", "desk_Refund", "shop_Twice", "shop_Mood", "shop_Refund", "talk", "reply", "wait"];
    assert_eq!(names, all);
    let talk = serde_json::to_value(&tools[6]).unwrap();
    assert_eq!(talk["inputSchema"]["properties"]["program"]["enum"], json!(["desk", "shop"]));
    let which = wrong(&call(&door.client, "talk", json!({"message": "Hello"})).await);
    assert!(which.starts_with("`program` is missing") && which.contains("desk, shop"), "{which}");
    let none = wrong(&call(&door.client, "talk", json!({"message": "Hello", "program": "bank"})).await);
    assert!(none.contains("there is no program `bank`"), "{none}");
    let result = told(&call(&door.client, "shop_Twice", json!({"word": "ho"})).await);
    assert_eq!((&result["status"], &result["value"]), (&json!("finished"), &json!("ho")), "{result}");
    door.close().await;
}

#[tokio::test]
async fn names_are_such_as_every_client_takes() {
    let program = "# Gruß

## Schöne_Grüße
public: true
### Steps
- Return 1

## talk
public: true
### Steps
- Return 2

# Post

## talk
public: true
### Steps
- Return 3

## Hidden
### Steps
- Return 4
";
    let files: Vec<_> = desk("", "").into_iter().filter(|(name, _)| name != "desk.md").collect();
    let files = [files, vec![("desk.md".to_owned(), program.to_owned())]].concat();
    let door = Door::open(&files, &Person::default(), old()).await;
    let tools = door.client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["Sch_ne_Gr__e", "desk_talk", "desk_Post_talk", "talk", "reply", "wait"]);
    for (tool, value) in [("Sch_ne_Gr__e", 1), ("desk_talk", 2), ("desk_Post_talk", 3)] {
        assert_eq!(told(&call(&door.client, tool, json!({})).await)["value"], value);
    }
    door.close().await;
}

#[tokio::test]
async fn a_call_is_a_session_that_gives_back_a_value() {
    for mode in [old(), new()] {
        let door = Door::open(&desk("", ""), &Person::default(), mode).await;
        let result = told(&call(&door.client, "Twice", json!({"word": "ho"})).await);
        let session = result["session"].as_str().unwrap();
        assert_eq!(result, json!({"session": session, "status": "finished", "said": ["ho, ho!"], "value": "ho"}));
        let served = door.residents.find(&session.into()).await.unwrap();
        assert_eq!((&*served.owner, &*served.program), ("local", "desk"));
        // Whoever asks again hears the same.
        assert_eq!(told(&call(&door.client, "wait", json!({"session": session})).await), result);
        let over = wrong(&call(&door.client, "reply", json!({"session": session, "message": "More"})).await);
        assert!(over.contains("is over; begin another one"), "{over}");
        door.close().await;
    }
}

#[tokio::test]
async fn whoever_has_forms_is_asked_by_form() {
    for mode in [old(), new()] {
        let person = Person::who_says([json!({"answer": "fine"})]);
        let door = Door::open(&desk(MOOD, ""), &person, mode).await;
        let result = told(&call(&door.client, "Mood", json!({"name": "Ida"})).await);
        assert_eq!(person.asked(), ["Hello, Ida.\n\nHow are you?"]);
        assert_eq!((&result["status"], &result["value"]), (&json!("finished"), &json!("fine")), "{result}");
        assert_eq!(result["said"], json!(["So it is."]));
        door.close().await;
    }
}

#[tokio::test]
async fn a_form_that_is_not_filled_in_leaves_the_session_waiting() {
    for mode in [old(), new()] {
        let person = Person::who_says([]);
        let door = Door::open(&desk(MOOD, ""), &person, mode).await;
        let result = told(&call(&door.client, "Mood", json!({"name": "Ida"})).await);
        assert_eq!(result["status"], "waiting", "{result}");
        assert_eq!(person.asked().len(), 1);
        door.close().await;
    }
}

#[tokio::test]
async fn without_forms_the_model_is_told_to_ask() {
    for mode in [old(), new()] {
        let door = Door::open(&desk(MOOD, ""), &Person::default(), mode).await;
        let result = told(&call(&door.client, "Mood", json!({"name": "Ida"})).await);
        let session = result["session"].as_str().unwrap().to_owned();
        assert_eq!(
            (&result["status"], &result["said"]),
            (&json!("waiting"), &json!(["Hello, Ida.", "How are you?"])),
            "{result}"
        );
        assert!(result["next"].as_str().unwrap().contains(&format!("call `reply` with the session {session}")));
        let result = told(&call(&door.client, "reply", json!({"session": session, "message": "I am fine"})).await);
        assert_eq!(result, json!({"session": session, "status": "finished", "said": ["So it is."], "value": "fine"}));
        door.close().await;
    }
}

#[tokio::test]
async fn talk_begins_a_session_and_goes_on_with_it() {
    let model = r#"{"reply": "{\"at\":\"02\",\"say\":\"What can I do?\"}\n{\"at\":\"02\",\"wait\":\"user\"}\n", "when": "Main"}
{"reply": "{\"at\":\"02\",\"say\":\"Which number?\"}\n{\"at\":\"02\",\"wait\":\"user\"}\n", "when": "What about"}
{"reply": "{\"at\":\"02\",\"set\":{\"order_id\":\"4334\"}}\n{\"at\":\"03\"}\n", "when": "4334"}
"#;
    let door = Door::open(&desk(model, ""), &Person::default(), old()).await;
    let result = told(&call(&door.client, "talk", json!({"message": "What about my order?"})).await);
    assert_eq!(result["status"], "waiting", "{result}");
    assert_eq!(result["said"], json!(["Welcome to the desk.", "What can I do?", "Which number?"]));
    let session = &result["session"];
    let result = told(&call(&door.client, "talk", json!({"message": "4334", "session": session})).await);
    assert_eq!((&result["value"], &result["said"]), (&json!("4334"), &json!(["I look for 4334."])), "{result}");
    door.close().await;
}

#[tokio::test]
async fn wrong_arguments_are_answered_with_the_cause_and_the_next_step() {
    let door = Door::open(&desk("", ""), &Person::default(), old()).await;
    for (tool, arguments, expected) in [
        (
            "Twice",
            json!({"loud": 1, "day": "soon", "what": 2}),
            &[
                "`what` is not a parameter",
                "`word` is missing",
                "`loud` must be bool",
                "`day` must be date",
                "call it again",
            ][..],
        ),
        ("Mood", json!({}), &["`name` is missing"]),
        ("talk", json!({"message": " "}), &["`message` is empty"]),
        ("talk", json!({"text": "a"}), &["unknown field `text`", "call it again"]),
        ("reply", json!({"session": "x"}), &["missing field `message`"]),
        ("reply", json!({"session": "x", "message": "a"}), &["there is no session x here"]),
        ("wait", json!({"session": "x"}), &["there is no session x here"]),
    ] {
        let said = wrong(&call(&door.client, tool, arguments.clone()).await);
        for part in expected {
            assert!(said.contains(part), "{tool} {arguments}: {said}");
        }
    }
    let unknown = door.client.call_tool(request("Nothing", json!({}))).await;
    let Err(ServiceError::McpError(error)) = unknown else { panic!("{unknown:?}") };
    assert!(error.message.contains("there is no tool `Nothing`; the tools are Twice, Mood"), "{error:?}");
    assert!(door.residents.sessions().is_empty(), "nothing has begun");
    door.close().await;
}

/// A session of `Refund`, as far as it gets.
async fn refund(door: &Door) -> Json {
    told(&call(&door.client, "Refund", json!({})).await)
}

#[tokio::test]
async fn what_an_operator_put_before_a_call_no_model_answers() {
    let door = Door::open(&desk("", ASK), &Person::default(), old()).await;
    let result = refund(&door).await;
    assert_eq!(result["status"], "approval");
    assert_eq!(result["question"], "A colleague has to confirm this.");
    let session = result["session"].as_str().unwrap();
    let refused = wrong(&call(&door.client, "reply", json!({"session": session, "message": "yes"})).await);
    assert!(refused.starts_with("A colleague has to confirm this."), "{refused}");
    // Nobody does, for as long as the client has patience. A clock that stands goes on by itself when nothing is to be
    // done, also while another thread reads the store; so it stands only now.
    tokio::time::pause();
    assert_eq!(told(&call(&door.client, "wait", json!({"session": session})).await), result);
    door.close().await;
}

#[tokio::test]
async fn the_person_at_this_machine_confirms_by_form() {
    for (mode, answer, expected) in [
        (old(), json!({"confirm": true}), ("finished", "paid back")),
        (new(), json!({"confirm": true}), ("finished", "paid back")),
        (old(), json!({"confirm": false, "answer": "not today"}), ("failed", "not today")),
    ] {
        let person = Person::who_says([answer]);
        let door = Door::open(&desk("", ASK), &person, mode).await;
        let result = refund(&door).await;
        assert!(person.asked()[0].contains("PayBack") && person.asked()[0].contains("4334"), "{:?}", person.asked());
        assert_eq!(result["status"], expected.0, "{result}");
        assert!(result.to_string().contains(expected.1), "{result}");
        door.close().await;
    }
}

#[tokio::test]
async fn where_users_approve_the_model_hands_on_their_answer() {
    let config = format!("{ASK}[serve]\napprovals = \"user\"\n");
    let door = Door::open(&desk("", &config), &Person::default(), old()).await;
    let result = refund(&door).await;
    assert_eq!(result["status"], "approval");
    assert!(result["question"].as_str().unwrap().contains("PayBack"), "{result}");
    let session = &result["session"];
    let result = told(&call(&door.client, "reply", json!({"session": session, "message": "yes"})).await);
    assert_eq!((&result["status"], &result["value"]), (&json!("finished"), &json!("paid back")), "{result}");
    door.close().await;
}

/// The model is asked and never answers.
const HANGS: &str = r#"{"error": "hang", "when": "Mood"}
{"reply": "{\"at\":\"02\",\"set\":{\"mood\":\"fine\"}}\n{\"at\":\"03\"}\n", "when": "fine"}
"#;

/// The session that has begun: it is in memory then.
async fn begun(door: &Door) -> Arc<str> {
    loop {
        match door.residents.sessions().ids().pop() {
            Some(id) => return id,
            None => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn a_cancelled_request_interrupts_its_session() {
    let door = Door::open(&desk(HANGS, ""), &Person::default(), old()).await;
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(request("Mood", json!({"name": "Ida"}))));
    let handle = door.client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
    let id = begun(&door).await;
    handle.cancel(Some("not wanted".to_owned())).await.unwrap();
    // It waits for the user instead of the model.
    let result = told(&call(&door.client, "wait", json!({"session": &*id})).await);
    assert_eq!(result["status"], "waiting", "{result}");
    let result = told(&call(&door.client, "reply", json!({"session": &*id, "message": "fine"})).await);
    assert_eq!((&result["status"], &result["value"]), (&json!("finished"), &json!("fine")), "{result}");
    door.close().await;
}

#[tokio::test]
async fn a_long_call_tells_how_it_goes_and_is_waited_for() {
    // The model takes 70 seconds.
    let model = r#"{"reply": "{\"at\":\"02\",\"set\":{\"mood\":\"fine\"}}\n{\"at\":\"03\"}\n", "delay_ms": 70000}"#;
    let person = Person::default();
    let door = Door::open(&desk(model, ""), &person, old()).await;
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(request("Mood", json!({"name": "Ida"}))));
    let began = tokio::time::Instant::now();
    let handle = door.client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
    let served = door.residents.find(&begun(&door).await).await.unwrap();
    let mut heard = door.residents.listen(served, None, Until::Over);
    loop {
        let Heard::Event(event) = heard.recv().await.unwrap() else { panic!("a session that goes on") };
        if matches!(event.body, PublicBody::TurnStarted { .. }) {
            break;
        }
    }
    // The model is being asked: from here on the clock goes as fast as it can.
    tokio::time::pause();
    let rmcp::model::ServerResult::CallToolResult(result) = handle.await_response().await.unwrap() else { panic!() };
    let result = told(&result);
    assert_eq!(result["status"], "running", "{result}");
    assert!((50..60).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    let session = result["session"].as_str().unwrap();
    let progress = std::mem::take(&mut person.0.lock().unwrap().progress);
    let seconds: Vec<u64> = progress.iter().map(|(seconds, _)| seconds.round() as u64).collect();
    assert_eq!(seconds, [10, 20, 30, 40]);
    assert!(progress[0].1.contains(session), "{progress:?}");
    // Time goes on by itself while the store is read: one request may be over before that.
    let result = loop {
        let result = told(&call(&door.client, "wait", json!({"session": session})).await);
        if result["status"] != "running" {
            break result;
        }
    };
    assert_eq!((&result["status"], &result["value"]), (&json!("finished"), &json!("fine")), "{result}");
    door.close().await;
}
