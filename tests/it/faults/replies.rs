//! Complete replies that do not keep to the turn protocol.

use crate::faults::{Desk, LINES, Ran, ideal, last_words, reply, server};
use crate::http_server::{Request, ServerHandle};

/// Runs with these replies, and then ideal ones.
fn run(replies: &[&str], input: &str) -> (Ran, ServerHandle) {
    let server = server(replies.iter().map(|text| reply(text)).collect());
    let ran = Desk::new().run(&server, input);
    (ran, server)
}

/// What the second request tells of the first reply.
fn problem(requests: &[Request]) -> String {
    let told = last_words(&requests[1]);
    told.lines().find(|line| line.starts_with("PROBLEM")).unwrap_or_else(|| panic!("no PROBLEM in {told}")).to_owned()
}

/// Odd, but readable: one request, and everything is done.
#[test]
fn tolerated() {
    let [set, say, call, yielded] = LINES;
    let cases = [
        (
            "prose around the lines",
            format!("Sure, here we go!\n{set}\nNow the greeting:\n{say}\n{call}\nand\n{yielded}\nDone."),
        ),
        ("a fence", format!("Here you are:\n```json\n{}```\nDone.", ideal())),
        ("JSON quoted in prose", format!("I will write {call} later.\nLike this: {say}\n{}", ideal())),
        ("lines inside a think block", format!("<think>\n{}{call}\n{say}\n</think>\n{}", ideal(), ideal())),
        ("lines inside a thinking block", format!("<thinking>\nFirst {say}\n{call}\n</thinking>{}", ideal())),
        ("text after the yield", format!("{}{say}\n{call}\nThe tool said noted.\n{yielded}\n", ideal())),
        ("an array", format!("[{set},{say},{call},{yielded}]")),
        ("no last line break", ideal().trim_end().to_owned()),
        ("an unknown key", ideal().replace("{\"at\":\"03\",", "{\"at\":\"03\",\"reason\":\"because\",")),
    ];
    for (name, text) in cases {
        let (ran, server) = run(&[&text], "");
        ran.check_whole(name);
        assert_eq!(server.requests().len(), 1, "{name}");
        assert_eq!(ran.n_events("repair"), 0, "{name}");
    }
}

/// The yield is a hard stop, also where the user must speak first.
#[test]
fn text_after_a_wait() {
    let [set, say, call, yielded] = LINES;
    let first = format!("{set}\n{{\"at\":\"02\",\"wait\":\"user\"}}\n{say}\n{call}\n{yielded}\n");
    let (ran, server) = run(&[&first], "Go on, please.\n");
    assert_eq!(ran.stdout, format!("{}\n", crate::faults::SAID), "{}", ran.stderr);
    assert_eq!((ran.exit, ran.calls.len(), server.requests().len()), (0, 1, 2), "{}", ran.stderr);
    let requests = server.requests();
    assert!(last_words(&requests[1]).contains("USER \"Go on, please.\""), "{}", last_words(&requests[1]));
    // Nobody says anything: the program waits, and it is told how to go on.
    let (ran, server) = run(&[&first], "");
    assert_eq!((ran.exit, ran.stdout.as_str(), ran.calls.len(), server.requests().len()), (3, "", 0, 1));
    ran.check_told(
        "nobody",
        &["waits for the user and standard input has ended; to continue: playhouse sessions resume desk"],
    );
}

/// Mistakes that the model is told of, once, and everything is done.
#[test]
fn repaired() {
    let [set, say, call, yielded] = LINES;
    let cases = [
        ("an empty reply", String::new(), "your reply had no JSON line"),
        ("white space", " \n\n".to_owned(), "your reply had no JSON line"),
        ("prose alone", "I would rather talk about tea.".to_owned(), "your reply had no JSON line"),
        ("all in a think block", format!("<think>\n{}", ideal()), "your reply had no JSON line"),
        (
            "an unknown callee",
            format!("{set}\n{say}\n{}\n{yielded}\n", call.replace("Note", "Notes")),
            "there is no playbook or tool `Notes`; did you mean `Note`?",
        ),
        (
            "a wrong argument type",
            format!("{set}\n{say}\n{}\n{yielded}\n", call.replace("\"$number\"", "\"seven\"")),
            "Note(number: int): `number` must be int, not str",
        ),
        (
            "an unknown argument",
            format!("{set}\n{say}\n{}\n", call.replace("\"number\":", "\"numbr\":")),
            "it has no parameter `numbr`; `number` is missing",
        ),
        (
            "`at` of a line that is not there",
            format!("{set}\n{}\n{call}\n{yielded}\n", say.replace("02", "17")),
            "Main has no line 17; its lines are 01, 02, 03, 04",
        ),
        ("an unknown action", format!("{set}\n{{\"at\":\"02\",\"shout\":\"Hi\"}}\n{call}\n"), "shout"),
        ("JSON that is none", format!("{set}\n{{\"at\":\"02\",\"say\":Hello}}\n{call}\n"), "Hello"),
        ("an unknown reference", format!("{set}\n{}\n", call.replace("$number", "$nmber")), "nmber"),
    ];
    for (name, text, words) in cases {
        let (ran, server) = run(&[&text], "");
        ran.check_whole(name);
        assert_eq!(server.requests().len(), 2, "{name}");
        let told = problem(&server.requests());
        assert!(told.contains(words), "{name}: {told}");
        assert_eq!(ran.n_events("repair"), 1, "{name}");
    }
}

/// No yield: what the reply did stays done, and it is gone on with.
#[test]
fn no_yield() {
    let [set, say, call, _] = LINES;
    let cases = [
        ("after a variable", format!("{set}\n")),
        ("after speech", format!("{set}\n{say}\n")),
        ("after a call", format!("{set}\n{say}\n{call}\n")),
        ("after a call, without its line break", format!("{set}\n{say}\n{call}")),
    ];
    for (name, text) in cases {
        let (ran, server) = run(&[&text], "");
        ran.check_whole(name);
        assert_eq!(server.requests().len(), 2, "{name}");
        assert_eq!(ran.n_events("repair"), 0, "{name}");
    }
    // Behind the last line there is nothing to go on with: it is the end.
    let (ran, server) = run(&[&format!("{set}\n{say}\n{call}\n{{\"at\":\"04\",\"set\":{{\"done\":true}}}}\n")], "");
    assert_eq!((ran.exit, ran.calls.len(), server.requests().len()), (0, 1, 1), "{}", ran.stderr);
}

/// `at` past a call line that has not been done: the pointer stays on it.
#[test]
fn past_a_line_not_done() {
    let program =
        crate::faults::PROGRAM.replace("- Write the number down", "- $status = Note(the number that was chosen)");
    let [set, say, call, yielded] = LINES;
    let server = server(vec![reply(&format!("{set}\n{say}\n{yielded}\n{call}\n"))]);
    let desk = Desk::new();
    desk.write("desk.md", &program);
    let ran = desk.run(&server, "");
    ran.check_whole("not done");
    assert!(problem(&server.requests()).contains("not done: 03! "), "{}", problem(&server.requests()));
    assert_eq!(server.requests().len(), 2);
}

/// A model that cannot be brought to keep to the protocol: its words are passed on, once, and the user is asked.
#[test]
fn degraded() {
    let cases = [
        ("empty", "", "Sorry, I could not go on with that. Could you say it in other words?\n"),
        ("prose", "I would rather talk about tea.", "I would rather talk about tea.\n"),
        ("quoted", "Write {\"say\":\"x\"}, I say.", "Write {\"say\":\"x\"}, I say.\n"),
    ];
    for (name, text, said) in cases {
        let (ran, server) = run(&[text; 3], "");
        assert_eq!((ran.exit, ran.stdout.as_str()), (3, said), "{name}\n{}", ran.stderr);
        assert!(ran.calls.is_empty(), "{name}");
        ran.check_told(
            name,
            &["warning: the model did not follow the protocol", "to continue: playhouse sessions resume desk"],
        );
        assert_eq!((server.requests().len(), ran.n_events("degraded")), (3, 1), "{name}");
    }
    // Or the session fails, where that is configured.
    let desk = Desk::with_config("[limits]\non_protocol_failure = \"stop\"\n");
    let server = server(vec![reply("tea"), reply("tea"), reply("tea")]);
    let ran = desk.run(&server, "");
    ran.check_failed(
        "stop",
        &["its last reply was: tea", "try a stronger model, or set on_protocol_failure = \"speak\""],
    );
    assert_eq!(server.requests().len(), 3);
}
