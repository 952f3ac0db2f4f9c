//! Servers of models on this machine: which of the usual ones run, and which models they have.
//!
//! They are asked where nobody has chosen a model, and by `--model auto`. What listens at one of these ports may be
//! anything: only what answers as such a server does is one, and its words are data.

use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;

use crate::net;

/// How long a run that was not asked to look waits for all of them together. One that is there answers in a few
/// milliseconds.
pub const PATIENCE: Duration = Duration::from_millis(150);

/// How long somebody waits who has asked for it.
pub const PATIENCE_IF_ASKED: Duration = Duration::from_secs(2);

/// A list of models has some kilobytes; whoever sends more is none of these servers.
const MAX_BYTES: usize = 1 << 20;

/// No name of a model is longer.
const MAX_NAME_BYTES: usize = 200;

/// What the names of models hold that make vectors and no text.
const EMBEDDING: [&str; 4] = ["embed", "bge-", "minilm", "rerank"];

/// A kind of server, and the port at which it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// As its makers call it.
    pub name: &'static str,
    /// Its port on the loopback interface.
    pub port: u16,
}

/// The servers that are known, at the ports that they have if nobody has changed them; the first comes first.
pub const SERVERS: [LocalServer; 3] = [
    LocalServer { name: "Ollama", port: 11434 },
    LocalServer { name: "LM Studio", port: 1234 },
    LocalServer { name: "llama.cpp", port: 8080 },
];

/// A server that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundServer {
    /// As its makers call it.
    pub name: &'static str,
    /// What `--base-url` takes.
    pub base_url: String,
    /// Its models that write text, in its own order; at least one.
    pub models: Vec<String>,
}

/// The servers at these ports (as in `11434,1234,8080`), one for each of [`SERVERS`]; 0: it is not asked.
///
/// # Errors
/// The text is something else; in words.
pub fn at_ports(text: &str) -> Result<Vec<LocalServer>, String> {
    let ports: Option<Vec<u16>> = text.split(',').map(|port| port.trim().parse().ok()).collect();
    let ports = ports.filter(|ports| ports.len() == SERVERS.len());
    let ports =
        ports.ok_or("write the ports of Ollama, LM Studio and llama.cpp, as in 11434,1234,8080; 0 asks none")?;
    let servers = SERVERS.iter().zip(ports).map(|(server, port)| LocalServer { port, ..*server });
    Ok(servers.filter(|server| server.port != 0).collect())
}

/// Asks all of them at once, until `until` is over: those that have answered by then, in the order given.
pub async fn find(servers: &[LocalServer], until: impl Future<Output = ()>) -> Vec<FoundServer> {
    if servers.is_empty() {
        return Vec::new();
    }
    let Ok(client) = net::client(false, true).build() else { return Vec::new() };
    let asked = servers.iter().enumerate().map(|(index, server)| {
        let client = &client;
        async move { (index, ask(client, *server).await) }
    });
    let mut asked: FuturesUnordered<_> = asked.collect();
    let mut found = Vec::new();
    tokio::pin!(until);
    loop {
        tokio::select! {
            // In this order: what is there when the time is over still counts.
            biased;
            answer = asked.next() => match answer {
                Some((index, server)) => found.extend(server.map(|server| (index, server))),
                None => break,
            },
            () = &mut until => break,
        }
    }
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, server)| server).collect()
}

/// The models that a server has; none: it is not there, or it is something else.
async fn ask(client: &reqwest::Client, server: LocalServer) -> Option<FoundServer> {
    let base_url = format!("http://{}:{}/v1", Ipv4Addr::LOCALHOST, server.port);
    let mut answer = client.get(format!("{base_url}/models")).send().await.ok()?;
    if answer.status() != reqwest::StatusCode::OK {
        return None;
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.ok()? {
        if body.len() + chunk.len() > MAX_BYTES {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    let models = models(&body)?;
    (!models.is_empty()).then_some(FoundServer { name: server.name, base_url, models })
}

/// OpenAI's list of models.
#[derive(Deserialize)]
struct ModelList {
    object: String,
    /// Ollama writes null where it has none.
    data: Option<Vec<ListedModel>>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

/// The models of an answer that write text; none: it is no list of models.
fn models(body: &[u8]) -> Option<Vec<String>> {
    let list: ModelList = serde_json::from_slice(body).ok()?;
    if list.object != "list" {
        return None;
    }
    let names = list.data.unwrap_or_default().into_iter().map(|model| model.id);
    Some(names.filter(|name| is_usable(name)).collect())
}

fn is_usable(name: &str) -> bool {
    let lower = name.to_lowercase();
    // It is shown on a terminal, and typed again.
    let is_plain = !name.trim().is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(char::is_control);
    is_plain && !EMBEDDING.iter().any(|part| lower.contains(part))
}
