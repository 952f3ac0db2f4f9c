//! Journals of all kinds hold the same, whatever is written and however often it is opened again.

use fastrand::Rng;
use playhouse::host::journal::file::FileJournal;
use playhouse::host::journal::memory::MemoryJournal;

use super::*;

const N_RUNS: u64 = 60;

fn body(random: &mut Rng) -> RecordBody {
    let bytes = |random: &mut Rng| -> Vec<u8> {
        // Also bytes that are no text by themselves.
        let parts: [&[u8]; 6] = [b"{\"at\"", b"\n", b"\xe2\x82", b"\xac", b"'); --", b"plain words"];
        (0..random.usize(..4)).flat_map(|_| parts[random.usize(..parts.len())].to_vec()).collect()
    };
    match random.u8(..14) {
        0..8 => RecordBody::Chunk { turn: random.u64(1..3), text: ChunkText(bytes(random).into()) },
        8 => message(["", "a\u{0}b", "'quoted'\n"][random.usize(..3)]),
        9 => secret_result(random.u64(1..4)),
        10 => edited([None, Some(0), Some(3)][random.usize(..3)]),
        11 => RecordBody::Reopened,
        12 => RecordBody::CallStarted { call: random.u64(..u64::MAX), attempt: 1 },
        _ => RecordBody::GoOn,
    }
}

#[test]
fn journals_of_all_kinds_hold_the_same() {
    let place = Place::new();
    // As long as somebody has the store open, closing a session waits for no disk.
    let other = place.open("other");
    let mut n_joined = 0;
    for seed in 0..N_RUNS {
        let random = &mut Rng::with_seed(seed);
        let id = format!("s{seed}");
        let path = place.folder.path().join(format!("{id}.jsonl"));
        let memory = MemoryJournal::new();
        let mut in_memory = Log::new(memory.clone());
        let mut file = Log::new(FileJournal::open(&path).unwrap());
        let mut stored = place.open(&id);
        let n = random.usize(1..40);
        for index in 0..n {
            let body = if index == 0 { begun(SECRET) } else { body(random) };
            let time = Timestamp(random.i64(..));
            for journal in [&mut in_memory, &mut file, &mut stored] {
                journal.append(time, body.clone()).unwrap();
            }
            if random.u8(..6) == 0 {
                drop((file, stored));
                file = Log::new(FileJournal::open(&path).unwrap());
                stored = place.open(&id);
            }
            if random.u8(..6) == 0 {
                assert_eq!(place.read(&id), memory.snapshot(), "{seed}");
                assert_eq!(stored.records().unwrap(), memory.snapshot(), "{seed}");
            }
        }
        let records = memory.snapshot();
        n_joined += n - records.len();
        assert_eq!(stored.records().unwrap(), records, "{seed}");
        assert_eq!(file.records().unwrap(), records, "{seed}");
        drop(stored);
        assert_eq!(place.open(&id).records().unwrap(), records, "{seed}");
    }
    assert!(n_joined > 100, "chunks were joined: {n_joined}");
    drop(other);
    assert_eq!(sqlite::list(&place.path()).unwrap().len() as u64, N_RUNS);
    assert_eq!(place.names(), ["our.sqlite"], "nothing is left beside it");
}
