//! What has become of a program's files, told file by file.

use std::collections::BTreeMap;
use std::path::Path;

use playhouse::host::program::{ProgramText, load_texts};
use playhouse::host::program_changes::changes;
use playhouse::lang::program::Program;
use playhouse::lang::{Loaded, SourceText};

const DESK: &str = "---\nauthor: Ann\n---\n\n# Desk\n\nHelps.\n\n!import lib.md\n\n## Greet\n\n### Triggers\n\n\
                    - At the beginning\n\n### Steps\n\n- Say \"Hello.\"\n- Farewell()\n\n## Farewell\n\n### Steps\n\n\
                    - Say \"Bye.\"\n- End program\n";

const LIB: &str = "# Desk\n\n## Tidy\n\n### Steps\n\n- Say \"Done.\"\n";

fn load(root: &str, text: &str, others: &[(&str, &str)]) -> (ProgramText, Program) {
    let others: BTreeMap<&str, &str> = others.iter().copied().collect();
    let roots = vec![SourceText { name: root.to_owned(), text: text.to_owned() }];
    let mut read = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        others.get(name).map(|text| (*text).to_owned()).ok_or_else(|| "none".to_owned())
    };
    let (text, Loaded { program, .. }) = load_texts(roots, &[], &mut read);
    (text, program)
}

fn told(new: &(ProgramText, Program)) -> Vec<String> {
    let old = load("desk.md", DESK, &[("lib.md", LIB)]);
    assert_eq!(old.0.files.len(), 2, "what is imported is a file, too");
    changes((&old.0, &old.1), (&new.0, &new.1)).iter().map(ToString::to_string).collect()
}

fn desk(text: &str) -> Vec<String> {
    told(&load("desk.md", text, &[("lib.md", LIB)]))
}

#[test]
fn lines_and_playbooks_are_told() {
    assert_eq!(desk(DESK), Vec::<String>::new());
    assert_eq!(desk(&DESK.replace("Hello.", "Good evening.")), ["desk.md: 1 line changed: Greet"]);
    assert_eq!(desk(&DESK.replace("- Say \"Bye.\"\n", "")), ["desk.md: 1 line removed: Farewell"]);
    let text = DESK.replace("Hello.", "Hi.").replace("- End program\n", "- Say \"Oh.\"\n- End program\n");
    assert_eq!(desk(&text), ["desk.md: 1 line changed, 1 added: Farewell, Greet"]);
    assert_eq!(desk(&DESK.replace("author: Ann", "author: Bea")), ["desk.md: 1 line changed"]);
    // A playbook with another name is another playbook.
    let text = DESK.replace("Farewell", "Bye");
    assert_eq!(desk(&text), ["desk.md: 2 lines changed: Bye (new), Farewell (gone), Greet"]);
    let text = format!("{DESK}\n## Sleep\n\n### Steps\n\n- Say \"Zzz.\"\n");
    assert_eq!(desk(&text), ["desk.md: 6 lines added: Sleep (new)"]);
}

#[test]
fn files_come_and_go_and_move() {
    let lib = LIB.replace("Done.", "All done.");
    assert_eq!(told(&load("desk.md", DESK, &[("lib.md", &lib)])), ["lib.md: 1 line changed: Tidy"]);
    // The same texts elsewhere are no change.
    assert_eq!(told(&load("other/desk.md", DESK, &[("lib.md", LIB)])), Vec::<String>::new());
    let text = DESK.replace("Hello.", "Hi.");
    assert_eq!(told(&load("other/moved.md", &text, &[("lib.md", LIB)])), ["other/moved.md: 1 line changed: Greet"]);
    let text = DESK.replace("!import lib.md\n\n", "");
    assert_eq!(told(&load("desk.md", &text, &[])), ["desk.md: 2 lines removed", "lib.md: not there any more"]);
    let text = DESK.replace("!import lib.md", "!import lib.md\n\n!import more.md");
    let more = "# Desk\n\n## More\n\n### Steps\n\n- Say \"More.\"\n";
    let new = load("desk.md", &text, &[("lib.md", LIB), ("more.md", more)]);
    assert_eq!(told(&new), ["desk.md: 2 lines added", "more.md: a new file"]);
}
