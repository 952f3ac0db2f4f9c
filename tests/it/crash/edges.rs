//! The narrow places: between a call's start and its records, inside the last line, behind the end.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use playhouse::host::journal::file::{FileJournal, read_file};
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::{Record, RecordBody};
use playhouse::host::journal::{Durability, Journal};
use playhouse::host::llm::script::{ScriptEntry, ScriptError};
use playhouse::vm::protocol::Outcome;

use super::{Case, UNKNOWN, paused, type_lines};
use crate::conversation::{Conversation, Run};
use crate::ideal_model::{IdealModel, Known, Pace};
use crate::stores::now;

/// The example with one call, its tool declared so; the states of its journal just before `call_started`, just
/// behind it, and behind `call_ended`.
struct OneCall {
    conversation: Conversation,
    golden: Run,
    case: [Vec<Record>; 3],
    known: Known,
}

impl OneCall {
    fn new(class: &str) -> OneCall {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/order-status.test.md");
        let mut conversation = Conversation::read(&path, Some(class));
        let (golden, known, states) = paused().block_on(conversation.record(10));
        let find = |is_it: fn(&RecordBody) -> bool| {
            states.iter().position(|state| is_it(&state.last().unwrap().body)).unwrap()
        };
        let started = find(|body| matches!(body, RecordBody::CallStarted { .. }));
        let ended = find(|body| matches!(body, RecordBody::CallEnded { .. }));
        // For a model that is told of an unknown outcome.
        conversation.replies.push(ScriptEntry::reply(r#"{"at":"04","return":"unknown"}"#));
        let case = [states[started - 1].clone(), states[started].clone(), states[ended].clone()];
        OneCall { conversation, golden, case, known }
    }

    /// Goes on from a state: what came of it, the journal, and all that the model was asked.
    fn resume(&self, state: &[Record]) -> (Run, Vec<Record>, String) {
        let model = IdealModel::knowing(self.conversation.replies.clone(), self.known.clone(), Pace::whole());
        let model = Arc::new(model);
        let journal = MemoryJournal::from_records(state.to_vec());
        let run = paused().block_on(self.conversation.resume(journal.clone(), model.clone()));
        let asked = model.requests().iter().flatten().map(|message| format!("{}\n", message.text)).collect();
        (run, journal.snapshot(), asked)
    }
}

/// The numbers of the attempts that a journal says were begun.
fn attempts(records: &[Record]) -> Vec<u32> {
    let of = |record: &Record| match record.body {
        RecordBody::CallStarted { attempt, .. } => Some(attempt),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

#[test]
fn a_call_that_was_not_recorded_as_started_is_started() {
    for class in ["write", "idempotent", "read_only"] {
        let one = OneCall::new(class);
        let (run, records, _) = one.resume(&one.case[0]);
        assert_eq!((run.executed, attempts(&records)), (vec![1], vec![1]), "{class}");
        assert_eq!(run.account, one.golden.account, "{class}");
    }
}

#[test]
fn a_call_that_was_under_way_is_made_again_only_if_that_is_safe() {
    for class in ["idempotent", "read_only"] {
        let one = OneCall::new(class);
        let (run, records, _) = one.resume(&one.case[1]);
        assert_eq!((run.executed, attempts(&records)), (vec![1], vec![1, 2]), "{class}");
        assert_eq!(run.account, one.golden.account, "{class}");
    }
    let one = OneCall::new("write");
    let (run, records, asked) = one.resume(&one.case[1]);
    assert_eq!((run.executed, attempts(&records)), (vec![], vec![1]));
    assert!(run.account.calls[&1].ends_with(&format!("!! {UNKNOWN}")), "{:?}", run.account.calls);
    assert!(
        asked.contains(&format!("GetOrderStatus(order_id=\"4334\") !! \"{UNKNOWN}\"")),
        "the model is told: {asked}"
    );
    let outcome = &run.account.outcome;
    assert!(
        matches!(outcome, Some(Outcome::Done { value }) if value.value().as_str() == Some("unknown")),
        "{outcome:?}\n{asked}"
    );
    assert!(!run.account.variables.contains_key("OrderDesk.order"), "{:?}", run.account.variables);
}

#[test]
fn a_call_with_a_result_is_never_made_again() {
    for class in ["write", "idempotent", "read_only"] {
        let one = OneCall::new(class);
        let (run, records, _) = one.resume(&one.case[2]);
        assert_eq!((run.executed, attempts(&records)), (vec![], vec![1]), "{class}");
        assert_eq!(run.account, one.golden.account, "{class}");
    }
}

fn append(path: &Path, byte: u8) {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(&[byte]).unwrap();
}

/// Every record of a program, cut off at every byte: the journal is the one before it, and can be written.
#[test]
fn a_last_line_torn_at_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let mut n_torn = 0;
    let case = Case::new("squares");
    for (index, file) in case.files.iter().enumerate() {
        let Some(next) = case.files.get(index + 1).filter(|next| next.starts_with(file)) else { continue };
        // A new file each time: to write over one that is there costs a wait for the disk.
        let path = folder.path().join(format!("torn-{index}.jsonl"));
        fs::write(&path, file).unwrap();
        for byte in &next[file.len()..next.len() - 1] {
            append(&path, *byte);
            assert_eq!(read_file(&path).unwrap()[1..], case.states[index][1..]);
            n_torn += 1;
        }
        // Once for each record: what is torn is cut off, and the next process writes in its place.
        let mut journal = FileJournal::open(&path).unwrap();
        let last = case.states[index + 1].last().unwrap();
        journal.append(last.clone());
        now(journal.flush(Durability::Killed)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), *next);
    }
    println!("crash: {n_torn} torn last lines");
    assert!(n_torn > 1_000);
}

/// The first record torn: there is no session, and the next process begins one.
#[test]
fn a_torn_beginning_is_no_session() {
    let case = Case::new("squares");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s1.jsonl");
    let (last, first) = case.files[0].split_last().unwrap();
    for byte in first {
        append(&path, *byte);
        assert_eq!(read_file(&path).unwrap(), []);
    }
    append(&path, *last);
    assert_eq!(read_file(&path).unwrap().len(), 1);
}

#[test]
fn a_finished_session_says_nothing_more() {
    for case in Case::all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s1.jsonl");
        let last = case.files.last().unwrap();
        fs::write(&path, last).unwrap();
        let output = case.command(folder.path(), &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
        assert_eq!(fs::read(&path).unwrap(), *last, "its journal is as it was");
        assert!(!folder.path().join("calls.txt").exists());
    }
}

/// A session that failed because its model could not be reached goes on where it was when it can.
#[test]
fn a_model_that_could_not_be_reached_is_asked_again() {
    for case in Case::all() {
        // At the first request, and in the middle of the conversation.
        for n_answered in [0, case.conversation.replies.len() - 1] {
            for status in [401, 503] {
                let name = format!("{}, {status} after {n_answered} replies", case.conversation.name);
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("s1.jsonl");
                fs::write(&path, &case.files[0]).unwrap();
                let mut script = case.conversation.replies[..n_answered].to_vec();
                script.extend((0..6).map(|_| ScriptEntry::error(ScriptError::Status(status))));
                let mut child = case.command(folder.path(), &script).spawn().unwrap();
                type_lines(&mut child, &case.lines_left(&[]));
                let output = child.wait_with_output().unwrap();
                let errors = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(1), "{name}: {errors}");
                assert!(errors.contains(&status.to_string()), "{name}: {errors}");
                case.go_on(folder.path(), &name);
            }
        }
    }
}
