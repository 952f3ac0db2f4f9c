//! No byte of a secret is in a recording.

use std::fs;

use super::{entries, holds, live, server};
use crate::run::Run;

/// A secret argument, a secret result, and both given to a tool.
const VAULT: &str = "\
---
variables:
  token: {type: str, secret: true}
  pin: {type: str, secret: true}
---

# Vault

## Open

### Triggers

- At the beginning

### Steps

- $pin = LoadFile(\"pin.txt\")
- SaveFile(\"copy.txt\", $pin)
- SaveFile(\"token.txt\", $token)
- Tell the user that the vault is open
";

const TEST: &str = "\
# Vault

- program: program.md
- model: recorded
- argument token: hush-4711

## Says

> Open.

## Outcome

finished: null
";

const ANSWERS: [(&str, &str); 1] =
    [("PLAYBOOK Open", "{\"at\":\"04\",\"say\":\"Open.\"}\n{\"at\":\"04\",\"return\":null}\n")];

#[test]
fn secret_arguments_and_results_are_not_recorded() {
    let model = server(&ANSWERS);
    let run = Run::new().program(VAULT).file("vault.test.md", TEST).file("pin.txt", "secret-pin-2358");
    let run = run.variable("OPENAI_API_KEY", "sk-never-shown-1234");
    // The result is replayed by an argument of the test, which does not say so yet.
    let done = live(run, &model, "--record").code(1);
    let done = done.stdout_contains(
        "vault.test.md: recorded, but cannot be replayed yet: a result is secret and is not recorded; write `- argument \
         pin: VALUE` (any value of its type)\n",
    );
    let text = done.read("vault.cassette.jsonl");
    for secret in ["hush-4711", "secret-pin", "2358", "sk-never-shown"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let calls = entries(&text, "call");
    assert_eq!(calls[0]["secret"], "pin");
    assert_eq!(calls[1]["args"].to_string(), r#"{"path":"copy.txt","text":"***"}"#);
    assert_eq!(calls[2]["args"].to_string(), r#"{"path":"token.txt","text":"***"}"#);
    let without = done.then().line("test").code(1);
    let without = without.stdout_contains(
        "vault.test.md: the result of LoadFile is secret, and not in the recording; give one to replay with: `- argument \
         pin: VALUE` (any value of its type)\n",
    );
    // Any value will do, on any machine: no prompt shows it.
    let given = TEST.replace("hush-4711", "another\n- argument pin: 0000");
    fs::write(without.path("vault.test.md"), given).unwrap();
    for name in ["pin.txt", "copy.txt", "token.txt"] {
        fs::remove_file(without.path(name)).unwrap();
    }
    let done = live(without.then().line(""), &model, "--record").code(0);
    let done = done.stdout_contains("0 of 1 requests and 0 of 3 calls\n");
    drop(model);
    let done = done.then().line("test").code(0);
    // Nothing else was written anywhere.
    for secret in ["hush-4711", "secret-pin", "sk-never-shown"] {
        assert!(!holds(done.folder(), secret), "{secret}");
    }
}

#[test]
fn an_argument_of_the_program_cannot_become_one_of_the_recording() {
    let model = server(&ANSWERS);
    let test = TEST.replace("hush-4711", "hush-4711\n- argument pin: 0000");
    let run = Run::new().program(VAULT).file("vault.test.md", &test).file("pin.txt", "secret-pin-2358");
    let done = live(run, &model, "--record").code(1);
    let done = done.stdout_contains("vault.test.md: the test gives the argument `pin`, which will stand for a secret");
    assert!(!done.path("vault.cassette.jsonl").exists());
}

/// What a person says is in the test, and in what the model replies.
#[test]
fn a_secret_that_the_user_tells_is_not_written() {
    let program = "---\nvariables:\n  pin: {type: str, secret: true}\n---\n\n# A\n\n## Ask\n\n### Triggers\n\n\
                   - At the beginning\n\n### Steps\n\n- Ask the user for $pin\n- Say \"Thank you.\"\n";
    let test =
        "# Told\n\n- program: program.md\n- model: recorded\n\n## User\n\n> it is 77-2358\n\n## Says\n\n> Thank you.\n";
    let model = server(&[
        ("USER", "{\"at\":\"01\",\"set\":{\"pin\":\"77-2358\"}}\n"),
        ("PLAYBOOK", "{\"at\":\"01\",\"wait\":\"user\"}\n"),
    ]);
    let run = Run::new().program(program).file("told.test.md", test);
    let done = live(run, &model, "--record").code(1);
    let done = done.stdout_contains(
        "told.test.md: the recording would hold a secret (Ask:01), as a user's line, a reply or a tool tells it; give it a \
         stand-in, as in `[record] redact = [\"/REGEX/\"]` of playhouse.toml; nothing was written\n",
    );
    assert!(!done.path("told.cassette.jsonl").exists());
    let toml = "[record]\nredact = [\"/\\\\d\\\\d-\\\\d{4}/\"]\n";
    let done = live(done.then().file("playhouse.toml", toml), &model, "--record").code(0);
    assert!(!done.read("told.cassette.jsonl").contains("77-2358"));
    assert!(done.read("told.test.md").contains("> it is 00-0001\n"), "{}", done.read("told.test.md"));
    drop(model);
    done.then().line("test").code(0);
}
