//! What nobody may see.

use playhouse::host::secrets::Secrets;

use super::json;

fn secrets(all: &[&str]) -> Secrets {
    let secrets = Secrets::new();
    for secret in all {
        assert!(secrets.add(secret), "{secret}");
    }
    secrets
}

#[test]
fn texts_lose_them_wherever_they_stand() {
    let secrets = secrets(&["hunter22", "tr0ub4dor", "22tr0"]);
    for (text, masked) in [
        ("nothing", "nothing"),
        ("hunter22", "***"),
        ("a hunter22, b hunter22hunter22", "a ***, b ******"),
        ("tr0ub4dor=hunter22;", "***=***;"),
        // Secrets that overlap leave no half of one.
        ("hunter22tr0ub4dor!", "***!"),
        ("hunter2", "hunter2"),
        ("ähunter22ö", "ä***ö"),
    ] {
        assert_eq!(secrets.mask(text), masked, "{text}");
    }
}

#[test]
fn values_lose_them_in_texts_keys_and_numbers() {
    let secrets = secrets(&["hunter22", "41417"]);
    let value =
        json(r#"{"hunter22": 1, "list": ["x hunter22 y", 41417, 2.41417, 4141], "deep": {"a": {"b": "41417"}}}"#);
    let masked = json(r#"{"***": 1, "list": ["x *** y", "***", "2.***", 4141], "deep": {"a": {"b": "***"}}}"#);
    assert_eq!(secrets.mask_value(value), masked);
}

#[test]
fn they_are_found_inside_of_json() {
    let secrets = secrets(&["pa\"ss\nwörd"]);
    for text in [r#"{"p": "pa\"ss\nwörd"}"#, r#"{"p": "pa\"ss\nw\u00f6rd"}"#] {
        assert_eq!(secrets.mask(text), r#"{"p": "***"}"#);
    }
}

#[test]
fn lines_of_a_long_one_are_masked_one_by_one() {
    let secrets = secrets(&["-----BEGIN-----\nMIIBVgIBADANBg\nx\n"]);
    assert_eq!(secrets.mask("stderr: MIIBVgIBADANBg"), "stderr: ***");
    assert_eq!(secrets.mask("x"), "x");
}

#[test]
fn short_ones_are_not_taken() {
    let secrets = Secrets::new();
    for short in ["", "abc", "äöü", "****"] {
        assert!(!secrets.add(short), "{short}");
    }
    assert!(secrets.is_empty());
    assert_eq!(secrets.mask("abc"), "abc");
    assert!(secrets.add("abcd"));
    assert!(!secrets.is_empty());
    assert!(!format!("{secrets:?}").contains("abcd"));
}
