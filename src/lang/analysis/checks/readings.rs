//! Conditions that are read as something else than they look like: a dot that separates thousands, ages and days.

use crate::analysis::checks::lines::conditions;
use crate::diagnostic::Diagnostic;
use crate::english::phrase::{Mention, Phrase, without_emphasis};
use crate::expr::{
    AGES, BinaryOperator as Op, Expr, ExprKind, MOMENTS, continues_name, is_one_of, number_word, read_date,
};
use crate::program::{Playbook, Program, Step, StepKind, TriggerKind, WEEKDAYS};
use crate::span::Span;
use crate::value::Value;

/// Adds a warning for each.
pub(super) fn check_readings(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    for playbook in &program.playbooks {
        for (condition, _) in conditions(playbook) {
            condition.for_each(&mut |expr| {
                diagnostics.extend(thousands(program, expr));
                diagnostics.extend(counts_down(program, playbook, expr));
            });
        }
        in_words(program, playbook, diagnostics);
    }
}

/// `1.000` is one; who writes three digits after the dot most likely means a thousand.
fn thousands(program: &Program, number: &Expr) -> Option<Diagnostic> {
    let ExprKind::Literal(Value::Float(value)) = &number.kind else { return None };
    let written = program.sources.text(number.span);
    let (whole, digits) = written.split_once('.')?;
    let is_group = digits.len() == 3 && matches!(whole.len(), 1..=3) && !whole.starts_with('0');
    if !is_group || !written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let message = format!("`{written}` is the number {value}: a dot begins the decimals");
    let meant = format!("{whole}{digits}");
    let warning = Diagnostic::warning("dot-in-number", number.span, message);
    Some(warning.with_fix(format!("write `{meant}`"), number.span, meant))
}

/// `$lives reaches 1`, which is read as at least 1, of a number that every line only makes smaller.
fn counts_down(program: &Program, playbook: &Playbook, compared: &Expr) -> Option<Diagnostic> {
    let ExprKind::Binary(Op::GreaterOrEqual, left, right) = &compared.kind else { return None };
    let (ExprKind::Reference(reference), ExprKind::Literal(bound)) = (&left.kind, &right.kind) else { return None };
    let between = Span { start: left.span.end, end: right.span.start, ..left.span };
    let words = program.sources.text(between).to_lowercase();
    if !reference.path.is_empty() || !(words.contains("reach") || words.contains("hit")) {
        return None;
    }
    let is_target = |step: &&Step| step.kind.targets().iter().any(|target| target.name == reference.name);
    let agent = program.agent(playbook.agent);
    let steps = agent.playbooks.iter().flat_map(|id| &program.playbook(*id).steps).filter(is_target);
    let mut falls = false;
    for step in steps {
        let StepKind::Assign { value: Some(value), .. } = &step.kind else { return None };
        if let ExprKind::Binary(Op::Subtract, from, _) = &value.kind
            && from.kind == left.kind
        {
            falls = true;
        } else {
            value.as_constant()?;
        }
    }
    let name = &reference.name;
    let message = format!(
        "`${name}` only goes down, and `reaches {bound}` means at least {bound}, which is true from the beginning"
    );
    let warning = falls.then(|| Diagnostic::warning("reached-from-above", compared.span, message))?;
    Some(warning.with_note(format!("write `${name} falls to {bound}`")))
}

/// What the model judges because it asks how old something is or which day it is: conditions of lines, and triggers.
fn in_words(program: &Program, playbook: &Playbook, diagnostics: &mut Vec<Diagnostic>) {
    let lines = playbook.steps.iter().filter(|step| step.kind.is_judged()).map(|step| step.span);
    let triggers = playbook.triggers.iter().filter(|trigger| trigger.kind == TriggerKind::Semantic);
    for place in lines.chain(triggers.map(|trigger| trigger.span)) {
        let text = program.sources.text(place);
        if text.contains('$') {
            let plain = without_emphasis(text);
            let line = Phrase::at(&plain, place);
            let mentions = line.mentions();
            let found = age(line).or_else(|| mentions.iter().find_map(|mention| moment(line, mention)));
            diagnostics.extend(found.or_else(|| mentions.first().and_then(|mention| counted(line, mention))));
        }
    }
}

const COMPUTED: &str =
    "let a tool or a plan compute the date, and compare with it: `If $order.delivered is before $oldest`";

/// `$order.delivered is over 30 days old`.
fn age(line: Phrase<'_>) -> Option<Diagnostic> {
    if line.mentions().is_empty() {
        return None;
    }
    let words: Vec<(usize, &str)> = line.words().collect();
    let is_age = |at: usize| {
        let is = |at: Option<usize>, list: &str| {
            at.and_then(|at| words.get(at)).is_some_and(|(_, word)| is_one_of(list, word))
        };
        let than = at.checked_sub(2).map(|at| at.saturating_sub(1)..at + 1).unwrap_or(0..0);
        is(Some(at), AGES)
            && (is(Some(at + 1), "old ago") || than.into_iter().any(|at| is(Some(at), "older younger newer")))
    };
    let (at, word) = (0..words.len()).find(|&at| is_age(at)).map(|at| words[at])?;
    let message = "the interpreter does not compute how old something is, so the model judges this";
    let warning = Diagnostic::warning("age-in-words", line.from(at).until(word.len()).span(), message);
    Some(warning.with_note(COMPUTED))
}

/// `$booking.checkout is tomorrow or earlier`, `$day is before Monday`, `$day is 1 May 2026`.
fn moment(line: Phrase<'_>, mention: &Mention) -> Option<Diagnostic> {
    /// What may stand between a variable and the moment that it is compared with.
    const LINKS: &str = "is isn are aren was wasn t were not date time day before after by until earlier later than on or since \
        the no at most least only already still exactly in";
    /// A bound for hostile texts only: a variable has all that follows after it.
    const MAX_LINKS: usize = 12;
    const ORDERS: &str = "before after than until since by";
    let after = line.from(mention.span.end as usize - line.start());
    let member = after.text.find(|c: char| !continues_name(c) && c != '.').unwrap_or(after.text.len());
    let after = after.from(member);
    let words: Vec<(usize, &str)> = after.words().take(MAX_LINKS).collect();
    let first = words.iter().position(|(_, word)| !is_one_of(LINKS, word)).filter(|&first| first > 0)?;
    let (at, word) = words[first];
    // Marks between them begin something else.
    if after.text[..at].contains([',', ':', ';', '"', '(']) {
        return None;
    }
    if let Some((date, length)) = read_date(after.from(at).text) {
        let place = after.from(at).until(length);
        let message = format!("`{}` is not read as a date here, so the model judges this", place.text);
        let warning = Diagnostic::warning("date-in-words", place.span(), message);
        return Some(warning.with_fix(format!("write `{date}`"), place.span(), date));
    }
    let is_order = is_one_of(ORDERS, words[first - 1].1);
    let or = words.get(first + 1).zip(words.get(first + 2));
    let has_order = is_order
        || or.is_some_and(|((_, or), (_, degree))| *or == "or" && is_one_of("earlier later before after", degree));
    let is_moment = match word.to_lowercase().as_str() {
        "now" => is_order,
        day if WEEKDAYS.contains(&day) => has_order,
        other => is_one_of(MOMENTS, other),
    };
    if !is_moment {
        return None;
    }
    if is_one_of("noon midday", word) {
        let message = format!("`{word}` is no time here, so the model judges this");
        let warning = Diagnostic::warning("date-in-words", after.from(at).until(word.len()).span(), message);
        return Some(warning.with_note("for a time of day write `12:00`"));
    }
    let message = format!("the interpreter does not know which day or time `{word}` is, so the model judges this");
    let warning = Diagnostic::warning("date-in-words", after.from(at).until(word.len()).span(), message);
    Some(warning.with_note(COMPUTED))
}

/// `the number of $low is 3`, `exactly one venue in $venues`, `there are two or more $venues`: of a list and of a number that
/// asks for two things.
fn counted(line: Phrase<'_>, mention: &Mention) -> Option<Diagnostic> {
    const BEGINNINGS: [&str; 4] = ["there", "nothing", "exactly", "only"];
    let before = line.until(mention.span.start as usize - line.start()).trim();
    let after = line.from(mention.span.end as usize - line.start()).trim();
    let rest = before
        .strip_any(&["if", "else if", "otherwise if", "unless", "while", "repeat until", "when"])
        .unwrap_or(before);
    let words: Vec<&str> = rest.words().map(|(_, word)| word).collect();
    let is_number = |word: &str| number_word(word).is_some() || word.parse::<u32>().is_ok();
    let is_counted = || {
        let begins = rest.strip_any(&BEGINNINGS).is_some() || words.first().is_some_and(|word| is_number(word));
        let counts = words.iter().any(|word| is_number(word) || is_one_of("nothing exactly more fewer less", word));
        let is_over = after.is_empty() || after.text.starts_with([',', ':', '.', ';']) || after.strip("then").is_some();
        let stands_before = words.last().is_some_and(|word| is_number(word) || is_one_of("in on of more no", word));
        begins && counts && is_over && stands_before
    };
    let is_number_of = rest.is("the number of") || rest.is("number of");
    if !is_number_of && !is_counted() {
        return None;
    }
    let name = &mention.name;
    let message = "whether this counts items or asks for a number is not sure, so the model judges it";
    let warning = Diagnostic::warning("nearly-understood", mention.span, message);
    Some(warning.with_note(format!(
        "of a list write `${name} has more than 2 items` or `${name} is empty`, of a number `${name} is more than 2` or `${name} is 0`"
    )))
}
