//! Throughput of the reply reader: JSON Lines whole and in pieces of four bytes, against serde_json on the same
//! bytes; and one `say` of growing length, which must take the same time per byte.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use playhouse::vm::reply::{ReadEnd, ReaderOptions, Reading, ReplyReader};

/// A reply as models write it, repeated to some 60 KB.
fn json_lines() -> String {
    let lines = concat!(
        r#"{"at":"01","say":"Hi! I can help you with your order. What is your order number?"}"#,
        "\n",
        r#"{"at":"02","set":{"order_id":"43345678","customer":{"name":"Anna","since":2019,"vip":true}}}"#,
        "\n",
        r#"{"at":"03","call":"GetOrderStatus","args":{"order_id":"$order_id","detail":["items","eta"]},"as":"status"}"#,
        "\n",
        r#"{"at":"04.01","think":"The order was shipped on Monday, so it should arrive tomorrow."}"#,
        "\n",
        r#"{"at":"05","say":"Your order {$order_id} is on its way.\nIt will arrive by \"Tuesday\", between 9 and 12 – Grüße!"}"#,
        "\n",
        r#"{"at":"06","wait":"user"}"#,
        "\n",
    );
    lines.repeat(120)
}

fn read(reply: &[u8], size: usize, readings: &mut Vec<Reading>) {
    let mut reader = ReplyReader::new(ReaderOptions { max_bytes: usize::MAX, ..ReaderOptions::default() });
    for piece in reply.chunks(size) {
        // Taken out after every piece, as the machine does.
        readings.clear();
        reader.push(piece, readings);
        assert!(!matches!(readings.last(), Some(Reading::Fault(_))));
    }
    reader.finish(ReadEnd::Complete, readings);
}

fn lines(criterion: &mut Criterion) {
    let reply = json_lines();
    let mut group = criterion.benchmark_group("lines");
    group.throughput(Throughput::Bytes(reply.len() as u64));
    let mut readings = Vec::new();
    group.bench_function("reader/whole", |bencher| {
        bencher.iter(|| read(black_box(reply.as_bytes()), reply.len(), &mut readings));
    });
    group.bench_function("reader/4-byte-chunks", |bencher| {
        bencher.iter(|| read(black_box(reply.as_bytes()), 4, &mut readings));
    });
    let mut values: Vec<serde_json::Value> = Vec::new();
    group.bench_function("serde_json/value-per-line", |bencher| {
        bencher.iter(|| {
            values.clear();
            values.extend(black_box(&reply).lines().filter_map(|line| serde_json::from_str(line).ok()));
        });
    });
    group.finish();
}

fn say_length(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("say");
    let mut readings = Vec::new();
    for n_kilobytes in [1, 10, 100, 1000] {
        let text = "All work and no play makes Jack a dull boy.\\n".repeat(n_kilobytes * 1000 / 45);
        let reply = format!("{{\"at\":\"01\",\"say\":\"{text}\"}}\n");
        group.throughput(Throughput::Bytes(reply.len() as u64));
        group.bench_with_input(BenchmarkId::new("whole", n_kilobytes), &reply, |bencher, reply| {
            bencher.iter(|| read(black_box(reply.as_bytes()), reply.len(), &mut readings));
        });
        group.bench_with_input(BenchmarkId::new("4-byte-chunks", n_kilobytes), &reply, |bencher, reply| {
            bencher.iter(|| read(black_box(reply.as_bytes()), 4, &mut readings));
        });
        group.bench_with_input(BenchmarkId::new("1-byte-chunks", n_kilobytes), &reply, |bencher, reply| {
            bencher.iter(|| read(black_box(reply.as_bytes()), 1, &mut readings));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2)).warm_up_time(std::time::Duration::from_secs(1));
    targets = lines, say_length
}
criterion_main!(benches);
