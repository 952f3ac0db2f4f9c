//! Checks: what somebody says of a session, held against what it did (spec `evaluate.md`, section 3).
//!
//! [`Checks::new`] makes checks of what was written, for a program; [`verify`] says of a [`Run`] what came of each. Both are
//! pure: a run is data, and so is what is said of it. `monitor` has an automaton for each form, `end` what is asked of the
//! end. A question to a model (`judge: …`) is answered here with [`Verdict::Undecided`]; whoever has a judge finds the
//! question in [`Verified::question`] and puts its answer in the place of the verdict.

mod atoms;
mod binding;
mod end;
mod monitor;
mod past;
mod schema;
mod verdict;

use std::sync::Arc;

use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::evaluation::checks::Written;
use playhouse_lang::program::Program;
use playhouse_lang::span::FileId;

use crate::checks::monitor::Monitor;
use crate::checks::past::Past;
use crate::program::{KnownTools, ToolInventory};
use crate::resource::prices::PriceTable;
use crate::travel::Run;

pub use crate::checks::schema::ReadSchema;
pub use crate::checks::verdict::{Breach, Verdict};

/// Checks of one program, ready to be held against its runs.
pub struct Checks {
    monitors: Vec<(Written, Monitor)>,
    prices: Arc<PriceTable>,
}

/// What came of one check.
#[derive(Clone, Debug)]
pub struct Verified {
    /// What people call the check.
    pub label: Arc<str>,
    /// The check, as it is written.
    pub text: Arc<str>,
    /// The file that it stands in.
    pub file: FileId,
    /// Its line, from 1.
    pub line: usize,
    /// What it asks a model, if it does.
    pub question: Option<Arc<str>>,
    /// What came of it.
    pub verdict: Verdict,
}

impl Verified {
    /// That nothing can be said of a check.
    pub fn undecided(written: &Written, why: &str) -> Verified {
        Verified::of(written, Verdict::Undecided { why: why.to_owned() })
    }

    fn of(written: &Written, verdict: Verdict) -> Verified {
        let Written { label, line, check } = written;
        let (file, question) = (check.span.file, written.question().cloned());
        Verified { label: label.clone(), text: check.text.clone(), file, line: *line, question, verdict }
    }
}

impl Checks {
    /// Checks of a program, with these tools. `read` gives the text of the schema that a file names, or says why it
    /// can't.
    ///
    /// # Errors
    /// All that is wrong: names that mean nothing, texts that are no regular expressions, schemas that are none.
    pub fn new(
        written: Vec<Written>,
        program: &Program,
        tools: &ToolInventory,
        read: &mut ReadSchema<'_>,
    ) -> Result<Checks, Vec<Diagnostic>> {
        let world = KnownTools::from(tools).into();
        let (mut monitors, mut findings) = (Vec::with_capacity(written.len()), Vec::new());
        for mut written in written {
            findings.extend(written.check.resolve(program, &world));
            if let Some(monitor) = Monitor::new(&written.check, &mut findings, read) {
                monitors.push((written, monitor));
            }
        }
        if findings.is_empty() { Ok(Checks { monitors, prices: Arc::default() }) } else { Err(findings) }
    }

    /// The same, with prices for what is said of costs.
    #[must_use]
    pub fn with_prices(self, prices: impl Into<Arc<PriceTable>>) -> Checks {
        Checks { prices: prices.into(), ..self }
    }

    /// What was written, in order.
    pub fn written(&self) -> impl ExactSizeIterator<Item = &Written> {
        self.monitors.iter().map(|(written, _)| written)
    }
}

/// What came of each check in a run, in order.
pub fn verify(checks: &Checks, run: &Run) -> Vec<Verified> {
    let mut past = Past::new(run, &checks.prices);
    let mut monitors: Vec<Monitor> = checks.monitors.iter().map(|(_, monitor)| monitor.clone()).collect();
    for index in 0..run.events.len() {
        monitors.iter_mut().for_each(|monitor| monitor.step(&past, index));
        past.note(index);
    }
    let verdicts = monitors.into_iter().map(|monitor| monitor.end(&past));
    checks.written().zip(verdicts).map(|(written, verdict)| Verified::of(written, verdict)).collect()
}
