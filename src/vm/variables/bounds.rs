//! How large a value may be: the one rule, whichever way it comes in.

use playhouse_lang::value::{Bounds, Excess};

use crate::protocol::{CallOutcome, Tracked};

/// What a value would have too much of, for a sentence that begins with `it would be`.
pub(crate) fn describe_excess(excess: Excess) -> String {
    match excess {
        Excess::Bytes(limit) => format!(
            "larger than the limit `value_bytes` of {limit} bytes of JSON; keep large texts in files, or raise the limit"
        ),
        Excess::Depth(limit) => format!("nested deeper than {limit} levels"),
    }
}

/// What came of a call, as it is taken: in the place of a result that is too large, what is too much.
pub(crate) fn bound_outcome(outcome: CallOutcome, bounds: Bounds) -> CallOutcome {
    let excess = match &outcome {
        CallOutcome::Value { value, .. } => value.check_bounds(bounds).err(),
        CallOutcome::Error(_) | CallOutcome::Needs { .. } | CallOutcome::Interrupted => None,
    };
    match excess {
        Some(excess) => CallOutcome::Error(format!("the result is {}", describe_excess(excess)).into()),
        None => outcome,
    }
}

/// A value that may be kept as a variable: within bounds, and secret if its name is declared so. Only [`admit`] makes
/// one, so that no way in can forget either.
#[derive(Clone, Debug)]
pub(crate) struct Admitted(Tracked);

/// The one door through which a value becomes that of a variable.
///
/// # Errors
/// What the value has too much of.
pub(crate) fn admit(value: Tracked, is_declared_secret: bool, bounds: Bounds) -> Result<Admitted, Excess> {
    value.value().check_bounds(bounds)?;
    Ok(Admitted(value.secret_if(is_declared_secret)))
}

impl Admitted {
    /// The value, to be kept.
    pub(crate) fn into_tracked(self) -> Tracked {
        self.0
    }
}
