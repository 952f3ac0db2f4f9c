//! Programs and happenings to what the machine does.

use crate::golden;
use crate::world::{Chunking, Happening, World, begin, parse, play};

#[test]
fn machine() {
    golden::check("vm", &["txt"], |_, text| {
        let case = parse(text);
        let world = play(World::new(begin(&case)), &case, Chunking::Whole);
        world.log.join("\n") + "\n"
    });
}

/// Where a reply is cut into chunks never changes what the machine does.
#[test]
fn chunks_do_not_matter() {
    for (name, path) in golden::cases("vm", &["txt"]) {
        let case = parse(&std::fs::read_to_string(path).unwrap());
        // Reading the program is most of the work, and the same each time.
        let begun = World::new(begin(&case));
        let log = |chunking| play(begun.clone(), &case, chunking).log;
        let whole = log(Chunking::Whole);
        for size in [1, 2, 3, 7] {
            assert_eq!(log(Chunking::Size(size)), whole, "{name} in pieces of {size}");
        }
        let longest = case.happenings.iter().filter_map(|happening| {
            let (Happening::Reply { text, .. } | Happening::Chunk(text)) = happening else { return None };
            Some(text.len())
        });
        for at in 1..longest.max().unwrap_or(0).min(600) {
            assert_eq!(log(Chunking::CutAt(at)), whole, "{name} cut at {at}");
        }
    }
}
