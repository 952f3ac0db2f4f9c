//! Plugins ask people: a question ends the attempt, and the next one has the answers.

use std::sync::Arc;

use playhouse::host::tool::plugin::{Component, ComponentError};
use playhouse::value::Value;

use super::{Demo, LONG, SH, call, context, json};
use crate::run::Run;

/// One attempt of a call that has been answered so.
async fn attempt(demo: &Demo, answers: &[(&str, Value)]) -> Result<Value, ComponentError> {
    let (mut context, _news) = context("s1/1", LONG);
    context.answers = answers.iter().map(|(question, answer)| (Arc::from(*question), answer.clone())).collect();
    demo.plugin().command("go", Value::Null, &context).await
}

fn asks(question: &str) -> Result<Value, ComponentError> {
    Err(ComponentError::Asks(question.to_owned()))
}

#[tokio::test]
async fn a_call_is_made_again_with_what_was_asked_and_answered() {
    let demo = Demo::new(
        "next; echo \"$line\" >called; case $line in *'\"answers\"'*'\"answer\":\"3'*) answer 3 ;; \
         *'\"answers\"'*) ask 'As a number?' ;; *) ask 'How many?' ;; esac; next",
    );
    let (first, second) = ("The plugin `demo` asks: How many?", "The plugin `demo` asks: As a number?");
    assert_eq!(attempt(&demo, &[]).await, asks(first));
    assert!(!demo.read("called").contains("answers"));
    assert_eq!(attempt(&demo, &[(first, true.into())]).await, asks(second));
    assert_eq!(attempt(&demo, &[(first, true.into()), (second, "3".into())]).await, Ok(Value::Int(3)));
    let Value::Map(called) = json(&demo.read("called")) else { panic!("no call") };
    let answers = r#"[{"question": "How many?", "answer": true}, {"question": "As a number?", "answer": "3"}]"#;
    assert_eq!(called.get("answers"), Some(&json(answers)));
}

#[tokio::test]
async fn a_question_is_shown_whole_and_clean_or_not_at_all() {
    let long = "x".repeat(4_001);
    let mut demo = Demo::new(&format!(
        "next; ask ' Clear the \\u202escreen\\u001b[2J?\\n '; next; ask {long}; next; ask ''; next"
    ));
    demo.options.secrets.add("screen");
    demo.options.name = "desk".into();
    let plugin = demo.plugin();
    assert_eq!(call(&plugin).await, Err("a person is asked: The plugin `desk` asks: Clear the ***[2J?".to_owned()));
    let error = "the question of `go` is longer than 4000 characters; make it shorter";
    assert_eq!(call(&plugin).await, Err(error.to_owned()));
    assert_eq!(call(&plugin).await, Err("the question of `go` is empty".to_owned()));
    assert_eq!(demo.n_starts(), 1);
}

/// A program whose tool asks twice, and the folder of its plugin.
fn desk() -> Run {
    let config = "group_id: local\nartifact_id: desk\nversion: 0.1.0\ntype: plugin\nas_plugin: true\n\
                  info: {title: desk, description: Takes orders.}\nsetup: {package: playhouse.process, command: [sh, plugin.sh]}\n\
                  commands:\n- {command_name: order, response: {type: string}}\n";
    let script = "while next; do case $line in *'\"answer\":true'*) answer '\"ordered\"' ;; *'\"answer\":\"3\"'*) ask 'Really?' ;; \
                  *) ask 'How many?' ;; esac; done";
    Run::new()
        .program(
            "---\nplugins: {desk: desk}\n---\n\n# Desk\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n\
             - $order = desk.order()\n- Say \"It is {$order}.\"\n",
        )
        .file("desk/.config/config.yaml", config)
        .file("desk/plugin.sh", &format!("{SH}{script}"))
}

#[test]
fn a_person_answers_also_after_a_restart() {
    let run = desk();
    let (first, second) = ("The plugin `desk` asks: How many?\n", "The plugin `desk` asks: Really?\n");
    let order = "run program.md --model embedded --session order";
    run.beside().line(order).stdin("").code(3).stderr_contains(first);
    run.beside().line(order).stdin("3\n").code(3).stderr_contains(second);
    run.beside().line(order).stdin("yes\n").code(0).stdout_contains("It is ordered.\n");
    assert_eq!(run.read("desk/starts").lines().count(), 3, "nothing is made again that was not asked for");
}

#[test]
fn questions_are_recorded_and_replayed_without_the_plugin() {
    let run = desk();
    run.beside().line("run program.md --model embedded --session order").stdin("3\nyes\n").code(0);
    run.beside().line("sessions export order --format test --output order.test.md").code(0);
    let run = run.file("desk/plugin.sh", "exit 1\n");
    run.beside().line("test order.test.md").code(0).stdout_contains("1 passed, 0 failed");
}

#[test]
fn a_single_call_is_given_the_answers_or_says_what_it_asks() {
    let run = desk();
    let asked = "error: The plugin `desk` asks: How many?\nadd the answer: --answer TEXT\n";
    run.beside().line("plugin call desk order").code(1).stderr_contains(asked);
    let done = run.beside().line("plugin call desk order --answer 3 --answer yes").done().code(0);
    let told = "The plugin `desk` asks: How many?\nThe plugin `desk` asks: Really?\n";
    assert_eq!((&*done.stdout, &*done.stderr), ("\"ordered\"\n", told));
}
