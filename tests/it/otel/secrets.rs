//! What is secret is in nothing that is sent.

use super::*;

/// A secret that a person says, and a reply sets, is in nothing that is sent either, once it is known for one.
#[test]
fn secrets_that_are_said_stay_at_home() {
    let text = concat!(
        "--- program\n---\nvariables:\n  - name: pin\n    type: str\n    secret: true\n---\n\n# Desk\n\n## Main\n",
        "### Triggers\n- At the beginning\n### Steps\n- Ask the user for $pin:str\n- Return 1\n\n",
        "--- script\n",
        r#"{"reply": "{\"at\":\"01\",\"say\":\"Your code?\"}\n{\"at\":\"01\",\"wait\":\"user\"}\n"}"#,
        "\n",
        r#"{"reply": "{\"at\":\"01\",\"set\":{\"pin\":\"hush-4711\"}}\n{\"at\":\"02\"}\n"}"#,
        "\n\n--- says\nIt is hush-4711\n\n--- capture\nmessages\n",
    );
    let (spans, records) = traced(Case::new(text), true, None);
    let journal: String = records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    assert!(journal.contains("hush-4711"), "the session knows it");
    let told = format!("{spans:?}");
    assert!(!told.contains("hush-4711"), "{told}");
    assert!(told.contains("It is ***") && told.contains("Your code?"), "{told}");
}

/// No byte of what is secret is in anything that is sent: neither what a variable holds, nor what a tool gives, nor a key.
#[test]
fn secrets_stay_at_home() {
    let text = include_str!("../../cases/otel/secret.txt");
    let (spans, records) = traced(Case::new(text), true, None);
    let secrets = Secrets::new();
    secrets.add("key-of-the-operator");
    let bytes = encode(&spans, None, &secrets);
    let journal: String = records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    for secret in ["hush-4711", "tan-2222", "key-of-the-operator"] {
        assert!(journal.contains(secret), "the session knows {secret}");
        let is_in = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!is_in(&bytes), "{secret}");
        assert!(!is_in(format!("{:?}", decoded(&bytes)).as_bytes()), "{secret}");
    }
    assert!(bytes.windows(10).any(|window| window == b"Your code:"), "messages are told");
}
