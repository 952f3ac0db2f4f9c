//! Any pasts, and any points of them.

use std::ops::ControlFlow;

use fastrand::Rng;
use playhouse::host::events::PublicBody;
use playhouse::host::replay::replay;
use playhouse::host::travel::{Changes, Edit, Point, Timeline, diff, fork};
use playhouse::value::Value;
use playhouse::vm::Machine;
use playhouse::vm::protocol::{FrameId, Progress};

use crate::fuzz_machine::{FEWER_CALLS, FEWER_CALLS_LINES, LINES, PROGRAM, play_bytes};
use crate::travel::cases::records;
use crate::travel::points;
use crate::world::parse;

/// A timeline that has been extended bit by bit is the one made at once; forks from anywhere replay, and forks of forks.
#[test]
fn any_past() {
    let cases = [(parse(PROGRAM), LINES), (parse(FEWER_CALLS), FEWER_CALLS_LINES)];
    let mut random = Rng::with_seed(7);
    let (mut n_pasts, mut n_edits) = (0, 0);
    for round in 0..14 {
        let (case, lines) = &cases[round % 2];
        let n_bytes = random.usize(20..60);
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(n_bytes).collect();
        let all = records(case, &play_bytes(case, &bytes, lines));
        // Some of these worlds tell their machine what no session would: late results.
        let Ok(timeline) = Timeline::new(all.clone()) else { continue };
        n_pasts += 1;
        let mut renewed = Timeline::new(all[..1].to_vec()).unwrap();
        let mut n_records = 1;
        while n_records < all.len() {
            n_records = (n_records + random.usize(1..8)).min(all.len());
            renewed.renew(all[..n_records].to_vec()).unwrap();
        }
        let points = points(&timeline);
        assert_eq!(points, self::points(&renewed));
        assert!(diff(&timeline, &renewed).unwrap().then.iter().all(Vec::is_empty));
        for _ in 0..6 {
            let (from, to) = (points[random.usize(..points.len())], points[random.usize(..points.len())]);
            let moment = timeline.at(to).unwrap();
            assert_eq!(moment.machine.view(), renewed.at(to).unwrap().machine.view(), "{to}");
            walk_is_at(&renewed, from, to);
            let edits = (0..random.usize(0..3)).map(|_| Edit {
                frame: moment.machine.view().stack.last().map(|frame| frame.id).filter(|_| random.bool()),
                name: ["id", "limit", "fast", "kept", "new"][random.usize(..5)].into(),
                value: [Value::Int(2), Value::str("no"), Value::Null][random.usize(..3)].clone(),
            });
            let changes = Changes { edits: edits.collect(), records: Vec::new() };
            n_edits += changes.edits.len();
            let forked = fork(&timeline, to, &changes, "s2".into()).unwrap();
            replay(&forked.records, None).unwrap();
            let past = Timeline::new(forked.records.clone()).unwrap();
            assert_eq!(past.at(forked.point).unwrap().point, forked.point);
            let difference = diff(&timeline, &past).unwrap();
            // That it was over there is told behind what the edit did.
            let is_end = |body: &PublicBody| matches!(body, PublicBody::Finished { .. } | PublicBody::Failed { .. });
            let is_later = difference.then[0].first().is_none_or(|step| step.point > to || is_end(&step.event.body));
            assert!(is_later, "{to}: {:?}", difference.then[0].first());
            let again = self::points(&past);
            let point = again[random.usize(..again.len())];
            let twice = fork(&past, point, &changes_at(&past, point), "s3".into()).unwrap();
            replay(&twice.records, None).unwrap();
        }
    }
    assert!(n_pasts > 12 && n_edits > 60, "{n_pasts} pasts, {n_edits} edits");
}

fn changes_at(timeline: &Timeline, point: Point) -> Changes {
    let frame: Option<FrameId> = timeline.at(point).unwrap().machine.view().stack.first().map(|frame| frame.id);
    Changes { edits: vec![Edit { frame, name: "again".into(), value: Value::Bool(true) }], records: Vec::new() }
}

/// The last machine that a walk shows is the one at the point where it ends.
fn walk_is_at(timeline: &Timeline, from: Point, to: Point) {
    let mut last = None;
    let mut visit = |machine: &Machine, point, progress: &Progress| {
        last = Some((point, machine.view(), progress.clone()));
        ControlFlow::Continue(())
    };
    timeline.walk(from, to, &mut visit).unwrap();
    let Some((point, view, progress)) = last else { return };
    let moment = timeline.at(point).unwrap();
    assert_eq!(moment.progress, Some(progress));
    assert_eq!(moment.machine.view(), view, "{from} to {to}");
}
