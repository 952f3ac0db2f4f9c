//! Bounds: a full queue, deep and large values, what is still to be told, programs that spin.

use playhouse::value::Value;
use playhouse::vm::protocol::{Event, Outcome, Wait};

use super::{Ran, ran, ran_answering, start, text_value};
use crate::properties::request_bound;
use crate::run::Run;
use crate::shown::request_text;
use crate::world::{Chunking, Happening, parse, play};

/// What is called in a loop and only reads does not block: a full queue makes the program wait.
#[test]
fn bug_2_5_a_full_queue_makes_the_program_wait() {
    let ran = ran_answering(
        "--- program\n# A\n## Main\n### Steps\n- Repeat 101 times\n  - $t = Now()\n- Return $t\n--- tools\n\
         Now() read_only\n",
        |n| Value::Int(i64::try_from(n).unwrap()),
    );
    ran.assert_has("done: 100");
    assert_eq!(ran.count("start "), 101);
}

/// The same with a queue of 3, and with calls whose results nobody takes: never more than that many at once.
#[test]
fn bug_2_5_no_queue_is_longer_than_its_limit() {
    let case = parse(
        "--- program\n# A\n## Main\n### Steps\n- Repeat 10 times\n  - Now()\n- $x = Now()\n- Return $x\n--- tools\n\
         Now() read_only\n--- settings\nqueue = 3\n",
    );
    let mut world = start(&case);
    let _ = world.settle();
    let mut n_most = 0;
    while let Some(name) = world.running_tool() {
        n_most = n_most.max(world.machine.view().stack.iter().map(|frame| frame.queue.len()).max().unwrap_or(0));
        world.happen(&Happening::Result(name, Ok(Value::Int(7))), Chunking::Whole);
    }
    let ran = Ran { world: play(world, &case, Chunking::Whole) };
    ran.assert_has("done: 7");
    assert_eq!((ran.count("start "), n_most), (11, 3));
}

/// The real binary, in a process of its own: a stack that overflows is a signal, and no exit code.
#[track_caller]
fn fails_with(run: Run, parts: &[&str]) {
    let done = run.done();
    let code = done.code.unwrap_or_else(|| panic!("the process was killed:\n{}", done.stderr));
    assert_ne!(code, 0, "{}", done.stdout);
    for part in parts {
        assert!(done.stderr.contains(part), "standard error has no {part:?}:\n{}", done.stderr);
    }
}

/// Values nest so deep and no deeper; the fault names the line.
#[test]
fn bug_2_7_deeply_nested_values_are_a_fault_of_the_session() {
    let program = format!(
        "# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = []\n- Repeat 900 times\n  - $x = {}$x{}\n\
         - Return 1\n",
        "[".repeat(90),
        "]".repeat(90)
    );
    fails_with(Run::new().program(&program).line("run program.md"), &["nested", "02.01"]);
}

#[test]
fn bug_2_7_deeply_nested_arguments_are_a_fault_of_the_session() {
    let program = format!(
        "# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $r = Grow([])\n- Return 1\n## Grow($s)\n### Steps\n\
         - Return Grow({}$s{})\n",
        "[".repeat(90),
        "]".repeat(90)
    );
    fails_with(Run::new().program(&program).line("run program.md"), &["nested", "Grow"]);
}

/// JSON plans have the same bound.
#[test]
fn suspected_deeply_nested_values_of_plans_are_a_fault() {
    let plan = format!(
        r#"[{{"seq_no":0,"type":"assign","parameters":{{"x":[]}}}},
            {{"seq_no":1,"type":"assign","parameters":{{"x":{}"${{x}}"{}}}}},
            {{"seq_no":2,"type":"jmp","parameters":{{"target_seq":1}}}},
            {{"seq_no":3,"type":"assign","parameters":{{"final_answer":"1"}}}}]"#,
        "[".repeat(90),
        "]".repeat(90)
    );
    fails_with(Run::new().file("deep.jmp.json", &plan).line("run deep.jmp.json"), &["nested"]);
}

/// Arguments are values like others: the limit `value_bytes` holds for them.
#[test]
fn bug_2_7_large_arguments_are_a_fault_of_the_session() {
    for callee in ["Return Grow($s + $s)", "$r = Grow($s + $s)\n- Say \"{$r}\"\n- Return $r"] {
        let case = parse(&format!(
            "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $r = Grow(\"aaaaaaaaaaaaaaaa\")\n\
             - Return 1\n## Grow($s)\n### Steps\n- {callee}\n--- settings\nvalue_bytes = 1000\nbudget = 2\n"
        ));
        let mut world = start(&case);
        // So many doublings are far beyond the limit, and few enough for the machine that runs this.
        world.patience = 12;
        let end = world.settle();
        let Err(Outcome::Failed(fault)) = end else { panic!("{end:?}\n{}", world.log.join("\n")) };
        let place = fault.place.map(|place| world.machine.describe(place.location)).unwrap_or_default();
        assert!(fault.message.contains("value_bytes"), "{}", fault.message);
        assert!(place.starts_with("Grow:01") || fault.message.contains("Grow"), "{place}: {}", fault.message);
    }
}

/// What a tool gets is bounded by the same rule.
#[test]
fn bug_2_7_large_arguments_of_tools_are_a_fault_of_the_line() {
    let ran = ran(r#"--- program
# A
## Main
### Steps
- $s = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
- Put($s + $s + $s + $s + $s + $s + $s + $s + $s + $s + $s)
- Return 1
--- tools
Put(item)
--- settings
value_bytes = 1000
"#);
    ran.assert_has_not("start 1 Put");
    assert!(ran.log().contains("value_bytes"), "{}", ran.log());
}

/// Something says that there was more than is shown.
#[track_caller]
fn says_left_out(message: &str) {
    let says = ["left out", "not shown", "earlier", "older"].iter().any(|words| message.contains(words));
    let end = message.ceil_char_boundary(message.len().saturating_sub(2_000));
    assert!(says, "nothing says that something was left out; the message ends:\n{}", &message[end..]);
}

/// Results that the model has not seen yet: the newest are told, the oldest are not, and that is said.
#[test]
fn bug_2_9_results_in_a_request_are_bounded() {
    let files: Vec<String> = (0..12).map(|n| format!("\"chapter-{n}-of-a-long-book.txt\"")).collect();
    let files = Value::from_json(&format!("[{}]", files.join(","))).unwrap();
    let ran = ran_answering(
        "--- program\n# A\n## Main\n### Steps\n- Repeat 300 times\n  - $t = ListFiles(\".\")\n  - $u = $t\n\
         - Tell the user something about $u\n- Return 1\n--- tools\nListFiles(path) read_only\n",
        |_| files.clone(),
    );
    ran.assert_has("ask 1");
    bounded(&ran);
    says_left_out(&ran.last_message());
}

/// What triggers did while nobody spoke: a beat for days.
#[test]
fn bug_2_9_news_of_triggers_in_a_request_are_bounded() {
    let case = parse(
        "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Ask the user for $x\n- Return $x\n\
         ## Tick\n### Triggers\n- Every 1 second\n### Steps\n- $t = \"a beat, and nobody is there to hear it\"\n\
         - Return $t\n--- reply\n{\"at\":\"01\",\"wait\":\"user\"}\n",
    );
    let mut world = play(start(&case), &case, Chunking::Whole);
    for _ in 0..2_000 {
        world.happen(&Happening::Pass(1_000), Chunking::Whole);
        world.happen(&Happening::Timer(None), Chunking::Whole);
    }
    world.happen(&Happening::User("hello?".into()), Chunking::Whole);
    let ran = Ran { world };
    assert_eq!(ran.requests().len(), 2);
    bounded(&ran);
    says_left_out(&ran.last_message());
    // What the user said is there, whatever else is not.
    assert!(ran.last_message().contains("USER \"hello?\""));
}

/// Errors of tools are results, too.
#[test]
fn bug_2_9_errors_in_a_request_are_bounded() {
    let case = parse(
        "--- program\n# A\n## Main\n### Steps\n- $t = Get(1)\n- Tell the user something about $t\n--- tools\n\
         Get(id) read_only\n",
    );
    let mut world = start(&case);
    let _ = world.settle();
    world.happen(&Happening::Result("Get".into(), Err("out of paper ".repeat(20_000))), Chunking::Whole);
    bounded(&Ran { world });
}

#[track_caller]
fn bounded(ran: &Ran) {
    let settings = playhouse::vm::protocol::settings::Settings::default();
    let program: usize = ran.world.machine.program().sources.iter().map(|(_, file)| file.text.len()).sum();
    for start in ran.requests() {
        let bound = request_bound(&settings, start.messages[0].text.len() + program);
        let n_bytes = request_text(start).len();
        assert!(n_bytes <= bound, "a request of {n_bytes} bytes, more than {bound}");
    }
}

/// A large variable that the line names.
const LARGE: &str = "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- FIRST\n\
                     - $t = \"aaaaaaaaaa\"\n- Repeat 16 times\n  - $t = $t + $t\n- Tell the user what $t is about\n\
                     - Return 1\n";

#[test]
fn bug_2_10_a_variable_that_the_line_names_is_bounded() {
    let ran = ran(&LARGE.replace("FIRST", "$n = 1"));
    ran.assert_has("ask 1");
    bounded(&ran);
}

/// One rule of display, whatever the age of the chat: what the line names is shown the same way.
#[test]
fn bug_2_10_a_variable_is_shown_alike_in_a_fresh_and_a_continued_chat() {
    let text = LARGE.replace("16 times", "9 times");
    let fresh = ran(&text.replace("FIRST", "$n = 1"));
    let continued = ran(&format!(
        "{}--- reply\n{}\n",
        text.replace("FIRST", "Look around"),
        "{\"at\":\"01\",\"say\":\"Hm.\"}\n{\"at\":\"02\"}"
    ));
    let shown = |ran: &Ran| {
        let message = ran.last_message();
        // The longest run of the value's letter is how much of it was shown.
        message.split(|letter| letter != 'a').map(str::len).max().unwrap_or(0)
    };
    assert_eq!(continued.requests().len(), 2, "{}", continued.log());
    assert_eq!(shown(&fresh), shown(&continued), "letters shown in a fresh and in a continued chat");
}

/// A program that spins without model, user or timer is stopped after a bound that is said, with its line.
///
/// It assumes the setting `max_idle_directives` (default 1,000,000), which cases are to know by that name
/// (`world_parts::setting`).
#[test]
fn bug_2_12_a_program_that_spins_is_stopped() {
    let ran =
        ran("--- program\n# A\n## Main\n### Steps\n- $i = 0\n- While $i is at least 0\n  - $i = $i + 1\n- Return 1\n\
                   --- settings\nmax_idle_directives = 5000\nbudget = 100\n");
    let end = ran.world.log.iter().find(|line| line.starts_with("failed (")).cloned().unwrap_or_default();
    assert!(end.starts_with("failed (limit) at Main:02"), "{end:?}");
    assert!(end.contains("5000") || end.contains("5,000"), "the bound is not said: {end}");
    assert!(end.contains("max_idle_directives"), "the setting is not named: {end}");
}

/// Somebody who speaks now and then is no spinning: the count begins anew.
#[test]
fn bug_2_12_a_long_program_that_talks_is_not_stopped() {
    let case = parse(
        "--- program\n# A\n## Main\n### Steps\n- Repeat 30 times\n  - Repeat 50 times\n    - $i = 1\n\
         \x20 - $t = Now()\n- Return 1\n--- tools\nNow()\n--- settings\nmax_idle_directives = 2000\nbudget = 100\n",
    );
    let mut world = start(&case);
    super::answer_calls(&mut world, |_| text_value("now".into()));
    assert!(matches!(world.settle(), Err(Outcome::Done { .. })), "{}", world.log.last().unwrap());
}

/// Spinning gives way to what has happened meanwhile.
#[test]
fn a_program_that_spins_can_be_interrupted() {
    let case = parse(
        "--- program\n# A\n## Main\n### Steps\n- $i = 0\n- While $i is at least 0\n  - $i = $i + 1\n--- settings\n\
         budget = 100\n",
    );
    let mut world = start(&case);
    world.patience = 3;
    assert_eq!(world.settle(), Ok(Wait::Budget));
    world.handle(Event::Interrupted);
    assert_eq!(world.settle(), Ok(Wait::User));
}
