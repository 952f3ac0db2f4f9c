//! Servers ask people: forms, declined ones, late answers, answers after a restart.

use playhouse::host::tool::mcp::Generation;
use playhouse::value::Value;
use serde_json::json;

use super::server::{TestServer, tool};
use super::*;

const DELETE: &str = "The server `test` asks: Delete everything?\nsure (yes or no)";

fn asks(text: &str) -> Came {
    Came::Asks(text.to_owned())
}

async fn world(generation: Generation) -> (TestServer, World, super::server::Events) {
    let names = ["deletes", "paints", "registers", "links", "twice"];
    let (server, events) = TestServer::new(names.map(|name| tool(name, json!({}), 0)).to_vec());
    let world = World::new(server.options(generation)).await;
    (server, world, events)
}

#[tokio::test]
async fn a_yes_and_a_no_are_answers() {
    for generation in GENERATIONS {
        let (server, world, _events) = world(generation).await;
        for (answer, result) in [(Value::Bool(true), "true"), (Value::Bool(false), "false"), ("No".into(), "false")] {
            assert_eq!(world.call("test.deletes", "{}").await, asks(DELETE));
            let done = world.answer("test.deletes", answer).await;
            assert_eq!(done, text(&format!("Accept {{\"sure\":{result}}}")));
        }
        let n_calls = server.calls().len();
        // The older generation waits within its call; the newer one is called again with the answer.
        assert_eq!(n_calls, if generation == Generation::Discover { 6 } else { 3 });
    }
}

#[tokio::test]
async fn one_of_several_is_matched_leniently_and_asked_again_with_the_reason() {
    for generation in GENERATIONS {
        let (_server, world, _events) = world(generation).await;
        let question = "A colour, please.\ncolour (one of: red, Blue, no)";
        assert_eq!(world.call("test.paints", "{}").await, asks(&format!("The server `test` asks: {question}")));
        let again = format!("The server `test` asks: That cannot be used: `green` is not one of them.\n{question}");
        assert_eq!(world.answer("test.paints", "green").await, asks(&again));
        assert_eq!(world.answer("test.paints", "blue ").await, text(r#"Accept {"colour":"Blue"}"#));
        // What is not offered as an answer declines.
        world.call("test.paints", "{}").await;
        assert_eq!(world.answer("test.paints", false).await, text(r#"Accept {"colour":"no"}"#));
    }
}

#[tokio::test]
async fn a_form_is_asked_field_by_field() {
    for generation in GENERATIONS {
        let (_server, world, _events) = world(generation).await;
        let prefix = "The server `test` asks: ";
        let first = "Who are you?\n1 of 4: Your name (text)";
        assert_eq!(world.call("test.registers", "{}").await, asks(&format!("{prefix}{first}")));
        let reason = "That cannot be used: it must have at least 2 characters.";
        assert_eq!(world.answer("test.registers", "A").await, asks(&format!("{prefix}{reason}\n{first}")));
        let second = "Who are you?\n2 of 4: age: in years (a whole number)";
        assert_eq!(world.answer("test.registers", "Ada").await, asks(&format!("{prefix}{second}")));
        for (wrong, reason) in [("old", "`old` is not a whole number"), ("200", "it must be at most 150")] {
            let again = format!("{prefix}That cannot be used: {reason}.\n{second}");
            assert_eq!(world.answer("test.registers", wrong).await, asks(&again));
        }
        let third = "Who are you?\n3 of 4: news (yes or no; `skip` for true)";
        assert_eq!(world.answer("test.registers", "36").await, asks(&format!("{prefix}{third}")));
        let fourth = "Who are you?\n4 of 4: mail (text; `skip` to leave it out)";
        assert_eq!(world.answer("test.registers", "skip").await, asks(&format!("{prefix}{fourth}")));
        assert_eq!(world.answer("test.registers", "").await, text(r#"Accept {"name":"Ada","age":36,"news":true}"#));
        // A no to anything but a yes-or-no question ends it.
        world.call("test.registers", "{}").await;
        assert_eq!(world.answer("test.registers", false).await, text("Decline null"));
    }
}

#[tokio::test]
async fn an_address_is_shown_and_never_opened() {
    for generation in GENERATIONS {
        let (_server, world, _events) = world(generation).await;
        let question = "The server `test` asks: Log in.\nIt wants you to open this address yourself, if you trust it: \
                        https://example.org/log-in\nAnswer `yes` when that is done.";
        assert_eq!(world.call("test.links", "{}").await, asks(question));
        assert_eq!(world.answer("test.links", true).await, text("Accept null"));
        world.call("test.links", "{}").await;
        assert_eq!(world.answer("test.links", "no").await, text("Decline null"));
    }
}

#[tokio::test]
async fn after_a_restart_the_call_is_made_anew_and_nobody_is_asked_twice() {
    let (first, second) = ("The server `test` asks: First?\na (text)", "The server `test` asks: Second?\nb (text)");
    for generation in GENERATIONS {
        let (server, world, _events) = world(generation).await;
        assert_eq!(world.call("test.twice", "{}").await, asks(first));
        assert_eq!(world.answer("test.twice", "one").await, asks(second));
        drop(world);
        // The answer to the second question comes to another process, which is told of the first, too.
        let answers = vec![(first.into(), "one".into()), (second.into(), "two".into())];
        let world = World::new(server.options(generation)).await;
        let done = came(world.begin_answered(&start(1, "test.twice", "{}", answers))).await;
        assert_eq!(done, text(r#"Accept {"a":"one"}; Accept {"b":"two"}"#));
        // What was answered to something else is no answer.
        let other = vec![("The server `test` asks: Third?\nc (text)".into(), "three".into())];
        let done = came(world.begin_answered(&start(2, "test.twice", "{}", other))).await;
        assert_eq!(done, asks(first));
    }
}

#[tokio::test]
async fn an_answer_that_comes_after_the_connection_was_lost_is_used_in_a_new_call() {
    for generation in GENERATIONS {
        let (server, world, _events) = world(generation).await;
        world.call("test.twice", "{}").await;
        world.answer("test.twice", "one").await;
        server.hang_up();
        // Another call sees it, sooner or later.
        while !matches!(came(world.begin(2, "test.deletes", "{}", None)).await, Came::Asks(_)) {}
        let done = world.answer("test.twice", "two").await;
        assert_eq!(done, text(r#"Accept {"a":"one"}; Accept {"b":"two"}"#), "nobody is asked twice");
        assert_eq!(server.n_connections(), 2);
    }
}

#[tokio::test]
async fn questions_of_two_calls_go_to_those_who_made_them() {
    for generation in GENERATIONS {
        let (_server, world, _events) = world(generation).await;
        let one = came(world.begin(1, "test.deletes", "{}", None)).await;
        let two = came(world.begin(2, "test.paints", "{}", None)).await;
        assert_eq!(one, asks(DELETE));
        assert_ne!(two, asks(DELETE));
        let two = came(world.begin(2, "test.paints", "{}", Some("red".into()))).await;
        assert_eq!(two, text(r#"Accept {"colour":"red"}"#));
        let one = came(world.begin(1, "test.deletes", "{}", Some(true.into()))).await;
        assert_eq!(one, text(r#"Accept {"sure":true}"#));
    }
}

#[tokio::test]
async fn questions_come_over_http_too() {
    for generation in GENERATIONS {
        let names = ["deletes", "hangs"];
        let (server, mut events) = TestServer::new(names.map(|name| tool(name, json!({}), 0)).to_vec());
        let http = server.http().await;
        let mut options = server.options(generation);
        options.transport = playhouse::host::tool::mcp::Transport::Url { url: http.url.clone(), headers: Vec::new() };
        let world = World::new(options).await;
        // Another call runs: whose question it is, is known all the same.
        let other = tokio::spawn(world.begin(2, "test.hangs", "{}", None).outcome);
        while events.recv().await.unwrap() != "hangs" {}
        assert_eq!(world.call("test.deletes", "{}").await, asks(DELETE));
        assert_eq!(world.answer("test.deletes", true).await, text(r#"Accept {"sure":true}"#));
        other.abort();
    }
}
