//! Models as resources: prices, options, the LLM contract.

use std::sync::{Arc, Mutex};

use playhouse::host::component::llm::LlmParameter;
use playhouse::host::llm::{Llm, LlmRequest, ReplyPart, ReplyStream};
use playhouse::host::resource::model::{Model, ModelOptions};
use playhouse::host::resource::prices::{Price, PriceTable};
use playhouse::host::resource::{Label, Resource};
use playhouse::value::Value;
use playhouse::vm::protocol::{Finish, ReplyEnd, Usage};
use serde_json::json;

use crate::resource::{json as value, map};

const USAGE: Usage = Usage { prompt_tokens: 1_000_000, cached_tokens: 400_000, completion_tokens: 500_000 };

fn table() -> PriceTable {
    let price = |prompt, cached, completion| Price { prompt, cached, completion };
    let rows = [
        ("gpt-5", price(1.25, None, 10.0)),
        ("gpt-5-mini", price(0.25, Some(0.025), 2.0)),
        ("openai:gpt-5-nano", price(0.05, Some(0.005), 0.4)),
    ];
    PriceTable::new(rows.map(|(model, price)| (model.into(), price)).to_vec()).unwrap()
}

#[test]
fn prices_are_found_by_the_id_and_by_its_beginning() {
    let prompt = |model: &str| table().of(model).map(|price| price.prompt);
    assert_eq!(prompt("gpt-5-mini"), Some(0.25));
    assert_eq!(prompt("openai:gpt-5-mini"), Some(0.25));
    assert_eq!(prompt("openai:gpt-5-mini-2026"), Some(0.25), "the longest beginning");
    assert_eq!(prompt("gpt-5.2"), Some(1.25));
    assert_eq!(prompt("openai:gpt-5-nano"), Some(0.05));
    assert_eq!(prompt("gpt-4"), None);
    // 0.6 million at 0.25, 0.4 at 0.025, 0.5 at 2.
    assert_eq!(table().cost("gpt-5-mini", &USAGE), Some(0.15 + 0.01 + 1.0));
    assert_eq!(table().cost("gpt-5", &USAGE), Some(0.75 + 0.5 + 5.0), "no price of cached tokens");
    assert_eq!(table().cost("other", &USAGE), None);
    let too_many = Usage { cached_tokens: 2_000_000, ..USAGE };
    assert_eq!(table().cost("gpt-5-mini", &too_many), Some(0.025 + 1.0));
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        let price = Price { prompt: 1.0, cached: Some(wrong), completion: 1.0 };
        let error = PriceTable::new(vec![("m".into(), price)]).unwrap_err().to_string();
        assert!(error.starts_with("the price `cached` of `m` is "), "{error}");
    }
}

/// Answers with what it was asked.
struct Echo;

impl Llm for Echo {
    fn id(&self) -> Arc<str> {
        "openai:gpt-5-mini".into()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        let text = format!("<think>hm</think>{}", request.messages[0].text);
        let end = ReplyPart::End { end: ReplyEnd::Complete(Finish::Stop), usage: Some(USAGE) };
        Box::pin(tokio_stream::iter([ReplyPart::Bytes(text.into_bytes()), end]))
    }
}

#[tokio::test]
async fn the_contract_is_honoured() {
    let made = Arc::new(Mutex::new(Vec::new()));
    let log = made.clone();
    let make = move |options: &ModelOptions| {
        log.lock().unwrap().push(*options);
        Ok(Arc::new(Echo) as Arc<dyn Llm>)
    };
    let model = Model::new(Label::named("fast"), Box::new(make));
    let hi = LlmParameter { prompt: Some("hi".to_owned()), ..LlmParameter::default() };
    let not_yet = model.generate(&hi, &table()).await.unwrap_err();
    assert_eq!(&*not_yet, "the model is not ready yet, or no longer in use");
    model.acquire().await.unwrap();
    let ask = async |parameters| {
        let parameter = LlmParameter::read(&map(parameters))?;
        let response = model.generate(&parameter, &table()).await.map_err(|error| error.to_string())?;
        Ok(value(serde_json::to_value(response).unwrap()))
    };
    assert_eq!(ask(json!({"prompt": "hi"})).await, Ok(value(json!({"content": "hi"}))));
    assert_eq!(made.lock().unwrap().len(), 1, "one object, shared");
    let all = json!({"prompt": "hi", "max_tokens": 5, "temperature": 0, "require_token_len": true,
        "require_cost": true, "something": "else"});
    let expected = json!({"content": "hi", "input_token_len": 1_000_000, "output_token_len": 500_000, "cost": 1.16});
    assert_eq!(ask(all).await, Ok(value(expected)));
    let options = ModelOptions { max_tokens: Some(5), temperature: Some(0.0) };
    assert_eq!(made.lock().unwrap()[1..], [options]);
    let wrong = [
        (json!({}), "`prompt` is missing; this model answers nothing else"),
        (json!({"prompt": 5}), "`prompt` must be str, not int"),
        (json!({"prompt": "hi", "max_tokens": 0}), "`max_tokens` must be 1 or more"),
        (json!({"prompt": "hi", "max_tokens": "5"}), "`max_tokens` must be int, not str"),
        (json!({"prompt": "hi", "require_cost": 1}), "`require_cost` must be bool, not int"),
    ];
    for (parameters, expected) in wrong {
        assert_eq!(ask(parameters).await, Err(expected.to_owned()));
    }
    assert!(!matches!(ask(json!({"prompt": "hi", "temperature": null})).await, Err(_) | Ok(Value::Null)));
}

#[tokio::test]
async fn a_model_that_cannot_be_made_is_told() {
    let make = |_: &ModelOptions| Err("there is no model `openai:`".to_owned());
    let model = Model::new(Label::named("fast"), Box::new(make));
    let error = model.acquire().await.unwrap_err().to_string();
    assert_eq!(error, "there is no model `openai:`; name another model, or correct its configuration");
}
