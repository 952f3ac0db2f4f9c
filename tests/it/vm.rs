//! Programs and happenings to what the machine does.

use crate::golden;
use crate::world::{Chunking, parse, play};

#[test]
fn machine() {
    golden::check("vm", &["txt"], |_, text| {
        let world = play(&parse(text), Chunking::Whole);
        world.log.join("\n") + "\n"
    });
}

/// Where a reply is cut into chunks never changes what the machine does.
#[test]
fn chunks_do_not_matter() {
    for (name, path) in golden::cases("vm", &["txt"]) {
        let case = parse(&std::fs::read_to_string(path).unwrap());
        let whole = play(&case, Chunking::Whole).log;
        for size in [1, 2, 3, 4, 7, 16] {
            assert_eq!(play(&case, Chunking::Size(size)).log, whole, "{name} in pieces of {size}");
        }
        for at in 1..400 {
            assert_eq!(play(&case, Chunking::CutAt(at)).log, whole, "{name} cut at {at}");
        }
    }
}
