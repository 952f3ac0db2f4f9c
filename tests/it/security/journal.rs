//! Secrets are not in the journal but beside it.

use std::path::Path;

use playhouse::host::journal::JournalErrorKind;
use playhouse::host::journal::file::{FileJournal, holder, read_file};
use playhouse::host::journal::record::{OutcomeWire, Record, RecordBody};
use playhouse::value::Value;
use playhouse::vm::protocol::Timestamp;

use crate::run::Run;
use crate::stores::Log;

const SECRET: &str = "hush-4711";

fn bodies() -> Vec<RecordBody> {
    let secret = OutcomeWire::Value { value: Value::str(SECRET), secret: true };
    // A secret can look like the mask.
    let mask = OutcomeWire::Value { value: Value::str("***"), secret: true };
    vec![
        crate::journal::begun(SECRET),
        RecordBody::CallStarted { call: 1, attempt: 1 },
        RecordBody::CallEnded { call: 1, outcome: secret, usage: None },
        RecordBody::Edited { frame: None, name: "key".into(), value: Value::str(SECRET), after: None, by: None },
        RecordBody::Edited { frame: None, name: "name".into(), value: Value::str("***"), after: None, by: None },
        RecordBody::CallEnded { call: 2, outcome: mask, usage: None },
    ]
}

fn write(path: &Path, bodies: Vec<RecordBody>) -> Vec<Record> {
    let mut journal = Log::new(FileJournal::open(path).unwrap());
    for body in bodies {
        journal.append(Timestamp(5), body).unwrap();
    }
    journal.records().unwrap()
}

#[test]
fn a_journal_holds_no_secret_and_is_whole_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let records = write(&path, bodies());
    assert_eq!(records.iter().map(|record| record.body.clone()).collect::<Vec<_>>(), bodies());
    assert_eq!(read_file(&path).unwrap(), records);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains(SECRET), "{text}");
    let beside = folder.path().join("s.jsonl.secrets");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(beside.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(std::fs::read_to_string(&beside).unwrap().contains(SECRET));

    // What was kept for a record that then was not written is nobody's.
    let orphan = Record { seq: 7, time: 9, body: bodies().remove(2) };
    let mut kept = std::fs::read_to_string(&beside).unwrap();
    kept.push_str(&format!("\n{}\n\n{{\"seq\":8,\"time\"", serde_json::to_string(&orphan).unwrap()));
    std::fs::write(&beside, kept).unwrap();
    let other = OutcomeWire::Value { value: Value::str("other"), secret: true };
    let other = RecordBody::CallEnded { call: 3, outcome: other, usage: None };
    let records = write(&path, vec![other.clone()]);
    assert_eq!(records.len(), 7);
    assert_eq!(records[6].body, other);

    std::fs::remove_file(&beside).unwrap();
    let error = FileJournal::open(&path).unwrap_err();
    assert!(error.kind == JournalErrorKind::SecretsMissing { seq: 1 }, "{error}");
    // What only shows a journal can do without.
    assert_eq!(read_file(&path).unwrap()[2].seq, 3);
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
#[test]
fn what_a_run_writes_down_is_for_its_owner_only() {
    let program = "# A\n\n## Main\n\n### Steps\n\n- Say \"x\"\n";
    let options = "run program.md --model script:none.json --events events.jsonl --session s";
    for (place, journal) in
        [("new/far/s.jsonl", "new/far/s.jsonl"), ("state/playhouse/sessions", "state/playhouse/sessions/s.jsonl")]
    {
        let run = Run::new().program(program).file("none.json", "[]").line(options);
        let run = if place == journal { run.args(["--journal", place]) } else { run };
        let folder = run.folder().to_owned();
        let mut command = run.command(&["sh", "-c", "umask 022; exec \"$@\"", "sh"]);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(mode(&folder.join("events.jsonl")), 0o600);
        assert_eq!(mode(&folder.join(journal)), 0o600);
        for made in Path::new(journal).ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()) {
            assert_eq!(mode(&folder.join(made)), 0o700, "{}", made.display());
        }
        // What was there before stays as it is.
        assert_ne!(mode(&folder), 0o600);
    }
}

#[cfg(unix)]
#[test]
fn no_link_is_followed_to_what_stands_beside_a_journal() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs");
    for beside in ["lock", "secrets"] {
        std::fs::write(&theirs, "theirs").unwrap();
        let path = folder.path().join(format!("{beside}.jsonl"));
        symlink(&theirs, folder.path().join(format!("{beside}.jsonl.{beside}"))).unwrap();
        let kept = FileJournal::open(&path).map(Log::new);
        let kept = kept.and_then(|mut journal| journal.append(Timestamp(5), crate::journal::begun(SECRET)));
        // Nothing depends on the note of who holds it.
        assert_eq!(kept.is_err(), beside == "secrets", "{kept:?}");
        assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "theirs");
    }
}

#[test]
fn whoever_looks_whether_a_journal_is_open_keeps_nobody_out() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    drop(FileJournal::open(&path).unwrap());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = [(); 2].map(|()| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::black_box(holder(&path));
                }
            })
        });
        let opened: Vec<bool> = (0..2_000).map(|_| FileJournal::open(&path).is_ok()).collect();
        is_over.store(true, Ordering::Relaxed);
        looking.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(
            opened.iter().all(|is_open| *is_open),
            "{} were kept out",
            opened.iter().filter(|open| !**open).count()
        );
    });
    let journal = FileJournal::open(&path).unwrap();
    assert!(holder(&path).is_some(), "and it is seen who has it");
    assert!(FileJournal::open(&path).is_err());
    drop(journal);
}

// What cannot be synced: there it is a device.
#[cfg(target_os = "linux")]
#[test]
fn what_was_not_synced_stays_to_be_synced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    let mut journal = Log::new(FileJournal::open(&path).unwrap());
    assert!(journal.sync().is_ok(), "nothing is written");
    journal.append(Timestamp(5), RecordBody::Interrupted { by: None }).unwrap();
    for _ in 0..2 {
        let error = journal.sync().unwrap_err().to_string();
        assert!(error.contains("cannot sync the journal"), "{error}");
    }
}

#[test]
fn a_session_with_secrets_goes_on() {
    let program = "---\nvariables:\n  - name: pin\n    type: str\n    secret: true\n---\n\n# A\n\n## Enter\n\n### Triggers\n\n\
                   - At the beginning\n\n### Steps\n\n- Ask the user for $name\n- If $pin contains \"4711\"\n  - Say \"right\"\n";
    let script = concat!(
        "{\"reply\":\"{\\\"at\\\":\\\"01\\\",\\\"wait\\\":\\\"user\\\"}\"}\n",
        "{\"reply\":\"{\\\"at\\\":\\\"01\\\",\\\"set\\\":{\\\"name\\\":\\\"$user_message\\\"}}\"}\n"
    );
    let done = Run::new()
        .program(program)
        .script(script)
        .line("run program.md --model script:script.jsonl --arg pin=hush-4711 --session s --journal s.jsonl --events events.jsonl")
        .code(3);
    let again =
        done.then().line("run program.md --model script:script.jsonl --session s --journal s.jsonl").stdin("Mina\n");
    let done = again.code(0);
    assert_eq!(done.stdout, "right\n");
    for file in ["s.jsonl", "events.jsonl"] {
        assert!(!done.read(file).contains(SECRET), "{file}");
    }
}
