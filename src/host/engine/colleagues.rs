//! What nodes tell each other: one outbox for each node, so that what is told of a session comes in order. What is lost is
//! no harm: whoever follows a session reads its log again now and then.

use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::journal::record::{Record, RecordBody};
use crate::net::client;
use crate::residents::dispatch::{NODE_HEADER, Receipted, Told};
use crate::tasks;

/// What may wait for one node.
const OUTBOX: usize = 4_096;

/// So long a node has to take what it is told.
const PATIENCE: Duration = Duration::from_secs(5);

/// The other nodes.
pub(super) struct Colleagues {
    client: Client,
    secret: SecretString,
    outboxes: DashMap<Arc<str>, mpsc::Sender<News>>,
}

/// Something to be told.
pub(super) enum News {
    /// Added to a session.
    Added(Arc<str>, Arc<[Record]>),
    /// What came of a delivery.
    Receipt(Arc<str>, Receipted),
}

impl Colleagues {
    /// Nodes that have this secret.
    ///
    /// # Errors
    /// There is no client for HTTP, in words.
    pub(super) fn with(secret: SecretString) -> Result<Colleagues, String> {
        let client = client(false, true).tcp_nodelay(true).timeout(PATIENCE).build();
        let client = client.map_err(|error| error.to_string())?;
        Ok(Colleagues { client, secret, outboxes: DashMap::new() })
    }

    /// Whether this is the secret. How long it takes says nothing of that: hashes are compared.
    pub(super) fn is_secret(&self, text: &str) -> bool {
        Sha256::digest(self.secret.expose_secret()) == Sha256::digest(text)
    }

    /// Tells a node something, as soon as it can be told.
    pub(super) fn tell(&self, node: &Arc<str>, news: News) {
        let outbox = self.outboxes.entry(node.clone()).or_insert_with(|| {
            let (sender, receiver) = mpsc::channel(OUTBOX);
            let (client, secret, node) = (self.client.clone(), self.secret.clone(), node.clone());
            tasks::spawn(async move { empty(&client, &secret, &node, receiver).await });
            sender
        });
        // A node that takes nothing comes back and reads.
        let _ = outbox.try_send(news);
    }

    /// Has a node do something to a session that it has.
    ///
    /// # Errors
    /// It does not answer, in words.
    pub(super) async fn ask(&self, node: &str, session: &str, wanted: &RecordBody) -> Result<Receipted, String> {
        let body = serde_json::to_vec(&(session, wanted)).map_err(|error| error.to_string())?;
        let request = self.client.post(format!("{node}/nodes/do")).body(body);
        let request = request.header(NODE_HEADER, self.secret.expose_secret());
        let answer = async { request.send().await?.error_for_status()?.bytes().await };
        let bytes = answer.await.map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    }
}

/// Tells a node what comes, as much as has come at once.
async fn empty(client: &Client, secret: &SecretString, node: &str, mut outbox: mpsc::Receiver<News>) {
    let mut news = Vec::new();
    while outbox.recv_many(&mut news, 256).await > 0 {
        let mut told = Told::default();
        for news in news.drain(..) {
            match news {
                News::Added(session, records) => told.added.push((session, records.to_vec())),
                News::Receipt(delivery, receipt) => told.receipts.push((delivery, receipt)),
            }
        }
        let body = serde_json::to_vec(&told).unwrap_or_default();
        let request = client.post(format!("{node}/nodes/told")).header(NODE_HEADER, secret.expose_secret()).body(body);
        if let Err(error) = request.send().await.and_then(reqwest::Response::error_for_status) {
            tracing::debug!(node, %error, "a node could not be told");
        }
    }
}
