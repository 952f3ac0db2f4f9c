//! Conditions of triggers: unset names, tables and sessions, and when a truth is computed anew.

use super::{Ran, ran};
use crate::run::Run;

/// Every comparison with a name that was never set is false, negated or not (spec `triggers.md`).
#[test]
fn bug_2_6_negated_comparisons_with_unset_names_are_false() {
    for condition in [
        "When $other is not $limit",
        "When $other is not in $served",
        "When $limit is not in $other",
        "When $other is not more than $limit",
        "When $other is not less than $limit",
        "When $other is not at least $limit",
        "When $limit is not more than $other",
        "When $other does not contain $limit",
        "When $served does not contain $other",
        "When not $other > $limit",
        "When not ($other > $limit)",
        "When not ($limit > $other)",
        "When not ($other == $limit)",
        "When not ($other in $served)",
        "When $limit > 2 and not $other > $limit",
        "When $limit > 9 or $other is not more than $limit",
    ] {
        let ran = ran(&format!(
            "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $served = [\"Berlin\", 4]\n\
             - $limit = 3\n- Return 1\n## High\n### Triggers\n- {condition}\n### Steps\n- Say \"high\"\n"
        ));
        ran.assert_has("judged High:T1: ");
        assert!(!ran.has("match High"), "{condition} fires of a name that was never set:\n{}", ran.log());
    }
}

/// With the name set they mean what they say.
#[test]
fn negated_comparisons_with_set_names_fire() {
    for (set, condition) in [
        ("\"Rome\"", "When $other is not in $served"),
        ("2", "When $other is not more than $limit"),
        ("2", "When not $other > $limit"),
        ("[1]", "When $other does not contain $limit"),
    ] {
        let ran = ran(&format!(
            "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $served = [\"Berlin\", 4]\n\
             - $limit = 3\n- $other = {set}\n- Return 1\n## High\n### Triggers\n- {condition}\n### Steps\n\
             - Say \"high\"\n"
        ));
        assert_eq!(ran.count("match High"), 1, "{condition}:\n{}", ran.log());
    }
}

/// What a trigger table says of an update is what a session does with it.
#[test]
fn bug_2_8_a_trigger_table_and_a_session_agree() {
    for (declared, condition, update) in [
        ("{type: int, value: 5}", "When $n > 3", "6"),
        ("{type: int, value: 5}", "When $n is not 3", "6"),
        ("{type: int, value: 1}", "When $n > 3", "6"),
        ("{type: int, value: 5}", "When $n > 3", "2"),
        ("{type: int | None}", "When $n > 3", "6"),
        ("{type: int, value: 5}", "When $n changes", "6"),
        ("{type: int | None}", "When $n changes", "6"),
        ("{type: int | None}", "When $n is not more than 3", "2"),
    ] {
        let program = format!(
            "---\nvariables:\n  n: {declared}\n---\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n\
             - $n = {update}\n- Return 1\n## High\n### Triggers\n- {condition}\n### Steps\n- Say \"high\"\n"
        );
        let session: Ran = ran(&format!("--- program\n{program}"));
        session.assert_has("judged High:T1: ");
        let table = format!(
            "# T\n\n- program: program.md\n\n## X\n\n| given | update | fires |\n| --- | --- | --- |\n\
             | | `$n = {update}` | High |\n"
        );
        let done = Run::new().program(&program).file("t.triggers.md", &table).line("test t.triggers.md").done();
        assert!(matches!(done.code, Some(0 | 1)), "{}\n{}", done.stdout, done.stderr);
        let table_fires = done.code == Some(0);
        assert_eq!(
            session.has("match High"),
            table_fires,
            "{condition}, declared {declared}, set to {update}: the session (left) and the table differ:\n{}\n{}",
            session.log(),
            done.stdout
        );
    }
}

/// A frame that shadowed a name goes: what the name means changed, and the next real change is seen.
#[test]
fn suspected_a_truth_is_computed_anew_when_a_frame_has_gone() {
    let ran = ran(r#"--- program
---
variables:
  n: {type: int, value: 1}
---
# A
## Main
### Triggers
- At the beginning
### Steps
- Look()
- $n = 6
- Return 1
## Look
### Steps
- For each $n in [5]
  - $seen = $n
- Return 2
## High
### Triggers
- When $n > 3
### Steps
- Say "high"
--- settings
inline_lines = 0 # a frame of its own comes and goes
"#);
    // Once for the loop's own, once for the variable itself: between the two the condition was false.
    assert_eq!(ran.count("match High"), 2, "{}", ran.log());
}

/// A tail call's result is set when another agent's playbook is running again.
#[test]
fn suspected_a_truth_is_computed_anew_when_a_result_comes_after_its_frame() {
    let ran = ran(r#"--- program
---
variables:
  n: {type: int, value: 0}
---
# A
## Main
### Triggers
- At the beginning
### Steps
- B.Run()
- Return 1
## Mid
public: true
### Steps
- $n = 5
- $n = Low()
## Low
### Steps
- Return 1
## Later
public: true
### Steps
- $n = 6
- Return 2
## High
### Triggers
- When $n > 3
### Steps
- Say "high"
# B
## Run
public: true
### Steps
- A.Mid()
- A.Later()
- Return 3
--- settings
inline_lines = 0 # a frame of its own comes and goes
"#);
    ran.assert_has("set $n = 1");
    assert_eq!(ran.count("match High"), 2, "{}", ran.log());
}

/// A variable that no line names is removed: a condition on it holds no longer.
#[test]
fn suspected_a_truth_is_computed_anew_when_a_variable_is_removed() {
    let ran = ran(r#"--- program
# A
## Main
### Triggers
- At the beginning
### Steps
- Look()
- Decide what comes next
- Return 1
## Look
### Steps
- $n = 5
- Return 2
## High
### Triggers
- When $n > 3
### Steps
- Say "high"
--- settings
inline_lines = 0 # a frame of its own comes and goes
max_unnamed = 0
--- reply
{"at":"02","set":{"n":6}}
{"at":"02","say":"Well."}
"#);
    let n_matches = if ran.has("removed $n") { 2 } else { 1 };
    assert_eq!(ran.count("match High"), n_matches, "{}", ran.log());
}

/// Each agent has variables of its own: what one sets is no change of the other's.
#[test]
fn suspected_what_another_agent_sets_is_no_change_of_a_truth() {
    let ran = ran(r#"--- program
# A
## Main
### Triggers
- At the beginning
### Steps
- $n = 5
- B.Reset()
- $n = 6
- Return 1
## High
### Triggers
- When $n > 3
### Steps
- Say "high"
# B
## Reset
public: true
### Steps
- $n = 1
- Return 2
"#);
    assert_eq!(ran.count("match High"), 1, "{}", ran.log());
    ran.assert_has("judged High:T1: StillTrue");
}
