//! Backtests: the sessions that part are those that go another way when the other text is run for real.

use std::sync::Arc;

use playhouse::host::backtest::{Backtest, Fate};
use playhouse::host::classify::off::Off;
use playhouse::host::clock::SystemClock;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::journal::record::Record;
use playhouse::host::llm::embedded::Embedded;
use playhouse::host::program::{ProgramText, load_texts};
use playhouse::host::session::{Session, SessionOptions, Start, World};
use playhouse::host::tool::registry::Registry;
use playhouse::host::travel::Run;
use playhouse::lang::SourceText;
use playhouse::lang::program::Program;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;

const N_SESSIONS: i64 = 1_000;

/// A desk that decides without a model: above `person` a person looks at it, and from `gift` on there is a gift.
fn desk(person: i64, gift: i64) -> String {
    format!(
        "# Desk\n\n## Main($total: int)\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n\
         - If $total > {person}\n  - Say \"A person will look at it.\"\n  - Return \"person\"\n\
         - If $total >= {gift}\n  - Say \"And a gift.\"\n- Say \"You get it back.\"\n- Return \"paid\"\n"
    )
}

fn loaded(text: &str) -> (ProgramText, Arc<Program>) {
    let roots = vec![SourceText { name: "desk.md".to_owned(), text: text.to_owned() }];
    let (text, loaded) = load_texts(roots, &Vec::new(), &mut |_| Err("nothing is imported".to_owned()));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    (text, Arc::new(loaded.program))
}

/// Plays a session to its end.
async fn play((text, program): &(ProgramText, Arc<Program>), total: i64) -> Vec<Record> {
    let journal = MemoryJournal::new();
    let world = World {
        llm: Arc::new(Embedded),
        classifier: Arc::new(Off),
        tools: Arc::new(Registry::new()),
        clock: Arc::new(SystemClock),
        options: SessionOptions::default(),
    };
    let arguments: Map = [("total".into(), Value::Int(total))].into_iter().collect();
    let start = Start {
        id: format!("s-{total}").into(),
        program: program.clone(),
        text: text.clone(),
        settings: Settings::default(),
        entry: None,
        arguments,
        given: Default::default(),
    };
    let handle = Session::start(world, Box::new(journal.clone()), start).unwrap().spawn();
    handle.outcome().await.unwrap();
    journal.written()
}

/// What the user hears, and the end.
fn heard(records: Vec<Record>) -> Vec<PublicBody> {
    let events = Run::stored(records).unwrap().events;
    let bodies = events.into_iter().map(|event| event.body);
    bodies.filter(|body| matches!(body, PublicBody::Said { .. } | PublicBody::Finished { .. })).collect()
}

#[tokio::test]
async fn sessions_part_where_a_run_of_the_other_text_does() {
    let was = loaded(&desk(500, 100));
    let is = loaded(&desk(650, 80));
    let backtest = Backtest::new(is.0.clone(), Vec::new());
    let mut n_part = 0;
    for total in 0..N_SESSIONS {
        let records = play(&was, total).await;
        let fate = backtest.fate(&records).unwrap();
        let is_other = heard(records) != heard(play(&is, total).await);
        assert_eq!(matches!(fate, Fate::Parts(_)), is_other, "{total}: {fate:?}");
        assert_eq!(matches!(fate, Fate::Same), !is_other, "{total}: {fate:?}");
        n_part += usize::from(is_other);
    }
    // 80 to 99, and 501 to 650.
    assert_eq!(n_part, 170);
}

#[tokio::test]
async fn the_same_text_is_the_same_for_all() {
    let desk = loaded(&desk(500, 100));
    let records = play(&desk, 600).await;
    assert!(matches!(Backtest::new(desk.0, Vec::new()).fate(&records), Ok(Fate::Same)));
}
