//! Any bytes, in any pieces: messages or a reason, never a panic, and the pieces make no difference.

use playhouse::serve::dap::framing::{FrameFault, Frames, framed};

use crate::made_up::made_up;

/// Pieces of what clients send; what a fuzzer would take long to find by bytes.
const PIECES: &[&str] = &[
    "Content-Length: 2\r\n\r\n{}",
    "Content-Length: 0\r\n\r\n",
    "content-length:3\n\nabc",
    "Content-Length: ",
    "Content-Type: x\r\n",
    "Content-Length: 99999999999999999999\r\n\r\n",
    "Content-Length: -1\r\n\r\n",
    "Content-Length: +1\r\n\r\n",
    "POST / HTTP/1.1\r\n",
    "Host: a\r\n",
    "\r\n",
    "\r",
    "\n",
    "12",
    "{}",
    "é",
];

/// All messages of some bytes that come in pieces of these lengths, and how it ends.
fn read(bytes: &[u8], cuts: &[u8]) -> (Vec<Vec<u8>>, Option<FrameFault>) {
    let (mut frames, mut messages, mut rest) = (Frames::new(), Vec::new(), bytes);
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let n = cuts.next().map_or(rest.len(), |cut| usize::from(*cut).clamp(1, rest.len()));
        frames.push(&rest[..n]);
        rest = &rest[n..];
        loop {
            match frames.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(fault) => return (messages, Some(fault)),
            }
        }
    }
    (messages, None)
}

/// Reads the input, and what its bytes stand for, whole and cut: never a panic, the same messages.
pub(crate) fn dap_framing_one(input: &[u8], cuts: &[u8]) {
    let text: Vec<u8> = input.iter().flat_map(|byte| PIECES[usize::from(*byte) % PIECES.len()].bytes()).collect();
    for bytes in [&text[..], input] {
        let (whole, fault) = read(bytes, &[]);
        let (cut, cut_fault) = read(bytes, cuts);
        assert_eq!(whole, cut);
        assert_eq!(fault.is_some(), cut_fault.is_some(), "{fault:?} {cut_fault:?}");
    }
}

#[test]
fn pieces_make_no_difference() {
    let check = made_up!(3_000).with_type::<(Vec<u8>, Vec<u8>)>();
    check.for_each(|(input, cuts)| dap_framing_one(input, cuts));
}

#[test]
fn what_is_framed_is_read() {
    made_up!(1_000).with_type::<(Vec<Vec<u8>>, Vec<u8>)>().for_each(|(messages, cuts)| {
        let bytes: Vec<u8> = messages.iter().flat_map(|message| framed(message)).collect();
        assert_eq!(read(&bytes, cuts), (messages.clone(), None));
    });
}

#[test]
fn other_protocols_and_endless_headers_are_refused() {
    let fault = |text: &str| read(text.as_bytes(), &[]).1.map(|fault| fault.to_string()).unwrap_or_default();
    let body = r#"{"seq":1,"type":"request","command":"launch"}"#;
    let post = format!("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert!(fault(&post).contains("does not say how long it is"), "{}", fault(&post));
    assert!(fault(&"Content-Type: a\r\n".repeat(1_000)).contains("longer than"));
    assert!(fault(&"a".repeat(9_000)).contains("longer than"));
    assert!(fault("Content-Length: 20000000\r\n\r\n").contains("too long"));
    assert!(fault("Content-Length: 1\r\nContent-Length: 2\r\n\r\n").contains("does not say"));
}
