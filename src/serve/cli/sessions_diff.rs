//! `playhouse sessions diff`: two sessions side by side.

use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use crate::host::travel::{self, Difference, Timeline, VariableDifference};
use crate::serve::cli::check::Format;
use crate::serve::cli::console::{Exit, Failure, count, put};
use crate::serve::cli::failures::session_failure;
use crate::serve::cli::sessions_kept::Kept;
use crate::serve::cli::sessions_travel::{WireStep, begun, json, timeline};
use crate::serve::cli::travel_text::step_text;
use crate::serve::show::short_value;
use crate::value::Value;

#[derive(Args)]
pub(crate) struct DiffArguments {
    /// One session
    a: String,
    /// Another one
    b: String,
    /// For whom: text for people, or an object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Two sessions in `diff --format json`. A public interface: fields are added, never changed or removed.
#[derive(Serialize)]
struct WireDifference<'a> {
    /// How many steps both did.
    same: usize,
    a: WireSide<'a>,
    b: WireSide<'a>,
    variables: Vec<WireVariableDifference<'a>>,
}

#[derive(Serialize)]
struct WireSide<'a> {
    session: &'a str,
    /// The point after the last step that is the same.
    same_up_to: String,
    end: String,
    then: Vec<WireStep<'a>>,
}

#[derive(Serialize)]
struct WireVariableDifference<'a> {
    place: &'a str,
    name: &'a str,
    /// Null: there is none.
    a: Option<&'a Value>,
    b: Option<&'a Value>,
}

/// How two sessions differ.
pub(crate) fn diff(kept: &Kept, arguments: &DiffArguments) -> Result<Exit, Failure> {
    let sides = [timeline(kept, &arguments.a)?, timeline(kept, &arguments.b)?];
    let difference = travel::diff(&sides[0], &sides[1]).map_err(session_failure)?;
    put(&match arguments.format {
        Format::Text => difference_text(&sides, &difference)?,
        Format::Json => difference_json(&sides, &difference)?,
    })?;
    Ok(Exit::Finished)
}

fn difference_text(sides: &[Timeline; 2], difference: &Difference) -> Result<String, Failure> {
    let [a, b] = [begun(&sides[0])?, begun(&sides[1])?];
    let mut text = String::new();
    for begun in [a, b] {
        if let Some(from) = &begun.forked_from {
            let _ =
                writeln!(text, "{} was forked from {} at {}.{}", begun.session, from.session, from.seq, from.directive);
        }
    }
    if a.hash != b.hash {
        let _ = writeln!(text, "the programs' texts differ");
    }
    let n = count(difference.n_same, "step");
    if difference.then.iter().all(Vec::is_empty) {
        let _ = writeln!(text, "both did the same ({n})");
    } else {
        let [at_a, at_b] = difference.same_up_to;
        let _ = writeln!(text, "both did the same up to {at_a} of {} and {at_b} of {} ({n})", a.session, b.session);
    }
    for (begun, then) in [a, b].into_iter().zip(&difference.then) {
        let width = then.last().map_or(0, |step| step.point.to_string().len()) + 1;
        let lines: Vec<String> = then
            .iter()
            .filter_map(|step| step_text(step).map(|text| format!("  {:<width$} {text}\n", step.point)))
            .collect();
        if !lines.is_empty() {
            let _ = write!(text, "\n{} then\n{}", begun.session, lines.concat());
        }
    }
    if !difference.variables.is_empty() {
        let _ = writeln!(text, "\nVariables at the end: {} | {}", a.session, b.session);
    }
    for VariableDifference { place, name, values } in &difference.variables {
        let [of_a, of_b] = values.each_ref().map(|value| value.as_ref().map_or("none".to_owned(), short_value));
        let _ = writeln!(text, "  ${name} in {place}: {of_a} | {of_b}");
    }
    Ok(text)
}

fn difference_json(sides: &[Timeline; 2], difference: &Difference) -> Result<String, Failure> {
    let side = |index: usize| {
        Ok::<_, Failure>(WireSide {
            session: &begun(&sides[index])?.session,
            same_up_to: difference.same_up_to[index].to_string(),
            end: sides[index].end().to_string(),
            then: difference.then[index].iter().map(WireStep::of).collect(),
        })
    };
    let variables = difference.variables.iter().map(|VariableDifference { place, name, values: [a, b] }| {
        WireVariableDifference { place, name, a: a.as_ref(), b: b.as_ref() }
    });
    let variables = variables.collect();
    Ok(json(&WireDifference { same: difference.n_same, a: side(0)?, b: side(1)?, variables }) + "\n")
}
