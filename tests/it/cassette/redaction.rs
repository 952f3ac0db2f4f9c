//! `[record] redact`: people's values have stand-ins, and the test still passes.

use playhouse::host::cassette::redact::{Redaction, Rule, Texts};
use playhouse::value::Value;

use super::{entries, live, server};
use crate::run::Run;

const SIGN_UP: &str = "\
# Club

## Join

### Triggers

- At the beginning

### Steps

- Ask the user for $email
- $member = LoadFile(\"member.json\")
- If $email is ann.miller@example.net, tell the user that she is known
- Tell the user the number of $member; questions to club@example.net

## Mail

### Triggers

- When the user provides an email address

### Steps

- Say \"I have got your address.\"
- Return nothing
";

const TEST: &str = "\
# Ann joins

- program: program.md
- model: recorded
- setting classifier: rules

## User

> Ann.Miller@web.example, or +49 170 5551234

## Says

> I have got your address.

> You are NF123456, Ann.Miller@web.example. Write to club@example.net.

## Calls

- LoadFile(path: \"member.json\") -> \"{\\\"id\\\":\\\"NF123456\\\",\\\"mail\\\":\\\"Ann.Miller@web.example\\\"}\"
";

fn club(redact: &str) -> Run {
    let member = "{\"id\":\"NF123456\",\"mail\":\"Ann.Miller@web.example\"}";
    let toml = format!("[record]\nredact = {redact}\n");
    Run::new().program(SIGN_UP).file("join.test.md", TEST).file("member.json", member).file("playhouse.toml", &toml)
}

const ANSWERS: [(&str, &str); 3] = [
    ("MEANWHILE", "{\"at\":\"01\",\"set\":{\"email\":\"Ann.Miller@web.example\"}}\n"),
    ("PLAYBOOK Join", "{\"at\":\"01\",\"wait\":\"user\"}\n"),
    (
        "GO ON FROM",
        "{\"at\":\"04\",\"say\":\"You are NF123456, {$email}. Write to club@example.net.\"}\n{\"at\":\"04\",\"return\":null}\n",
    ),
];

#[test]
fn values_have_stand_ins_in_the_recording_and_in_the_test() {
    let model = server(&ANSWERS);
    let done = live(club(r#"["email", "phone", "/NF\\d{6}/"]"#), &model, "--record");
    assert_eq!(done.code, Some(0), "{}", done.stdout);
    let done = done.stdout_contains("  1 value is in the program's own text, so it is not redacted\n");
    let (text, test) = (done.read("join.cassette.jsonl"), done.read("join.test.md"));
    for value in ["Ann.Miller", "web.example", "5551234", "NF123456"] {
        assert!(!text.contains(value) && !test.contains(value), "{value}: {text}\n{test}");
    }
    assert!(test.contains("> p1@example.org, or +00 000 0000001\n"), "{test}");
    assert!(test.contains("> You are NF000001, p1@example.org. Write to club@example.net.\n"), "{test}");
    // What the program says of itself is public.
    assert!(text.contains("club@example.net"));
    assert_eq!(super::lines(&text)[0]["stand_ins"].to_string(), r#"["p1@example.org","+00 000 0000001","NF000001"]"#);
    let results = entries(&text, "call");
    assert_eq!(results[0]["result"], "{\"id\":\"NF000001\",\"mail\":\"p1@example.org\"}");
    drop(model);
    let done = done.then().line("test").code(0);
    // What is redacted stays as it is when more is recorded.
    let model = server(&ANSWERS.map(|(when, _)| (when, "")));
    let again = live(done.then(), &model, "--record").code(0);
    let again = again.stdout_contains("0 of 3 requests and 0 of 1 calls\n");
    assert_eq!((again.read("join.cassette.jsonl"), again.read("join.test.md")), (text, test));
}

#[test]
fn without_rules_nothing_is_changed() {
    let model = server(&ANSWERS);
    let done = live(club("[]"), &model, "--record").code(0);
    assert_eq!(done.read("join.test.md"), TEST);
    assert!(done.read("join.cassette.jsonl").contains("Ann.Miller@web.example"));
}

#[test]
fn what_live_tools_say_can_have_no_stand_ins() {
    let model = server(&ANSWERS);
    let test = TEST.replace("- model", "- tools: live\n- model");
    let done = live(club(r#"["email"]"#).file("join.test.md", &test), &model, "--record").code(1);
    done.stdout_contains("the answers of live tools cannot be redacted; remove `redact` from playhouse.toml");
}

fn redaction(rules: &[&str], told: &str) -> Result<Redaction, String> {
    let rules: Vec<Rule> = rules.iter().map(|rule| Rule::read(rule).unwrap()).collect();
    Redaction::of(&rules, &Texts { told: vec![told], results: Vec::new(), public: "", stand_ins: &[] })
}

#[track_caller]
fn check(rules: &[&str], text: &str, expected: &str) {
    let redacted = redaction(rules, text).unwrap().apply(text);
    assert_eq!(redacted, expected);
    // A stand-in is of the kind that it stands for: as many values are found, and the same are equal.
    let again = redaction(rules, &redacted).unwrap();
    assert_eq!(again.stand_ins().count(), redaction(rules, text).unwrap().stand_ins().count(), "{redacted}");
}

#[test]
fn equal_values_stay_equal_and_keep_their_shape() {
    check(&["email"], "a@x.org, b@x.org and a@x.org", "p1@example.org, p2@example.org and p1@example.org");
    check(&["email"], "ann at web dot example", "p1 at example dot org");
    check(&["email"], "not ann@x.org!", "not p1@example.org!");
    check(&["phone"], "(0170) 555-12-34 or +49 30 901820", "(0000) 000-00-01 or +00 00 000001");
    check(&["phone"], "nine two two, three three four four", "zero zero zero zero zero zero one");
    check(&["number"], "order 4334, not 4335, on page 12", "order 1001, not 1002, on page 12");
    check(&["number"], "{\"id\":4334,\"of\":\"4334\"}", "{\"id\":1001,\"of\":\"1001\"}");
    check(&["/[A-Z][a-z]+ [A-Z][a-z]+/"], "met Ann Miller, Bob Miller", "met Aaa Aaaaab, Aaa Aaaaac");
}

#[test]
fn values_are_found_in_json_and_replaced_as_they_are_escaped() {
    let text = "{\"say\":\"M\\u00fcller\"} Müller";
    let redacted = redaction(&["/M[uü]ller/"], text);
    // None of its letters can be another one.
    assert!(redacted.unwrap_err().contains("`redact` finds no stand-in for a value of `/M[uü]ller/`"));
    let redaction = redaction(&["/\\p{Lu}\\p{Ll}+/"], text).unwrap();
    assert_eq!(redaction.apply(text), "{\"say\":\"Aaaaab\"} Aaaaab");
    let value = Value::from_json("{\"name\":\"Müller\",\"n\":3}").unwrap();
    assert_eq!(redaction.apply_value(&value).to_json(), "{\"name\":\"Aaaaab\",\"n\":3}");
}

#[test]
fn rules_are_named_or_written_and_mistakes_are_told() {
    let wrong = |rule: &str| Rule::read(rule).unwrap_err();
    assert_eq!(wrong("emial"), "there is no pattern `emial`; did you mean `email`?");
    assert_eq!(wrong("colour"), "there is no pattern `colour`; write email, number, phone, or `/REGEX/`");
    assert!(wrong("/(/").starts_with("`/(/` is not a regular expression: "));
}
