//! Users who are played, with models that are scripted: when a run is over, what it cost, what a user may know.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use playhouse::host::checks::Verdict;
use playhouse::host::config::FileConfig;
use playhouse::host::eval::user::{Company, Ended, Invalid, Rules, UserError, UserRun, invented, play};
use playhouse::host::judge::transcript::Transcript;
use playhouse::host::judge::{Judge, VOTES};
use playhouse::host::launch::{Choices, Launch, Workshop};
use playhouse::host::llm::answer::NoAnswer;
use playhouse::host::llm::script::{Repeat, Script, ScriptEntry, ScriptError};
use playhouse::host::llm::{Llm, LlmRequest, ReplyStream};
use playhouse::lang::files::judge_file::TranscriptLine;
use playhouse::lang::files::user_file::{Person, UserFile};
use playhouse::span::Sources;
use playhouse::vm::protocol::Usage;

const PROGRAM: &str = "# Desk\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- Talk with the user\n";

/// A model that counts its tokens, and says the same again and again.
struct Live(Script);

impl Llm for Live {
    fn id(&self) -> Arc<str> {
        "openai:live".into()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        self.0.request(request)
    }
}

fn always(name: &str, reply: &str) -> Script {
    let usage = Some(Usage { prompt_tokens: 1_000, cached_tokens: 0, completion_tokens: 0 });
    let entry = ScriptEntry { repeat: Repeat::Always, usage, ..ScriptEntry::reply(reply) };
    Script::from_entries(name, vec![entry])
}

/// A program that asks without end.
fn asking() -> Arc<dyn Llm> {
    Arc::new(Live(always("live", "{\"at\":\"01\",\"say\":\"And then?\"}\n{\"at\":\"01\",\"wait\":\"user\"}")))
}

fn hanging() -> Script {
    Script::from_entries("hanging", vec![ScriptEntry::error(ScriptError::Hang)])
}

/// Plays a user, whose file says this below its title and program.
async fn played(text: &str, llm: Arc<dyn Llm>, toml: &str, company: Company<'_>) -> Result<UserRun, UserError> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("desk.md");
    std::fs::write(&program, PROGRAM).unwrap();
    let text = format!("# A\n\n- program: desk.md\n{text}");
    let mut sources = Sources::default();
    let file = UserFile::parse(sources.add("a.user.md", text.as_str()), &text);
    let file = file.unwrap_or_else(|found| panic!("{}", playhouse::diagnostic::render(&found, &sources, false)));
    let configuration = Some(FileConfig::from_text(Path::new("playhouse.toml"), toml).unwrap());
    let launch = Launch { llm: Some(llm), configuration, ..Launch::new(Workshop::default(), Choices::default()) };
    let rules = Rules { written: Vec::new(), read: &mut |_, _| Err("there are no schemas".to_owned()) };
    play(&file, &program, &launch, company, rules).await
}

const PRICES: &str = "[prices.live]\nprompt = 10.0\ncompletion = 1.0\n";

const TALK: &str = "\n## Answers\n\n| asked | says |\n| --- | --- |\n| /then/ | Nothing. |\n\n";

#[tokio::test(start_paused = true)]
async fn at_its_limit_nothing_is_known_of_the_end() {
    let checks = "## Expect\n\n- never says /bye/\n- says /bye/\n- says /then/\n- user says /bye/ is followed by says /bye/\n\
                  - user says /Nothing/ is followed by says /bye/\n- $x is 1\n- says /then/ 3 times\n- judge: It is kind.\n\
                  - turns at most 2\n";
    let judge = Judge::new(Arc::new(always("judge", "nothing")), VOTES, Duration::from_secs(1));
    let company = Company { judge: Some(&judge), ..Company::default() };
    let played = played(&format!("- limit: 3 turns\n{TALK}{checks}"), asking(), "", company).await.unwrap();
    assert_eq!(played.ended, Ended::CutOff("it was cut off after 3 turns (`limit`)".to_owned()));
    let words = played.verified.iter().map(|verified| match &verified.verdict {
        Verdict::Holds => "holds",
        Verdict::Broken(_) => "broken",
        Verdict::Open { .. } => "open",
        Verdict::Undecided { .. } => "undecided",
    });
    let expected = ["holds", "undecided", "holds", "holds", "undecided", "undecided", "holds", "undecided", "broken"];
    assert_eq!(words.collect::<Vec<_>>(), expected);
    assert_eq!(played.cost_of_others, Some(0.0), "nobody was asked");
}

#[tokio::test(start_paused = true)]
async fn a_user_says_no_more_than_they_may() {
    let expect = "## Expect\n\n- user says /Nothing/ 20 times\n";
    let all = played(&format!("{TALK}{expect}"), asking(), "", Company::default()).await.unwrap();
    assert_eq!((&all.ended, &all.verified[0].verdict), (&Ended::Stop, &Verdict::Holds));
    let text = "- stop: 1 message\n- opens: Nothing\n\n## Expect\n\n- user says /Nothing/ 1 times\n";
    let one = played(text, asking(), "", Company::default()).await.unwrap();
    assert_eq!((&one.ended, &one.verified[0].verdict), (&Ended::Stop, &Verdict::Holds));
    // Who has said all they know leaves, too.
    let text = "- opens: Nothing\n\n## Expect\n\n- user says /Nothing/ 1 times\n";
    let silent = played(text, asking(), "", Company::default()).await.unwrap();
    assert_eq!((&silent.ended, &silent.verified[0].verdict), (&Ended::Silent, &Verdict::Holds));
}

#[tokio::test(start_paused = true)]
async fn a_run_is_cut_off_when_its_money_is_spent() {
    let expect = "## Expect\n\n- says /bye/\n";
    let text = format!("- budget: 0.025\n{TALK}{expect}");
    let spent = played(&text, asking(), PRICES, Company::default()).await.unwrap();
    assert_eq!(spent.ended, Ended::CutOff("it was cut off when more than 0.025 was spent (`budget`)".to_owned()));
    // Each request costs 0.01.
    assert_eq!(spent.summary.cost, Some(0.03));
    let without = played(&text, asking(), "", Company::default()).await.unwrap_err();
    let why = "`budget` is set, but the prices of openai:live are unknown; add them to [prices] of playhouse.toml";
    assert_eq!(without.to_string(), why);
    // The user's model is paid for, too.
    let user = Live(always("user", r#"{"say":"Nothing.","done":null}"#));
    let text = format!("- budget: 0.025\n\n## Goal\n\nTalk.\n\n{expect}");
    let company = Company { user: Some(&user), ..Company::default() };
    let both = played(&text, asking(), PRICES, company).await.unwrap();
    assert!(matches!(both.ended, Ended::CutOff(_)), "{:?}", both.ended);
    // What a reply has cost is known when the program waits already, and the user is asked.
    assert_eq!((both.summary.cost, both.cost_of_others), (Some(0.02), Some(0.02)));
}

#[tokio::test(start_paused = true)]
async fn a_run_is_cut_off_when_its_time_is_over() {
    let text = format!("- limit: 90 seconds\n{TALK}## Expect\n\n- says /bye/\n");
    let late = played(&text, Arc::new(hanging()), "", Company::default()).await.unwrap();
    assert_eq!(late.ended, Ended::CutOff("it was cut off after 90 s (`limit`)".to_owned()));
    assert!(matches!(late.verified[0].verdict, Verdict::Undecided { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_user_whose_model_does_not_answer_makes_the_run_invalid() {
    let text = "\n## Goal\n\nTalk.\n\n## Expect\n\n- says /bye/\n";
    let user = hanging();
    let company = Company { user: Some(&user), ..Company::default() };
    let alone = played(text, asking(), "turn_timeout = 5", company).await.unwrap();
    let why = NoAnswer::Unreachable("script:hanging gave no answer within 5 s".into());
    assert_eq!(alone.ended, Ended::Invalid(Invalid::NoAnswer(why)));
    assert!(alone.verified.is_empty(), "nothing is checked of what is invalid");
    let nobody = played(text, asking(), "", Company::default()).await.unwrap_err();
    assert_eq!(nobody.to_string(), "somebody must play this user; name a model with --user-model");
}

/// What stands neither in the brief nor in the transcript.
#[test]
fn numbers_and_addresses_that_nobody_gave() {
    let person = Person {
        goal: "Pay 1,250.50 for order 4334".to_owned(),
        knows: "- phone: 555-123 4567\n- mail: ann@example.org\n- born: 3 May 1981".to_owned(),
        manner: String::new(),
    };
    let mut spoken = Transcript::default();
    spoken.push(TranscriptLine::Program("Is 99887 your customer number? Write to desk@shop.example.".into()));
    let known = [
        "My order is 4334.",
        "4-3-3-4",
        "five five",
        "123 or 99",
        "5551234567, and the last digits are 4567",
        "I pay 1250.50, that is 1,250.50 or 1.250,50",
        "ANN@EXAMPLE.ORG",
        "ann at example dot org",
        "ann (at) example (dot) org",
        "1981",
        "Yes, 99887, and I write to desk@shop.example",
    ];
    for say in known {
        assert_eq!(invented(say, &person, &spoken), None, "{say}");
    }
    let unknown = [
        ("It is 4335", "4335"),
        ("It costs 1,251", "1251"),
        ("Call me at 555-987 6543", "6543"),
        ("born in 1982", "1982"),
        ("bob@example.org", "bob@example.org"),
        ("bob at example dot org", "bob at example dot org"),
        ("43344334", "43344334"),
    ];
    for (say, what) in unknown {
        assert_eq!(invented(say, &person, &spoken).as_deref(), Some(what), "{say}");
    }
}
