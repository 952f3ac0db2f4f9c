//! What the files of one `playhouse test` are run with.

use std::cell::RefCell;

use crate::host::cassette::take::Mode;
use crate::serve::cli::machinery::company::CompanyArguments;
use crate::serve::cli::machinery::coverage::Gathered;

/// How a test file is run.
#[derive(Clone, Copy)]
pub(super) struct Options<'a> {
    /// How often, at least once.
    pub(super) repeat: u32,
    /// What happened is written in the place of what was expected.
    pub(super) bless: bool,
    /// What a live model is asked for, and which one, if one was chosen.
    pub(super) record: Option<(Mode, Option<&'a str>)>,
    /// It is said what each scripted reply answered; of a test that fails it is said anyway.
    pub(super) verbose: bool,
    /// What nobody decides is not missed.
    pub(super) lenient: bool,
    /// What is reached of the program goes in here.
    pub(super) gathered: Option<&'a RefCell<Gathered>>,
    /// Who is asked what checks ask a judge.
    pub(super) company: &'a CompanyArguments,
    /// Findings are coloured.
    pub(super) color: bool,
}
