//! What was found by reading about arguments, loops and numbers.

use playhouse::vm::protocol::{Event, Timestamp};

use super::{Ran, ran, start};
use crate::declared_tool::tool;
use crate::world::{Chunking, Happening, parse, play};

/// The tools changed while the program ran: the call has more values than the tool takes by now.
#[test]
fn bug_read_surplus_positional_arguments_are_not_dropped() {
    let case = parse(
        "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Ask the user for $x\n\
         - $r = Put(1, 2)\n- Return $r\n--- tools\nPut(item, other)\n",
    );
    let mut world = play(start(&case), &case, Chunking::Whole);
    world.handle(Event::SignaturesChanged { tools: vec![tool("Put(item)")].into() });
    let _ = world.settle();
    let reply = Happening::Reply {
        text: r#"{"at":"01","set":{"x":"y"}}"#.into(),
        end: playhouse::vm::protocol::ReplyEnd::Complete(playhouse::vm::protocol::Finish::Stop),
    };
    world.happen(&reply, Chunking::Whole);
    let ran = Ran { world };
    ran.assert_has_not("start 1 Put");
    assert!(
        ran.last_message().contains("02 is left to you: Put(item): 2 arguments given, it takes 1"),
        "{}",
        ran.log()
    );
}

/// One parameter, two values: neither is lost.
#[test]
fn bug_read_a_parameter_given_twice_is_a_fault() {
    let program = "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $r = CALL\n- Return $r\n\
                   ## Two($a, $b = 5)\n### Steps\n- Return [$a, $b]\n--- tools\nPut(item, other = 3)\n";
    for call in ["Two(1, a=2)", "Put(1, item=2)"] {
        let ran = ran(&program.replace("CALL", call));
        ran.assert_has_not("start 1 Put");
        ran.assert_has_not("push (call");
        assert!(ran.has("ask 1") && ran.last_message().contains("01 is left to you: "), "{call}:\n{}", ran.log());
        assert!(ran.last_message().contains("twice"), "{call}:\n{}", ran.log());
    }
}

/// An item that does not fit: the interpreter leaves the loop to the model before it owns it.
#[test]
fn bug_read_an_item_of_a_wrong_type_leaves_the_loop_to_the_model() {
    let program = "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n\
                   - For each $item:int in [\"a\", 2]\n  - Put($item)\n- Return 1\n--- tools\nPut(item)\n";
    let left = ran(program);
    assert!(left.last_message().contains("01 is left to you: $item must be int, not str"), "{}", left.log());
    let view = left.world.machine.view();
    assert!(view.stack[0].loops.is_empty(), "the interpreter owns the loop as well: {:?}", view.stack[0].loops);
}

/// Of a later item: the rounds that were done stay done, the one that cannot be has not begun.
#[test]
fn bug_read_a_later_item_of_a_wrong_type_has_not_begun_its_round() {
    let program = "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n\
                   - For each $item:int in [1, \"b\", 3]\n  - $seen = $item\n- Return 1\n";
    let left = ran(program);
    assert!(left.last_message().contains("01 is left to you: $item must be int, not str"), "{}", left.log());
    let loops = left.world.machine.view().stack[0].loops.clone();
    assert_ne!(loops, ["01, item 2 of 3"], "a round was counted that has not begun");
}

/// Division by zero is called so, of whatever numbers.
#[test]
fn bug_read_division_by_zero_is_called_so() {
    for line in ["$x = 1 / 0", "$x = 1 / 0.0", "$x = 1.5 / 0", "$x = 1 % 0.0", "$x = 2.5 % 0.0", "$x = 0.0 / 0.0"] {
        let ran = ran(&format!("--- program\n# A\n## Main\n### Steps\n- {line}\n- Return 1\n"));
        let asked = ran.last_message();
        assert!(asked.contains("01 is left to you: division by zero"), "{line}:\n{asked}");
    }
}

/// A remainder has the sign of what it is divided by, as where people come from: -7 is 2 above a multiple of 3.
#[test]
fn bug_read_a_remainder_has_the_sign_of_the_divisor() {
    for (line, result) in [
        ("Return -7 % 3", "2"),
        ("Return 7 % -3", "-2"),
        ("Return 7 % 3", "1"),
        ("Return -6 % 3", "0"),
        ("Return -7.5 % 2", "0.5"),
    ] {
        let ran = ran(&format!("--- program\n# A\n## Main\n### Steps\n- {line}\n"));
        assert!(ran.has(&format!("done: {result}")), "{line} is not {result}:\n{}", ran.log());
    }
}

/// Of two numbers that are not equal one is less.
#[test]
fn bug_read_order_agrees_with_equality() {
    for (line, result) in [
        ("9007199254740993 == 9007199254740992.0", "false"),
        ("9007199254740993 > 9007199254740992.0", "true"),
        ("9007199254740992.0 < 9007199254740993", "true"),
        ("9007199254740993 <= 9007199254740992.0", "false"),
        ("9223372036854775807 < 9223372036854775808.0", "true"),
        ("-9223372036854775807 > -9223372036854775808.0", "true"),
        ("3 < 3.5", "true"),
        ("-3 > -3.5", "true"),
        ("4 > 3.5", "true"),
        ("3 < 1e300", "true"),
    ] {
        let ran = ran(&format!("--- program\n# A\n## Main\n### Steps\n- Return {line}\n"));
        assert!(ran.has(&format!("done: {result}")), "{line} is not {result}:\n{}", ran.log());
    }
}

/// A queued call of a playbook that a changed program no longer has: whatever is asked of the machine, it answers.
#[test]
fn read_a_queued_call_of_a_gone_playbook_breaks_nothing() {
    let program = |callee: &str| {
        format!(
            "# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Look around\n- Return 1\n## {callee}\n\
             ### Steps\n- Talk about it\n- Return 2\n## Other\n### Steps\n- Return 3\n"
        )
    };
    for reopened in [false, true] {
        let case = parse(&format!("--- program\n{}--- chunk\n{}\n", program("Gone"), r#"{"at":"01","call":"Gone"}"#));
        let mut world = play(start(&case), &case, Chunking::Whole);
        world.happen(&Happening::Program(program("Else"), reopened), Chunking::Whole);
        let _ = world.machine.view();
        let ran = Ran { world };
        ran.assert_has("program changed");
        let failed = ran.log().contains("Gone is not in the changed program") || ran.has("ask");
        assert!(failed, "{}", ran.log());
    }
}

/// Times of hand-made journals: no event of whatever time is a panic.
#[test]
fn suspected_no_time_of_an_event_overflows() {
    let case = parse(
        "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Look around\n## Tick\n### Triggers\n\
         - Every 5 seconds\n### Steps\n- Say \"tick\"\n",
    );
    for times in [[i64::MAX, i64::MIN], [i64::MIN, i64::MAX], [-1, i64::MIN], [1, i64::MIN]] {
        let mut world = start(&case);
        let _ = world.settle();
        for time in times {
            world.machine.handle(Timestamp(time), Event::GoOn);
            let _ = world.settle();
            world.machine.handle(Timestamp(time), Event::Reopened);
            let _ = world.settle();
        }
    }
}

/// A setting of whatever size: the longest delay that a server may wish for does not overflow.
#[test]
fn suspected_no_retry_delay_overflows() {
    let mut case = parse("--- program\n# A\n## Main\n### Steps\n- Look around\n--- reply after 9000\n");
    case.settings.max_retry_delay_ms = u64::MAX / 2;
    case.settings.retry_delay_ms = u64::MAX / 2;
    let ran = Ran { world: play(start(&case), &case, Chunking::Whole) };
    ran.assert_has("retry 2");
}
