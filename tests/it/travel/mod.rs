//! Time travel: every point of every example's past, and forks from there.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use playhouse::host::journal::record::Record;
use playhouse::host::travel::{Point, Timeline};

use crate::conversation::Snapshots;

mod forks;

/// Replies arrive in pieces of so many bytes.
const PIECE: usize = 16;

/// All golden conversations of the examples, plans among them, and of the crash tests.
fn conversations() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<PathBuf> = ["examples", "tests/cases/crash"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).into_iter().flatten())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".test.md"))
        // What the embedded model replies is no file.
        .filter(|path| !path.to_string_lossy().ends_with(".embedded.test.md"))
        .collect();
    found.sort();
    assert!(found.len() >= 6, "{found:?}");
    found
}

/// Runs a test for each conversation on a few threads, each on a paused clock; what they count, together.
fn for_each(test: impl AsyncFn(&Path) -> usize + Sync) -> usize {
    let (paths, next, n_tried) = (conversations(), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
                    let n = runtime.block_on(test(path));
                    n_tried.fetch_add(n, Ordering::Relaxed);
                }
            });
        }
    });
    n_tried.load(Ordering::Relaxed)
}

/// The records as they came, each chunk for itself: a session's journal as it is while a reply is read.
fn unjoined(states: &[Vec<Record>]) -> Vec<Record> {
    let came = states.iter().enumerate().map(|(index, records)| {
        let record = records.last().unwrap().clone();
        Record { seq: index as u64 + 1, ..record }
    });
    came.collect()
}

/// All points of a timeline.
fn points(timeline: &Timeline) -> Vec<Point> {
    let seqs = 1..=timeline.records().len() as u64;
    let of = |seq| (0..=timeline.last_directive(seq).unwrap()).map(move |directive| Point::new(seq, directive));
    seqs.flat_map(of).collect()
}

/// A journal in memory that holds `records`.
fn journal(records: &[Record]) -> Snapshots {
    Snapshots::from_records(records.to_vec())
}
