//! Agent Skills as playbooks: whatever a skill does that is called, its caller goes on behind the call.

use std::fmt::Write as _;

use fastrand::Rng;
use playhouse::lang::{LoadOptions, Loaded, Readings, SourceText, load_again};

use crate::made_up::made_up;
use crate::run::Run;
use crate::world::{Chunking, World, begin, parse, play};

/// How a skill that was called ends.
#[derive(Clone, Copy)]
enum End {
    /// Its reply ends after its last line, as if all were over.
    Stops,
    /// It asks the user last, and returns what they say.
    Asks,
    /// It returns before its last lines, though it is told of them.
    Leaves,
    /// What it calls fails, and it returns that.
    Fails,
}

const ENDS: [End; 4] = [End::Stops, End::Asks, End::Leaves, End::Fails];

/// A case: skills that call each other in words to this depth, and the replies of a model that follows them.
fn nesting(random: &mut Rng, depth: usize) -> (String, Vec<usize>) {
    let ends: Vec<End> = (0..depth).map(|_| ENDS[random.usize(..ENDS.len())]).collect();
    let mut case = "--- tools\nPay(amount)\n--- program\n# Desk\n\n## Main\n\n### Steps\n\n- Use the s-1 skill to begin\n- Tell the user the end\n".to_owned();
    for level in 1..=depth {
        let call =
            if level < depth { format!("Use the s-{} skill to go on", level + 1) } else { "Look around".to_owned() };
        let _ = write!(
            case,
            "=== s-{level}/SKILL.md\n---\nname: s-{level}\ndescription: Level {level}\n---\n\nFollow these.\n\n\
             1. Begin\n2. {call}\n3. Pay what is due\n4. Tell the user\n"
        );
    }
    for level in 1..=depth {
        let call = format!(
            "{{\"at\":\"02\",\"call\":\"S{}\",\"args\":{{\"ARGUMENTS\":\"go on\"}}}}\n{{\"at\":\"02\",\"wait\":\"calls\"}}\n",
            level + 1
        );
        let _ = write!(case, "--- reply\n{{\"at\":\"01\",\"say\":\"{level} begins\"}}\n");
        if level < depth {
            case.push_str(&call);
        } else {
            case.push_str("{\"at\":\"02\",\"say\":\"nothing\"}\n");
            after_call(&mut case, level, ends[level - 1], false);
        }
    }
    for level in (1..depth).rev() {
        after_call(&mut case, level, ends[level - 1], true);
    }
    case.push_str("--- reply\n{\"at\":\"02\",\"say\":\"the end\"}\n{\"at\":\"02\",\"return\":null}\n");
    (case, (1..depth).rev().collect())
}

/// What a skill does behind line 02; the reply may have begun.
fn after_call(case: &mut String, level: usize, end: End, is_new: bool) {
    if is_new {
        case.push_str("--- reply\n");
    }
    let last = format!("{{\"at\":\"04\",\"say\":\"{level} is done\"}}\n");
    match end {
        End::Stops => {
            let _ = write!(case, "{{\"at\":\"03\",\"say\":\"paid\"}}\n{last}");
        }
        End::Asks => {
            let _ = write!(
                case,
                "{{\"at\":\"03\",\"say\":\"paid\"}}\n{{\"at\":\"04\",\"say\":\"Is {level} done?\"}}\n\
                 {{\"at\":\"04\",\"wait\":\"user\"}}\n--- user yes\n--- reply\n{{\"at\":\"04\",\"return\":\"yes\"}}\n"
            );
        }
        End::Leaves => {
            let leave = "{\"at\":\"03\",\"return\":\"enough\"}\n";
            let _ = write!(case, "{leave}--- reply\n{leave}");
        }
        End::Fails => {
            let _ = write!(
                case,
                "{{\"at\":\"03\",\"call\":\"Pay\",\"args\":{{\"amount\":{level}}}}}\n{{\"at\":\"03\",\"wait\":\"calls\"}}\n\
                 --- error Pay\nno money\n--- reply\n{{\"at\":\"04\",\"say\":\"It failed.\"}}\n{{\"at\":\"04\",\"return\":\"no money\"}}\n"
            );
        }
    }
}

#[test]
fn whoever_calls_a_skill_goes_on_behind_the_call() {
    let mut random = Rng::with_seed(20);
    for number in 0..200 {
        let (text, callers) = nesting(&mut random, 1 + number % 8);
        let case = parse(&text);
        let world = play(World::new(begin(&case)), &case, Chunking::Whole);
        let reached = |line: &str| world.log.iter().position(|told| told == line);
        let places: Vec<Option<usize>> = callers.iter().map(|level| reached(&format!("reached S{level}:03"))).collect();
        let log = || format!("{text}\n{}", world.log.join("\n"));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}", log());
        assert!(world.log.contains(&"done: null".to_owned()), "{}", log());
        let n_pops = world.log.iter().filter(|told| told.starts_with("pop ")).count();
        assert_eq!(n_pops, 2 + number % 8, "{}", log());
    }
}

/// What skills do leaves nothing in the prompt of who calls them but the calls and what they give.
#[test]
fn calls_of_skills_leave_no_more_than_results() {
    let mut text = "--- settings\nconversation = 0 # what is said is no matter of calls\n--- program\n# Desk\n\n## Main\n\n### Steps\n\n- Begin\n".to_owned();
    text.push_str("=== s/SKILL.md\n---\nname: s\ndescription: Much text\n---\n\n");
    for line in 0..200 {
        let _ = writeln!(text, "A line of much text that only this skill is about, {line}.");
    }
    let n_calls = 50;
    for call in 0..n_calls {
        let _ = write!(
            text,
            "--- reply\n{{\"at\":\"01\",\"call\":\"S\",\"args\":{{\"ARGUMENTS\":\"{call}\"}}}}\n{{\"at\":\"01\",\"wait\":\"calls\"}}\n\
             --- reply\n{{\"return\":\"r{call}\"}}\n"
        );
    }
    text.push_str("--- reply\n{\"at\":\"01\",\"return\":null}\n");
    let case = parse(&text);
    let world = play(World::new(begin(&case)), &case, Chunking::Whole);
    assert!(world.log.contains(&"done: null".to_owned()), "{}", world.log.join("\n"));
    let asked = world.asked.unwrap();
    let shown: String = asked.messages.iter().map(|message| &*message.text).collect();
    assert!(shown.contains(&format!("S(ARGUMENTS=\"{}\") -> \"r{}\"", n_calls - 1, n_calls - 1)), "{shown}");
    assert!(!shown.contains("much text that only this skill"), "{shown}");
}

/// Whatever a skill says: it is one playbook, and each line has its id in the text.
#[test]
fn any_text_is_one_playbook() {
    const PIECES: [&str; 24] = [
        "---\nname: a-b\ndescription: D\n---\n",
        "---\n",
        "## Step 1: Read\n",
        "## Step 2: Write\n",
        "## Step 3: Use the b-c skill\n",
        "### 1. Read it\n",
        "### 2. Write it\n",
        "### 3. Check it\n",
        "# Phase 1\n",
        "1. Read\n",
        "2. If there is more, write\n",
        "3. Check\n",
        "   1. Ask\n",
        "   2. Tell\n",
        "- [ ] Read\n",
        "- [x] Write\n",
        "  - [ ] Check\n",
        "$ARGUMENTS[0] $1 {$x}\n",
        "**REQUIRED SUB-SKILL:** Use é:b-c\n",
        "\n",
        "```\n",
        "é",
        "\r\n",
        "!import nothing.md\n",
    ];
    made_up!(2_000, 40).for_each(|bytes: &[u8]| {
        let text: String = bytes.iter().map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).collect();
        let program = read(vec![skill("a-b", &text)]).0.program;
        let [playbook] = &program.playbooks[..] else { panic!("{text}") };
        for step in &playbook.steps {
            assert!(playbook.description.contains(&format!("{} ", step.label)), "{}\n{text}", playbook.description);
        }
    });
}

/// A procedure inside of a line of another one: each line has its id where it stands.
#[test]
fn procedures_inside_of_procedures() {
    let text = "## Step 1: Read\n\n### 1. Open it\n\n### 2. Read it\n\n### 3. Close it\n\n## Step 2: Write\n\n## Step 3: Check\n";
    let program = read(vec![skill("a-b", text)]).0.program;
    let shown = text.replace("## Step", "## a Step").replace("### ", "### b ");
    let shown = (1..=3).fold(shown, |shown, n| {
        shown
            .replace(&format!("a Step {n}"), &format!("a0{n} Step {n}"))
            .replace(&format!("b {n}"), &format!("b0{n} {n}"))
    });
    assert_eq!(*program.playbooks[0].description, *shown.trim());
}

fn skill(name: &str, text: &str) -> SourceText {
    SourceText { name: format!("{name}/SKILL.md"), text: text.to_owned() }
}

fn read(roots: Vec<SourceText>) -> (Loaded, Readings) {
    load_again(None, roots, &mut |_| Err("none".to_owned()), &LoadOptions::default())
}

/// A file that takes the place of a skill is read as if the skill had never been there, and the other way round.
#[test]
fn what_was_read_of_a_skill_is_no_help_for_another_file() {
    let text = "---\nname: s\ndescription: D\n---\n\n# A\n\n## Main\n\n### Steps\n\n- Say \"x\"\n";
    let files = [skill("s", text), SourceText { name: "s.md".to_owned(), text: text.to_owned() }];
    for (before, now) in [(0, 1), (1, 0)] {
        let (loaded, readings) = read(vec![files[before].clone()]);
        let before = Some((loaded.program, readings));
        let roots = vec![files[now].clone()];
        let again = load_again(before, roots.clone(), &mut |_| Err("none".to_owned()), &LoadOptions::default()).0;
        assert_eq!(format!("{:?}", again.program), format!("{:?}", read(roots).0.program));
    }
}

/// How a skill runs is read anew when the front matter says something else, though the skill's text is the same.
#[test]
fn how_a_skill_runs_is_read_again_with_the_program() {
    let wanted = ["t", "{name: t, mode: goal}", "{name: t, mode: guide}", "{name: t, strict: true}", "t"];
    let root = |wanted: &str| {
        let text = format!("---\nskills: [{wanted}]\n---\n\n# A\n\n## Main\n\n### Steps\n\n- Use the t skill\n");
        vec![SourceText { name: "a.md".to_owned(), text }]
    };
    let found = skill("t", "---\nname: t\ndescription: D\n---\n\n1. Read it\n2. Send it\n3. Keep it\n");
    let load = |before, wanted| load_again(before, root(wanted), &mut |_| Ok(found.clone()), &LoadOptions::default());
    let mut before = None;
    let mut shown = Vec::new();
    for wanted in wanted {
        let (loaded, readings) = load(before.take(), wanted);
        assert_eq!(format!("{:?}", loaded.program), format!("{:?}", load(None, wanted).0.program));
        let t = loaded.program.playbooks.iter().find(|playbook| playbook.skill.is_some()).unwrap();
        let n_compulsory = t.steps.iter().filter(|step| step.compulsory).count();
        shown.push(format!("{:?} {} {} {n_compulsory}", t.mode, t.strict, t.steps.len()));
        before = Some((loaded.program, readings));
    }
    assert_eq!(shown, ["Steps false 3 0", "Goal false 0 0", "Goal false 3 0", "Steps true 3 3", "Steps false 3 0"]);
}

/// Two skills that other people wrote, as they are, from beginning to end: one reads a file beside it and runs a script of its
/// folder, the other runs commands and asks. Both return to the line after their call.
#[test]
#[ignore = "needs skills that are not ours to copy: SKILLS names a folder with `anthropics` and `superpowers/skills`"]
#[allow(clippy::disallowed_methods, reason = "where they are is known to whoever runs this")]
fn skills_of_others_are_played() {
    let corpus = std::env::var("SKILLS").expect("SKILLS names a folder");
    let (testing, finishing) = (
        format!("{corpus}/anthropics/webapp-testing"),
        format!("{corpus}/superpowers/skills/finishing-a-development-branch"),
    );
    let program = format!(
        "# Desk\n\n!import {testing}\n!import {finishing}\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n\
         - $found = WebappTesting(\"the page index.html\")\n- Use the finishing-a-development-branch skill\n\
         - Say \"The page is {{$found}}, the branch is done.\"\n"
    );
    let lines = [
        r#"{"at":"01","call":"RunCommand","args":{"command":"python3 ${CLAUDE_SKILL_DIR}/scripts/with_server.py --help"}}
{"at":"01","call":"ReadSkillFile","args":{"path":"examples/element_discovery.py","lines":8}}
{"at":"01","wait":"calls"}"#,
        r#"{"at":"02","call":"SaveFile","args":{"path":"index.html","text":"<button>Go</button>"}}
{"at":"02","wait":"calls"}"#,
        r#"{"at":"03","think":"the selector is button"}
{"at":"03","return":"fine"}"#,
        r#"{"at":"01","call":"RunCommand","args":{"command":"test -f index.html && echo 1 passed"}}
{"at":"01","wait":"calls"}"#,
        r#"{"at":"02","think":"a plain repository"}
{"at":"03","think":"main"}
{"at":"04","say":"1. Merge 2. Push 3. Keep 4. Discard?"}
{"at":"04","wait":"user"}"#,
        r#"{"at":"05","think":"kept"}
{"at":"05","return":"kept"}"#,
        r#"{"at":"06","skip":"kept as it is"}
{"at":"06","return":"kept"}"#,
    ];
    let script: String = lines.iter().map(|reply| format!("{}\n", serde_json::json!({ "reply": reply }))).collect();
    let run = Run::new()
        .program(&program)
        .script(&script)
        .line("run program.md --model script:script.jsonl --events events.jsonl")
        .stdin("y\ny\n3\n")
        .done();
    let run = run.stdout("1. Merge 2. Push 3. Keep 4. Discard?\nThe page is fine, the branch is done.\n").code(0);
    let events = run.read("events.jsonl");
    for part in
        ["usage: with_server.py", "sync_playwright", "1 passed", "\"lines\":[\"06\"],\"reason\":\"kept as it is\""]
    {
        assert!(events.contains(part), "{part}\n{events}");
    }
}
