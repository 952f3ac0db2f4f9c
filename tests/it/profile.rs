//! What sessions have spent, by playbooks and lines.

use playhouse::host::events::PublicBody;
use playhouse::host::journal::copy;
use playhouse::host::journal::record::Record;
use playhouse::host::profile::{Measure, Node, Part, Profile};
use playhouse::host::resource::prices::PriceTable;
use playhouse::host::travel::Run;
use playhouse::vm::protocol::Usage;

use crate::golden;
use crate::played::Case;
use crate::run::Run as Binary;

/// A folder that has a played session in a journal, and its prices.
fn folder(case: &Case, records: &[Record]) -> Binary {
    let journal = String::from_utf8(copy::lines(records)).unwrap();
    Binary::new().file("s1.jsonl", &journal).file("prices.toml", case.section("prices").unwrap_or(""))
}

/// Every case in every form, through the real binary.
#[test]
fn profiles() {
    golden::check("profile", &["txt"], |_, text| {
        let case = Case::new(text);
        let mut run = folder(&case, &case.play());
        let mut shown = String::new();
        for arguments in
            ["", "--by time", "--by cost", "--format folded", "--format speedscope --by time", "--format json"]
        {
            let line = format!("sessions profile s1 --journal s1.jsonl --config prices.toml {arguments}");
            let done = run.line(&line).done();
            let stderr: String = done.stderr.lines().map(|line| format!("! {line}\n")).collect();
            shown.push_str(&format!("$ {arguments}\n{}{stderr}= {}\n\n", done.stdout, done.code.unwrap()));
            run = done.then();
        }
        shown
    });
}

const DESK: &str = include_str!("../cases/profile/desk.txt");

fn profile(records: &[Record]) -> Profile {
    let mut profile = Profile::default();
    profile.add(records, &PriceTable::default()).unwrap();
    profile
}

fn sum(node: &Node, of: &dyn Fn(&Node) -> u64) -> u64 {
    of(node) + node.children.iter().map(|child| sum(child, of)).sum::<u64>()
}

/// Nothing is counted twice and nothing is left out: tokens are those of the turns, time is what has passed.
#[test]
fn all_of_it_and_once() {
    let records = Case::new(DESK).play();
    let profile = profile(&records);
    let total = profile.root.total();
    let mut turns = Usage::default();
    for event in Run::stored(playhouse::host::journal::tail::joined(records.clone(), false)).unwrap().events {
        let PublicBody::TurnFinished { prompt_tokens, cached_tokens, completion_tokens, .. } = event.body else {
            continue;
        };
        turns.prompt_tokens += prompt_tokens;
        turns.cached_tokens += cached_tokens;
        turns.completion_tokens += completion_tokens;
    }
    assert!(turns.prompt_tokens > 3_000, "{turns:?}");
    assert_eq!(total.prompt_tokens, turns.prompt_tokens);
    assert_eq!(total.cached_tokens, turns.cached_tokens);
    assert_eq!(total.completion_tokens, turns.completion_tokens);
    assert_eq!(total.ms, u64::try_from(records.last().unwrap().time - records[0].time).unwrap());
    assert_eq!(sum(&profile.root, &|node| u64::from(node.part == Part::User) * node.spent.ms), 5_000);
}

/// Two sessions are their sum; a session that cannot be followed adds nothing.
#[test]
fn several_sessions_are_their_sum() {
    let records = Case::new(DESK).play();
    let once = profile(&records);
    let mut twice = once.clone();
    twice.add(&records, &PriceTable::default()).unwrap();
    assert_eq!(twice.n_sessions, 2);
    assert_eq!(twice.root.total().prompt_tokens, 2 * once.root.total().prompt_tokens);
    assert_eq!(twice.rows(Measure::Tokens).len(), once.rows(Measure::Tokens).len());
    assert_eq!(twice.cache.possible_tokens, 2 * once.cache.possible_tokens);
    let mut broken = records;
    broken.remove(2);
    assert!(twice.add(&broken[..], &PriceTable::default()).is_err());
    assert_eq!(twice.n_sessions, 2);
}

/// However a journal joins the pieces of replies, tokens go to the same lines.
#[test]
fn pieces_make_no_difference_to_tokens() {
    let records = Case::new(DESK).play();
    let joined = playhouse::host::journal::tail::joined(records.clone(), false);
    assert!(joined.len() < records.len());
    let tokens = |records: &[Record]| {
        let rows = profile(records).rows(Measure::Tokens);
        rows.into_iter()
            .map(|row| (row.path.clone(), row.total().prompt_tokens, row.total().completion_tokens))
            .collect::<Vec<_>>()
    };
    assert_eq!(tokens(&records), tokens(&joined));
}

/// A page of its own: nothing is loaded, and what a program says is no markup.
#[test]
fn the_page_loads_nothing() {
    let case = Case::new(&DESK.replace("what became of it", "</script><img src=x onerror=alert(1)>"));
    let done =
        folder(&case, &case.play()).line("sessions profile s1 --journal s1.jsonl --format html --by time").done();
    let page = done.stdout;
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{page}");
    let without_namespace = page.replace("http://www.w3.org/2000/svg", "");
    for loads in ["http:", "https:", "<img", "<link", "@import", "url("] {
        assert!(!without_namespace.contains(loads), "{loads}");
    }
    assert_eq!(page.matches("</script>").count(), 1);
    assert!(page.contains("\\u003c/script>"));
}

/// What cannot be done is said with the next step.
#[test]
fn faults() {
    let case = Case::new(DESK);
    let run = folder(&case, &case.play());
    let done = run.line("sessions profile s1 --journal s1.jsonl --by cost").done();
    assert_eq!(done.code, Some(2));
    assert_eq!(
        done.stderr,
        "error: the prices of script:replies.jsonl are unknown; write them under [prices] and name that file with \
         --config\n"
    );
    let done = done.then().line("sessions profile s1 s2 --journal s1.jsonl").done();
    assert_ne!(done.code, Some(0), "{}", done.stdout);
}
