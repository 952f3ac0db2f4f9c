//! What an index of documents costs: adding, a refresh with nothing changed, questions by words and by vectors, memory
//! (spec `retrieval.md`, "Bars"). Texts, questions and vectors are made up by a seed.
//!
//! `cargo bench --bench documents`
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and ends where something is not as it was made"
)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fastrand::Rng;
use playhouse::host::documents::Index;
use playhouse::host::documents::search::Query;

/// Folders of documents, and how many files each has: with the first there are 30,000 chunks, with the second 60 MB in 7,131
/// files, with the third 160,000 chunks.
const FOLDERS: [(&str, usize); 3] = [("a", 2_000), ("b", 5_131), ("c", 3_100)];

/// Bytes of a file, about.
const N_BYTES: usize = 8_000;

/// Words that texts are made of, besides those that say nothing.
const N_WORDS: f64 = 30_000.0;

/// How many of the most frequent words are about equally frequent (Mandelbrot's law).
const N_FREQUENT: f64 = 50.0;

const STOP_WORDS: [&str; 12] = ["the", "of", "and", "to", "in", "is", "a", "for", "that", "it", "with", "as"];

const N_QUESTIONS: usize = 300;

/// Numbers of a vector: those of MiniLM.
const DIMENSION: usize = 384;

/// Vectors that are kept at a time.
const BATCH: usize = 2_000;

fn main() {
    // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut random = Rng::with_seed(1);
    for (name, n_files) in FOLDERS {
        fs::create_dir(folder.path().join(name)).unwrap();
        for file in 0..n_files {
            fs::write(folder.path().join(format!("{name}/{file}.md")), document(&mut random)).unwrap();
        }
    }
    let [first, second, third] = FOLDERS.map(|(name, _)| folder.path().join(name));

    let mut index = add(&folder.path().join("small.index"), std::slice::from_ref(&first));
    by_words(&mut index, &mut random, "< 15 ms");

    let mut index = add(&folder.path().join("large.index"), &[first, second]);
    let started = Instant::now();
    let update = index.refresh(&mut |_| ()).unwrap();
    assert_eq!(update.unchanged, FOLDERS[0].1 + FOLDERS[1].1);
    println!("  refreshed, nothing changed: {:.2} s (aim < 1 s)", started.elapsed().as_secs_f64());
    index.add(&[third], &[], &mut |_| ()).unwrap();
    println!("{} chunks", index.status().unwrap().chunks);
    by_words(&mut index, &mut random, "< 110 ms");

    println!("  memory by words: {} MB", memory("VmRSS:"));
    let started = Instant::now();
    while keep_vectors(&mut index, &mut random) {}
    println!("  vectors kept: {:.2} s without the server", started.elapsed().as_secs_f64());
    let vectors: Vec<Vec<f32>> = (0..N_QUESTIONS).map(|_| vector(&mut random)).collect();
    let mut ask = |vector: &Vec<f32>| {
        let started = Instant::now();
        let hits = index.search(Query { text: "", by_words: false, vector: Some(vector), top: 1 }).unwrap();
        assert_eq!(hits.len(), 1);
        started.elapsed()
    };
    println!("  the first question by vectors, which reads them: {:.1} ms", millis(ask(&vectors[0])));
    row("by vectors", vectors.iter().map(ask).collect(), "< 10 ms");
    println!("  memory with vectors: {} MB, at most {} MB (aim < 250 MB)", memory("VmRSS:"), memory("VmHWM:"));
}

/// Adds all files of these folders to a new index.
fn add(path: &Path, folders: &[PathBuf]) -> Index {
    let mut index = Index::create(path).unwrap();
    let started = Instant::now();
    let update = index.add(folders, &[], &mut |_| ()).unwrap();
    let took = started.elapsed().as_secs_f64();
    let n_files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).count();
    assert_eq!((update.added, &update.unreadable), (n_files, &Vec::new()));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let n_bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    let megabytes = n_bytes as f64 / 1e6;
    println!("{} chunks", index.status().unwrap().chunks);
    println!(
        "  {n_files} files, {megabytes:.1} MB added: {took:.1} s, {:.0} files a minute",
        n_files as f64 / took * 60.0
    );
    index
}

fn by_words(index: &mut Index, random: &mut Rng, aim: &str) {
    let times = (0..N_QUESTIONS).map(|_| {
        let question = question(random);
        let started = Instant::now();
        let hits = index.search(Query { text: &question, by_words: true, vector: None, top: 8 }).unwrap();
        assert_eq!(hits.len(), 8, "{question}");
        started.elapsed()
    });
    row("by words", times.collect(), aim);
}

/// Keeps vectors of the next chunks that have none; whether there were any.
fn keep_vectors(index: &mut Index, random: &mut Rng) -> bool {
    let chunks = index.without_vectors(BATCH).unwrap();
    let vectors: Vec<(i64, Vec<f32>)> = chunks.iter().map(|(chunk, _)| (*chunk, vector(random))).collect();
    index.keep_vectors(&vectors).unwrap();
    !chunks.is_empty()
}

fn row(name: &str, mut times: Vec<Duration>, aim: &str) {
    times.sort();
    let percentile = |percent: usize| millis(times[(times.len() * percent).div_ceil(100) - 1]);
    println!("  {name}: p50 {:.1} ms, p95 {:.1} ms (aim of p50 {aim})", percentile(50), percentile(95));
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Sections of paragraphs.
fn document(random: &mut Rng) -> String {
    let mut text = format!("# {}\n", words(random, 3));
    while text.len() < N_BYTES {
        write!(text, "\n## {}\n", words(random, 2)).unwrap();
        for _ in 0..random.usize(1..4) {
            let sentences: Vec<String> = (0..random.usize(3..7)).map(|_| sentence(random)).collect();
            write!(text, "\n{}\n", sentences.join(" ")).unwrap();
        }
    }
    text
}

/// As many words that say nothing as others.
fn sentence(random: &mut Rng) -> String {
    let pairs =
        (0..random.usize(5..11)).map(|_| format!("{} {}", STOP_WORDS[random.usize(..STOP_WORDS.len())], word(random)));
    pairs.collect::<Vec<_>>().join(" ") + "."
}

/// A question as people ask it: half of its words say nothing.
fn question(random: &mut Rng) -> String {
    let n_words = random.usize(4..8);
    format!("How does the {} and what is it for?", words(random, n_words))
}

fn words(random: &mut Rng, n_words: usize) -> String {
    (0..n_words).map(|_| word(random)).collect::<Vec<_>>().join(" ")
}

/// A word as often as words of its rank are in texts.
fn word(random: &mut Rng) -> String {
    let rank = N_FREQUENT * (1.0 + N_WORDS / N_FREQUENT).powf(random.f64()) - N_FREQUENT;
    let (mut rest, mut word) = (rank as usize + 20 * 5, String::new());
    while rest > 0 {
        word.push(char::from(b"bcdfghjklmnpqrstvwxz"[rest % 20]));
        rest /= 20;
        word.push(char::from(b"aeiou"[rest % 5]));
        rest /= 5;
    }
    word
}

fn vector(random: &mut Rng) -> Vec<f32> {
    (0..DIMENSION).map(|_| random.f32() - 0.5).collect()
}

/// Megabytes of this process. Linux only; elsewhere nothing is said of it.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1_000
}
