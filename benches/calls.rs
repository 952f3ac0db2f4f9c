//! What programs cost in model calls and prompt tokens, with a model that makes no mistake: `cargo bench --bench
//! calls` runs the conversations in `benches/calls/` in process and writes `benches/calls.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "shared/airline.rs"]
mod airline;
#[path = "shared/counted.rs"]
mod counted;

use std::fmt::Write;
use std::path::Path;

use playhouse::host::directory::WorkingDirectory;
use playhouse::host::tool::canned;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;

use crate::counted::{Cost, conversation, thousands};

/// What the older Python project needs for a program of the same kind.
struct Peer {
    /// Calls to compile the program, and to run it.
    calls: Option<(usize, usize)>,
    /// Prompt tokens of all of them.
    tokens: Option<usize>,
}

/// A program, what it may cost, and what it costs elsewhere.
struct Case {
    name: &'static str,
    title: &'static str,
    /// Calls beside one for each message of the user.
    spare_calls: usize,
    peer: Peer,
}

const fn peer(compile: usize, run: usize, tokens: usize) -> Peer {
    Peer { calls: Some((compile, run)), tokens: Some(tokens) }
}

const CASES: [Case; 6] = [
    Case { name: "hello", title: "hello", spare_calls: 1, peer: peer(2, 1, 19_179) },
    Case { name: "greeting", title: "greeting, two messages", spare_calls: 1, peer: peer(2, 3, 31_842) },
    Case { name: "nested", title: "nested call", spare_calls: 1, peer: peer(2, 3, 31_658) },
    Case {
        name: "triggers",
        title: "triggers: five playbooks, three messages, two triggers",
        spare_calls: 2,
        peer: peer(2, 10, 79_169),
    },
    Case {
        name: "loop",
        title: "loop of twenty turns",
        spare_calls: 1,
        peer: Peer { calls: Some((0, 21)), tokens: None },
    },
    Case { name: "order-status", title: "order status", spare_calls: 1, peer: Peer { calls: None, tokens: None } },
];

/// Conversations of the examples whose programs have triggers in words.
const EXAMPLES: [&str; 3] = ["examples/appointments", "examples/support", "examples/thermostat"];

fn main() {
    // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut rows = String::new();
    let mut misses = Vec::new();
    for case in &CASES {
        let cost = match runtime.block_on(run(&folder.join("calls"), case.name)) {
            Ok(cost) => cost,
            Err(problem) => {
                misses.push(format!("{}: {problem}", case.name));
                continue;
            }
        };
        write_row(&mut rows, case, &cost);
        let allowed = cost.n_messages + case.spare_calls;
        if cost.calls > allowed {
            misses.push(format!("{}: {} calls, at most {allowed} were aimed at", case.name, cost.calls));
        }
        let sum: usize = cost.tokens.iter().sum::<usize>() + cost.classifier_tokens;
        if case.peer.tokens.is_some_and(|peer| sum * 4 > peer) {
            misses.push(format!("{}: {sum} prompt tokens, more than a quarter of the older project's", case.name));
        }
    }
    let mut questions = String::new();
    for name in EXAMPLES {
        let path = folder.join("..").join(name);
        let (parent, file) = (path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap());
        match runtime.block_on(run(parent, file)) {
            Ok(Cost { n_messages, classifier_calls, .. }) => {
                let _ = writeln!(questions, "| {name} | {n_messages} | {classifier_calls} |");
                if classifier_calls > n_messages as u64 {
                    misses.push(format!("{name}: {classifier_calls} questions about {n_messages} messages"));
                }
            }
            Err(problem) => misses.push(format!("{name}: {problem}")),
        }
    }
    let airline = runtime.block_on(airline::compare(&folder.join("calls").join("airline"), &mut misses));
    let misses: String = misses.iter().map(|miss| format!("- missed: {miss}\n")).collect();
    let text = format!("{HEAD}{rows}{misses}{FOOT}{QUESTIONS}{questions}{airline}");
    std::fs::write(folder.join("calls.md"), &text).unwrap();
    println!("{text}");
}

const HEAD: &str = "\
# Model calls and prompt tokens

Written by `cargo bench --bench calls`. The programs and the replies of a model that makes no mistake are in
`benches/calls/`. Tokens are counted with `o200k_base` over the JSON body of each request.

| program | calls | aim | classifier calls | prompt tokens | first, largest, last request | discarded tokens | the older Python project: calls (compile + run) | its prompt tokens | ours of them |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

const FOOT: &str = "
The aim is one call for each message of the user and one more (two for the program with triggers, where a reply is cut
off by a trigger), at most a quarter of the older project's prompt tokens, and none to compile. Discarded tokens are
an estimate: what a reply held behind the point where it was cut off. The older project's figures were measured with
replies written by hand to its own contract; in the loop its requests grow from 22.9 to 25.8 thousand characters.
";

const QUESTIONS: &str = "
## Questions to the classifier

Conversations of the examples whose programs have triggers in words. The aim is one question for each message at most.

| conversation | messages | questions |
| --- | --- | --- |
";

fn write_row(rows: &mut String, case: &Case, cost: &Cost) {
    let sum: usize = cost.tokens.iter().sum::<usize>() + cost.classifier_tokens;
    let [first, largest, last] =
        [cost.tokens.first(), cost.tokens.iter().max(), cost.tokens.last()].map(|tokens| tokens.copied().unwrap_or(0));
    let peer_calls = case.peer.calls.map_or_else(|| "—".to_owned(), |(compile, run)| format!("{compile} + {run}"));
    let peer_tokens = case.peer.tokens.map_or_else(|| "—".to_owned(), thousands);
    let share = case.peer.tokens.map_or_else(|| "—".to_owned(), |peer| format!("{} %", sum * 100 / peer));
    let _ = writeln!(
        rows,
        "| {} | {} | ≤ {} | {} | {} | {}, {}, {} | {} | {peer_calls} | {peer_tokens} | {share} |",
        case.title,
        cost.calls,
        cost.n_messages + case.spare_calls,
        cost.classifier_calls,
        thousands(sum),
        thousands(first),
        thousands(largest),
        thousands(last),
        cost.discarded,
    );
}

/// Plays the conversation `name` to its end.
async fn run(folder: &Path, name: &str) -> Result<Cost, String> {
    let file = conversation(&folder.join(format!("{name}.test.md")))?;
    let directory = WorkingDirectory::open(folder).unwrap();
    let tools = file
        .tools
        .as_ref()
        .map_or_else(|| "{}".to_owned(), |tools| std::fs::read_to_string(folder.join(tools)).unwrap());
    let registry = Registry::new();
    for tool in canned::from_text(&tools, &directory).unwrap() {
        registry.add(tool).unwrap();
    }
    let text = std::fs::read_to_string(folder.join(&file.program)).unwrap();
    let root = SourceText { name: file.program.clone(), text };
    counted::play(file.steps, registry, root).await
}
