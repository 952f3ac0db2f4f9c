//! A process may be killed at any moment: what was appended is there.

use super::*;

/// The bytes of the store and of what SQLite has written ahead.
type Bytes = (Vec<u8>, Vec<u8>);

fn wal(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn bytes(path: &Path) -> Bytes {
    (std::fs::read(path).unwrap(), std::fs::read(wal(path)).unwrap_or_default())
}

/// What another process finds.
fn records_in((main, ahead): &Bytes) -> Vec<Record> {
    let place = Place::new();
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    std::fs::write(place.path(), main).unwrap();
    std::fs::write(wal(&place.path()), ahead).unwrap();
    let mut journal = place.open("s");
    let records = journal.records().unwrap();
    if records.is_empty() {
        return records;
    }
    // It goes on from there.
    journal.append(Timestamp(7), message("after")).unwrap();
    drop(journal);
    let after = place.read("s");
    assert_eq!(after.len(), records.len() + 1);
    assert_eq!(after.last().unwrap().body, message("after"));
    records
}

#[test]
fn a_killed_process_loses_nothing() {
    let place = Place::new();
    let mut journal = place.open("s");
    let mut before = bytes(&place.path());
    let mut records_before = Vec::new();
    let mut n_states = 0;
    for (body, time) in bodies().into_iter().zip(100..) {
        journal.append(Timestamp(time), body).unwrap();
        let after = bytes(&place.path());
        let records_after = journal.records().unwrap();
        assert_eq!(records_in(&after), records_after);
        assert!(after.1.starts_with(&before.1) && after.0 == before.0, "only what is written ahead grows");
        // Killed while it was being written: all or nothing of it.
        let n_new = after.1.len() - before.1.len();
        for n_bytes in (0..n_new).step_by(1_021).chain([n_new - 1]) {
            let cut = (after.0.clone(), after.1[..before.1.len() + n_bytes].to_vec());
            assert_eq!(records_in(&cut), records_before, "{n_bytes} of {n_new}");
            n_states += 1;
        }
        (before, records_before) = (after, records_after);
    }
    assert!(n_states > 60, "{n_states}");
}

#[test]
fn what_is_synced_is_on_the_disk() {
    let place = Place::new();
    let mut journal = place.open("s");
    // Nothing is there: nothing to do.
    journal.sync().unwrap();
    for (body, time) in bodies().into_iter().zip(100..) {
        journal.append(Timestamp(time), body).unwrap();
        journal.sync().unwrap();
        journal.sync().unwrap();
    }
    let records = journal.records().unwrap();
    drop(journal);
    assert_eq!(place.names(), ["our.sqlite"]);
    assert_eq!(place.read("s"), records);
    let syncs: i64 = place.sql().query_row("SELECT syncs FROM session", [], |row| row.get(0)).unwrap();
    assert_eq!(syncs as usize, bodies().len(), "one commit that waits for the disk each, where there was anything new");
}
