//! The library: what ships is what lies in `playbooks/`, it works inside the agent that imports it, and no file on
//! disk stands in for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use playhouse::host::library::{FILES, SCHEME, find};
use playhouse::host::program::load_files;
use playhouse::lang::program::Program;

use crate::run::Run;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("playbooks")
}

/// The names in `playbooks/` that end in `end`, without it.
fn names_with(end: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(end).map(str::to_owned)).collect()
}

#[test]
fn all_that_lies_in_the_folder_ships_and_has_a_conversation() {
    let shipped: BTreeSet<String> = FILES.iter().map(|file| file.path[SCHEME.len()..].to_owned()).collect();
    let files: BTreeSet<String> = names_with(".md").into_iter().filter(|name| !name.contains('.')).collect();
    assert_eq!(files, shipped);
    assert!(names_with(".test.md").is_superset(&shipped));
    assert!(names_with(".example.md").is_superset(&shipped));
    for file in FILES {
        let path = folder().join(format!("{}.md", &file.path[SCHEME.len()..]));
        assert_eq!(file.text, fs::read_to_string(path).unwrap(), "{}", file.path);
    }
}

#[test]
fn the_library_passes_its_conversations() {
    let done = Run::new().args(["test", folder().to_str().unwrap()]).code(0);
    assert!(done.stdout.ends_with(" 0 failed\n"), "{}", done.stdout);
}

#[test]
fn each_file_can_be_checked_by_itself() {
    for file in FILES {
        let done = Run::new().args(["check", "--explain", file.path]).code(0);
        let done = done.stderr_contains("0 errors, 0 warnings");
        // What is told of it in one line names all its playbooks.
        for title in file.text.lines().filter_map(|line| line.strip_prefix("## ")) {
            let name = title.split('(').next().unwrap();
            assert!(file.summary.contains(name), "{}: {name}", file.path);
            assert!(done.stdout.contains(&format!("playbook {name}(")), "{}", done.stdout);
        }
    }
}

const USER: &str = "# Stall\n\n!import playhouse:confirm\n\n## Sell\n\n### Triggers\n\n- At the beginning\n\n\
                    ### Steps\n\n- $sold = Confirm(\"One ticket?\")\n- Return $sold\n";

const SCRIPT: &str = r#"{"reply":"{\"at\":\"01>02\",\"set\":{\"confirmed\":true}}"}
"#;

#[test]
fn no_file_on_disk_stands_in_for_a_shipped_one() {
    let own = "## Confirm($question: str) -> bool\n\n### Steps\n\n- Say \"Mine.\"\n- Return true\n";
    let beside = |program: &str| {
        let run = Run::new().program(program).script(SCRIPT).file("confirm.md", own).file("playhouse:confirm", own);
        run.line("run program.md --model script:script.jsonl").stdin("yes\n")
    };
    beside(USER).code(0).stdout("One ticket?\n");
    for path in ["./confirm.md", "confirm.md", "./playhouse:confirm", "parts/../playhouse:confirm"] {
        beside(&USER.replace("playhouse:confirm", path)).stdout("Mine.\n");
    }
    // In front matter as in the text.
    let front = USER.replace("!import playhouse:confirm\n\n", "");
    beside(&format!("---\nimport: [playhouse:confirm]\n---\n{front}")).code(0).stdout("One ticket?\n");
}

#[test]
fn an_unknown_name_is_told_with_the_names_there_are() {
    let all: Vec<String> = FILES.iter().map(|file| format!("`{}`", file.path)).collect();
    for (wrong, meant) in [
        ("playhouse:confrim", Some("playhouse:confirm")),
        ("playhouse:Small-Talk", Some("playhouse:small-talk")),
        ("playhouse:form.md", Some("playhouse:form")),
        ("playhouse:invoice", None),
        ("playhouse:", None),
    ] {
        let why = find(wrong).unwrap_err();
        assert!(why.ends_with(&all.join(", ")), "{why}");
        let suggestion = meant.map(|meant| format!("did you mean `{meant}`?"));
        assert_eq!(why.contains("did you mean"), suggestion.is_some(), "{why}");
        assert!(why.contains(suggestion.as_deref().unwrap_or("")), "{why}");
        let done = Run::new().program(&USER.replace("playhouse:confirm", wrong)).line("check program.md").code(2);
        let done = done.stderr_contains(&format!("error[import-missing]: `{wrong}` can't be imported: {why}"));
        done.then().args(["check", wrong]).code(2).stderr_contains(&format!("error: {wrong}: {why}"));
    }
}

#[test]
fn findings_in_it_are_shown_under_its_name() {
    let program = format!("{USER}\n## Confirm\n\n### Steps\n\n- Return true\n");
    let done = Run::new().program(&program).line("check program.md").code(2);
    done.stderr_contains("error[duplicate-playbook]").stderr_contains("--> playhouse:confirm:1:4");
}

#[test]
fn what_is_not_used_of_it_is_no_finding() {
    let program =
        format!("{}\n## Lonely\n\n### Steps\n\n- Return 1\n", USER.replace("playhouse:confirm", "playhouse:form"));
    let program = program.replace("Confirm(", "AskForText(");
    let done = Run::new().program(&program).line("check program.md").code(0);
    done.stderr_contains("nothing calls or triggers `Lonely`").stderr_contains("0 errors, 1 warning\n");
}

fn titles(program: &Program) -> Vec<&str> {
    program.playbooks.iter().map(|playbook| &*playbook.title).collect()
}

#[test]
fn a_session_keeps_the_text_it_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program.md");
    fs::write(&path, USER).unwrap();
    let (mut text, loaded) = load_files(&[path], &[]).unwrap();
    assert_eq!(titles(&text.load(&[]).program), titles(&loaded.program));
    // As if another version of the binary had begun it.
    let file = text.files.iter_mut().find(|file| &*file.name == "playhouse:confirm").unwrap();
    file.text = "## Confirm($question)\n\n### Steps\n\n- Return true\n".into();
    assert_eq!(titles(&text.load(&[]).program), ["Sell", "Confirm($question)"]);

    let run = Run::new().program(USER).script(SCRIPT);
    let done = run.line("run program.md --model script:script.jsonl --session s").code(3).stdout("One ticket?\n");
    let journal = done.read("state/playhouse/sessions/s.jsonl");
    assert!(journal.lines().next().unwrap().contains("\"playhouse:confirm\""), "{journal}");
    let done = done.then().line("run program.md --model script:script.jsonl --session s").stdin("yes\n").done();
    assert!(!done.stderr.contains("has changed"), "{}", done.stderr);
}

#[test]
fn each_importing_agent_has_its_own() {
    let second =
        "\n# Box office\n\n!import playhouse:confirm\n\n## Ask\n\npublic: true\n\n### Steps\n\n- Return Confirm()\n";
    let done = Run::new().program(&format!("{USER}{second}")).line("check --explain program.md").code(0);
    let done = done.stderr_contains("0 errors, 0 warnings");
    assert_eq!(done.stdout.matches("\n  playbook Confirm(").count(), 2, "{}", done.stdout);
}

#[test]
fn its_texts_can_be_read_and_copied() {
    let list = Run::new().line("library").code(0).stdout;
    let paths: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(paths, FILES.map(|file| file.path));
    let form = find("playhouse:form").unwrap();
    Run::new().line("library form").code(0).stdout(form.text);
    Run::new().line("library playhouse:form").code(0).stdout(form.text);
    Run::new().line("library from").code(2).stdout("").stderr_contains("did you mean `playhouse:form`?");
}
