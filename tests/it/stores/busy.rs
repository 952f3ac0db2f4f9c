//! Many processes that write one store at the same time.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use playhouse::host::journal::Durability;
use playhouse::host::journal::record::RecordBody;
use playhouse::host::journal::tail::TailBuffer;
use playhouse::vm::protocol::Timestamp;

use super::{now, read, store_at};
use crate::journal::begun;

const N_PROCESSES: usize = 48;
const N_RECORDS: usize = 60;

/// Stands beside the folders in which the processes run. Each is named as the session that its process writes.
const STORE: &str = "of_many_processes.sqlite";

/// What each of the processes does: nothing, unless it is one of them.
#[test]
#[ignore = "the work of a process of another test"]
fn one_of_many() {
    let folder = std::env::current_dir().unwrap();
    let session = folder.file_name().unwrap().to_str().unwrap();
    let path = folder.with_file_name(STORE);
    if !path.exists() {
        return;
    }
    now(async {
        let mut journal = TailBuffer::new(store_at(&path).open(session).await.unwrap());
        journal.append(Timestamp(0), begun("x"), false);
        for n in 0..N_RECORDS {
            journal.append(
                Timestamp(n as i64),
                RecordBody::Message { text: format!("{session} {n}").into(), id: None, by: None },
                false,
            );
            // As a session does that calls a writing tool now and then.
            let durability = if n % 10 == 0 { Durability::PowerCut } else { Durability::Killed };
            journal.flush(durability).await.unwrap();
        }
        journal.close().await;
    });
}

fn process(folder: &Path, n: usize) -> Child {
    let own = folder.join(format!("s{n}"));
    std::fs::create_dir(&own).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["stores::busy::one_of_many", "--exact", "--ignored", "--test-threads=1"]).current_dir(own);
    // The harness tells there what failed.
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn many_processes_write_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(STORE);
    std::fs::write(&path, "").unwrap();
    let processes: Vec<Child> = (0..N_PROCESSES).map(|n| process(folder.path(), n)).collect();
    for child in processes {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}{}", output.status, String::from_utf8_lossy(&output.stdout));
    }
    let store = store_at(&path);
    for n in 0..N_PROCESSES {
        let records = read(&store, &format!("s{n}")).unwrap();
        assert_eq!(records.len(), N_RECORDS + 1);
        assert!(
            matches!(&records[N_RECORDS].body, RecordBody::Message { text, .. } if **text == *format!("s{n} {}", N_RECORDS - 1))
        );
    }
}

/// Sessions of one process share transactions: writing takes less than a commit for each.
#[test]
fn sessions_of_a_process_share_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("our.sqlite");
    let store = store_at(&path);
    now(async {
        let mut journals = Vec::new();
        for n in 0..100 {
            let mut journal = TailBuffer::new(store.open(&format!("s{n}")).await.unwrap());
            journal.append(Timestamp(0), begun("x"), false);
            journals.push(journal);
        }
        let flushes = journals.iter_mut().map(|journal| journal.flush(Durability::Killed));
        futures_util::future::try_join_all(flushes).await.unwrap();
        // The log has a frame for each page of each commit; 100 commits would have at least four pages each.
        let log = std::fs::metadata(path.with_extension("sqlite-wal")).unwrap().len();
        assert!(log < 4_096 * 400, "{log}");
        for journal in journals {
            journal.close().await;
        }
    });
    assert_eq!(now(store.list()).unwrap().len(), 100);
}
