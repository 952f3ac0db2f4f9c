//! Sessions in files: written, listed, resumed by another process.

use playhouse::host::journal::address::Place;
use playhouse::host::journal::file::FileJournal;
use playhouse::host::stored::{self, Stored};

use super::*;

async fn states(folder: &Path) -> Vec<(String, &'static str)> {
    let state = |stored: &Stored| (stored.id.to_string(), stored.state.name());
    stored::list(&Place::at(folder)).await.unwrap().iter().map(state).collect()
}

#[tokio::test]
async fn stored_sessions_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    assert!(stored::list(&Place::at(&folder.path().join("none"))).await.unwrap().is_empty());
    let path = folder.path().join("s1.jsonl");
    let journal = || FileJournal::open(&path).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "not a session").unwrap();

    let mut session = Setup::desk().start(journal()).unwrap();
    let mut events = session.subscribe(Interest::Speech);
    let handle = session.spawn();
    loop {
        let Some(Notice::Event(event)) = events.next().await else { panic!() };
        if event.name == "waiting" {
            break;
        }
    }
    assert_eq!(states(folder.path()).await, [("s1".to_owned(), "open")]);
    handle.stop().await;
    handle.outcome().await.unwrap();
    assert_eq!(states(folder.path()).await, [("s1".to_owned(), "waiting")]);

    let (ending, _) = converse(Setup::desk().resume(journal()).await.unwrap(), &["4334"]).await;
    assert_eq!(done(&ending), Some("shipped".into()));
    let listed = stored::list(&Place::at(folder.path())).await.unwrap();
    assert_eq!((listed.len(), listed[0].state.name(), &*listed[0].program), (1, "finished", "desk.md"));
    assert!(listed[0].started <= listed[0].last);

    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    std::fs::write(folder.path().join("s2.jsonl"), lines[..2].join("\n") + "\n").unwrap();
    std::fs::write(folder.path().join("s3.jsonl"), "{}\n").unwrap();
    let states: Vec<&str> =
        stored::list(&Place::at(folder.path())).await.unwrap().iter().map(|stored| stored.state.name()).collect();
    assert_eq!(states, ["unreadable", "finished", "waiting"], "by time, then by name");

    let opened = stored::open(&Place::at(&path).address("s1").unwrap()).await.unwrap();
    assert_eq!(&*opened.begun.session, "s1");
    assert_eq!(names(&opened.records)[0], "begun");
    assert_eq!(opened.replayed.machine.view().stack.len(), 0);
}
