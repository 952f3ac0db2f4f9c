//! A model's answers to conditions (spec `plans.md`, sections 1.4 and 2.3).

use playhouse_lang::plan::json::Dialect;
use playhouse_lang::value::Value;

/// So many places at which an object could begin are tried in a text.
const MAX_TRIES: usize = 200;

/// Whether a condition holds; the error is what is wrong with the answer, as the model is told.
pub(super) fn read_condition(dialect: Dialect, reply: &str) -> Result<bool, String> {
    match dialect {
        Dialect::Jmp => object_answer(reply)
            .unwrap_or_else(|| Err(r#"the reply has no JSON object with "result" true or false"#.to_owned())),
        Dialect::Branch => {
            let word = reply.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '.'));
            word.to_ascii_lowercase().parse().or_else(|_| {
                object_answer(reply).unwrap_or_else(|| Err("the reply is neither true nor false".to_owned()))
            })
        }
    }
}

/// What the first object of a reply answers; none: there is no object.
fn object_answer(reply: &str) -> Option<Result<bool, String>> {
    let Some(Value::Map(members)) = first_object(reply) else { return None };
    Some(match members.get("result") {
        Some(Value::Bool(truth)) => Ok(*truth),
        Some(other) => Err(format!(r#""result" must be true or false, not {}"#, other.to_json())),
        None => Err(r#"the object has no "result""#.to_owned()),
    })
}

/// The first JSON object in a text, in a fence or among prose.
pub(super) fn first_object(text: &str) -> Option<Value> {
    text.match_indices('{').take(MAX_TRIES).find_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        values.next().and_then(Result::ok)
    })
}
