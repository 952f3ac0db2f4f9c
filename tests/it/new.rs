//! `playhouse new`: a folder to start from. What each template does is in `tests/cases/cli/new_*.txt`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::run::Run;

/// The files of a folder with all below it, by their paths in it.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let (mut found, mut pending) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            // What plugins have left there.
            if name.ends_with(".runtime") || name.ends_with("__pycache__") {
                continue;
            }
            if path.is_dir() {
                pending.push(path);
            } else {
                found.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_template_is_written_as_it_stands_in_the_examples() {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/templates");
    let configuration = fs::read_to_string(templates.join("playhouse.toml")).unwrap();
    let mut n_templates = 0;
    for entry in fs::read_dir(&templates).unwrap() {
        let template = entry.unwrap().path();
        if !template.is_dir() {
            continue;
        }
        let name = template.file_name().unwrap().to_str().unwrap();
        let done = Run::new().args(["new", "desk", "--template", name]).code(0);
        let mut expected = files(&template);
        expected.entry("playhouse.toml".to_owned()).or_insert_with(|| configuration.clone());
        assert_eq!(files(&done.path("desk")), expected, "{name}");
        n_templates += 1;
    }
    assert_eq!(n_templates, 6);
}

/// The commands that it shows, in the folder that it has made.
#[test]
fn what_can_be_done_next_can_be_done() {
    let done = Run::new().line("new desk").code(0);
    assert!(done.stdout.starts_with("desk: program.md, program.tools.json, "), "{}", done.stdout);
    let shown = done.stdout.lines().filter_map(|line| line.strip_prefix("  playhouse ")?.split("  ").next());
    let commands: Vec<&str> = shown.collect();
    assert_eq!(commands.len(), 4, "{}", done.stdout);
    for command in commands {
        done.then().inside("desk").line(command).stdin("4334\n").code(0);
    }
}

#[test]
fn a_folder_that_is_there_stays_as_it_is() {
    let run = Run::new().file("desk/notes.md", "mine");
    let done = run.line("new desk").code(2).stderr_contains("error: desk: it exists already; choose another name\n");
    assert_eq!(files(&done.path("desk")), BTreeMap::from([("notes.md".to_owned(), "mine".to_owned())]));
    done.then().line("new nowhere/desk").code(2).stderr_contains("nowhere/desk: cannot make the folder: ");
    done.then().line("new shop --template shop").code(2).stderr_contains("possible values: support, form, triage");
}

#[cfg(target_os = "linux")]
mod on_a_terminal {
    use crate::run::Run;
    use crate::terminal_screen::Screen;

    const QUESTION: &str = "Which one? A number or a name [1]:";

    /// The first line of the program that is made when a person presses these keys.
    #[track_caller]
    fn made_by(keys: &[&str]) -> String {
        let run = Run::new();
        let beside = run.beside();
        let mut screen = Screen::open(run.line("new desk"));
        for keys in keys {
            screen.see_on_line(QUESTION);
            screen.keys(keys);
        }
        screen.see("playhouse library");
        assert_eq!(screen.end(), Some(0), "{}", screen.contents());
        beside.read("desk/program.md").lines().find(|line| line.starts_with("# ")).unwrap().to_owned()
    }

    #[test]
    fn it_asks_what_it_shall_be() {
        assert_eq!(made_by(&["\r"]), "# Order desk");
        assert_eq!(made_by(&["3\r"]), "# Coffee machine help");
        assert_eq!(made_by(&["Python-Tools\r"]), "# Parcel desk");
        assert_eq!(made_by(&["0\r", "7\r", "shop\r", " form \r"]), "# Pottery school");
    }

    #[test]
    fn all_are_shown_and_none_is_made_if_nobody_answers() {
        let run = Run::new();
        let beside = run.beside();
        let mut screen = Screen::open(run.line("new desk"));
        screen.see_on_line(QUESTION);
        crate::golden::compare("terminal/new.golden", &screen.contents());
        screen.keys("\x04");
        assert_eq!(screen.end(), Some(1));
        assert!(screen.contents().contains("error: nothing was made"), "{}", screen.contents());
        assert!(!beside.folder().join("desk").exists());
        // Whoever has chosen is asked nothing, and nobody is asked in vain.
        let mut screen = Screen::open(beside.beside().line("new desk --template form"));
        assert_eq!(screen.end(), Some(0));
        let mut screen = Screen::open(beside.line("new desk"));
        assert_eq!(screen.end(), Some(2));
        assert!(!screen.contents().contains("Which"), "{}", screen.contents());
    }
}
