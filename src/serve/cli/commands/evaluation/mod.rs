//! Commands that measure programs.

mod backtest;
mod case;
mod compare;
mod coverage;
mod eval;
mod measure;
mod mutants;
mod side;
mod watch;
mod words;

pub(super) use self::backtest::{BacktestArguments, backtest};
pub(super) use self::compare::{CompareArguments, compare};
pub(super) use self::coverage::{CoverageArguments, coverage};
pub(super) use self::eval::{EvalArguments, eval};
pub(super) use self::mutants::{MutantsArguments, mutants};
