//! `eval` and `compare` through the real binary, with a server whose replies are drawn by chance.

use std::fs;
use std::sync::Mutex;

use fastrand::Rng;
use playhouse::host::eval::measured::Measured;
use regex::Regex;
use serde_json::{Value, json};

use crate::http_server::{Answer, Request, ServerHandle, start_with};
use crate::run::{Done, Run};

const DESK: &str = "# Desk\n\n## Judge($number: int)\n\n### Steps\n\n- Decide whether parcel $number is lost, and store \
                    $is_lost:bool\n- If $is_lost\n  - Report($number)\n- Return $is_lost\n";

const TOOLS: &str =
    r#"{"Report": {"args": ["number"], "required": ["number"], "responses": [{"return": "reported"}]}}"#;

/// A parcel that is lost.
fn lost(number: usize) -> String {
    format!(
        "# Parcel {number}\n\n- program: desk.md\n- tools: tools.json\n- playbook: Judge\n- argument number: {number}\n\n\
         ## Calls\n\n- Report(number: {number})\n\n## Outcome\n\nfinished: true\n"
    )
}

/// A folder with so many cases. Nothing is waited for before a request is made again.
fn desk(n_cases: usize) -> Run {
    let run = Run::new().file("desk.md", DESK).file("tools.json", TOOLS);
    let run = run.file("playhouse.toml", "[limits]\nmax_retries = 1\nretry_delay_ms = 0\nmax_retry_delay_ms = 0\n");
    (1..=n_cases)
        .fold(run, |run, number| run.file(&format!("cases/{number:02}.test.md"), &lost(number)))
        .file("cases/desk.md", DESK)
        .file("cases/tools.json", TOOLS)
        .file("cases/playhouse.toml", "[limits]\nmax_retries = 1\nretry_delay_ms = 0\nmax_retry_delay_ms = 0\n")
}

/// A run that asks `server`.
fn at(run: &Run, server: &ServerHandle) -> Run {
    run.beside().variable("OPENAI_API_KEY", "sk-test").variable("OPENAI_BASE_URL", &server.url())
}

/// The number of the parcel that is asked about.
fn number(request: &Request) -> usize {
    let all = request.body["messages"].to_string();
    Regex::new(r"\$number = (\d+)").unwrap().captures(&all).unwrap_or_else(|| panic!("{all}"))[1].parse().unwrap()
}

/// A model that says of a parcel that it is lost as often as `rate` says of the model and the number.
fn model(seed: u64, rate: impl Fn(&str, usize) -> f64 + Send + Sync + 'static) -> ServerHandle {
    let random = Mutex::new(Rng::with_seed(seed));
    start_with(move |request| {
        let rate = rate(request.body["model"].as_str().unwrap(), number(request));
        verdict(random.lock().unwrap().f64() < rate)
    })
}

fn verdict(is_lost: bool) -> Answer {
    Answer::deltas(&[&format!("{{\"at\":\"01\",\"set\":{{\"is_lost\":{is_lost}}}}}")])
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", done.stdout, done.stderr))
}

#[test]
fn a_model_that_is_worse_is_found_and_where_its_runs_part() {
    let run = desk(8);
    let server = model(1, |model, _| if model == "good" { 0.98 } else { 0.3 });
    let line = "compare openai:good openai:hasty --cases cases -k 10 --seed 1";
    let done = at(&run, &server).line(line).done();
    assert_eq!(done.code, Some(1), "{}{}", done.stdout, done.stderr);
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(lines[..3], ["A  openai:good", "B  openai:hasty", "8 cases × 10"], "{}", done.stdout);
    assert!(lines[4].starts_with("pass^1") && lines[4].ends_with("p = 0.008: worse"), "{}", done.stdout);
    let parts = "they part at Judge:02 \"If $is_lost\": 02.01 in 10 of 10, in ";
    assert!(done.stdout.contains(parts), "{}", done.stdout);
    let done = at(&run, &server).line(line).line("--format json").done();
    let told = json(&done);
    assert_eq!((told["judgement"].as_str(), &told["passes"], &told["k"]), (Some("worse"), &Value::Null, &json!(10)));
    assert_eq!(told["cases"].as_array().unwrap().len(), 8);
    // The other way round B is better, and passes any margin.
    let line = "compare openai:hasty openai:good --cases cases -k 10 --margin 0";
    let done = at(&run, &server).line(line).done();
    assert!(done.stdout.contains(": better\n") && done.stdout.contains("margin 0.00: passed"), "{}", done.stdout);
    assert_eq!(done.code, Some(0));
}

#[test]
fn what_is_equal_is_not_told_to_differ() {
    let run = desk(8);
    let server = model(2, |_, number| if number % 2 == 0 { 1.0 } else { 0.6 });
    let done = at(&run, &server).line("compare openai:a openai:b --cases cases -k 5 --format json").done();
    assert!(json(&done)["difference"]["p"].as_f64().unwrap() > 0.05, "{}", done.stdout);
    assert_eq!(done.code, Some(0));
    // To be sure within a point takes more than that: given as a gate, it is not passed.
    let done = at(&run, &server).line("compare openai:a openai:b --cases cases -k 5 --margin 0.01").done();
    assert!(done.stdout.contains("margin 0.01: not passed"), "{}", done.stdout);
    assert!(done.stdout.contains("would be seen 4 times of 5"), "{}", done.stdout);
    assert_eq!(done.code, Some(1));
}

#[test]
fn runs_that_say_nothing_about_the_program_are_counted_apart() {
    let run = desk(4);
    // One run of 20 meets a server that is out of order, whatever is tried.
    let broken = Mutex::new((0, None));
    let server = start_with(move |request| {
        let mut broken = broken.lock().unwrap();
        broken.0 += 1;
        let number = number(request);
        // Each of three attempts asks twice.
        if broken.0 == 5 {
            broken.1 = Some((number, 6));
        }
        match &mut broken.1 {
            Some((sick, left @ 1..)) if *sick == number => {
                *left -= 1;
                Answer::json(503, &json!({"error": {"message": "overloaded"}}))
            }
            _ => verdict(true),
        }
    });
    let done = at(&run, &server).line("eval cases -k 5 --jobs 1 --model openai:m").done();
    assert!(done.stdout.starts_with("model openai:m\n4 cases × 5, 1 invalid\npass^1  1.00\n"), "{}", done.stdout);
    assert!(done.stdout.contains("/4\n  1 invalid:\n    no answer after 2 attempts"), "{}", done.stdout);
    assert_eq!((done.code, server.requests().len()), (Some(0), 25));
    // Of two runs of 10 nothing is concluded; where nobody is there the first four are enough.
    let server = start_with(|_| Answer::json(401, &json!({"error": {"message": "no such key"}})));
    let done = at(&run, &server).line("eval cases -k 5 --jobs 1 --model openai:m").done();
    assert!(done.stdout.starts_with("model openai:m\n4 cases × 5, 17 not run, 3 invalid\n"), "{}", done.stdout);
    assert!(done.stdout.contains("no such key") && !done.stdout.contains("sk-test"), "{}", done.stdout);
    assert_eq!(done.code, Some(4));
}

#[test]
fn no_more_is_spent_than_the_budget_and_what_is_under_way() {
    let run = desk(4);
    let server = model(3, |_, _| 1.0);
    let line = "eval cases -k 5 --jobs 1 --model openai:m --budget 0.05";
    let done = at(&run, &server).line(line).done();
    assert!(done.stderr.contains("--budget: the price of openai:m is unknown"), "{}", done.stderr);
    assert_eq!((done.code, server.requests().len()), (Some(2), 0));
    // A run has 100 tokens in and 20 out: 0.01.
    let prices = "[prices.\"m\"]\nprompt = 60\ncompletion = 200\n";
    let run = run.file("cases/playhouse.toml", prices);
    let done = at(&run, &server).line(line).done();
    assert!(done.stdout.contains("4 cases × 5, 15 not run, 0.0500 spent"), "{}", done.stdout);
    assert_eq!((done.code, server.requests().len()), (Some(4), 5));
    // What it costs is compared, too.
    let run = run.file("cases/playhouse.toml", &format!("{prices}[prices.\"cheap\"]\nprompt = 30\ncompletion = 100\n"));
    let done = at(&run, &server).line("compare openai:m openai:cheap --cases cases -k 2 --format json").done();
    assert!((json(&done)["cost"]["ratio"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{}", done.stdout);
}

#[test]
fn what_was_measured_is_kept_and_compared_later() {
    let run = desk(6);
    let server = model(4, |model, _| if model == "good" { 1.0 } else { 0.2 });
    for model in ["good", "hasty"] {
        let line = format!("eval cases -k 6 --model openai:{model} --out {model}.eval.json");
        assert_eq!(at(&run, &server).line(&line).done().code, Some(0));
    }
    let kept = Measured::read(&run.folder().join("hasty.eval.json")).unwrap();
    assert_eq!((&*kept.model, kept.k, kept.cases.len(), kept.n_made(), kept.n_missing), ("openai:hasty", 6, 6, 36, 0));
    let n_asked = server.requests().len();
    let done = run.beside().line("compare good.eval.json hasty.eval.json").done();
    assert!(done.stdout.starts_with("A  good.eval.json, model openai:good\nB  hasty.eval.json"), "{}", done.stdout);
    assert!(done.stdout.contains("p = 0.031: worse"), "{}", done.stdout);
    assert!(done.stdout.contains("they part at Judge:02 \"If $is_lost\""), "{}", done.stdout);
    assert_eq!((done.code, server.requests().len()), (Some(1), n_asked));
    // One side is measured now.
    let done = at(&run, &server).line("compare good.eval.json openai:good --cases cases -k 2").done();
    assert!(done.stdout.contains("6 cases × 6 and 2"), "{}", done.stdout);
    assert_eq!((done.code, server.requests().len()), (Some(0), n_asked + 12));
    // Other cases, or cases that were changed meanwhile, are not the same measurement.
    let wrong = |line: &str, words: &str| {
        let done = at(&run, &server).line(line).done();
        assert!(done.stderr.contains(words), "{line}: {}", done.stderr);
        assert_eq!(done.code, Some(2), "{line}");
    };
    wrong("compare good.eval.json openai:good --cases cases/01.test.md", "cases/02.test.md is only in A");
    fs::write(run.folder().join("cases/03.test.md"), lost(3).replace("# Parcel 3", "# Parcel three")).unwrap();
    wrong("compare good.eval.json openai:good --cases cases -k 1", "cases/03.test.md changed between A and B");
    let text = run.read("good.eval.json");
    fs::write(run.folder().join("newer.eval.json"), text.replacen("{\"eval\":1", "{\"eval\":2", 1)).unwrap();
    wrong("compare newer.eval.json good.eval.json", "by a newer Playhouse (format 2, this one reads 1)");
    fs::write(run.folder().join("half.eval.json"), &text[..text.len() / 2]).unwrap();
    wrong("compare half.eval.json good.eval.json", "half.eval.json: this is not a measurement of `playhouse eval`");
}

/// Does it in a repository of git.
fn git(run: &Run, arguments: &str) {
    let mut git = std::process::Command::new("git");
    git.current_dir(run.folder()).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", run.folder());
    git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]);
    let done = git.args(arguments.split_whitespace()).output().unwrap();
    assert!(done.status.success(), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_revision_is_compared_with_what_is_there_now() {
    let run = desk(6);
    // Of old the line was another one, and there was none after it.
    let old = DESK.replace("- Decide whether", "- Guess whether").replace("- If $is_lost\n  - Report($number)\n", "");
    fs::write(run.folder().join("cases/desk.md"), &old).unwrap();
    for arguments in ["init --quiet", "add .", "commit --quiet -m old"] {
        git(&run, arguments);
    }
    fs::write(run.folder().join("cases/desk.md"), DESK).unwrap();
    fs::write(run.folder().join("cases/other.md"), "# Not committed\n").unwrap();
    let server = model(5, |_, _| 1.0);
    let done = at(&run, &server).line("compare rev:HEAD cases/desk.md --cases cases -k 5 --model openai:m").done();
    assert!(done.stdout.contains("p = 0.031: better"), "{}", done.stdout);
    assert!(
        done.stdout.starts_with("A  rev:HEAD, model openai:m\nB  cases/desk.md, model openai:m\n"),
        "{}",
        done.stdout
    );
    // Lines that only one of them has say nothing about where they part.
    assert!(done.stdout.contains("they part at once: Judge:03 in 5 of 5, in 0 of 5\n"), "{}", done.stdout);
    assert_eq!(done.code, Some(0));
    // The repository is as it was.
    git(&run, "diff --cached --quiet");
    let told = |line: &str, path: &str| {
        let done = at(&run, &server).variable("PATH", path).line(line).done();
        assert_eq!(done.code, Some(2), "{line}: {}", done.stdout);
        done.stderr
    };
    let path = "/usr/local/bin:/usr/bin:/bin";
    let rest = "cases/desk.md --cases cases -k 1 --model openai:m";
    assert!(told(&format!("compare rev:nope {rest}"), path).contains("cases: there is no revision `nope`"));
    assert!(told(&format!("compare rev:--all {rest}"), path).contains("there is no revision `--all`"));
    assert!(told(&format!("compare rev:HEAD {rest}"), "/nowhere").contains("git cannot be started"));
    fs::remove_dir_all(run.folder().join(".git")).unwrap();
    assert!(told(&format!("compare rev:HEAD {rest}"), path).contains("rev: needs a program in a git repository"));
}

#[cfg(target_os = "linux")]
#[test]
fn whoever_waits_sees_how_far_it_is_and_keeps_what_was_measured() {
    let run = desk(4);
    let server = start_with(|request| if number(request) == 4 { verdict(true).gated_from(0) } else { verdict(true) });
    let line = "eval cases -k 1 --jobs 4 --model openai:m --out kept.eval.json";
    let mut screen = crate::terminal_screen::Screen::open(at(&run, &server).line(line));
    screen.see("3 of 4 runs");
    screen.keys("\x03");
    screen.see("no further runs start");
    server.open_gate(100);
    screen.see("4 cases × 1");
    assert_eq!(screen.end(), Some(0));
    assert!(!screen.contents().contains("3 of 4 runs"), "{}", screen.contents());
    assert_eq!(Measured::read(&run.folder().join("kept.eval.json")).unwrap().n_made(), 4);
}

/// Whoever compares a model with itself is told of a difference in no more than 7 % of `n` comparisons:
/// `seeded` runs it.
pub(crate) fn a_model_is_not_told_to_differ_from_itself(n: u64) {
    let run = desk(12);
    let server = model(6, |_, number| 0.4 + 0.05 * number as f64);
    let n_alarms = (0..n).filter(|seed| {
        let line = format!("compare openai:m openai:same --cases cases -k 3 --seed {seed} --format json");
        let told = json(&at(&run, &server).line(&line).done());
        assert_eq!(told["a"]["invalid"], 0, "{told}");
        told["difference"]["p"].as_f64().unwrap() < 0.05
    });
    let n_alarms = n_alarms.count();
    assert!(n_alarms as u64 * 100 <= n * 7, "{n_alarms} of {n}");
}
