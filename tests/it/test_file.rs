//! The format of scripted conversations (`docs/testing.md`): what is read, what is refused and in which words,
//! and that the canonical text comes back.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use playhouse::lang::files::test_file::{
    Chunks, ExpectedCall, ExpectedOutcome, ExpectedResult, ScriptedReply, Stretch, TestFile, TestModel, TestStepKind,
    comparable,
};
use playhouse::span::Sources;
use playhouse::value::{Map, Value};

pub(crate) const TOP: &str = "# Title\n\n- program: a.md\n";

/// Reads a text that has nothing wrong with it.
pub(crate) fn read(text: &str) -> TestFile {
    let mut sources = Sources::default();
    let file = sources.add("a.test.md", text);
    TestFile::parse(file, text).unwrap_or_else(|_| panic!("{}", findings(text)))
}

/// What is found, as `file:line:column: cause` with the next step and other places below it.
fn findings(text: &str) -> String {
    let mut sources = Sources::default();
    let file = sources.add("a.test.md", text);
    let mut out = String::new();
    for finding in TestFile::parse(file, text).err().unwrap_or_default() {
        assert!(sources.text(finding.span).len() == finding.span.range().len(), "a span outside the text");
        writeln!(out, "{}: {} [{}]", sources.place(finding.span), finding.message, finding.code).unwrap();
        for note in &finding.notes {
            let place = note.span.map_or(String::new(), |span| format!("{}: ", sources.place(span)));
            writeln!(out, "  {place}{}", note.message).unwrap();
        }
    }
    out
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(findings(text).trim_end(), expected.trim());
}

/// `check` of a conversation below a good top of four lines.
#[track_caller]
pub(crate) fn check_steps(steps: &str, expected: &str) {
    check(&format!("{TOP}\n{steps}"), expected);
}

fn map(members: &[(&str, Value)]) -> Map {
    members.iter().map(|(name, value)| ((*name).into(), value.clone())).collect()
}

const EVERYTHING: &str = r##"# Everything

What this is about.

A second paragraph.

- program: order.md
- tools: order.tools.json
- playbook: Status
- now: 2023-12-05T10:30:00-08:00
- argument name: Mina
- argument count: 3
- setting max_repairs: 1

## Model

- when: ^PLAYBOOK
- when any: order
- chunks: 3, 5

```jsonl
{"at":"01","say":"Which order?"}
## not a heading
```

## Model

- error: 429

## Model

- chunks: bytes
- error: drop

````jsonl
```json
{"say":"cut
```
````

## Says

> Which order?
>
> Two lines.

> Another utterance.

## Calls

(nothing)

## User

> The blue one.
> Please.

## Model

```jsonl
```

## Says

(nothing)

## Calls

- GetOrder(id: "a, (b) \" }", deep: {"x":[1,2.5]})
- GetOrder() -> {"state":"sent"}
- Plugin.fail(flag: true) !! no such order

## Variables

- $order = {"state":"sent"}
- $ticket is not set

## Outcome

failed: limit: too many
"##;

#[test]
fn every_part_is_read_and_written_back_as_it_was() {
    let file = read(EVERYTHING);
    assert_eq!(file.render(), EVERYTHING);
    assert_eq!(file.title, "Everything");
    assert_eq!(file.description, "What this is about.\n\nA second paragraph.");
    assert_eq!((&*file.program, file.tools.as_deref()), ("order.md", Some("order.tools.json")));
    assert_eq!(file.playbook.as_deref(), Some("Status"));
    assert_eq!(file.now.as_deref(), Some("2023-12-05T10:30:00-08:00"));
    assert_eq!(file.arguments, map(&[("name", "Mina".into()), ("count", Value::Int(3))]));
    assert_eq!(file.settings, map(&[("max_repairs", Value::Int(1))]));
    assert_eq!(file.steps[0].line, 15);
    assert_eq!(
        file.steps[0].kind,
        TestStepKind::Reply(ScriptedReply {
            text: "{\"at\":\"01\",\"say\":\"Which order?\"}\n## not a heading".to_owned(),
            when: Some("^PLAYBOOK".to_owned()),
            when_any: Some("order".to_owned()),
            chunks: Some(Chunks::Sizes(vec![3, 5])),
            error: None,
        })
    );
    let failing = ScriptedReply { error: Some("429".to_owned()), ..ScriptedReply::default() };
    assert_eq!(file.steps[1].kind, TestStepKind::Reply(failing));
    let speech = ["Which order?\n\nTwo lines.".to_owned(), "Another utterance.".to_owned()];
    assert_eq!(file.steps[3].kind, TestStepKind::ExpectSay(speech.to_vec()));
    assert_eq!(file.steps[5].kind, TestStepKind::User("The blue one.\nPlease.".to_owned()));
    let error = ExpectedResult::Error("no such order".to_owned());
    let TestStepKind::ExpectCalls(calls) = &file.steps[8].kind else { panic!("not calls") };
    assert_eq!(calls[0].arguments["id"], Value::str("a, (b) \" }"));
    assert_eq!(calls[0].arguments["deep"].to_json(), r#"{"x":[1,2.5]}"#);
    assert_eq!(calls[2], call("Plugin.fail", &[("flag", true.into())], Some(error)));
    let TestStepKind::ExpectVariables(variables) = &file.steps[9].kind else { panic!("not variables") };
    assert_eq!(variables[1], ("ticket".to_owned(), None));
    assert_eq!(file.stretches(), [0..5, 5..11]);
}

fn call(name: &str, arguments: &[(&str, Value)], result: Option<ExpectedResult>) -> ExpectedCall {
    ExpectedCall { name: name.to_owned(), arguments: map(arguments), result }
}

#[test]
fn line_ends_of_other_systems_and_missing_last_ones_are_read_alike() {
    let read_without_lines = |text: &str| read(text).render();
    assert_eq!(read_without_lines(&EVERYTHING.replace('\n', "\r\n")), EVERYTHING);
    assert_eq!(read_without_lines(EVERYTHING.trim_end()), EVERYTHING);
}

#[test]
fn outcomes() {
    let outcome = |line: &str| {
        let file = read(&format!("{TOP}\n## Outcome\n\n{line}\n"));
        assert!(file.render().ends_with(&format!("\n{line}\n")));
        let TestStepKind::ExpectOutcome(outcome) = &file.steps[0].kind else { panic!("not an outcome") };
        outcome.clone()
    };
    let failed = |message: Option<&str>| ExpectedOutcome::Failed {
        kind: "model".to_owned(),
        message: message.map(str::to_owned),
    };
    assert_eq!(outcome("waits for the user"), ExpectedOutcome::Waits);
    assert_eq!(outcome("finished"), ExpectedOutcome::Finished { value: None });
    assert_eq!(outcome("finished: [1]"), ExpectedOutcome::Finished { value: Some(Value::list(vec![1.into()])) });
    assert_eq!(outcome("failed: model"), failed(None));
    let refused = |message: Option<&str>| ExpectedOutcome::Refused { message: message.map(str::to_owned) };
    assert_eq!(outcome("refused"), refused(None));
    assert_eq!(outcome("refused: no such: name"), refused(Some("no such: name")));
    assert!(refused(Some("name")).covers(&refused(Some("no such name\nanywhere"))));
    assert!(!refused(Some("name")).covers(&refused(Some("no"))) && !refused(None).covers(&failed(None)));
    assert_eq!(outcome("failed: model: no key: set one"), failed(Some("no key: set one")));
    assert!(failed(Some("no key")).covers(&failed(Some("there is no key"))));
    assert!(!failed(Some("no key")).covers(&failed(Some("time-out"))));
    assert!(ExpectedOutcome::Finished { value: None }.covers(&ExpectedOutcome::Finished { value: Some(Value::Null) }));
    assert!(!ExpectedOutcome::Waits.covers(&ExpectedOutcome::Finished { value: None }));
}

#[test]
fn errors_of_the_top() {
    check(
        "",
        "a.test.md:1:1: the file has no title [no-title]
  begin it with `# ` and a title
a.test.md:1:1: the file does not name its program [no-program]
  add `- program: FILE.md` below the title",
    );
    check(
        TOP,
        "a.test.md:3:1: the file has no conversation [no-steps]
  begin with `## Model` and what it replies",
    );
    check(
        "# T\n\n- program: a.md\n- progam: b.md\n- tools:\n- argument: 3\n- program: c.md\n- nothing\n\nText.\n",
        "a.test.md:4:1: there is no key `progam` [unknown-key]
  did you mean `program`? keys are `program`, `tools`, `model`, `playbook`, `now`, `argument NAME` and `setting NAME`
a.test.md:5:1: `tools` has no value [empty-value]
  write one after the colon, or remove the line
a.test.md:6:1: there is no key `argument` [unknown-key]
  keys are `program`, `tools`, `model`, `playbook`, `now`, `argument NAME` and `setting NAME`
a.test.md:7:1: `program` is given twice [duplicate-key]
  remove one of them
  a.test.md:3:1: first given here
a.test.md:8:1: `nothing` has no value [unknown-key]
  write `- key: value`; keys are `program`, `tools`, `model`, `playbook`, `now`, `argument NAME` and `setting NAME`
a.test.md:10:1: this line does not belong in the list at the top [unexpected-text]
  put descriptions above the list",
    );
}

#[test]
fn a_model_that_replies() {
    let text = "# T\n\n- program: a.md\n- model: embedded\n\n## Says\n\n> Hi.\n";
    let file = read(text);
    assert_eq!(file.model, Some(TestModel::Embedded));
    assert_eq!(file.render(), text);
    check(
        "# T\n\n- program: a.md\n- model: openai:x\n\n## Says\n\n> Hi.\n",
        "a.test.md:4:1: `openai:x` can't answer in a test [unknown-model]
  write `- model: embedded` or `- model: recorded`, or leave it out and write `## Model` sections",
    );
    check(
        "# T\n\n- program: a.md\n- model: embedded\n\n## Model\n\n```\n```\n",
        "a.test.md:6:1: a reply in a conversation with the model embedded [reply-of-a-model]
  remove it, or `- model` at the top",
    );
    check(
        "# T\n\n- program: a.md\n- model: embedded\n",
        "a.test.md:4:1: the file has no conversation [no-steps]
  begin with `## Says` and what is said first",
    );
}

#[test]
fn errors_of_headings_and_their_order() {
    check_steps(
        "## Model\n\n```\n```\n\n## Sayz\n\n> Hi.\n\n## Stage directions\n\n## Says\n\n### Calls\n\n> x\n",
        "a.test.md:10:1: there is no heading `## Sayz` [unknown-heading]
  did you mean `## Says`?
a.test.md:14:1: there is no heading `## Stage directions` [unknown-heading]
  headings are `## User`, `## Event`, `## Wait`, `## Set`, `## Model`, `## Says`, `## Calls`, `## Variables`, `## Outcome`, `## Expect`
a.test.md:18:1: there is no heading `### Calls` [unknown-heading]
  did you mean `## Calls`?",
    );
    check_steps(
        "## Says\n\n(nothing)\n\n## Says\n\n> Hi.\n\n## Model\n\n```\n```\n",
        "a.test.md:9:1: a second `## Says` before the next user line [duplicate-section]
  put both into one section
  a.test.md:5:1: the first one is here
a.test.md:13:1: `## Model` comes after the `## Says` of the same part [reply-after-expected]
  put replies first: expected parts are compared when the program waits for the user
  a.test.md:5:1: the expected part is here",
    );
    check_steps(
        "## Outcome\n\nfinished\n\n## User\n\n> Hi.\n",
        "a.test.md:9:1: `## User` comes after `## Outcome` [after-end]
  put it before `## Outcome` and `## Expect`, which end the file and appear once
  a.test.md:5:1: that is here",
    );
}

#[test]
fn errors_of_speech() {
    check_steps(
        "## User\n\n## User\n\n> One.\n\n> Two.\n\n## Says\n\nHello.\n\n## User\n\n(nothing)\n",
        "a.test.md:5:1: `## User` is empty [empty-section]
  write the message as a block quote (`> …`)
a.test.md:7:1: a user line holds one message, not 2 [one-message]
  give every message its own `## User`; `>` alone is an empty line inside a message
a.test.md:13:1: `## Says` is empty [empty-section]
  write an utterance as a block quote (`> …`), or `(nothing)`
a.test.md:15:1: this line does not belong in `## Says` [unexpected-text]
  begin every line of an utterance with `> `
a.test.md:17:1: a user line holds one message, not 0 [one-message]
  give every message its own `## User`; `>` alone is an empty line inside a message",
    );
    check_steps(
        "## Says\n\n(nothing)\n\n> Hi.\n",
        "a.test.md:7:1: `(nothing)` is not alone [not-nothing]
  remove one of them",
    );
}

#[test]
fn errors_of_replies() {
    check_steps(
        "## Model\n\n## Model\n\n- when: (\n- chunks: few\n- delay: 3\n- error:\n\n```\n```\n\nProse.\n",
        "a.test.md:5:1: `## Model` is empty [empty-section]
  write the reply as bullets (`- 02: yes`) or a fenced block, or `- error: …` for a request that fails
a.test.md:9:1: `(` is not a regular expression: unclosed group [bad-regex]
  correct it; write a `\\` before a character that has a special meaning
a.test.md:10:1: `few` is not a way to cut a reply [bad-chunks]
  write `bytes`, or sizes in bytes (`3, 5, 8`)
a.test.md:11:1: a reply has no option `delay` [unknown-key]
  options are `when`, `when any`, `chunks` and `error`
a.test.md:12:1: `error` has no value [empty-value]
  write one after the colon, or remove the line
a.test.md:17:1: this line does not belong in `## Model` [unexpected-text]
  a reply is bullets (`- 02: yes`), or options (`- when: …`) and then one fenced block",
    );
    check_steps(
        "## Model\n\n```jsonl\n{}\n\n## Says\n",
        "a.test.md:7:1: this fence is not closed [open-fence]
  close it with a line of as many backticks",
    );
}

#[test]
fn errors_of_items() {
    check_steps(
        "## Calls\n\n- GetOrder\n- GetOrder(id)\n- GetOrder(id: 5\n- GetOrder(id: five)\n- GetOrder() = 5\nGetOrder()\n\n\
         ## Variables\n\n- name = 3\n- $name\n- $name = Mina\n\n## Outcome\n\nfine\n",
        "a.test.md:7:1: `GetOrder` is not a call [bad-call]
  write `Name(argument: JSON)`, followed by ` -> JSON` or ` !! error` to compare the result
a.test.md:8:1: `GetOrder(id)` is not a call [bad-call]
  write `Name(argument: JSON)`, followed by ` -> JSON` or ` !! error` to compare the result
a.test.md:9:1: `GetOrder(id: 5` is not a call [bad-call]
  write `Name(argument: JSON)`, followed by ` -> JSON` or ` !! error` to compare the result
a.test.md:10:1: `five` is not a JSON value: expected ident at line 1 column 2 [bad-json]
  write JSON, with text in double quotes
a.test.md:11:1: `GetOrder() = 5` is not a call [bad-call]
  write `Name(argument: JSON)`, followed by ` -> JSON` or ` !! error` to compare the result
a.test.md:12:1: this line does not belong in `## Calls` [unexpected-text]
  begin every item with `- `, on one line
a.test.md:16:1: `name = 3` is not a variable with a value [bad-variable]
  write `$name = JSON` or `$name is not set`
a.test.md:17:1: `$name` is not a variable with a value [bad-variable]
  write `$name = JSON` or `$name is not set`
a.test.md:18:1: `Mina` is not a JSON value: expected value at line 1 column 1 [bad-json]
  write JSON, with text in double quotes
a.test.md:22:1: `fine` is not an outcome [bad-outcome]
  write `waits for the user`, `finished`, `finished: JSON`, `failed: KIND`, `failed: KIND: TEXT`, `refused` or `refused: TEXT`",
    );
}

fn hello_run() -> Vec<Stretch> {
    let result = Some(ExpectedResult::Value(Value::Int(1)));
    let finished = ExpectedOutcome::Finished { value: Some(Value::Null) };
    vec![
        Stretch { said: vec!["Hi.  \n".to_owned()], outcome: Some(ExpectedOutcome::Waits), ..Stretch::default() },
        Stretch {
            said: vec!["A\n\nB".to_owned(), "C".to_owned()],
            calls: vec![call("Count", &[("of", "it".into())], result)],
            variables: map(&[("n", Value::Int(1))]),
            outcome: Some(finished),
        },
    ]
}

#[test]
fn blessing_rewrites_what_is_expected_and_nothing_else() {
    let mut file = read(&format!(
        "{TOP}\n## Model\n\n```jsonl\nx\n```\n\n## User\n\n> Go.\n\n## Says\n\n> Old.\n\n## Calls\n\n- Count(of: 1)\n\n\
         ## Variables\n\n- $n = 0\n- $m = 0\n\n## Outcome\n\nwaits for the user\n"
    ));
    file.bless(&hello_run());
    assert_eq!(
        file.render(),
        format!(
            "{TOP}\n## Model\n\n```jsonl\nx\n```\n\n## User\n\n> Go.\n\n## Says\n\n> A\n>\n> B\n\n> C\n\n## Calls\n\n\
             - Count(of: \"it\")\n\n## Variables\n\n- $n = 1\n- $m is not set\n\n## Outcome\n\nfinished: null\n"
        )
    );
}

#[test]
fn blessing_a_file_without_expectations_adds_them() {
    let mut file = read(&format!("{TOP}\n## Model\n\n```jsonl\nx\n```\n\n## User\n\n> Go.\n"));
    file.bless(&hello_run());
    assert_eq!(
        file.render(),
        format!(
            "{TOP}\n## Model\n\n```jsonl\nx\n```\n\n## Says\n\n> Hi.\n\n## User\n\n> Go.\n\n## Says\n\n> A\n>\n> B\n\n> C\n\n\
             ## Calls\n\n- Count(of: \"it\") -> 1\n\n## Outcome\n\nfinished: null\n"
        )
    );
    assert_eq!(comparable(" a \t\nb\n\n"), " a\nb");
}

#[test]
fn the_examples_are_canonical() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut n_files = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".test.md") {
            let text = fs::read_to_string(&path).unwrap();
            let file = read(&text);
            assert_eq!(file.render(), text, "{}", path.display());
            let named = [Some(&file.program), file.tools.as_ref()];
            for name in named.into_iter().flatten() {
                assert!(folder.join(name).is_file(), "{} names {name}, which is not there", path.display());
            }
            n_files += 1;
        }
    }
    assert!(n_files >= 4, "the examples are gone");
}

#[test]
fn any_prefix_of_a_file_is_read_or_refused_without_a_panic() {
    for (end, _) in EVERYTHING.char_indices() {
        let _ = findings(&EVERYTHING[..end]);
    }
}

#[test]
fn checks_are_read_written_back_and_left_alone() {
    let text = format!(
        "{TOP}\n## Says\n\n> Hi.\n\n## Expect\n\n- Refund($id)  only after Verify($id)\n- says /a|b/\n\n## Outcome\n\nfinished\n"
    );
    let mut test = read(&text);
    assert_eq!(test.render(), text);
    let lines: Vec<(usize, String)> =
        test.checks().map(|written| (written.line, written.check.text.to_string())).collect();
    assert_eq!(lines, [(11, "Refund($id)  only after Verify($id)".to_owned()), (12, "says /a|b/".to_owned())]);
    test.bless(&[Stretch { said: vec!["Bye.".to_owned()], ..Stretch::default() }]);
    assert_eq!(test.render(), text.replace("Hi.", "Bye."));
    // A file that expects nothing else is not given more.
    let mut alone = read(&format!("{TOP}\n## Expect\n\n- never Refund\n"));
    alone.bless(&[Stretch { said: vec!["Bye.".to_owned()], ..Stretch::default() }]);
    assert_eq!(alone.render(), format!("{TOP}\n## Expect\n\n- never Refund\n"));
}

#[test]
fn errors_of_checks() {
    check_steps(
        "## Expect\n\n- say /x/\nand more\n",
        "a.test.md:7:7: no check continues with `/x/` [bad-check]
  did you mean `says`?
a.test.md:8:1: this line does not belong in `## Expect` [unexpected-text]
  begin every check with `- `, on one line",
    );
    check_steps(
        "## Expect\n\n",
        "a.test.md:5:1: `## Expect` is empty [empty-section]
  write one check per line, as in `- never Refund`",
    );
    check_steps(
        "## Expect\n\n- never A\n\n## Outcome\n\nfinished\n\n## Expect\n\n- never B\n",
        "a.test.md:13:1: `## Expect` comes after `## Expect` [after-end]
  put it before `## Outcome` and `## Expect`, which end the file and appear once
  a.test.md:5:1: that is here",
    );
}
