//! Skills that were found and trusted, through the real binary: what no transcript can tell.

use std::fs;
use std::path::{Path, PathBuf};

use playhouse::host::program::{KnownTools, load_files};
use playhouse::host::skills::export::{export, kebab_case};
use playhouse::lang::outline::Outline;
use playhouse::lang::program::Signature;
use playhouse::lang::source::skill::Skill;
use playhouse::span::FileId;

use crate::run::Run;

const TEA: &str = "---\nname: tea\ndescription: Makes tea\n---\n\n1. Fetch water\n2. Boil it\n3. Fill the cup\n";

const DESK: &str = "---\nskills: [tea]\n---\n\n# Desk\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n\
                    - $cup = Tea(\"green\")\n- Say \"{$cup}\"\n- Ask the user for $more\n- Say \"{$more}\"\n";

const SCRIPT: &str = r#"{"reply":"{\"at\":\"01\",\"think\":\"water\"}\n{\"at\":\"02\",\"think\":\"boil\"}\n{\"at\":\"03\",\"return\":\"a cup\"}"}
{"reply":"{\"at\":\"03\",\"say\":\"More?\"}\n{\"at\":\"03\",\"wait\":\"user\"}"}
{"reply":"{\"at\":\"03\",\"set\":{\"more\":\"no\"}}"}
"#;

const RUN: &str = "run program.md --model script:script.jsonl --session s";

const STORE: &str = "state/playhouse/trusted-skills.json";

fn desk() -> Run {
    Run::new().program(DESK).script(SCRIPT).file(".claude/skills/tea/SKILL.md", TEA)
}

#[test]
fn a_session_goes_on_without_the_folder_of_its_skill() {
    let done = desk().line("skills trust .claude/skills/tea --yes").code(0);
    let done = done.then().line(RUN).code(3).stdout("a cup\nMore?\n");
    fs::remove_dir_all(done.path(".claude")).unwrap();
    done.then().line("sessions resume s").stdin("no\n").code(0).stdout("no\n");
}

#[test]
fn a_trusted_skill_that_is_gone_is_told() {
    let done = desk().line("skills trust .claude/skills/tea --yes").code(0);
    fs::remove_dir_all(done.path(".claude")).unwrap();
    let done = done.then().line("check program.md").code(2).stderr_contains("and is no longer there; restore it");
    done.then().line("skills list").code(0).stdout("").stderr_contains("it was trusted, but no longer exists");
}

#[test]
fn what_is_trusted_is_private_and_a_damaged_file_of_it_is_left_alone() {
    let mut done = desk().line("skills trust .claude/skills/tea --yes").code(0);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(done.path(STORE)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    for damaged in ["{\"version\":1,\"skills\":", "{\"version\":2,\"skills\":{}}"] {
        fs::write(done.path(STORE), damaged).unwrap();
        for line in ["skills list", "check program.md", "skills trust .claude/skills/tea --yes"] {
            done = done.then().line(line).code(2).stderr_contains("trusted-skills.json: this is not a list of trusted");
        }
        assert_eq!(fs::read_to_string(done.path(STORE)).unwrap(), damaged);
    }
}

#[test]
fn without_a_place_for_it_nothing_is_trusted() {
    let run = desk().variable("HOME", "").variable("XDG_STATE_HOME", "").line("skills trust .claude/skills/tea --yes");
    run.code(2).stderr_contains("set HOME or XDG_STATE_HOME");
}

#[cfg(unix)]
#[test]
fn links_out_of_a_skill_are_refused() {
    use std::os::unix::fs::symlink;
    let done = desk().file("secret.txt", "secret").line("skills list").code(0);
    let link = done.path(".claude/skills/tea/notes.md");
    symlink(done.path("secret.txt"), &link).unwrap();
    let done = done.then().line("skills trust .claude/skills/tea --yes").code(2);
    let done = done.stderr_contains("tea/notes.md: this link leads out of the skill's folder");
    fs::remove_file(&link).unwrap();
    symlink(done.path("nowhere"), &link).unwrap();
    let done = done.then().line("skills trust .claude/skills/tea --yes").code(2).stderr_contains("leads nowhere");
    fs::remove_file(&link).unwrap();
    // One that stays inside is a part of what is trusted.
    symlink("SKILL.md", &link).unwrap();
    let done = done.then().line("skills trust .claude/skills/tea --yes").code(0);
    let done = done.then().line("check program.md").code(0);
    fs::remove_file(&link).unwrap();
    done.then().line("check program.md").code(2).stderr_contains("(notes.md is gone)");
}

#[cfg(unix)]
#[test]
fn folders_of_skills_are_shared_by_links_that_stay_inside() {
    use std::os::unix::fs::symlink;
    let run = Run::new().file("project/.git/HEAD", "").file("project/.agents/skills/tea/SKILL.md", TEA);
    let done = run.file("project/desk/.claude/x", "").file("else/cup/SKILL.md", TEA).line("--version").code(0);
    fs::create_dir_all(done.path("project/.claude")).unwrap();
    symlink("../.agents/skills", done.path("project/.claude/skills")).unwrap();
    symlink(done.path("else"), done.path("project/.agents/skills/else")).unwrap();
    symlink(done.path("else"), done.path("project/desk/.claude/skills")).unwrap();
    let desk = done.path("project/desk");
    let output = done.then().line("skills list").command(&[]).current_dir(desk).output().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    assert!(
        stdout.starts_with("tea  not trusted  steps  3 lines  ") && stdout.ends_with("project/.agents/skills/tea\n")
    );
    assert!(stderr.contains(".claude/skills: a link out of its folder"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn a_script_that_may_not_be_run_is_told_if_it_is_run_by_its_name() {
    use std::os::unix::fs::PermissionsExt;
    let text = format!("{TEA}\n```bash\n${{CLAUDE_SKILL_DIR}}/scripts/boil.sh --hot\npython scripts/fill.py\n```\n");
    let run = Run::new().file("tea/SKILL.md", &text).file("tea/scripts/boil.sh", "#!/bin/sh\nboil\n");
    let run = run.file("tea/scripts/fill.py", "#!/usr/bin/env python3\nfill()\n");
    let done = run.line("check tea").code(0).stderr_contains("[skill-script-not-executable]: `scripts/boil.sh`");
    assert!(!done.stderr.contains("fill.py"), "{}", done.stderr);
    fs::set_permissions(done.path("tea/scripts/boil.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let done = done.then().line("check tea").code(0);
    assert!(!done.stderr.contains("skill-script-not-executable"), "{}", done.stderr);
}

#[test]
fn playbooks_of_the_examples_are_the_same_lines_as_skills() {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let (mut n_same, mut others) = (0, Vec::new());
    let examples = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_program = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(".md") && name.matches('.').count() == 1
    };
    for path in examples.filter(is_program) {
        let known = KnownTools { are_more: true, ..KnownTools::from(&[] as &[Signature; 0]) };
        let (_, loaded) = load_files(&[path], known).unwrap();
        let program = loaded.program;
        let own = |playbook: &&playhouse::lang::program::Playbook| {
            playbook.skill.is_none() && !playbook.implicit && !playbook.body.steps.is_empty()
        };
        for playbook in program.playbooks.iter().filter(own) {
            let name = kebab_case(&playbook.title);
            let exported = export(&program, playbook, &name);
            let text = &exported.files["SKILL.md"];
            let skill = Skill::read(FileId(0), &name, text);
            assert!(!skill.findings.iter().any(Skill::is_refused), "{:?}", skill.findings);
            let outline = Outline::find(FileId(0), text, skill.body.range().start);
            let read: Vec<String> = outline.lines().map(|line| letters(&line.words)).collect();
            let written: Vec<String> = playbook.body.steps.iter().map(|step| letters(&step.text)).collect();
            if read == written {
                n_same += 1;
            } else {
                let is_told = exported.lost.iter().any(|what| what.contains("read as"));
                assert!(is_told, "{name}: {:?}\n{text}", exported.lost);
                others.push((name, playbook.body.steps.iter().filter(|step| step.parent.is_none()).count()));
            }
        }
    }
    // Fewer than three lines are no procedure.
    let has_too_few = |(_, n_lines): &(String, usize)| *n_lines < 3;
    assert!(n_same >= 20 && others.iter().all(has_too_few), "{n_same} are the same, these are not: {others:?}");
}
