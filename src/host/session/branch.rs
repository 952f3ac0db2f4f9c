//! A session that begins as a fork of another one, for a debugger: it stands still at the fork.

use playhouse_vm::protocol::{Event, ReplyEnd};

use crate::debug::control::Attached;
use crate::debug::stepping::Reason;
use crate::journal::Journal;
use crate::journal::tail::TailBuffer;
use crate::replay::error::SessionError;
use crate::replay::{Follower, Outstanding, on_replay_thread, programs_of};
use crate::session::Session;
use crate::session::task::Timer;
use crate::session::world::World;
use crate::travel::Fork;

impl Session {
    /// Begins a fork, which stands still at its point. What was asked for before that is answered as it was, before
    /// anything new; what nobody has answered yet is asked again. The journal must be empty.
    ///
    /// # Errors
    /// The records do not fit this program's version.
    pub(crate) async fn branch(
        world: World,
        journal: Box<dyn Journal>,
        fork: Fork,
        attached: Attached,
        reason: Reason,
    ) -> Result<Session, SessionError> {
        let of_thread = world.clone();
        let (followed, fork) =
            on_replay_thread(move || follow(&of_thread, &fork).map(|followed| (followed, fork))).await?;
        let (follower, mut open) = followed;
        let (kept, answers) = fork.records.split_at(fork.n_kept.min(fork.records.len()));
        let mut journal = TailBuffer::new(journal);
        for record in kept {
            journal.append(record.timestamp(), record.body.clone(), true);
        }
        let tools = world.tools.signatures();
        let now = world.clock.now();
        let timers =
            follower.timers().map(|(id, after_ms, is_background)| Timer::new(id, after_ms, is_background, now));
        let timers = timers.collect();
        let knows_tools = follower.tools == tools;
        let Follower { session: id, machine, maker, time, closing, .. } = follower;
        let mut session = Session::new(world, journal, machine, maker, (id, time, true));
        let task = &mut session.task;
        task.n_directives = fork.point.directive;
        task.stands = vec![reason];
        task.timers = timers;
        task.debug = Some(Box::new(attached));
        task.pending.extend(answers.iter().filter_map(|record| record.body.to_event()));
        // Replies that the machine did not want to read on: nobody has told it yet that they are over.
        open.turns.retain(|turn| {
            let is_closed = closing.iter().any(|(closed, _)| closed == turn);
            if is_closed {
                task.pending.push_back(Event::ReplyEnded { turn: *turn, end: ReplyEnd::Closed, usage: None });
            }
            !is_closed
        });
        if open != Outstanding::default() {
            task.pending.push_back(Event::Reopened);
        }
        if !knows_tools {
            task.pending.push_back(Event::SignaturesChanged { tools });
        }
        Ok(session)
    }
}

/// The machine at the fork, and what the answers leave open. Witnesses hear of those now: the task hands them to the
/// machine only.
fn follow(world: &World, fork: &Fork) -> Result<(Follower, Outstanding), SessionError> {
    let witnesses = Some(world.witnesses());
    let (kept, answers) = fork.records.split_at(fork.n_kept.min(fork.records.len()));
    let mut follower = Follower::begin(kept, programs_of(witnesses))?;
    follower.follow(&kept[1..], witnesses)?;
    for _ in 0..fork.point.directive {
        follower.advance();
    }
    let mut behind = follower.clone();
    behind.follow(answers, witnesses)?;
    let mut open = follower.outstanding();
    open.retain(&behind.outstanding());
    Ok((follower, open))
}
