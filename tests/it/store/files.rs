//! What a store's file is, what is no store, and what has become of one.

use futures_util::FutureExt;
use playhouse::host::journal::tail::TailBuffer;
use playhouse::host::journal::{Durability, JournalErrorKind};

use crate::stores::{self, store_at};

use super::*;

fn fault(place: &Place, session: &str) -> String {
    let Err(error) = sqlite::open(&place.path(), session) else { panic!("it was opened") };
    shown(&place.path(), &error.to_string())
}

fn written() -> Place {
    let place = Place::new();
    write(&mut place.open("s"), bodies());
    place
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let mut journal = place.open("s");
    write(&mut journal, bodies());
    let names = place.names();
    assert_eq!(names, ["our.sqlite", "our.sqlite-shm", "our.sqlite-wal", "our.sqlite.s.lock"]);
    for name in names {
        let metadata = std::fs::metadata(place.path().with_file_name(&name)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn records_hold_no_secret() {
    let place = written();
    let select = "SELECT group_concat(body, char(10)) FROM record";
    let text: String = place.sql().query_row(select, [], |row| row.get(0)).unwrap();
    assert!(!text.contains(SECRET) && text.matches("***").count() == 4, "{text}");
    let records = place.read("s");
    assert!(records.iter().any(|record| record.body == secret_result(1)));
    let first = records[0].body.clone();
    assert_eq!(first, begun(SECRET));

    place.sql().execute("DELETE FROM secret WHERE seq > 1", []).unwrap();
    let written = stores::written(&store_at(&place.path()), "s").unwrap();
    let seq =
        written.iter().find(|record| matches!(record.body, RecordBody::Edited { after: Some(1), .. })).unwrap().seq;
    assert_eq!(
        fault(&place, "s"),
        format!(
            "our.sqlite: the secret values of the journal are missing (record {seq} has one), so the session cannot \
             continue; put the file back, or begin a new session"
        )
    );
    // What only shows a session can do without.
    assert_eq!(place.read("s").len(), records.len());
}

#[test]
fn what_is_no_store_is_left_alone() {
    let place = Place::new();
    std::fs::create_dir_all(place.path()).unwrap();
    assert!(fault(&place, "s").contains("cannot open the journal") && fault(&place, "s").contains("name a file"));
    std::fs::remove_dir(place.path()).unwrap();

    let text = "# A program that somebody has called our.sqlite\n".repeat(40);
    std::fs::write(place.path(), &text).unwrap();
    let said = "our.sqlite: this is no SQLite database, not a store of sessions; name another place";
    assert_eq!(fault(&place, "s"), said);
    assert_eq!(std::fs::read_to_string(place.path()).unwrap(), text);

    std::fs::remove_file(place.path()).unwrap();
    place.sql().execute_batch("CREATE TABLE session (id); PRAGMA user_version = 2;").unwrap();
    let bytes = std::fs::read(place.path()).unwrap();
    let said = "our.sqlite: this is another program's database, not a store of sessions; name another place";
    assert_eq!(fault(&place, "s"), said);
    assert_eq!(std::fs::read(place.path()).unwrap(), bytes);
    for error in [
        sqlite::list(&place.path()).unwrap_err(),
        sqlite::read(&place.path(), "s").unwrap_err(),
        sqlite::contains(&place.path(), "s").unwrap_err(),
        sqlite::delete(&place.path(), "s").unwrap_err(),
    ] {
        assert!(matches!(error.kind, JournalErrorKind::Foreign(_)), "{error}");
    }
}

#[test]
fn a_newer_store_is_left_alone() {
    let place = written();
    place.sql().execute_batch("PRAGMA user_version = 6").unwrap();
    let said = "our.sqlite: the journal has format 6, this version reads up to 5; use a newer playhouse";
    assert_eq!(fault(&place, "s"), said);

    // A newer session in a store whose tables are known: the others can be used.
    place.sql().execute_batch("PRAGMA user_version = 5").unwrap();
    write(&mut place.open("t"), bodies());
    place.sql().execute("UPDATE session SET format = 9 WHERE id = 's'", []).unwrap();
    let said = "our.sqlite: the journal has format 9, this version reads up to 3; use a newer playhouse";
    assert_eq!(fault(&place, "s"), said);
    assert!(!place.read("t").is_empty());
}

/// The tables of version 1, as that version made them.
const VERSION_1: &str = "
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    CREATE TABLE session (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, format INTEGER NOT NULL,
        begun INTEGER NOT NULL, program TEXT NOT NULL, syncs INTEGER NOT NULL DEFAULT 0) STRICT;
    CREATE TABLE record (session INTEGER NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;
    CREATE TABLE tail (session INTEGER NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;
    CREATE TABLE secret (session INTEGER NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;
    INSERT INTO session VALUES (7, 'old', 2, 100, 'a.md', 0);
    INSERT INTO tail VALUES (7, 2, 101, '{\"type\":\"chunk\",\"turn\":1,\"text\":\"well\"}');
    PRAGMA application_id = 1886151033;
    PRAGMA user_version = 1;";

#[test]
fn an_older_store_becomes_a_new_one() {
    let place = Place::new();
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    let sql = place.sql();
    sql.execute_batch(VERSION_1).unwrap();
    let first = serde_json::to_string(&begun(SECRET)).unwrap();
    sql.execute("INSERT INTO record VALUES (7, 1, 100, ?)", [first]).unwrap();
    let version = || -> i64 { place.sql().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap() };
    assert_eq!(version(), 1);
    // Nothing of a step that cannot be made stays.
    sql.execute_batch("CREATE TABLE standing (other)").unwrap();
    assert!(fault(&place, "old").contains("cannot migrate the journal: table standing already exists"));
    assert_eq!(version(), 1);
    sql.execute_batch("DROP TABLE standing").unwrap();

    let mut journal = place.open("old");
    assert_eq!(version(), 5);
    assert_eq!(journal.records().unwrap().len(), 2);
    write(&mut journal, vec![chunk(1, "!"), message("so")]);
    assert_eq!(journal.records().unwrap()[1].body, chunk(1, "well!"));
    assert_eq!(sqlite::list(&place.path()).unwrap()[0].known.as_ref().unwrap().n_records, 4, "as they were written");
}

#[test]
fn an_empty_database_becomes_a_store() {
    let place = Place::new();
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    place.sql().execute_batch("CREATE TABLE t (a); DROP TABLE t; VACUUM;").unwrap();
    write(&mut place.open("s"), bodies());
    assert_eq!(sqlite::list(&place.path()).unwrap().len(), 1);
}

#[test]
fn damage_is_told_and_the_other_sessions_are_not_concerned() {
    let place = written();
    write(&mut place.open("t"), bodies());
    let change = |sql: &str| place.sql().execute_batch(sql).unwrap();
    change("UPDATE record SET body = '{\"type\":' WHERE session = 1 AND seq = 3");
    assert_eq!(
        fault(&place, "s"),
        "our.sqlite: record 3 of session s is damaged: EOF while parsing a value at line 1 column 8; restore the file \
         from a copy, or look at the other sessions in it"
    );
    change("DELETE FROM record WHERE session = 1 AND seq = 3");
    assert!(fault(&place, "s").contains("record 3 of session s is damaged: record 4 is in its place"));
    assert_eq!(place.read("t").len(), place.open("t").records().unwrap().len());
    // It can be deleted all the same.
    sqlite::delete(&place.path(), "s").unwrap();
    assert_eq!(sqlite::list(&place.path()).unwrap().len(), 1);
}

#[test]
fn a_file_that_is_cut_off_is_told() {
    let place = written();
    let bytes = std::fs::read(place.path()).unwrap();
    for n_bytes in [1, 20, 100, 4_096, 8_192, bytes.len() - 4_096] {
        std::fs::write(place.path(), &bytes[..n_bytes]).unwrap();
        let said = match sqlite::open(&place.path(), "s").and_then(|mut journal| journal.records()) {
            Ok(records) => panic!("{n_bytes}: {} records", records.len()),
            Err(error) => shown(&place.path(), &error.to_string()),
        };
        assert!(said.starts_with("our.sqlite: "), "{n_bytes}: {said}");
    }
}

/// Other processes may keep a store busy for a while: the session waits, and so does nothing else.
#[test]
fn a_busy_store_is_waited_for() {
    let place = written();
    let sql = place.sql();
    now(async {
        let mut journal = TailBuffer::new(store_at(&place.path()).open("s").await.unwrap());
        sql.execute_batch("BEGIN IMMEDIATE").unwrap();
        journal.append(Timestamp(1), message("x"), false);
        let mut flush = Box::pin(journal.flush(Durability::Killed));
        for _ in 0..1_000 {
            assert!((&mut flush).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        sql.execute_batch("ROLLBACK").unwrap();
        flush.await.unwrap();
        assert_eq!(journal.records(false).await.unwrap().last().unwrap().body, message("x"));
    });
}

#[test]
fn ids_are_names() {
    let place = written();
    for id in ["", ".", "..", "../x", "a/b", "a b"] {
        assert!(fault(&place, id).contains("cannot be a session's id"), "{id}");
    }
}
