//! The frames of a run, from its events: which walk a line belongs to.

use playhouse_lang::program::{Playbook, StepId};

use crate::events::{PublicBody, PublicEvent};

use super::edges::Walk;
use super::way::Took;

/// The frames of a run by depth; of a plan there is no walk.
#[derive(Debug, Default)]
pub(super) struct Frames<'p>(Vec<Option<(&'p Playbook, Walk)>>);

impl<'p> Frames<'p> {
    /// Follows an event of a frame that executes `playbook` at `line`; `took` hears what came of which line.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only these move frames")]
    pub(super) fn follow(
        &mut self,
        event: &PublicEvent,
        playbook: Option<&'p Playbook>,
        line: Option<StepId>,
        took: &mut impl FnMut(&Playbook, StepId, Took),
    ) {
        let Some(depth) = event.depth else { return };
        match &event.body {
            PublicBody::FramePushed { .. } => {
                self.0.truncate(depth);
                self.0.resize_with(depth, || None);
                self.0.push(playbook.map(|playbook| (playbook, Walk::default())));
            }
            // Where a call takes the place of its caller, the caller has come to its end.
            PublicBody::FramePopped { value: Some(_) } | PublicBody::FrameElided { .. } => {
                if let Some(Some((playbook, walk))) = self.take(depth) {
                    walk.end(playbook, &mut |step, what| took(playbook, step, what));
                }
            }
            PublicBody::FramePopped { value: None } => drop(self.take(depth)),
            PublicBody::LineReached {} => {
                if let Some(Some((playbook, walk))) = self.0.get_mut(depth)
                    && let Some(line) = line
                {
                    let playbook = *playbook;
                    walk.reach(playbook, line, &mut |step, what| took(playbook, step, what));
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, depth: usize) -> Option<Option<(&'p Playbook, Walk)>> {
        self.0.get_mut(depth).map(Option::take)
    }
}
