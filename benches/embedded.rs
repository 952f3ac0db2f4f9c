//! The model inside the binary: loading, memory, tokens per second, one slot of each kind.
//!
//! `cargo bench --bench embedded`; needs its file, at `PLAYHOUSE_TEST_WEIGHTS` or where `playhouse model pull` puts it.

#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used, reason = "a measurement")]

#[cfg(feature = "embedded")]
mod measured {
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use playhouse::host::llm::embedded::slots::{Extraction, Phrasing, SlotFiller, SpeechAct, Stop};
    use playhouse::host::llm::embedded::weights::Weights;
    use playhouse::lang::program::Type;

    const FILE: &str = "playhouse/models/b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53.gguf";

    /// Each figure is the median of so many.
    const TIMES: usize = 7;

    fn path() -> Option<PathBuf> {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        variable("PLAYHOUSE_TEST_WEIGHTS").or_else(|| Some(cache()?.join(FILE))).filter(|path| path.is_file())
    }

    /// A line of `/proc/self/status`, in MB. Linux only.
    fn memory(key: &str) -> String {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_suffix(" kB"));
        let kilobytes = line.and_then(|line| line.trim_start_matches(':').trim().parse::<u64>().ok());
        kilobytes.map_or("unknown".to_owned(), |kilobytes| format!("{} MiB", kilobytes / 1_024))
    }

    fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
        let start = Instant::now();
        let result = work();
        (start.elapsed(), result)
    }

    fn median(mut work: impl FnMut() -> Duration) -> Duration {
        let mut times: Vec<Duration> = std::iter::repeat_with(&mut work).take(TIMES).collect();
        times.sort_unstable();
        times[TIMES / 2]
    }

    fn row(what: &str, figure: &str) {
        println!("| {what} | {figure} |");
    }

    fn milliseconds(time: Duration) -> String {
        format!("{} ms", time.as_millis())
    }

    fn extract(model: &Weights) -> Option<String> {
        let slot = Extraction {
            variable: "town",
            ty: Type::ANY,
            line: "Ask the user for $town, the place they live in",
            question: "Which town do you live in?",
            words: "I moved to Bergen last year and I like it a lot",
        };
        model.extract(&slot, &Stop::default())
    }

    fn phrase(model: &Weights) -> Option<String> {
        let direction = "Welcome the user to the bookshop";
        let template = "Welcome to the bookshop!";
        let slot = Phrasing { act: SpeechAct::Greet, direction, must_hold: &[], template };
        model.phrase(&slot, &Stop::default())
    }

    pub(crate) fn run() {
        let Some(path) = path() else {
            println!("skipped: the model's file is not there (`playhouse model pull`, or PLAYHOUSE_TEST_WEIGHTS)");
            return;
        };
        row("what", "figure");
        row("---", "---");
        let load = || Weights::load(&path).unwrap();
        let (first, model) = timed(load);
        row("load", &milliseconds(first));
        row("memory after that, and its peak", &format!("{}, {}", memory("VmRSS"), memory("VmHWM")));
        let (cold, sentence) = timed(|| phrase(&model));
        row("the first sentence", &format!("{}: {sentence:?}", milliseconds(cold)));
        let (cold, value) = timed(|| extract(&model));
        row("the first value", &format!("{}: {value:?}", milliseconds(cold)));
        row("a sentence", &milliseconds(median(|| timed(|| phrase(&model)).0)));
        row("a value", &milliseconds(median(|| timed(|| extract(&model)).0)));
        for n_words in [40, 120, 500] {
            let text = "Once upon a time there was a cat in a house. ".repeat(n_words / 11 + 1);
            let read = |n: usize| timed(|| model.complete(&text, None, n, &Stop::default()).unwrap());
            let n_read = read(0).1.n_read;
            let reading = median(|| read(0).0);
            let n_written = read(33).1.n_written;
            let writing = median(|| read(33).0).saturating_sub(reading);
            let speed = |n: usize, time: Duration| n as f64 / time.as_secs_f64();
            let figures = format!("{:.0}/s, {:.0}/s", speed(n_read, reading), speed(n_written, writing));
            row(&format!("{n_read} tokens read, {n_written} written behind them"), &figures);
        }
        row("memory at the end, and its peak", &format!("{}, {}", memory("VmRSS"), memory("VmHWM")));
    }
}

fn main() {
    #[cfg(feature = "embedded")]
    measured::run();
    #[cfg(not(feature = "embedded"))]
    println!("skipped: this build has no feature `embedded`");
}
