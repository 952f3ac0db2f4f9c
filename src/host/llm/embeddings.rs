//! Vectors of texts, from the same servers as replies: `/embeddings`.

use serde::Deserialize;
use serde_json::json;

use crate::llm::openai::{OpenAi, OpenAiConfig, OpenAiConfigError};

/// Texts that are sent together at most.
pub const MAX_TEXTS: usize = 64;

/// A model that makes vectors of texts.
#[derive(Debug)]
pub struct Embedder {
    model: OpenAi,
}

/// What a server answers.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f32>,
}

impl Embedder {
    /// Checks a configuration; of what is sent with a reply's request only the model, the key and the headers count.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn new(config: OpenAiConfig) -> Result<Embedder, OpenAiConfigError> {
        Ok(Embedder { model: OpenAi::new(config)? })
    }

    /// The vectors of up to [`MAX_TEXTS`] texts, in their order.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or answers something else; in words that name the next step.
    pub async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, String> {
        let body = json!({"model": self.model.name(), "input": texts, "encoding_format": "float"});
        let bytes = self.model.post("embeddings", &body).await?;
        let wrong = |cause: String| {
            format!(
                "{} returns no vectors: {cause}; name a server with `/embeddings`, and a model that makes them",
                self.model.url()
            )
        };
        let Answer { mut data } = serde_json::from_slice(&bytes).map_err(|cause| wrong(cause.to_string()))?;
        data.sort_by_key(|one| one.index);
        let is_whole = data.len() == texts.len() && data.iter().enumerate().all(|(index, one)| one.index == index);
        if !is_whole || data.iter().any(|one| one.embedding.is_empty()) {
            return Err(wrong(format!("{} of them for {} texts", data.len(), texts.len())));
        }
        Ok(data.into_iter().map(|one| one.embedding).collect())
    }
}
