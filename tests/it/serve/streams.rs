//! A stream that is cut anywhere and resumed by its mark says what the uncut one says; also after the process ended.

use playhouse::host::events::Mark;
use serde_json::Value;

use super::{Running, client};

pub(super) const TALK: &str = "# Desk

## Main
### Triggers
- At the beginning
### Steps
- Say \"Welcome to the desk.\"
- Tell the user a joke
- Ask the user for $order_id:str
- Return $order_id
";

/// Every reply comes in pieces of three bytes.
pub(super) const MODEL: &str = r#"{"reply": "{\"at\":\"02\",\"say\":\"Größe ist relativ — sagt die Ameise.\"}\n{\"at\":\"03\",\"say\":\"Which number?\"}\n{\"at\":\"03\",\"wait\":\"user\"}\n", "chunks": 3}
{"reply": "{\"at\":\"03\",\"set\":{\"order_id\":\"4334\"}}\n{\"at\":\"04\"}\n", "chunks": 3}
"#;

fn talk() -> Vec<(String, String)> {
    vec![("desk.md".to_owned(), TALK.to_owned()), ("model.jsonl".to_owned(), MODEL.to_owned())]
}

/// An event as it came.
#[derive(Clone, Debug, PartialEq)]
struct Heard {
    name: String,
    mark: Option<Mark>,
    data: Value,
}

/// What a stream says from a mark on, until it ends or an event of this kind has come.
fn listen(running: &Running, id: &str, after: Option<&str>, until: &str) -> Vec<Heard> {
    running.runtime.block_on(async {
        let mut request = client().get(format!("http://{}/api/sessions/{id}/events", running.address));
        if let Some(mark) = after {
            request = request.header("Last-Event-ID", mark);
        }
        let mut answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let (mut bytes, mut heard) = (Vec::new(), Vec::new());
        while let Some(chunk) = answer.chunk().await.unwrap() {
            bytes.extend_from_slice(&chunk);
            while let Some(end) = bytes.windows(2).position(|pair| pair == b"\n\n") {
                let event = String::from_utf8(bytes.drain(..end + 2).collect()).unwrap();
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                let Some(name) = field("event: ") else { continue };
                heard.push(Heard {
                    mark: field("id: ").map(|mark| mark.parse().unwrap()),
                    data: serde_json::from_str(&field("data: ").unwrap()).unwrap(),
                    name,
                });
                if heard.last().is_some_and(|event| event.name == until) {
                    return heard;
                }
            }
        }
        heard
    })
}

/// What came, with the pieces of each utterance joined: how they were cut is nobody's business.
fn joined(events: &[Heard]) -> Vec<(String, String, String)> {
    let mut all: Vec<(String, String, String)> = Vec::new();
    for Heard { name, mark, data } in events {
        if mark.is_none() {
            continue;
        }
        let text = data["text"].as_str().unwrap_or_default();
        match all.last_mut() {
            Some((last, _, said)) if last == "said_delta" && name == "said_delta" => said.push_str(text),
            _ => {
                let mut rest = data.clone();
                // Of a piece only its text counts, and the time is that of its last byte.
                for key in ["text", "n", "time"] {
                    rest.as_object_mut().unwrap().remove(key);
                }
                all.push((name.clone(), rest.to_string(), text.to_owned()));
            }
        }
    }
    all
}

fn said(events: &[Heard]) -> String {
    events.iter().filter(|event| event.name == "said_delta").filter_map(|event| event.data["text"].as_str()).collect()
}

#[test]
fn a_stream_that_is_cut_anywhere_and_resumed_is_the_uncut_one() {
    let mut running = Running::start(&talk(), &[]);
    let id = running.begin("desk");
    let whole = listen(&running, &id, None, "turn_finished");
    assert_eq!(said(&whole), "Welcome to the desk.Größe ist relativ — sagt die Ameise.Which number?");
    let cut_anywhere = |running: &Running| {
        for cut in 0..whole.len() - 1 {
            let Some(mark) = whole[cut].mark else { continue };
            let rest = listen(running, &id, Some(&mark.to_string()), "turn_finished");
            let all: Vec<Heard> = whole[..=cut].iter().cloned().chain(rest).collect();
            assert_eq!(joined(&all), joined(&whole), "cut after {cut}");
        }
        // Between any two characters of the speech, wherever a piece had ended when it was heard.
        for (cut, piece) in whole.iter().enumerate().filter(|(_, event)| event.name == "said_delta") {
            let (text, end) = (piece.data["text"].as_str().unwrap(), piece.mark.unwrap());
            for (at, _) in text.char_indices().skip(1) {
                let mark = Mark { bytes: end.bytes - (text.len() - at) as u64, ..end };
                let rest = listen(running, &id, Some(&mark.to_string()), "turn_finished");
                let mut heard = piece.clone();
                heard.data["text"] = text[..at].into();
                let all: Vec<Heard> = whole[..cut].iter().cloned().chain([heard]).chain(rest).collect();
                assert_eq!(joined(&all), joined(&whole), "after {mark}");
            }
        }
    };
    cut_anywhere(&running);
    // The process ends and another one goes on; in its journal the pieces are joined.
    running = Running::in_folder(running.end(), &[]);
    cut_anywhere(&running);
    let answer = running.ask("POST", &format!("/api/sessions/{id}/messages"), &[], Some(r#"{"text":"4334"}"#));
    assert_eq!(answer.status, 202, "{}", answer.body);
    let end = listen(&running, &id, whole.last().unwrap().mark.map(|mark| mark.to_string()).as_deref(), "finished");
    assert_eq!(end.last().unwrap().data["value"], "4334");
    // Of a session that is over all is told, too, without opening it.
    running = Running::in_folder(running.end(), &[]);
    let all = listen(&running, &id, None, "");
    let before: Vec<Heard> = whole.iter().cloned().chain(end).collect();
    assert_eq!(joined(&all), joined(&before));
    assert!(running.residents.sessions().is_empty());
}

#[test]
fn a_mark_that_is_not_known_brings_everything() {
    let running = Running::start(&talk(), &[]);
    let id = running.begin("desk");
    let whole = listen(&running, &id, None, "turn_finished");
    for mark in ["1:4000", "2:3", "nonsense"] {
        let again = listen(&running, &id, Some(mark), "turn_finished");
        assert_eq!(again[0].name, "reset", "{mark}");
        assert_eq!(joined(&again[1..]), joined(&whole), "{mark}");
    }
}

#[test]
fn a_server_that_ends_says_so() {
    let running = Running::start(&talk(), &[]);
    let id = running.begin("desk");
    listen(&running, &id, None, "turn_finished");
    let address = running.address;
    let listening = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let answer = client().get(format!("http://{address}/api/sessions/{id}/events")).send().await.unwrap();
            answer.text().await.unwrap()
        })
    });
    // Somebody listens: the session does not rest.
    let is_heard = || running.ask("GET", "/metrics", &[], None).body.contains("playhouse_streams_total 2");
    while !is_heard() {
        std::thread::yield_now();
    }
    drop(running.end());
    let text = listening.join().unwrap();
    assert!(text.trim_end().ends_with("event: bye\ndata: {}"), "{text}");
}
