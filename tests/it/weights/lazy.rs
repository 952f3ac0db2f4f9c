//! The model that is loaded beside the session.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use playhouse::host::llm::embedded::slots::{Extraction, SlotFiller, Stop};
use playhouse::host::llm::embedded::weights::{Lazy, Status, Weights};
use playhouse::lang::program::Type;

use super::toy::{Gguf, TOY, file};

const SLOT: Extraction<'_> = Extraction {
    variable: "thing",
    ty: Type::ANY,
    line: "Ask the user for the $thing",
    question: "Which thing?",
    words: "it is the blue one",
};

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(600);

#[test]
fn a_slot_waits_for_a_load_in_progress() {
    let (_folder, path) = file(&Gguf::toy(1, true).bytes());
    let (release, released) = mpsc::channel::<()>();
    let load = move |path: PathBuf| {
        released.recv().unwrap();
        Weights::load_as(&path, &[TOY])
    };
    let lazy = Lazy::start(Status::Loading, || Some(path), load, |_| {}).with_wait(LONG);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            lazy.extract(&SLOT, &Stop::default());
            lazy.status()
        });
        assert_eq!(lazy.status(), Status::Loading);
        release.send(()).unwrap();
        assert_eq!(asked.join().unwrap(), Status::Ready);
    });
    assert_eq!(lazy.name().as_deref(), Some("toy"));
}

#[test]
fn a_slot_does_not_wait_for_ever() {
    let (release, released) = mpsc::channel::<()>();
    let load = move |path: PathBuf| {
        released.recv().unwrap();
        Weights::load(&path)
    };
    let lazy = Lazy::start(Status::Loading, || Some(PathBuf::new()), load, |_| {}).with_wait(Duration::ZERO);
    assert_eq!(lazy.extract(&SLOT, &Stop::default()), None);
    let lazy = lazy.with_wait(LONG);
    let stop = Stop::default();
    stop.stop();
    assert_eq!(lazy.extract(&SLOT, &stop), None);
    assert_eq!((lazy.status(), lazy.name()), (Status::Loading, None));
    release.send(()).unwrap();
}

/// A download may take minutes: nobody waits for that.
#[test]
fn a_file_may_come_later() {
    let (_folder, path) = file(&Gguf::toy(1, true).bytes());
    let (found, find) = mpsc::channel();
    let (told, heard) = mpsc::channel();
    let load = |path: PathBuf| Weights::load_as(&path, &[TOY]);
    let find = move || find.recv().ok();
    let lazy = Lazy::start(Status::Searching, find, load, move |status| told.send(status.clone()).unwrap());
    let lazy = lazy.with_wait(LONG);
    assert_eq!(lazy.extract(&SLOT, &Stop::default()), None);
    assert_eq!(lazy.status(), Status::Searching);
    found.send(path).unwrap();
    assert_eq!(heard.recv().unwrap(), Status::Ready);
    assert_eq!(lazy.name().as_deref(), Some("toy"));
    // Told once.
    assert!(heard.recv().is_err());
}

#[test]
fn what_comes_to_nothing_is_told_once() {
    let (told, heard) = mpsc::channel();
    let tell = told.clone();
    let absent = Lazy::when_found(|| None, move |status| tell.send(status.clone()).unwrap());
    assert_eq!(heard.recv().unwrap(), Status::Absent);
    assert_eq!(absent.status(), Status::Absent);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.gguf");
    let failed = Lazy::load(path, move |status| told.send(status.clone()).unwrap());
    let Status::Failed(error) = heard.recv().unwrap() else { panic!("loaded") };
    assert!(error.to_string().contains("none.gguf can't be read"), "{error}");
    assert_eq!(failed.status(), Status::Failed(error));
    for lazy in [absent, failed] {
        assert_eq!((lazy.with_wait(LONG).extract(&SLOT, &Stop::default())), None);
    }
    assert!(heard.recv().is_err());
}

#[test]
fn a_loader_that_panics_leaves_nobody_waiting() {
    let lazy = Lazy::start(Status::Loading, || panic!("as it should"), |path| Weights::load(&path), |_| {});
    assert_eq!(lazy.with_wait(LONG).extract(&SLOT, &Stop::default()), None);
}
