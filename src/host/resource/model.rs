//! A named model as a resource, and the LLM contract on it (spec `components.md`, 4.6): the command `generate` of the
//! built-in component `playhouse.llm`.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;

use crate::host::llm::Llm;
use crate::host::llm::answer::{Retries, ask, request};
use crate::host::resource::prices::PriceTable;
use crate::host::resource::{Label, Resource, ResourceError};
use crate::value::{Map, Value};

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

    /// Asks the model. Parameters: `prompt`, and where wanted `max_tokens`, `temperature`, `require_token_len` and
    /// `require_cost`; others are for other models and left alone. The result has `content`, and of
    /// `input_token_len`, `output_token_len` and `cost` what was asked for and is known.
    ///
    /// # Errors
    /// In words for the program's model: there is no prompt, a parameter is of the wrong type, or the model gave no
    /// answer.
    pub async fn generate(&self, parameters: &Map, prices: &PriceTable) -> Result<Value, Arc<str>> {
        let question = Question::read(parameters)?;
        let llm = self.llm().ok_or("the model is not in use yet, or not any more")?;
        let llm = if question.options == ModelOptions::default() {
            llm.clone()
        } else {
            (self.make)(&question.options).map_err(Arc::<str>::from)?
        };
        let (content, usage) = ask(&*llm, request(question.prompt), Retries::default()).await?;
        let mut response = Map::new();
        response.insert("content".into(), Value::from(content));
        if let Some(usage) = usage {
            if question.wants_lengths {
                response.insert("input_token_len".into(), length(usage.prompt_tokens));
                response.insert("output_token_len".into(), length(usage.completion_tokens));
            }
            if let Some(cost) = prices.cost(&llm.id(), &usage).filter(|_| question.wants_cost) {
                response.insert("cost".into(), Value::Float(cost));
            }
        }
        Ok(Value::map(response))
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
                .map_err(|cause| ResourceError::new(cause, "name another model, or mend its configuration"))?;
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

struct Question<'a> {
    prompt: &'a str,
    options: ModelOptions,
    wants_lengths: bool,
    wants_cost: bool,
}

impl<'a> Question<'a> {
    fn read(parameters: &'a Map) -> Result<Question<'a>, Arc<str>> {
        let given = |name: &str| parameters.get(name).filter(|value| **value != Value::Null);
        let wrong = |name: &str, wanted: &str, value: &Value| {
            Arc::from(format!("`{name}` must be {wanted}, not {}", value.kind()))
        };
        let prompt = match given("prompt") {
            Some(Value::Str(prompt)) => &**prompt,
            Some(other) => return Err(wrong("prompt", "str", other)),
            None => return Err("`prompt` is missing, and this model knows nothing else to answer".into()),
        };
        let max_tokens = match given("max_tokens") {
            Some(Value::Int(n)) if *n > 0 => Some(n.unsigned_abs()),
            Some(Value::Int(_)) => return Err("`max_tokens` must be 1 or more".into()),
            Some(other) => return Err(wrong("max_tokens", "int", other)),
            None => None,
        };
        #[allow(clippy::cast_precision_loss, reason = "temperatures are small")]
        let temperature = match given("temperature") {
            Some(Value::Float(temperature)) => Some(*temperature),
            Some(Value::Int(temperature)) => Some(*temperature as f64),
            Some(other) => return Err(wrong("temperature", "float", other)),
            None => None,
        };
        let truth = |name: &str| match given(name) {
            Some(Value::Bool(truth)) => Ok(*truth),
            Some(other) => Err(wrong(name, "bool", other)),
            None => Ok(false),
        };
        Ok(Question {
            prompt,
            options: ModelOptions { max_tokens, temperature },
            wants_lengths: truth("require_token_len")?,
            wants_cost: truth("require_cost")?,
        })
    }
}

fn length(n_tokens: u64) -> Value {
    Value::Int(i64::try_from(n_tokens).unwrap_or(i64::MAX))
}
