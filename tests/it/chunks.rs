//! Where a reply is cut into pieces never changes what is read.

use playhouse::vm::reply::ReadEnd;
use playhouse::vm::template::{Part, TextScanner, scan_text};

use crate::reply::{corpus, read, read_whole};

/// Two pieces cut at every byte, and every byte a piece of its own.
#[test]
fn reader() {
    for case in corpus() {
        let whole = read_whole(&case);
        let bytes = read(&case.options, case.reply.chunks(1), case.end);
        assert_eq!(bytes, whole, "{}, byte by byte", case.name);
        // The filled ones are long, and alike for most of their length.
        let step = if case.reply.len() > 1000 { case.reply.len() / 100 } else { 1 };
        for cut in (0..=case.reply.len()).step_by(step) {
            let (before, after) = case.reply.split_at(cut);
            assert_eq!(read(&case.options, [before, after], case.end), whole, "{}, cut at {cut}", case.name);
        }
        for size in [2, 3, 4, 5, 7, 16] {
            assert_eq!(read(&case.options, case.reply.chunks(size), case.end), whole, "{}, by {size}", case.name);
        }
    }
}

/// A reply that is broken off anywhere is read without a fault of its own, whatever came before.
#[test]
fn broken_off() {
    for case in corpus() {
        if case.reply.len() > 1000 {
            continue;
        }
        for cut in 0..case.reply.len() {
            let part = &case.reply[..cut];
            let whole = read(&case.options, [part], ReadEnd::Cut);
            assert_eq!(read(&case.options, part.chunks(1), ReadEnd::Cut), whole, "{}, to {cut}", case.name);
            crate::reply::check_readings(part, &whole);
            let complete = read(&case.options, part.chunks(3), ReadEnd::Complete);
            crate::reply::check_readings(part, &complete);
            let n_common = whole.len().min(complete.len());
            assert_eq!(whole[..n_common], complete[..n_common], "{}, to {cut}", case.name);
        }
    }
}

const TEXTS: &[&str] = &[
    "",
    "plain",
    "$",
    "$$",
    "$$$x",
    "$5 and $ 7",
    "Hello $name, you owe $total.amount[0].",
    "{$name}",
    "{$name.path[0]}!",
    "{$name.path[0] }",
    "{$$name}",
    "{{$name}}",
    "{$5}",
    "{$",
    "{$x",
    "{$x.",
    "{$x[",
    "{$x[1",
    "{$x[1]",
    "$x.",
    "$x.5",
    "$x[",
    "$x[]",
    "$x[12",
    "$x[99999999999999999999]",
    "{$x[99999999999999999999]}",
    "$x[0][1].y$z{$w}",
    "{$größe} und $größe.",
    "$日本語、はい {$日本語}",
    "fn main() { println!(\"{}\", $x); }",
    "{ $x }",
    "{$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
    "{$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
    "{$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
    "{$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa[12345]}",
    "{$a{$b{$c}",
    "${x}",
    "\u{1F600}$\u{1F600}{\u{1F600}$x\u{1F600}",
    "a{b{$c}d}e",
    "{$x.y.z}{$x.y.z}",
    "$a$b$c",
    "$_ and $_x1",
];

/// Speech that arrives in pieces has the parts of the whole text.
#[test]
fn text_scanner() {
    for text in TEXTS {
        let whole = scan_text(text);
        let mut previous = None;
        for part in &whole {
            if let Part::Text(text) = part {
                assert!(!text.is_empty() && previous != Some(true), "{text:?}");
            }
            previous = Some(matches!(part, Part::Text(_)));
        }
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            assert_eq!(scan_pieces(&[&text[..cut], &text[cut..]]), whole, "{text:?} cut at {cut}");
        }
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(scan_pieces(&characters), whole, "{text:?} by characters");
    }
}

/// Pieces of text given in different vectors are joined.
fn scan_pieces(pieces: &[&str]) -> Vec<Part> {
    let mut scanner = TextScanner::default();
    let mut joined: Vec<Part> = Vec::new();
    for index in 0..=pieces.len() {
        let mut parts = Vec::new();
        match pieces.get(index) {
            Some(piece) => scanner.push(piece, &mut parts),
            None => scanner.finish(&mut parts),
        }
        for part in parts {
            match (joined.last_mut(), part) {
                (Some(Part::Text(text)), Part::Text(more)) => text.push_str(&more),
                (_, part) => joined.push(part),
            }
        }
    }
    assert_eq!(scanner.pending(), "");
    joined
}

#[test]
fn text_scanner_any_text() {
    const PIECES: [&str; 16] =
        ["{", "$", "}", "[", "]", ".", "a", "b_", "0", "12", " ", "é", "x", "{$", "$$", "aaaaaaaaaaaaaaaaaaaa"];
    bolero::check!().with_type::<Vec<(u8, bool)>>().for_each(|input| {
        let mut text = String::new();
        let mut pieces = vec![String::new()];
        for (piece, cut) in input {
            let piece = PIECES[usize::from(*piece) % PIECES.len()];
            text.push_str(piece);
            if *cut {
                pieces.push(String::new());
            }
            pieces.last_mut().unwrap().push_str(piece);
        }
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(scan_pieces(&pieces), scan_text(&text));
    });
}
