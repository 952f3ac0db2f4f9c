//! Answers of every kind: what is taken, what is not, and that nothing that a person may type stops the executor.

use super::Chat;

/// What a line that asks makes of an answer: the value of its variable; null where it asks again.
fn taken(line: &str, variable: &str, said: &str) -> serde_json::Value {
    let mut chat = Chat::new(&format!("# Desk\n\n## Main\n\n### Steps\n\n- {line}\n"), &[]);
    chat.reply(None);
    let lines = chat.reply(Some(said));
    let set = lines.iter().find_map(|line| line.get("set")?.get(variable).cloned());
    set.unwrap_or_default()
}

/// Telephones write this apostrophe by themselves.
#[test]
fn embedded_reads_a_curly_apostrophe() {
    let name = |said: &str| taken("Ask the user for $name", "name", said);
    assert_eq!(name("I’m Ada"), "Ada");
    for said in ["I’ m Ada", "’ Ada", "’", "’’ ’", "it’ s’ Ada’"] {
        name(said);
    }
}

#[test]
fn embedded_dates_are_days_that_there_are() {
    let day = |said: &str| taken("Ask the user for their $birthday", "birthday", said);
    for (said, expected) in [
        ("28.02.2026", "2026-02-28"),
        ("29 February 2024", "2024-02-29"),
        ("2026-12-31", "2026-12-31"),
        ("29 February", "29 February"),
    ] {
        assert_eq!(day(said), expected, "{said}");
    }
    for said in ["31.02.2026", "29 February 2026", "2026-13-01", "2026-04-31", "31 February", "31 June"] {
        assert_eq!(day(said), serde_json::Value::Null, "{said}");
    }
}

#[test]
fn embedded_number_words_end_where_numbers_do() {
    let n = |said: &str| taken("Ask the user for $n:int", "n", said);
    for (said, expected) in [
        ("three", 3),
        ("twenty-five", 25),
        ("two hundred and three", 203),
        ("one hundred thousand", 100_000),
        ("nine hundred ninety-nine thousand nine hundred ninety-nine", 999_999),
    ] {
        assert_eq!(n(said), expected, "{said}");
    }
    // What is no number in English is none here, however long it goes on.
    let many = |word: &str| format!("one{}", format!(" {word}").repeat(40));
    for said in [many("hundred"), many("thousand"), many("hundred thousand"), many("dozen")] {
        assert_eq!(n(&said), serde_json::Value::Null, "{said}");
    }
}
