//! Replies by hand (`docs/testing.md`): what is read and what is refused, and that a text comes back as it was. What comes
//! of them is in `tests/cases/cli/written.txt`.

use fastrand::Rng;
use playhouse::lang::files::test_file::{Bullet, LineName, What};
use playhouse::lang::files::test_file::{TestFile, TestStep, TestStepKind, WrittenBullet};
use playhouse::span::FileId;
use playhouse::value::{Map, Value};

use crate::made_up::made_up;
use crate::test_file::{TOP, check_steps, read};

fn bullets(file: &TestFile) -> Vec<Bullet> {
    let TestStepKind::Written(written) = &file.steps[0].kind else { panic!("no bullets: {:?}", file.steps) };
    written.iter().map(|written| written.bullet.clone()).collect()
}

/// What one bullet says.
fn bullet(item: &str) -> Bullet {
    bullets(&read(&format!("{TOP}\n## Model\n\n- {item}\n"))).remove(0)
}

fn sets(item: &str) -> String {
    let what = bullet(item).what;
    let What::Sets(values) = what else { panic!("{item}: {what:?}") };
    Value::map(values).to_json()
}

#[test]
fn every_form_is_read_and_written_back_as_it_was() {
    let text = format!(
        "{TOP}\n## Model\n\n- 02: policy = \"NF123456\"\n- 04.01: a = 1, b = {{\"x\":[1,2]}}\n- 13: yes\n- 13: no\n\
         - 04>02: says \"Which \\\"day\\\"?\"\n- \"Ask the user for $day: when\": waits\n- 03: calls Find(id: 4, of: \"it\")\n\
         - 03: calls Desk.Now()\n- 05: done\n- 06: skip \"they said it\"\n- Answer: returns {{\"n\":1}}\n\
         \n## User\n\n- during: 12\n\n> Wait!\n"
    );
    // A message in a reply needs a reply in a fence.
    let text = text.replace("\n## User", "\n## Model\n\n```jsonl\n{}\n```\n\n## User");
    let file = read(&text);
    assert_eq!(file.render(), text);
    let bullets = bullets(&file);
    assert_eq!(bullets[0].line, LineName::Id("02".to_owned()));
    assert_eq!(bullets[4].line, LineName::Id("04>02".to_owned()));
    assert_eq!(bullets[5].line, LineName::Text("Ask the user for $day: when".to_owned()));
    assert_eq!(
        bullets[10],
        Bullet {
            line: LineName::Goal("Answer".to_owned()),
            what: What::Returns(Value::from_json("{\"n\":1}").unwrap())
        }
    );
    assert_eq!(bullets[4].what, What::Says("Which \"day\"?".into()));
    assert_eq!(file.steps[0].line, 5);
    let TestStepKind::Written(written) = &file.steps[0].kind else { panic!("no bullets") };
    assert_eq!((written[0].line, written[10].line), (7, 17));
}

#[test]
fn values_are_json_or_text_up_to_the_next_name() {
    assert_eq!(sets("02: name = Ann"), r#"{"name":"Ann"}"#);
    assert_eq!(sets("02: $name = Berg, Ida, $n = 3"), r#"{"name":"Berg, Ida","n":3}"#);
    assert_eq!(sets("02: day = 2026-05-02, ok = true"), r#"{"day":"2026-05-02","ok":true}"#);
    assert_eq!(sets("02: text = \"a, b = 3\", list = [1, 2]"), r#"{"text":"a, b = 3","list":[1,2]}"#);
    assert_eq!(sets("02: sum = 1 == 1"), r#"{"sum":"1 == 1"}"#);
    assert_eq!(sets("02: says = loud, yes = no"), r#"{"says":"loud","yes":"no"}"#);
}

#[test]
fn errors_of_bullets() {
    check_steps(
        "## Model\n\n- 02 yes\n- Not a line: yes\n- 2.: yes\n- 02: sayz \"x\"\n- 02: says Hello\n- 02: says 5\n- 02: returns x\n\
         - 02: calls Find\n- 02: calls Find() -> 3\n- 02: yes please\n- 02: a = , b = 2\n- 02: a = 1, a = 2\n- when: x\nProse.\n",
        "a.test.md:7:1: `02 yes` does not name a line [bad-line]
  write `LINE: WHAT`, as in `02: yes` or `\"Ask the user\": yes`
a.test.md:8:1: `Not a line: yes` does not name a line [bad-line]
  write `LINE: WHAT`, as in `02: yes` or `\"Ask the user\": yes`
a.test.md:9:1: `2.: yes` does not name a line [bad-line]
  write `LINE: WHAT`, as in `02: yes` or `\"Ask the user\": yes`
a.test.md:10:1: `sayz \"x\"` is not an answer for a line [bad-reply]
  did you mean `says`? write `name = VALUE`, `yes`, `no`, `says \"…\"`, `calls Tool(name: JSON)`, `done`, `waits`, `skip \"why\"` or `returns JSON`
a.test.md:11:1: `Hello` is not a JSON value: expected value at line 1 column 1 [bad-json]
  write JSON, with text in double quotes
a.test.md:12:1: `5` is not text [bad-reply]
  write it in double quotes
a.test.md:13:1: `x` is not a JSON value: expected value at line 1 column 1 [bad-json]
  write JSON, with text in double quotes
a.test.md:14:1: `Find` is not a call [bad-call]
  write `Name(argument: JSON)`, followed by ` -> JSON` or ` !! error` to compare the result
a.test.md:15:1: `Find() -> 3` is a result [bad-reply]
  the result comes from the tool; write only the call
a.test.md:16:1: `yes please` is not an answer for a line [bad-reply]
  write `name = VALUE`, `yes`, `no`, `says \"…\"`, `calls Tool(name: JSON)`, `done`, `waits`, `skip \"why\"` or `returns JSON`
a.test.md:17:1: `a` gets no value [empty-value]
  write JSON or text after the `=`
a.test.md:18:1: `a` gets two values [duplicate-name]
  remove one of them
a.test.md:19:1: `when: x` is among bullets [option-of-bullets]
  options go above a fenced block; a bullet answers when its line is asked about
a.test.md:20:1: this line does not belong in `## Model` [unexpected-text]
  begin every bullet with `- `, on one line",
    );
    check_steps(
        "## Model\n\n- 02: yes\n\n```jsonl\n{}\n```\n",
        "a.test.md:7:1: a reply has no option `02` [unknown-key]
  options are `when`, `when any`, `chunks` and `error`",
    );
}

#[test]
fn errors_of_what_happens() {
    check_steps(
        "## Wait\n\n## Wait\n\na while\n\n## Set\n\n(nothing)\n\n## Set\n\n- $a is not set\n- $a = 1 on Main\n",
        "a.test.md:5:1: `## Wait` is empty [empty-section]
  write how long, as in `30 s`
a.test.md:9:1: `a while` is not a time [bad-time]
  write a number and a unit, as in `30 s`, `2 minutes` or `3 days`; at most a year
a.test.md:11:1: `## Set` is empty [empty-section]
  write one item per line (`- …`)
a.test.md:17:1: `$a` gets no value [bad-variable]
  write `$name = JSON`, with ` in Playbook` after it if several have the variable
a.test.md:18:1: `1 on Main` is not a JSON value: trailing characters at line 1 column 3 [bad-json]
  write JSON, with text in double quotes",
    );
    check_steps(
        "## User\n\n- during: 3\n\n> Now!\n\n## Model\n\n```jsonl\n{}\n```\n\n## User\n\n- during: soon\n\n> Now!\n\n\
         ## User\n\n- during: 3 of reply 2\n\n> Now!\n\n## Says\n\n(nothing)\n\n## User\n\n- during: 5\n\n> Now!\n",
        "a.test.md:5:1: nothing says which reply this message interrupts [no-reply-before]
  put it after a `## Model` with a fenced block, with `- during: BYTES` alone
a.test.md:19:1: `soon` is not a place in a reply [bad-during]
  write how many bytes of the reply come before it, as in `120`, or `120 of reply 2`
a.test.md:23:1: nothing says which reply this message interrupts [no-reply-before]
  put it after a `## Model` with a fenced block, with `- during: BYTES` alone
a.test.md:33:1: nothing says which reply this message interrupts [no-reply-before]
  put it after a `## Model` with a fenced block, with `- during: BYTES` alone
a.test.md:33:1: `## User` comes after the `## Says` of the same part [reply-after-expected]
  put replies first: expected parts are compared when the program waits for the user
  a.test.md:29:1: the expected part is here",
    );
}

#[test]
fn bullets_that_are_written_and_read_again_are_the_same() {
    made_up!(3_000).with_type::<u64>().for_each(|seed| {
        let mut random = Rng::with_seed(*seed);
        let bullets: Vec<Bullet> = (0..random.usize(1..5)).map(|_| any_bullet(&mut random)).collect();
        let written = bullets.iter().map(|bullet| WrittenBullet { line: 0, bullet: bullet.clone() }).collect();
        let mut file = read(&format!("{TOP}\n## Model\n\n- 01: yes\n"));
        file.steps = vec![TestStep { line: 5, kind: TestStepKind::Written(written) }];
        let text = file.render();
        let again = TestFile::parse(FileId(0), &text).unwrap_or_else(|found| panic!("{text}\n{found:?}"));
        assert_eq!(self::bullets(&again), bullets, "{text}");
        assert_eq!(again.render(), text);
    });
}

fn any_bullet(random: &mut Rng) -> Bullet {
    let line = match random.u8(0..3) {
        0 => LineName::Id(["2", "02", "04.01", "04>02", "04.10>2.03"][random.usize(0..5)].to_owned()),
        1 => LineName::Text(any_text(random)),
        _ => LineName::Goal(any_name(random)),
    };
    let what = match random.u8(0..9) {
        0 => What::Sets(any_members(random, 1)),
        1 => What::Yes,
        2 => What::No,
        3 => What::Says(any_text(random).into()),
        4 => What::Calls { name: any_name(random).into(), arguments: any_members(random, 0) },
        5 => What::Done,
        6 => What::Waits,
        7 => What::Skips(any_text(random).into()),
        _ => What::Returns(any_value(random, 2)),
    };
    Bullet { line, what }
}

fn any_members(random: &mut Rng, least: usize) -> Map {
    (0..random.usize(least..4)).map(|_| (any_name(random).into(), any_value(random, 2))).collect()
}

fn any_name(random: &mut Rng) -> String {
    ["a", "says", "yes", "calls", "name_2", "Ü", "returns", "done"][random.usize(0..8)].to_owned()
}

/// Pieces that mean something somewhere.
fn any_text(random: &mut Rng) -> String {
    let pieces =
        ["a", " ", ",", "=", "b = 2", "\"", "\\", "\n", ": ", "- ", "```", "# ", "> ", ")", "$x", "ü", "\u{1}", "\r"];
    (0..random.usize(0..6)).map(|_| pieces[random.usize(0..pieces.len())]).collect()
}

fn any_value(random: &mut Rng, depth: u8) -> Value {
    match random.u8(0..if depth > 0 { 7 } else { 5 }) {
        0 => Value::Null,
        1 => Value::Bool(random.bool()),
        2 => Value::Int(random.i64(..)),
        3 => Value::Float(f64::from(random.i32(..)) / 8.0),
        4 => Value::str(any_text(random)),
        5 => Value::list((0..random.usize(0..3)).map(|_| any_value(random, depth - 1)).collect()),
        _ => Value::map(
            (0..random.usize(0..3)).map(|_| (any_text(random).into(), any_value(random, depth - 1))).collect(),
        ),
    }
}
