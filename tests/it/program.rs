//! Programs from disk: imports are relative to their file, and a journal's texts load without any file.

use playhouse::host::program::{ProgramText, load_files};
use playhouse::lang::program::Program;

fn names(program: &Program) -> Vec<String> {
    program.playbooks.iter().filter(|playbook| !playbook.implicit).map(|playbook| playbook.name.to_string()).collect()
}

#[test]
fn imports_are_relative_to_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let playbook = |name: &str| format!("## {name}\n### Steps\n- Say \"{name}\"\n");
    write("main.md", &format!("---\nimport: [parts/a.md]\n---\n# Main\n\n{}", playbook("First")));
    write("parts/a.md", &format!("---\nimport: [../b.md, ./c.md]\n---\n# Parts\n\n{}", playbook("InA")));
    write("b.md", &format!("# B\n\n{}", playbook("InB")));
    write("parts/c.md", &format!("---\nimport: [../parts/../b.md]\n---\n# C\n\n{}", playbook("InC")));

    let root = folder.path().join("main.md");
    let (text, loaded) = load_files(std::slice::from_ref(&root), &[]).unwrap();
    let errors: Vec<&str> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    assert!(!errors.contains(&"import-missing"), "{errors:?}");
    assert_eq!(names(&loaded.program), ["First", "InA", "InB", "InC"]);
    assert_eq!(text.files.len(), 4, "a file imported by two ways is one file");
    assert_eq!(text.roots, [root.display().to_string().into()]);

    // Nothing is read from disk any more.
    drop(folder);
    let again = text.load(&[]);
    assert_eq!(names(&again.program), names(&loaded.program));
    assert_eq!(again.program.entry, loaded.program.entry);
    assert_eq!(text.hash(), ProgramText::clone(&text).hash());
}

#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("main.md");
    let error = load_files(std::slice::from_ref(&root), &[]).err().unwrap().to_string();
    assert!(error.contains("main.md: cannot read the program: ") && error.ends_with("; check the path"), "{error}");
    std::fs::write(&root, "---\nimport: [gone.md]\n---\n# A\n").unwrap();
    let (_, loaded) = load_files(&[root], &[]).unwrap();
    assert!(loaded.diagnostics.iter().any(|diagnostic| diagnostic.code == "import-missing"));
}
