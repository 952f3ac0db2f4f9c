//! What a session writes into, whatever keeps its journal: the pieces of a reply are joined here, in memory, until they
//! are flushed, and once more when a journal is read. So the numbers of records that people see do not depend on when
//! the pieces came, and nothing below ever changes what it has written.

use futures_util::TryStreamExt;
use playhouse_vm::protocol::Timestamp;

use crate::journal::record::{ChunkText, Record, RecordBody};
use crate::journal::{Durability, Journal, JournalError, JournalErrorKind};

/// The first format in which a further piece may be written as its text alone.
const SHORT_PIECES: u32 = 3;

/// A journal, and the pieces of the reply in progress that it does not have yet.
pub struct TailBuffer {
    journal: Box<dyn Journal>,
    tail: Option<Tail>,
    /// What all records outlive; none: some are in memory only.
    outlives: Option<Durability>,
    /// Something else than pieces of replies is in memory only.
    holds_events: bool,
    /// Why something could not be flushed: whoever asks again does not hear that all is well.
    failed: Option<JournalErrorKind>,
}

/// Pieces that came one after the other.
struct Tail {
    turn: u64,
    /// The last one's time.
    time: i64,
    first: ChunkText,
    /// Those after it.
    more: Vec<u8>,
}

impl TailBuffer {
    /// Before it nothing is in memory only.
    pub fn new(journal: Box<dyn Journal>) -> TailBuffer {
        let outlives = Some(Durability::PowerCut);
        TailBuffer { journal, tail: None, outlives, holds_events: false, failed: None }
    }

    /// Where the journal is kept, for messages.
    pub fn location(&self) -> String {
        self.journal.location()
    }

    /// Whether it holds nothing at all.
    pub fn is_empty(&self) -> bool {
        self.journal.next_seq() == 1 && self.tail.is_none()
    }

    /// Takes a record, in memory. `apart`: a piece of a reply stays a record of its own, so that places in what it sets
    /// off can be counted from it.
    pub fn append(&mut self, time: Timestamp, body: RecordBody, apart: bool) {
        self.outlives = None;
        if let RecordBody::Chunk { turn, text } = body {
            if apart {
                self.seal();
            }
            match self.tail.as_mut().filter(|tail| tail.turn == turn) {
                Some(tail) => tail.push(time.0, &text),
                None => {
                    self.seal();
                    self.tail = Some(Tail::new(turn, time.0, text));
                }
            }
            if apart {
                self.seal();
            }
            return;
        }
        self.seal();
        self.holds_events = true;
        self.put(time.0, body);
    }

    /// Whether anything is in memory only.
    pub fn is_flushed(&self) -> bool {
        self.outlives.is_some()
    }

    /// Whether something is in memory only that does not come again by itself, as a reply does.
    pub fn holds_events(&self) -> bool {
        self.holds_events
    }

    /// Writes what is in memory only. Nothing is done where nothing is new.
    ///
    /// # Errors
    /// It cannot be written, or another owner has the session: then nothing of it has happened.
    pub async fn flush(&mut self, durability: Durability) -> Result<(), JournalError> {
        if self.outlives.is_some_and(|outlives| outlives >= durability) {
            return Ok(());
        }
        if let Some(kind) = &self.failed {
            return Err(JournalError::new(self.location(), kind.clone()));
        }
        self.seal();
        let flushed = self.journal.flush(durability).await;
        self.failed = flushed.as_ref().err().map(|error| error.kind.clone());
        flushed?;
        self.outlives = Some(durability);
        self.holds_events = false;
        Ok(())
    }

    /// All records, flushed before and joined as [`joined`] says.
    ///
    /// # Errors
    /// They cannot be written or read.
    pub async fn records(&mut self, apart: bool) -> Result<Vec<Record>, JournalError> {
        Ok(joined(self.pieces().await?, apart))
    }

    /// All records as they were written, flushed before.
    ///
    /// # Errors
    /// They cannot be written or read.
    pub async fn pieces(&mut self) -> Result<Vec<Record>, JournalError> {
        self.flush(Durability::Killed).await?;
        self.journal.read(1).try_collect().await
    }

    /// Gives the lease of the session up.
    pub async fn close(self) {
        self.journal.close().await;
    }

    fn seal(&mut self) {
        if let Some(tail) = self.tail.take() {
            let (time, body) = tail.into_body();
            self.put(time, body);
        }
    }

    fn put(&mut self, time: i64, body: RecordBody) {
        let seq = self.journal.next_seq();
        self.journal.append(Record { seq, time, body });
    }
}

impl Tail {
    fn new(turn: u64, time: i64, first: ChunkText) -> Tail {
        Tail { turn, time, first, more: Vec::new() }
    }

    fn push(&mut self, time: i64, text: &ChunkText) {
        self.time = time;
        self.more.extend_from_slice(&text.0);
    }

    fn into_body(self) -> (i64, RecordBody) {
        let Tail { turn, time, first, more } = self;
        let text = if more.is_empty() { first } else { ChunkText([&*first.0, &*more].concat().into()) };
        (time, RecordBody::Chunk { turn, text })
    }
}

/// Records as people see them: pieces of a reply that follow each other are one, and all are numbered 1, 2, 3, … The
/// last piece before an edit in the middle of what it set off stays apart, for the place of the edit is counted from it;
/// with `apart` also the last one of all.
pub fn joined(records: Vec<Record>, apart: bool) -> Vec<Record> {
    let mut seen: Vec<Record> = Vec::with_capacity(records.len());
    let mut put = |(time, body)| seen.push(Record { seq: seen.len() as u64 + 1, time, body });
    let mut run: Option<Tail> = None;
    let mut records = records.into_iter().peekable();
    while let Some(Record { time, body, .. }) = records.next() {
        let RecordBody::Chunk { turn, text } = body else {
            run.take().into_iter().for_each(|run| put(run.into_body()));
            put((time, body));
            continue;
        };
        let stays_apart = records.peek().map_or(apart, |next| next.body.after().is_some());
        if let Some(ended) = run.take_if(|run| stays_apart || run.turn != turn) {
            put(ended.into_body());
        }
        match &mut run {
            _ if stays_apart => put((time, RecordBody::Chunk { turn, text })),
            Some(run) => run.push(time, &text),
            None => run = Some(Tail::new(turn, time, text)),
        }
    }
    run.into_iter().for_each(|run| put(run.into_body()));
    seen
}

/// The pieces of one reply while they are written. A session whose every piece is shown has hundreds of records in each
/// reply, which say the same but for the text: in a journal whose format has it, the further ones are
/// `[12,"text"]` in a file (12 ms after the one before; number and turn follow from that), `["text"]` in a store.
#[derive(Debug, Default)]
pub(super) struct Run {
    is_short: bool,
    /// The turn and the time of the record before, where that is a piece.
    last: Option<(u64, i64)>,
}

impl Run {
    /// In a journal that holds these records already.
    pub(super) fn after(records: &[Record]) -> Run {
        let mut run = Run::default();
        records.first().into_iter().chain(records.last()).for_each(|record| run.note(record));
        run
    }

    /// Takes the next record. Its text, and how many milliseconds after the one before it came, if that is all there is
    /// to write.
    pub(super) fn further<'r>(&mut self, record: &'r Record) -> Option<(i64, &'r ChunkText)> {
        let last = self.last;
        self.note(record);
        let RecordBody::Chunk { turn, text } = &record.body else { return None };
        let (_, time) = last.filter(|(last_turn, _)| self.is_short && last_turn == turn)?;
        record.time.checked_sub(time).map(|ms| (ms, text))
    }

    fn note(&mut self, record: &Record) {
        if let RecordBody::Begun(begun) = &record.body {
            self.is_short = begun.format >= SHORT_PIECES;
        }
        self.last = if let RecordBody::Chunk { turn, .. } = record.body { Some((turn, record.time)) } else { None };
    }
}

/// What stands in a record whose text is all that was written; an error: the one before is no piece of a reply.
pub(super) fn next_piece(before: Option<&Record>, text: ChunkText) -> Result<RecordBody, String> {
    let Some(Record { body: RecordBody::Chunk { turn, .. }, .. }) = before else {
        return Err("a further piece of a reply has none before it".to_owned());
    };
    Ok(RecordBody::Chunk { turn: *turn, text })
}
