//! The layout of files: golden texts, and what is true of every text that is formatted.

use std::fs;
use std::path::{Path, PathBuf};

use playhouse::lang::analysis::explain::explain;
use playhouse::lang::format::proof::Untouched;
use playhouse::lang::format::{format_json_plan, format_playbook, format_yaml_plan};
use playhouse::lang::{LoadOptions, SourceText, load};

use crate::fuzz::text_of;
use crate::golden;
use crate::made_up::made_up;

type Formatted = Result<String, Untouched>;

/// What is understood of a program and what its model is told, without the look of its headings and the numbers of lists
/// in descriptions.
fn understood(text: &str) -> String {
    let root = SourceText { name: "program.md".to_owned(), text: text.to_owned() };
    let program = load(vec![root], &mut |_| Err("alone".to_owned()), &LoadOptions::default()).program;
    let mut understood = String::new();
    for line in explain(&program).lines() {
        match line.trim_start().split_once(": ") {
            Some(("title", _)) => {}
            Some(("description", words)) => understood.extend(words.chars().filter(|sign| !sign.is_ascii_digit())),
            _ => understood.push_str(line),
        }
        understood.push('\n');
    }
    understood.extend(program.playbooks.iter().map(|playbook| format!("{}\n", playbook.notes)));
    understood
}

/// All files below a folder with these endings.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The programs of tests and examples, with their paths.
fn programs() -> Vec<(PathBuf, String)> {
    let folders = ["tests/cases", "examples", "playbooks"];
    let files = folders.iter().flat_map(|folder| files(folder, &[".md", ".pb"]));
    files.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn files_have_one_layout() {
    golden::check("fmt", &["md", "json", "yaml"], |name, text| {
        let formatted = match name.rsplit('.').next() {
            Some("json") => format_json_plan(text),
            Some("yaml") => format_yaml_plan(text),
            _ => format_playbook(text),
        };
        formatted.unwrap_or_else(|untouched| format!("line {}: {}\n", untouched.line, untouched.why))
    });
}

/// Its words stand in the formatted text byte for byte.
#[test]
fn a_formatted_program_is_the_same_program() {
    let (mut n_formatted, mut n_refused) = (0, 0);
    for (path, text) in programs() {
        match format_playbook(&text) {
            Ok(written) => {
                assert_eq!(understood(&text), understood(&written), "{}", path.display());
                assert_eq!(Ok(&written), format_playbook(&written).as_ref(), "{}", path.display());
                n_formatted += usize::from(written != text);
            }
            Err(untouched) => {
                assert!(untouched.line > 0 && !untouched.why.is_empty(), "{}", path.display());
                n_refused += 1;
            }
        }
    }
    assert!(n_formatted > 50, "{n_formatted}");
    assert!(n_refused < 5, "{n_refused}");
}

/// What is not seen on paper: byte order marks, line breaks, tabs, ends.
#[test]
fn line_breaks_are_of_one_kind() {
    let wanted = "# A\n\n## B\n\n### Steps\n\n- Say \"x\"\n  - Say \"y\"\n";
    let cases = [
        ("# A\n## B\n### Steps\n- Say \"x\"\n  - Say \"y\"", wanted.to_owned()),
        ("# A\r\n## B\n### Steps\n- Say \"x\"\r\n  - Say \"y\"\r\n", wanted.replace('\n', "\r\n")),
        ("# A\n## B\r\n### Steps\r\n- Say \"x\"\r\n  - Say \"y\"\r\n\r\n", wanted.to_owned()),
        ("\u{feff}# A\n## B\n### Steps\n- Say \"x\"\n\t- Say \"y\"\n", format!("\u{feff}{wanted}")),
        (
            "\u{feff}\r\n# A\r\n## B\r\n### Steps\r\n- Say \"x\"\r\n\t- Say \"y\"",
            format!("\u{feff}{wanted}").replace('\n', "\r\n"),
        ),
        ("  \n \n# A\n## B  \n### Steps\t\n- Say \"x\"   \n \n  - Say \"y\"\n \n", wanted.to_owned()),
        ("", String::new()),
        ("\n\n", String::new()),
        ("\u{feff}", "\u{feff}".to_owned()),
    ];
    for (text, wanted) in cases {
        assert_eq!(Ok(wanted), format_playbook(text), "{text:?}");
    }
}

/// Formats what the bytes stand for, or says why not; formatted twice it is formatted once, and the same program.
pub(crate) fn format_one(bytes: &[u8]) {
    for text in [text_of(bytes), String::from_utf8_lossy(bytes).into_owned()] {
        let kinds: [fn(&str) -> Formatted; 3] = [format_playbook, format_json_plan, format_yaml_plan];
        for format in kinds {
            match format(&text) {
                Ok(written) => assert_eq!(Ok(&written), format(&written).as_ref(), "{text:?}"),
                Err(untouched) => assert!((1..=text.lines().count() + 1).contains(&untouched.line), "{text:?}"),
            }
        }
        if let Ok(written) = format_playbook(&text) {
            assert_eq!(understood(&text), understood(&written), "{text:?}");
        }
    }
}

#[test]
fn any_text_is_formatted_or_refused() {
    made_up!(1_000, 200).for_each(format_one);
}

#[test]
fn a_text_is_hardly_ever_refused() {
    let (mut n_texts, mut n_refused) = (0, 0);
    let mut random = fastrand::Rng::with_seed(7);
    while n_texts < 1_000 {
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..64)).take(40).collect();
        n_texts += 1;
        n_refused += usize::from(format_playbook(&text_of(&bytes)).is_err());
    }
    assert!(n_refused < 100, "{n_refused} of {n_texts}");
}
