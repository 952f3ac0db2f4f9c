//! Secrets are not in the journal but beside it.

use std::path::Path;

use playhouse::host::journal::file::{FileJournal, read_file};
use playhouse::host::journal::record::{OutcomeWire, Record, RecordBody};
use playhouse::host::journal::{Journal, JournalError};
use playhouse::value::Value;
use playhouse::vm::protocol::Timestamp;

use crate::run::Run;

const SECRET: &str = "hush-4711";

fn bodies() -> Vec<RecordBody> {
    let secret = OutcomeWire::Value { value: Value::str(SECRET), secret: true };
    // A secret can look like the mask.
    let mask = OutcomeWire::Value { value: Value::str("***"), secret: true };
    vec![
        crate::journal::begun(SECRET),
        RecordBody::CallStarted { call: 1, attempt: 1 },
        RecordBody::CallEnded { call: 1, outcome: secret, usage: None },
        RecordBody::Edited { frame: None, name: "key".into(), value: Value::str(SECRET), after: None },
        RecordBody::Edited { frame: None, name: "name".into(), value: Value::str("***"), after: None },
        RecordBody::CallEnded { call: 2, outcome: mask, usage: None },
    ]
}

fn write(path: &Path, bodies: Vec<RecordBody>) -> Vec<Record> {
    let mut journal = FileJournal::open(path).unwrap();
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
    assert!(matches!(error, JournalError::SecretsMissing { seq: 1, .. }), "{error}");
    // What only shows a journal can do without.
    assert_eq!(read_file(&path).unwrap()[2].seq, 3);
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
