//! A named model as a resource, and the LLM contract on it (spec `components.md`, 4.6): the command `generate` of the
//! built-in component `playhouse.llm`.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;

use crate::component::llm::{LlmParameter, LlmResponse};
use crate::llm::Llm;
use crate::llm::answer::{Retries, ask, request};
use crate::resource::prices::PriceTable;
use crate::resource::{Label, Resource, ResourceError};

/// What a caller may say of a reply beside the prompt. What is not set is as the model is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelOptions {
    /// The longest reply, in tokens.
    pub max_tokens: Option<u64>,
    /// The temperature.
    pub temperature: Option<f64>,
}

/// Makes a model with these options, or says why it cannot be reached and what to do.
pub type MakeModel = Box<dyn Fn(&ModelOptions) -> Result<Arc<dyn Llm>, String> + Send + Sync>;

/// A model that plugins and components can ask.
pub struct Model {
    label: Label,
    make: MakeModel,
    /// The model as it is configured, once it has been acquired.
    llm: OnceLock<Arc<dyn Llm>>,
}

impl Model {
    /// The model that `make` makes.
    pub fn new(label: Label, make: MakeModel) -> Model {
        Model { label, make, llm: OnceLock::new() }
    }

    /// The model as it is configured, if it has been acquired.
    pub fn llm(&self) -> Option<&Arc<dyn Llm>> {
        self.llm.get()
    }

    /// Asks the model. What was asked for beside the content is in the response as far as it is known.
    ///
    /// # Errors
    /// In words for the program's model: there is no prompt, or the model gave no answer.
    pub async fn generate(&self, parameter: &LlmParameter, prices: &PriceTable) -> Result<LlmResponse, Arc<str>> {
        let prompt = parameter.prompt.as_deref();
        let prompt = prompt.ok_or("`prompt` is missing; this model answers nothing else")?;
        let options = ModelOptions { max_tokens: parameter.max_tokens, temperature: parameter.temperature };
        let llm = self.llm().ok_or("the model is not ready yet, or no longer in use")?;
        let llm = if options == ModelOptions::default() {
            llm.clone()
        } else {
            (self.make)(&options).map_err(Arc::<str>::from)?
        };
        let (content, usage) = ask(&*llm, request(prompt), Retries::default()).await?;
        let usage_if = |is_wanted: bool| usage.filter(|_| is_wanted);
        Ok(LlmResponse {
            content,
            input_token_len: usage_if(parameter.require_token_len).map(|usage| usage.prompt_tokens),
            output_token_len: usage_if(parameter.require_token_len).map(|usage| usage.completion_tokens),
            cost: usage_if(parameter.require_cost).and_then(|usage| prices.cost(&llm.id(), &usage)),
            rest: serde_json::Map::new(),
        })
    }
}

impl Resource for Model {
    fn kind(&self) -> &str {
        "model"
    }

    fn label(&self) -> &Label {
        &self.label
    }

    fn acquire(&self) -> BoxFuture<'_, Result<(), ResourceError>> {
        Box::pin(async {
            let llm = (self.make)(&ModelOptions::default())
                .map_err(|cause| ResourceError::new(cause, "name another model, or correct its configuration"))?;
            // A second acquisition would find the same model.
            let _ = self.llm.set(llm);
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        // Connections close with the last handle; there is nothing to wait for.
        Box::pin(std::future::ready(()))
    }
}
