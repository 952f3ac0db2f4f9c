//! Several sessions of one store: who has them, how they stand, how they go.

use playhouse::host::journal::JournalErrorKind;
use playhouse::host::journal::address::Place as Kept;
use playhouse::host::journal::store::{Found, Standing};
use playhouse::host::stored;

use super::*;

#[test]
fn one_process_has_a_session() {
    let place = Place::new();
    assert_eq!(sqlite::holder(&place.path(), "s"), None);
    let mut journal = place.open("s");
    write(&mut journal, bodies());
    let id = std::process::id().to_string();
    assert_eq!(sqlite::holder(&place.path(), "s"), Some(id.clone()));
    let Err(error) = sqlite::open(&place.path(), "s") else { panic!() };
    assert!(error.to_string().contains(&format!("open in another process (process id {id})")), "{error}");
    let error = sqlite::delete(&place.path(), "s").unwrap_err();
    assert!(matches!(error.kind, JournalErrorKind::Held(_)), "{error}");
    // Everybody may look at it, and have others.
    assert_eq!(place.read("s"), journal.records().unwrap());
    let mut other = place.open("t");
    write(&mut other, bodies());
    write(&mut journal, vec![message("x")]);
    drop((journal, other));
    assert_eq!(sqlite::holder(&place.path(), "s"), None);
    assert_eq!(place.open("s").records().unwrap().len(), place.open("t").records().unwrap().len() + 1);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_store_is_that_store() {
    let place = Place::new();
    let journal = place.open("s");
    let link = place.folder.path().join("link.sqlite");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    assert!(matches!(sqlite::open(&link, "s").err().unwrap().kind, JournalErrorKind::Held(_)));
    drop(journal);
    write(&mut sqlite::open(&link, "s").unwrap(), bodies());
    assert_eq!(sqlite::read(&link, "s").unwrap(), place.read("s"));
}

/// What a process leaves behind that was killed: its lock's file, without a lock.
#[test]
fn a_lock_that_nobody_holds_is_none() {
    let place = Place::new();
    write(&mut place.open("s"), bodies());
    std::fs::write(place.path().with_file_name("our.sqlite.s.lock"), "4711").unwrap();
    assert_eq!(sqlite::holder(&place.path(), "s"), None);
    let journal = place.open("s");
    assert_eq!(sqlite::holder(&place.path(), "s"), Some(std::process::id().to_string()));
    drop(journal);
    assert_eq!(place.names(), ["our.sqlite"]);
}

#[test]
fn a_deleted_session_is_gone() {
    let place = Place::new();
    write(&mut place.open("kept"), bodies());
    let size = || std::fs::metadata(place.path()).unwrap().len();
    let before = size();
    let mut journal = place.open("s");
    write(&mut journal, bodies());
    let long = "a long message ".repeat(20_000);
    write(&mut journal, vec![message(&long)]);
    drop(journal);
    assert!(size() > before + 250_000);
    sqlite::delete(&place.path(), "s").unwrap();
    assert!(size() <= before + 8_192, "{} bytes are left of {before}", size());
    let bytes = String::from_utf8_lossy(&std::fs::read(place.path()).unwrap()).into_owned();
    assert!(!bytes.contains("a long message"));
    assert!(!sqlite::contains(&place.path(), "s").unwrap());
    assert_eq!(place.open("kept").records().unwrap().len(), place.read("kept").len());
    let error = sqlite::delete(&place.path(), "s").unwrap_err().to_string();
    assert!(shown(&place.path(), &error).starts_with("our.sqlite: there is no session s"));

    sqlite::delete(&place.path(), "kept").unwrap();
    let bytes = String::from_utf8_lossy(&std::fs::read(place.path()).unwrap()).into_owned();
    assert!(!bytes.contains(SECRET));
}

#[test]
fn how_a_session_stands_is_known_until_it_goes_on() {
    let place = Place::new();
    let mut journal = place.open("s");
    write(&mut journal, bodies()[..4].to_vec());
    let listed = || sqlite::list(&place.path()).unwrap().remove(0).known.unwrap();
    let first = listed();
    assert_eq!((&*first.program, first.n_records), ("a.md", 4));
    assert_eq!((first.began, first.last, first.standing.clone()), (Timestamp(100), Timestamp(103), None));
    let standing = Standing { state: "failed".to_owned(), detail: "why".to_owned() };
    let found =
        |n_records, last| [Found { id: "s".into(), n_records, last: Timestamp(last), standing: standing.clone() }];
    sqlite::remember(&place.path(), &found(4, 103)).unwrap();
    assert_eq!(listed().standing, Some(standing.clone()));
    journal.append(Timestamp(104), message("y")).unwrap();
    assert_eq!(listed().standing, None);
    sqlite::remember(&place.path(), &found(4, 103)).unwrap();
    assert_eq!(listed().standing, None, "what was found before is not what is");
    // Another program's findings are its own.
    sqlite::remember(&place.path(), &found(5, 104)).unwrap();
    assert_eq!(listed().standing, Some(standing.clone()));
    place.sql().execute("UPDATE standing SET by = '0.0.0'", []).unwrap();
    assert_eq!(listed().standing, None);
}

#[test]
fn a_session_that_cannot_be_replayed_is_listed() {
    let place = Place::new();
    write(&mut place.open("s"), vec![begun(SECRET), RecordBody::CallStarted { call: 9, attempt: 1 }]);
    write(&mut place.open("t"), vec![begun(SECRET)]);
    place.sql().execute("UPDATE record SET body = '{}' WHERE session = 2", []).unwrap();
    let kept = Kept::at(&place.path());
    for _ in 0..2 {
        let listed = now(stored::list(&kept)).unwrap();
        let states: Vec<(&str, &str)> = listed.iter().map(|stored| (&*stored.id, stored.state.name())).collect();
        assert_eq!(states, [("s", "unreadable"), ("t", "unreadable")]);
    }
}

#[test]
fn a_place_finds_its_sessions() {
    let place = Place::new();
    write(&mut place.open("s1"), bodies());
    let kept = Kept::at(&place.path());
    let address = now(kept.find("s1")).unwrap();
    assert_eq!(address.location(), place.path().display().to_string());
    assert_eq!(now(address.read()).unwrap(), place.read("s1"));
    let kind = |kept: &Kept, session: &str| now(kept.find(session)).unwrap_err().kind;
    assert!(matches!(kind(&kept, "s2"), JournalErrorKind::NoSession(_)));

    // A journal in a folder, whatever its file is called.
    let folder = place.folder.path();
    let path = folder.join("other.jsonl");
    write(&mut sqlite::open(&path, "s1").unwrap(), bodies());
    for kept in [Kept::at(folder), Kept::at(&path)] {
        assert_eq!(now(kept.find("s1")).unwrap().location(), path.display().to_string());
    }
    assert_eq!(now(now(Kept::at(folder).find("s1")).unwrap().read()).unwrap(), place.read("s1"));
    assert_eq!(sqlite::list(folder).unwrap(), [Listed::unknown("s1".into())]);
    assert!(matches!(kind(&Kept::at(folder), "s2"), JournalErrorKind::NoSession(_)));
    assert!(matches!(kind(&Kept::at(&path), "s2"), JournalErrorKind::OtherSession { .. }));
    assert!(matches!(kind(&Kept::at(&folder.join("none.jsonl")), "s2"), JournalErrorKind::NoSession(_)));
    let beside = folder.join("other.jsonl.secrets");
    assert!(beside.exists());
    sqlite::delete(&path, "s1").unwrap();
    assert!(!path.exists() && !beside.exists());
}
