//! A reply is never half heard: what the interpreter does not follow is a mistake that the model is told of.

use super::ran;

/// The shape of the airline's `Cancel`: the last line invites a model that refuses to jump there.
const CANCEL: &str = r#"--- program
# A
## Main
### Triggers
- At the beginning
### Steps
- $outcome = Cancel("K-1")
- Say "The outcome: {$outcome}."
- Return $outcome
## Cancel($id)
### Steps
- Make sure that the rules allow it
- BETWEEN
- If $id is "K-2", return "not this one"
- Put($id)
- Return what was cancelled, or why it could not be
## Confirm($question)
### Steps
- Ask the user the $question and set $yes:bool
- Return $yes
--- tools
Put(item)
Get(item) read_only
"#;

/// A reply that jumps from line 01 to the last one, over lines that say or call something.
fn jumps(between: &str, last: &str, settings: &str) {
    let program = CANCEL.replace("BETWEEN", between);
    let reply = format!("{{\"at\":\"01\",\"say\":\"That is not possible.\"}}\n{last}");
    let ran = ran(&format!("{program}--- settings\n{settings}\n--- reply\n{reply}\n"));
    let log = ran.log();
    assert_eq!(ran.count("say "), 1, "a line between was said:\n{log}");
    ran.assert_has_not("queued 2 Confirm");
    ran.assert_has_not("start ");
    ran.assert_has("repair 1");
    let asked = ran.last_message();
    assert!(ran.requests().len() == 2 && asked.contains("PROBLEM"), "the model is not told:\n{log}");
    assert!(asked.contains("02") && asked.contains("GO ON FROM 01"), "the lines between are not named:\n{asked}");
}

#[test]
fn bug_s1_a_return_does_not_say_the_lines_it_jumps_over() {
    for inline in ["inline_lines = 0 # both ways", "inline_lines = 5"] {
        jumps(r#"Say "Shall I cancel it?""#, r#"{"at":"05","return":"Not cancelled."}"#, inline);
    }
}

#[test]
fn bug_s1_a_return_does_not_make_the_calls_it_jumps_over() {
    for inline in ["inline_lines = 0 # both ways", "inline_lines = 5"] {
        jumps(r#"$agreed = Confirm("Shall I cancel it?")"#, r#"{"at":"05","return":"Not cancelled."}"#, inline);
        jumps(r#"$old = Put("nothing")"#, r#"{"at":"05","return":"Not cancelled."}"#, inline);
    }
}

#[test]
fn bug_s1_a_wait_or_a_mere_at_does_not_perform_the_lines_it_jumps_over() {
    for last in [r#"{"at":"05","wait":"user"}"#, r#"{"at":"05"}"#, r#"{"at":"05","say":"No."}"#] {
        jumps(r#"Say "Shall I cancel it?""#, last, "inline_lines = 5");
        jumps(r#"$agreed = Confirm("Shall I cancel it?")"#, last, "inline_lines = 5");
    }
}

/// The interpreter decides at a branch; a return that is written for another way is not dropped without a word.
#[test]
fn bug_s1_a_return_against_a_decision_is_told() {
    let ran = ran(r#"--- program
# A
## Main
### Triggers
- At the beginning
### Steps
- $n = 5
- Look at the order
- If $n is more than 3
  - Tell the user that it is too much
- Otherwise
  - Return what was ordered
- Return 1
--- reply
{"at":"02","think":"it is fine"}
{"at":"04.01","return":"a chair"}
"#);
    let asked = ran.last_message();
    assert_eq!(ran.requests().len(), 2, "{}", ran.log());
    assert!(asked.contains("PROBLEM") && asked.contains("04.01"), "the model is not told:\n{}", ran.log());
}

/// Lines without effects between may be passed, as before.
#[test]
fn s1_lines_without_effects_are_still_passed() {
    let program = CANCEL.replace("BETWEEN", "$note = \"looked at\"").replace("- Put($id)\n", "");
    let ran = ran(&format!(
        "{program}--- reply\n{}\n",
        r#"{"at":"01","think":"no"}
{"at":"04","return":"Not cancelled."}"#
    ));
    ran.assert_has("pop \"Not cancelled.\"");
    ran.assert_has_not("repair");
}

/// A playbook can be left early from any line: where the model is. Also one that runs inside its caller's line.
#[test]
fn s1_a_playbook_can_be_left_early_from_any_line() {
    let program = CANCEL.replace("BETWEEN", r#"Say "Shall I cancel it?""#);
    let short = program.replace("- If $id is \"K-2\", return \"not this one\"\n", "");
    for (program, inline, at) in [(&program, 0, "01"), (&short, 0, "01"), (&short, 5, "01>01")] {
        let reply = format!("{{\"at\":\"{at}\",\"say\":\"No.\"}}\n{{\"at\":\"{at}\",\"return\":\"Not cancelled.\"}}");
        let ran = ran(&format!("{program}--- settings\ninline_lines = {inline} # both ways\n--- reply\n{reply}\n"));
        ran.assert_has("pop \"Not cancelled.\"");
        assert_eq!(ran.count("say "), 2, "{}", ran.log());
        ran.assert_has("done: \"Not cancelled.\"");
    }
}

/// A reply that ends behind a `set` with nothing but lines of the interpreter's to come simply goes on.
#[test]
fn s1_a_reply_that_ends_before_explicit_lines_goes_on() {
    let ran = ran(r#"--- program
# A
## Main
### Triggers
- At the beginning
### Steps
- Decide on the $task
- If $task is "look up"
  - Say "I look it up."
- Return $task
--- reply
{"at":"01","set":{"task":"look up"}}
"#);
    ran.assert_has("done: \"look up\"");
    assert_eq!(ran.requests().len(), 1, "{}", ran.log());
}

/// A line inside another is a line of its own playbook: what that returns is checked against its own type.
#[test]
fn what_a_playbook_inside_returns_is_of_its_own_type() {
    let program = r#"--- program
# A
## Main -> int
### Triggers
- At the beginning
### Steps
- $word = Word()
- Say "{$word}."
- Return 3
## Word -> str
### Steps
- $x = "word"
- Return $x
"#;
    let ran = ran(program);
    ran.assert_has("say 1 \"word.\"");
    ran.assert_has("done: 3");
    ran.assert_has_not("ask 1");
}

/// A playbook that lets its lines be passed undone does not say so for those inside it.
#[test]
fn a_playbook_inside_is_as_strict_as_it_says() {
    let program = r#"--- program
# A
## Main
strict: false
### Triggers
- At the beginning
### Steps
- $word = Word()
- Tell the user the $word
## Word
### Steps
- Ask the user for $x
- Ask the user for $y
- Return $x
--- reply
{"at":"01>01","say":"Which word?"}
{"at":"01>02","say":"And then?"}
{"at":"01>02","wait":"user"}
"#;
    ran(program).assert_has("repair 1: not done: 01>01 ");
}
