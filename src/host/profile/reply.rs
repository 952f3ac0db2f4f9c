//! Which line of a playbook each byte of a reply belongs to.

use std::sync::Arc;

use playhouse_vm::reply::{ReadEnd, ReaderOptions, Reading, ReplyReader};

/// A stretch of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// The line id that the model named last, as it wrote it; none: it has named none yet.
    pub(super) at: Option<Arc<str>>,
    /// Where it ends in the reply.
    pub(super) end: u64,
}

/// A reply in stretches, which cover it: a trace line with whatever stands before it, thoughts too. What follows the
/// last one belongs to it.
pub(super) fn written(reply: &[u8], options: ReaderOptions) -> Vec<Written> {
    let mut readings = Vec::new();
    let mut reader = ReplyReader::new(options);
    reader.push(reply, &mut readings);
    reader.finish(ReadEnd::Cut, &mut readings);
    let mut stretches: Vec<Written> = Vec::new();
    let mut at = None;
    // A line that has begun to speak and was cut off.
    let mut open = None;
    for reading in readings {
        if let Reading::Line(line) = reading {
            at = line.at.or(at);
            open = None;
            stretches.push(Written { at: at.clone(), end: line.span.end });
        } else if let Reading::SayBegan { at: begun, .. } = reading {
            open = Some(begun.or_else(|| at.clone()));
        }
    }
    let end = reply.len() as u64;
    match (open, stretches.last_mut()) {
        (Some(at), _) => stretches.push(Written { at, end }),
        (None, Some(last)) => last.end = end,
        (None, None) => stretches.push(Written { at: None, end }),
    }
    stretches
}
