//! Responses as values of the language.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use playhouse_lang::value::{Map, Value};
use reqwest::header::{CONTENT_TYPE, HeaderMap, SET_COOKIE};

/// The headers by their names in lower case; those that come several times are joined as RFC 9110 has it.
pub(super) fn headers(headers: &HeaderMap) -> Value {
    let mut shown = Map::new();
    for name in headers.keys() {
        // There are no cookies, and what a server sets is a key to it.
        if name == SET_COOKIE {
            continue;
        }
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        shown.insert(name.as_str().into(), Value::from(values.collect::<Vec<_>>().join(", ")));
    }
    Value::map(shown)
}

/// The body: a value if its type is JSON and it is, else text if it is text in the declared character set, else its
/// bytes in base64.
pub(super) fn body(headers: &HeaderMap, bytes: Vec<u8>) -> Value {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mime_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some(text) = text(content_type, &bytes) else {
        let members = [("base64", BASE64_STANDARD.encode(&bytes)), ("mime_type", mime_type)];
        return Value::map(members.map(|(name, text)| (name.into(), Value::from(text))).into_iter().collect());
    };
    if mime_type == "application/json" || mime_type == "text/json" || mime_type.ends_with("+json") {
        // What only claims to be JSON is text.
        if let Ok(value) = Value::from_json(&text) {
            return value;
        }
    }
    Value::from(text)
}

fn text(content_type: &str, bytes: &[u8]) -> Option<String> {
    let charset = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    let encoding = charset.map_or(Some(encoding_rs::UTF_8), |label| encoding_rs::Encoding::for_label(label.as_bytes()));
    let (text, _, has_errors) = encoding?.decode(bytes);
    (!has_errors).then(|| text.into_owned())
}
