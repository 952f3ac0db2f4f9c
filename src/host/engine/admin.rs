//! The engine's own interface: where nodes are, and what is stuck.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::{Client, Method, Url};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::journal::store::is_session_id;
use crate::net::{client, innermost, is_loopback};

/// So long it may take: a deployment is asked what it offers before it is registered.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where it is, if nothing else is said.
const PORT: u16 = 9070;

/// The engine's admin interface.
pub struct Admin {
    client: Client,
    address: Url,
}

/// The engine's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The addresses at which nodes are registered.
    pub deployments: Vec<String>,
    /// How many sessions each node has at this moment.
    pub held: BTreeMap<String, usize>,
    /// Visits that have failed and are being retried, or wait for an operator.
    pub stuck: Vec<Stuck>,
}

/// A visit that has failed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Stuck {
    /// The engine's own id of it.
    id: String,
    /// The session.
    #[serde(rename = "target_service_key")]
    pub session: String,
    /// `backing-off`: it will be retried; `paused`: it waits for an operator.
    #[serde(rename = "status")]
    pub state: String,
    /// How often it was tried.
    #[serde(rename = "retry_count", default)]
    pub attempts: u64,
    /// The last error.
    #[serde(rename = "last_failure", default, deserialize_with = "text_or_none")]
    pub why: String,
}

fn text_or_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
}

impl Admin {
    /// The admin interface of the engine with this ingress.
    ///
    /// # Errors
    /// An address cannot be used, in words.
    pub fn of(ingress: &str, address: Option<&str>) -> Result<Admin, String> {
        let parse = |text: &str| {
            text.parse::<Url>()
                .map_err(|error| format!("{text} is not an address: {error}; give one such as http://127.0.0.1:9070"))
        };
        let address = match address {
            Some(address) => parse(address)?,
            None => {
                let mut address = parse(ingress)?;
                let _ = address.set_port(Some(PORT));
                address
            }
        };
        let is_direct = is_loopback(address.host_str().unwrap_or_default());
        let client = client(address.scheme() == "https", is_direct).timeout(PATIENCE).build();
        Ok(Admin { client: client.map_err(|error| innermost(&error))?, address })
    }

    /// Tells the engine where nodes are: what they offer.
    ///
    /// # Errors
    /// It cannot be reached, or cannot reach them; in words.
    pub async fn register(&self, uri: &str, force: bool) -> Result<Vec<String>, String> {
        let answer = self.ask(Method::POST, &["deployments"], Some(&json!({"uri": uri, "force": force}))).await;
        let answer = answer.map_err(|why| match why.contains("401") {
            true => format!("{why}; start the node with this engine's key, if it has one (--engine-key)"),
            false => why,
        })?;
        let services = answer["services"].as_array().cloned().unwrap_or_default();
        let names: Vec<String> =
            services.iter().filter_map(|service| service["name"].as_str()).map(str::to_owned).collect();
        match ["Session", "Log", "Directory"].iter().all(|wanted| names.iter().any(|name| name == wanted)) {
            true => Ok(names),
            false => Err(format!(
                "{uri} offers {}, so it is not a Playhouse node; give the address of --engine-listen, and use --force \
                 if the engine knows another node under it",
                names.join(", ")
            )),
        }
    }

    /// Asks for the engine's status.
    ///
    /// # Errors
    /// It cannot be reached; in words.
    pub async fn status(&self) -> Result<Status, String> {
        let answer = self.ask(Method::GET, &["deployments"], None).await?;
        let deployments = answer["deployments"].as_array().cloned().unwrap_or_default();
        let is_ours = |deployment: &&Json| {
            let services = deployment["services"].as_array().into_iter().flatten();
            services.into_iter().any(|service| service["name"] == "Session")
        };
        let uris = deployments.iter().filter(is_ours).filter_map(|deployment| deployment["uri"].as_str());
        let states = "SELECT value_utf8 FROM state WHERE service_name = 'Log' AND key = 'state' \
                      AND value_utf8 NOT LIKE '%\"owner\":null%'";
        let mut held = BTreeMap::new();
        for row in self.rows(states).await? {
            let state: Option<Json> = row["value_utf8"].as_str().and_then(|text| serde_json::from_str(text).ok());
            if let Some(node) = state.as_ref().and_then(|state| state["owner"].as_str()) {
                *held.entry(node.to_owned()).or_default() += 1;
            }
        }
        let stuck = self.stuck("").await?;
        Ok(Status { deployments: uris.map(str::to_owned).collect(), held, stuck })
    }

    /// Resumes a session's paused visits, and returns how many there were.
    ///
    /// # Errors
    /// The engine cannot be reached; in words.
    pub async fn resume(&self, session: &str) -> Result<usize, String> {
        if !is_session_id(session) {
            return Err(format!("`{session}` cannot be a session's id"));
        }
        let paused = self.stuck(&format!(" AND target_service_key = '{session}' AND status = 'paused'")).await?;
        for Stuck { id, .. } in &paused {
            self.ask(Method::PATCH, &["invocations", id, "resume"], None).await?;
        }
        Ok(paused.len())
    }

    async fn stuck(&self, which: &str) -> Result<Vec<Stuck>, String> {
        let stuck = format!(
            "SELECT id, target_service_key, status, retry_count, last_failure FROM sys_invocation \
             WHERE target_service_name = 'Session' AND status IN ('backing-off', 'paused'){which} \
             ORDER BY target_service_key"
        );
        let rows = self.rows(&stuck).await?;
        Ok(rows.into_iter().filter_map(|row| serde_json::from_value(row).ok()).collect())
    }

    async fn rows(&self, query: &str) -> Result<Vec<Json>, String> {
        let answer = self.ask(Method::POST, &["query"], Some(&json!({"query": query}))).await?;
        Ok(answer["rows"].as_array().cloned().unwrap_or_default())
    }

    async fn ask(&self, method: Method, path: &[&str], body: Option<&Json>) -> Result<Json, String> {
        let mut url = self.address.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let mut request = self.client.request(method, url).header("accept", "application/json");
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let place = &self.address;
        let unreachable = |error: reqwest::Error| {
            format!(
                "{place}: {}; check that the engine runs there, or give its admin address with --admin",
                innermost(&error)
            )
        };
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let bytes = answer.bytes().await.map_err(unreachable)?;
        let answer: Json = serde_json::from_slice(&bytes).unwrap_or_default();
        match status.is_success() {
            true => Ok(answer),
            false => {
                let why = answer["message"].as_str().map_or_else(|| status.to_string(), str::to_owned);
                Err(format!("{place}: {why}"))
            }
        }
    }
}
