//! Files that are not what they say: each is refused in one line, none makes anything panic.

use std::fmt::Write as _;

use fastrand::Rng;
use playhouse::host::llm::embedded::weights::{Weights, WeightsError};

use super::toy::{Entry, Gguf, Q4_1, file, load};
use crate::golden;

/// An error is one line of a moderate length, and comes from a check, not from a panic that was caught.
#[track_caller]
fn assert_sound(loaded: &Result<Weights, WeightsError>) {
    let Err(error) = loaded else { return };
    let message = error.to_string();
    assert!(!message.contains(char::is_control) && message.len() < 600, "{message:?}");
    assert!(!message.contains("can't be used"), "{message}");
}

#[track_caller]
fn refused(bytes: &[u8]) -> String {
    let loaded = load(bytes);
    assert_sound(&loaded);
    let message = loaded.err().expect("was loaded").to_string();
    let start = message.find("model.gguf").unwrap();
    message[start..].to_owned()
}

fn toy() -> Gguf {
    Gguf::toy(7, true)
}

fn text(text: &str) -> Entry {
    Entry::Text(text.to_owned())
}

/// A list of this type that says it has so many items.
fn list(of: u32, n: u64) -> Entry {
    Entry::Raw(9, [of.to_le_bytes().as_slice(), &n.to_le_bytes()].concat())
}

#[test]
fn what_is_refused_and_how() {
    let deep = Entry::Raw(9, list_of_lists(200));
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("another architecture", toy().with("general.architecture", text("qwen2")).bytes()),
        ("no architecture", toy().without("general.architecture").bytes()),
        ("another tokenizer", toy().with("tokenizer.ggml.model", text("llama")).bytes()),
        ("another way to split", toy().with("tokenizer.ggml.pre", text("llama-bpe")).bytes()),
        ("a name that is long and odd", toy().with("general.architecture", text(&"\n\u{1b}[31mx".repeat(99))).bytes()),
        ("other measures", toy().with("llama.block_count", Entry::Number(80)).bytes()),
        ("measures in words", toy().with("llama.embedding_length", text("many")).bytes()),
        ("experts", toy().with("llama.expert_count", Entry::Number(8)).bytes()),
        ("no base of angles", toy().with("llama.rope.freq_base", Entry::Float(f32::NAN)).bytes()),
        ("a tensor too few", {
            let mut file = toy();
            file.tensors.retain(|tensor| tensor.name != "blk.1.ffn_up.weight");
            file.bytes()
        }),
        ("a tensor too many", {
            let mut file = toy();
            let mut bias = file.tensors[0].clone();
            bias.name = "blk.0.attn_q.bias\n".to_owned();
            file.tensors.push(bias);
            file.bytes()
        }),
        ("other dimensions", toy().tensor("blk.0.attn_q.weight", |tensor| tensor.dimensions[1] = 33).bytes()),
        ("huge dimensions", toy().tensor("blk.0.attn_q.weight", |tensor| tensor.dimensions = vec![1 << 63; 4]).bytes()),
        ("too many dimensions", toy().tensor("token_embd.weight", |tensor| tensor.dimensions = vec![1; 40]).bytes()),
        ("another format", toy().tensor("blk.0.attn_q.weight", |tensor| tensor.format = 14).bytes()),
        ("an unknown format", toy().tensor("blk.0.attn_q.weight", |tensor| tensor.format = 9_999).bytes()),
        ("too many tensors", Gguf { counts: Some((u64::MAX, 15)), ..toy() }.bytes()),
        ("too many entries", Gguf { counts: Some((20, u64::MAX)), ..toy() }.bytes()),
        ("more tensors than there are", Gguf { counts: Some((500, 15)), ..toy() }.bytes()),
        ("a text without end", toy().with("x", Entry::Raw(8, u64::MAX.to_le_bytes().to_vec())).bytes()),
        ("a list without end", toy().with("x", list(0, u64::MAX)).bytes()),
        ("a list of half the file", toy().with("x", list(12, 1 << 20)).bytes()),
        ("lists in lists", toy().with("x", deep).bytes()),
        ("an unknown type", toy().with("x", Entry::Raw(77, vec![0; 8])).bytes()),
        ("alignment 0", toy().with("general.alignment", Entry::Number(0)).bytes()),
        ("alignment 1", toy().with("general.alignment", Entry::Number(1)).bytes()),
        ("too few tokens", toy().with("tokenizer.ggml.tokens", Entry::Texts(vec!["a".to_owned()])).bytes()),
        ("no tokens", toy().with("tokenizer.ggml.tokens", text("a b c")).bytes()),
        ("no kinds of tokens", toy().without("tokenizer.ggml.token_type").bytes()),
        (
            "a token that ends and is not there",
            toy().with("tokenizer.ggml.eos_token_id", Entry::Number(1 << 20)).bytes(),
        ),
        ("odd merges", toy().with("tokenizer.ggml.merges", Entry::Texts(vec!["nospace".to_owned()])).bytes()),
        ("merges of no tokens", toy().with("tokenizer.ggml.merges", Entry::Texts(vec!["zz yy".to_owned()])).bytes()),
        ("not whole", toy().bytes()[..8_000].to_vec()),
        ("not whole by one byte of data", {
            let bytes = toy().bytes();
            bytes[..bytes.len() - 32].to_vec()
        }),
        ("empty", Vec::new()),
        ("something else", b"<!DOCTYPE html><title>404 Not Found</title>".to_vec()),
    ];
    let mut shown = String::new();
    for (name, bytes) in cases {
        let _ = writeln!(shown, "{name}\n    {}", refused(&bytes));
    }
    golden::compare("embedded/refused.golden", &shown);
}

fn list_of_lists(depth: usize) -> Vec<u8> {
    let one = [9_u32.to_le_bytes().as_slice(), &1_u64.to_le_bytes()].concat();
    one.repeat(depth)
}

/// A token of a kilobyte, a token twice, a token of nothing.
#[test]
fn odd_tokens_are_refused_or_do_no_harm() {
    let file = toy();
    let entry = file.metadata.iter().find(|(key, _)| key == "tokenizer.ggml.tokens");
    let Some((_, Entry::Texts(tokens))) = entry else { panic!("the file has no tokens") };
    for odd in ["x".repeat(5_000), "a".to_owned(), String::new(), "\u{10ffff}".to_owned(), " two words ".to_owned()] {
        for index in [0, 2, 200] {
            let mut tokens = tokens.clone();
            tokens[index] = odd.clone();
            assert_sound(&toy().with("tokenizer.ggml.tokens", Entry::Texts(tokens)).load());
        }
    }
}

#[test]
fn files_cut_anywhere_are_refused() {
    let bytes = toy().bytes();
    let (folder, path) = file(&[]);
    for length in (0..bytes.len() - 32).step_by(211) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let loaded = Weights::load_as(&path, &[super::toy::TOY]);
        assert_sound(&loaded);
        assert!(loaded.is_err(), "{length}");
    }
    drop(folder);
}

/// Bytes changed at random in the header, where every number counts, and bytes that were never a file.
#[test]
fn changed_files_are_refused_or_do_no_harm() {
    let bytes = toy().bytes();
    let n_header = bytes.len() - toy().tensors.iter().map(|tensor| tensor.data.len()).sum::<usize>();
    let mut random = Rng::with_seed(1);
    for round in 0..300 {
        let mut changed = bytes.clone();
        for _ in 0..random.usize(1..4) {
            let index = random.usize(0..n_header);
            let telling = [0, 1, 0x7f, 0x80, 0xff, random.u8(..), random.u8(..)];
            changed[index] = telling[random.usize(..telling.len())];
        }
        if round % 10 == 0 {
            let length = random.usize(0..4_000);
            changed = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
            changed.splice(0..0, b"GGUF\x03\0\0\0".iter().copied());
        }
        assert_sound(&load(&changed));
    }
}

/// The file may hold one format or the other; a matrix in blocks needs whole blocks.
#[test]
fn formats_are_checked_against_rows() {
    assert!(Gguf::toy(1, true).load().is_ok());
    assert!(Gguf::toy(1, false).load().is_ok());
    let file = Gguf::toy(1, false).tensor("output_norm.weight", |tensor| tensor.format = Q4_1);
    assert!(file.load().is_ok());
    let six_bits = Gguf::toy(1, false).tensor("blk.0.attn_k.weight", |tensor| tensor.format = 14);
    assert!(refused(&six_bits.bytes()).contains("stored as Q6K"));
}

#[test]
fn only_the_real_family_is_loaded_by_default() {
    let (_folder, path) = file(&toy().bytes());
    let error = Weights::load(&path).err().unwrap();
    assert!(matches!(error, WeightsError::OtherModel { .. }), "{error}");
    let missing = Weights::load(&path.with_extension("none")).err().unwrap();
    assert!(matches!(missing, WeightsError::Unreadable { .. }), "{missing}");
    assert!(Weights::load(path.parent().unwrap()).is_err());
}
