//! Who decides that a person is asked: the operator's word can only be made stricter by a program.

use crate::run::{Done, Run};

const CONFIRM_WRITES: &str = "[tools]\n\"*\" = { approval = \"writes\" }\n";

/// A program that writes a file, with this front matter.
fn saving(front_matter: &str) -> Run {
    let program = format!(
        "---\ntitle: Desk\n{front_matter}---\n\n# Desk\n\n## Main\n\n### Steps\n\n- SaveFile(\"out.txt\", \"text\")\n- Say \"done\"\n"
    );
    Run::new().program(&program).file("none.json", "[]")
}

fn run(run: Run) -> Done {
    run.line("run program.md --model script:none.json --journal s.jsonl").done()
}

#[track_caller]
fn assert_asks(run_of: Run) {
    let done = run(run_of);
    assert_eq!(done.code, Some(3), "{}{}", done.stdout, done.stderr);
    assert!(!done.path("out.txt").exists(), "it was written and nobody was asked");
}

#[test]
fn a_program_cannot_switch_the_operators_approval_off() {
    for front_matter in [
        "",
        "tools: {SaveFile: {effect: read_only}}\n",
        "tools: {SaveFile: {approval: never}}\n",
        "tools: {SaveFile: {effect: read_only, approval: never}}\n",
        "tools: {\"Save*\": {effect: idempotent, approval: never}}\n",
    ] {
        assert_asks(saving(front_matter).file("playhouse.toml", CONFIRM_WRITES));
    }
}

#[test]
fn a_program_can_make_it_stricter() {
    assert_asks(saving("tools: {SaveFile: {approval: ask}}\n"));
    assert_asks(
        saving("tools: {SaveFile: {approval: writes}}\n")
            .file("playhouse.toml", "[tools]\nSaveFile = { approval = \"never\" }\n"),
    );
}

#[test]
fn the_operators_own_word_lowers_it() {
    for rule in ["{ approval = \"never\" }", "{ effect = \"read_only\" }"] {
        let configuration = format!("{CONFIRM_WRITES}SaveFile = {rule}\n");
        run(saving("").file("playhouse.toml", &configuration)).code(0).stdout("done\n");
    }
}

/// A program with a plugin whose one command wants a person's yes.
fn with_plugin(front_matter: &str) -> Run {
    let run = Run::new();
    run.beside().line("plugin new clock --language sh").code(0);
    let config = run.read("clock/.config/config.yaml").replace("effect: read_only", "approval: ask");
    let program = format!(
        "---\nplugins: {{clock: clock}}\n{front_matter}---\n\n# A\n\n## Main\n\n### Steps\n\n- $day = clock.today()\n- Say \"x\"\n"
    );
    run.program(&program).file("clock/.config/config.yaml", &config)
}

#[test]
fn check_tells_who_is_asked() {
    let asked = "a person is asked";
    let explained = |run: Run| run.line("check --explain program.md").code(0);
    let own = "tools: {clock.today: {approval: never, effect: read_only}}\n";
    let done = explained(with_plugin(own)).stdout_contains(asked);
    assert!(
        done.stderr.contains("`approval: never` of the program for `clock.today` has no effect"),
        "the program's author must hear of it: {}",
        done.stderr
    );
    assert!(
        done.stderr.contains("`effect: read_only` of the program for `clock.today` has no effect"),
        "{}",
        done.stderr
    );
    let operator = "[tools]\n\"clock.*\" = { approval = \"never\" }\n";
    let done = explained(with_plugin("").file("playhouse.toml", operator));
    assert!(!done.stdout.contains(asked), "{}", done.stdout);
    explained(saving("tools: {SaveFile: {effect: read_only}}\n").file("playhouse.toml", CONFIRM_WRITES))
        .stdout_contains(asked);
}
