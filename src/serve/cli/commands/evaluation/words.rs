//! Numbers as `eval` and `compare` show them.

use crate::host::stats::{Interval, Score};
use crate::serve::cli::machinery::console::count;

/// `0.91`, `−0.07`.
pub(super) fn number(value: f64) -> String {
    // What is rounded to 0 has no sign.
    let text = format!("{:.2}", value.abs());
    if value < 0.0 && text != "0.00" { format!("−{text}") } else { text }
}

/// `0.91 (0.85..0.97)`; without the brackets where there is no interval.
pub(super) fn spread(mean: f64, interval: Option<Interval>) -> String {
    let interval = interval.map(|Interval { low, high }| format!(" ({}..{})", number(low), number(high)));
    number(mean) + &interval.unwrap_or_default()
}

/// A score; `—` where no run is valid.
pub(super) fn score(score: Option<Score>) -> String {
    score.map_or("—".to_owned(), |score| spread(score.mean, score.interval))
}

/// A number; `—` where there is none.
pub(super) fn maybe(value: Option<f64>) -> String {
    value.map_or("—".to_owned(), number)
}

/// Money: as many digits as tell a cheap run from none.
pub(super) fn money(value: f64) -> String {
    if value >= 0.1 { format!("{value:.2}") } else { format!("{value:.4}") }
}

/// `0.021`; what is smaller than can be shown is told so.
pub(super) fn chance(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// `24 cases × 10, 3 invalid, 1.92 spent`.
pub(super) fn heading(n_cases: usize, k: &str, n_missing: usize, n_invalid: usize, spent: Option<f64>) -> String {
    format!("{} × {k}{}", count(n_cases, "case"), besides([(n_missing, "not run"), (n_invalid, "invalid")], spent))
}

/// `, 3 not passed, 0.41 spent`: what there is any of, and what was spent if that is known.
pub(super) fn besides(counts: [(usize, &str); 2], spent: Option<f64>) -> String {
    let counts = counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}"));
    counts.chain(spent.map(|spent| format!(", {} spent", money(spent)))).collect()
}
