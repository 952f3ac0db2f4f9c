//! Forks: they go their own way behind their point, and nobody else's changes.

use std::sync::Arc;

use playhouse::host::session::replay::replay;
use playhouse::host::travel::{Changes, Timeline, fork};

use crate::conversation::Conversation;
use crate::ideal_model::{IdealModel, Pace};
use crate::travel::{PIECE, for_each, journal, points, unjoined};

/// A fork in which nothing is different comes to the same end, wherever it begins: also in the middle of a reply, with
/// calls under way and questions open.
#[test]
fn without_a_change_they_come_to_the_same_end() {
    let n_tried = for_each(async |path| {
        let conversation = Conversation::read(path, Some("idempotent"));
        let (golden, known, states) = conversation.record(PIECE).await;
        let mut n_tried = 0;
        for records in [states.last().unwrap().clone(), unjoined(&states)] {
            let timeline = Timeline::new(records.clone()).unwrap();
            // What lies between the points of one event is tried for each event once.
            for (index, point) in points(&timeline).into_iter().enumerate() {
                let last = timeline.last_directive(point.seq).unwrap();
                if point.directive != last && index % 7 != 0 {
                    continue;
                }
                let name = format!("{}, at {point}", conversation.name);
                let forked = fork(&timeline, point, &Changes::default(), "s2".into()).unwrap();
                replay(&forked.records, None).unwrap_or_else(|error| panic!("{name}: {error}"));
                // A model that knows its replies by heart cannot know which of them a trigger has cut short.
                if golden.ending.view.counters.trigger_matches > 0 {
                    continue;
                }
                let llm = Arc::new(IdealModel::knowing(conversation.replies.clone(), known.clone(), Pace::whole()));
                let run = conversation.resume(journal(&forked.records), llm).await;
                assert_eq!(run.account, golden.account, "{name}");
                n_tried += 1;
            }
            assert_eq!(timeline.records(), records);
        }
        n_tried
    });
    assert!(n_tried > 200, "{n_tried}");
}
