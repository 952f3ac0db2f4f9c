//! `playhouse sessions diff`: two sessions side by side.

use std::fmt::Write as _;

use crate::host::journal::record::Begun;
use crate::host::travel::{self, Difference, VariableDifference};
use crate::serve::cli::commands::sessions::kept::Kept;
use crate::serve::cli::commands::sessions::travel::timeline;
use crate::serve::cli::machinery::console::{Exit, Failure, count, finish};
use crate::serve::cli::machinery::output::Format;
use crate::serve::cli::machinery::travel_text::step_text;
use crate::serve::show::past::difference_json;
use crate::serve::show::short_value;
use clap::Args;

#[derive(Args)]
pub(crate) struct DiffArguments {
    /// The id of one session
    a: String,
    /// The id of the other
    b: String,
    /// The output format: text for people, or a JSON object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How two sessions differ.
pub(crate) fn diff(kept: &Kept, arguments: &DiffArguments) -> Result<Exit, Failure> {
    let sides = [timeline(kept, &arguments.a)?, timeline(kept, &arguments.b)?];
    let difference = travel::diff(&sides[0], &sides[1])?;
    let begun = [sides[0].begun()?, sides[1].begun()?];
    finish(&match arguments.format {
        Format::Text => difference_text(begun, &difference),
        Format::Json => format!("{}\n", difference_json(begun.map(|begun| &*begun.session), &sides, &difference)),
    })
}

fn difference_text([a, b]: [&Begun; 2], difference: &Difference) -> String {
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
        let _ = writeln!(text, "both did the same thing ({n})");
    } else {
        let [at_a, at_b] = difference.same_up_to;
        let _ =
            writeln!(text, "both did the same thing up to {at_a} of {} and {at_b} of {} ({n})", a.session, b.session);
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
    text
}
