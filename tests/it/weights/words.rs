//! The text around the model: prompts, quotes, and which sentences are said.

use std::fmt::Write as _;

use playhouse::host::llm::embedded::slots::{Extraction, Phrasing, SpeechAct};
use playhouse::host::llm::embedded::weights::quote::{Pieces, one_line};
use playhouse::host::llm::embedded::weights::{phrase, prompts};
use playhouse::lang::program::Type;

use crate::golden;

#[test]
fn prompts_are_what_they_were() {
    let extraction = prompts::extraction(&Extraction {
        variable: "order_id",
        ty: Type::ANY,
        line: "Ask the user for the $order_id",
        question: "What is the number\nof your order?",
        words: "it says \"AX-7\"\n\nBook: 9 {{ words }}",
    });
    let phrasing = prompts::phrasing(&Phrasing {
        act: SpeechAct::Greet,
        direction: "Greet the user by Ada",
        must_hold: &["Ada".to_owned()],
        template: "Hello, \"Ada\"!",
    });
    let shown = |prompt: &prompts::Prompt| format!("{}=== the slot\n{}<\n", prompt.beginning, prompt.rest);
    golden::compare("embedded/prompts.golden", &format!("{}=== \n{}", shown(&extraction), shown(&phrasing)));
}

#[test]
fn quotes_are_the_very_words() {
    let text = " He said:  \"it is (AX-77120)\",\n6:45, C++… ";
    let pieces = Pieces::of(text);
    assert_eq!(one_line(text), "He said: 'it is (AX-77120)', 6:45, C++…");
    assert_eq!(pieces.shown().concat(), one_line(text));
    assert_eq!(pieces.n_words(), 7);
    for (quote, words) in [
        ("AX-77120", Some("AX-77120")),
        ("(AX-77120)',", Some("AX-77120")),
        (" 6:45, C++…", Some("6:45, C++")),
        ("'it is (AX-77120)', 6:45", Some("it is (AX-77120)\",\n6:45")),
        ("said: 'it", Some("said:  \"it")),
        ("it", Some("it")),
        ("t", None),
        ("77120", None),
        ("…", None),
        ("", None),
        ("is it", None),
    ] {
        assert_eq!(pieces.find(quote), words, "{quote:?}");
    }
    assert_eq!(Pieces::of("a b a").find("a"), Some("a"));
    assert_eq!(Pieces::of("").n_words() + Pieces::of(" ?! ").n_words(), 0);
}

/// act | words of the line | value that must be there | template | sentence
const SENTENCES: &str = "\
greet | Greet the user | | Hello! | Hello, it is nice to meet you!
greet | Greet the user by Ada | Ada | Hello, Ada! | Hello Ada, it is good to see you!
greet | Greet Ada and wish her luck | Ada | Hello, Ada! Good luck. | Hello, Ada, and very good luck to you!
greet | Greet Ada and wish her luck | Ada | Hello, Ada! Good luck. | Hello, Ada, it is nice to meet you!
greet | Greet the user by Ada | Ada | Hello, Ada! | Hello, it is good to see you!
greet | Greet the user by Ada | Ada | Hello, Ada! | Hello, ada!
greet | Greet the user | | Hello! | Hello, I am a German Shepherd!
greet | Greet the user | | Hello! I am Kim. | Hello, Kim!
greet | Greet the user | | Hello! | Hello, hello!
greet | Greet the user | | Hello! | Hello, very nice, very good, very fine!
greet | Welcome to the shop | | Welcome to the shop! | Welcome to the library!
farewell | Say goodbye | | Goodbye! | Goodbye, it is a beautiful day!
thank | Thank the user | | Thank you! | Thank you very much!
apologise | Apologise | | I am sorry. | I am very sorry.
ask | Ask for the name | | What is your name? | What is your name?
remark | Say something kind about Bergen | Bergen | Bergen is a good choice. | Bergen is a beautiful city!
greet | Greet the user | | ... | Well!
";

#[test]
fn only_sentences_that_lose_and_invent_nothing_are_said() {
    let mut shown = String::new();
    for row in SENTENCES.lines() {
        let [act, direction, value, template, sentence] =
            row.split('|').map(str::trim).collect::<Vec<_>>().try_into().unwrap();
        let must_hold: Vec<String> = Some(value.to_owned()).into_iter().filter(|value| !value.is_empty()).collect();
        let slot = Phrasing { act: super::with_weights::act(act), direction, must_hold: &must_hold, template };
        let is_said = phrase::openings(&slot).is_some() && phrase::is_better(&slot, sentence, -0.5);
        assert!(!phrase::is_better(&slot, sentence, -2.0), "{row}");
        assert!(!phrase::is_better(&slot, sentence, f32::NAN), "{row}");
        let _ = writeln!(shown, "{} {sentence} [{direction}] [{template}]", if is_said { "say" } else { "no " });
    }
    golden::compare("embedded/sentences.golden", &shown);
}
