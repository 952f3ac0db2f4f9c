//! Lines and triggers as people write them, each with how it is meant (`tests/cases/lang/phrasings/*.txt`, collected
//! before the grammar was written). `differs.golden` lists those that are read otherwise: it is to grow shorter.

use std::fmt::Write as _;
use std::fs;

use fastrand::Rng;
use playhouse::lang::analysis::explain::{step_kind, trigger_kind};
use playhouse::lang::program::{Arm, Parameter, Playbook, Program, Signature, Step, StepKind, Type};
use playhouse::lang::span::Span;
use playhouse::lang::{LoadOptions, Loaded, SourceText, load, wordings};

use crate::golden;

/// One phrasing.
struct Phrasing<'a> {
    is_trigger: bool,
    lines: Vec<&'a str>,
    meant: &'a str,
}

fn phrasings(text: &str) -> Vec<Phrasing<'_>> {
    let blocks = text.split("\n\n").map(|block| block.lines().filter(|line| !line.starts_with('#')));
    let mut found = Vec::new();
    for block in blocks {
        let (mut lines, mut is_trigger, mut meant) = (Vec::new(), false, None);
        for line in block {
            if let Some(trigger) = line.strip_prefix(">T ") {
                is_trigger = true;
                lines.push(trigger);
            } else if let Some(item) = line.strip_prefix('>') {
                lines.push(item.strip_prefix(' ').unwrap_or(item));
            } else {
                assert!(meant.is_none(), "two meanings: {line}");
                meant = Some(line);
            }
        }
        if let Some(meant) = meant {
            assert!(!lines.is_empty(), "a meaning without a phrasing: {meant}");
            found.push(Phrasing { is_trigger, lines, meant });
        }
    }
    found
}

/// What the program around a phrasing has besides it.
const AROUND: &str = "
## Make a booking

- Say \"Booked.\"

## Early check-in

- Say \"Come in.\"

## Handle complaint($complaint)

- Say \"Sorry.\"

## Escalate

- Say \"One moment.\"

## Play

- Say \"Go.\"

## Load the account($number)

- Say \"Loaded.\"

## CheckInk

- Say \"Ink is there.\"
";

const TOOLS: [(&str, &[&str]); 14] = [
    ("GetOrder", &["id"]),
    ("FindRooms", &["arrival", "departure", "guests"]),
    ("BookRoom", &["room", "arrival", "departure", "name", "email"]),
    ("GetBooking", &["booking_number"]),
    ("CreateTicket", &["room_number", "complaint"]),
    ("NotifyManager", &["request"]),
    ("SendMail", &["to", "text"]),
    ("CallEmergency", &["room"]),
    ("SaveScore", &["player", "score"]),
    ("notes.save", &["title", "text"]),
    ("notes.search", &["query", "limit"]),
    ("CloseAccount", &["employee", "account"]),
    ("LookUpCode", &["code"]),
    ("CheckStock", &[]),
];

fn tools() -> Vec<Signature> {
    let parameter = |name: &&str| Parameter {
        name: (*name).into(),
        ty: Type::ANY,
        default: None,
        description: "".into(),
        span: None,
    };
    let tool = |(name, parameters): &(&str, &[&str])| Signature {
        name: (*name).into(),
        parameters: parameters.iter().map(parameter).collect(),
        returns: Type::ANY,
        summary: "".into(),
    };
    TOOLS.iter().map(tool).collect()
}

fn load_text(text: String) -> Loaded {
    let tools = tools();
    let options = LoadOptions { tools: &tools, ..LoadOptions::default() };
    load(vec![SourceText { name: "phrasing.md".to_owned(), text }], &mut |_| Err("nothing".to_owned()), &options)
}

/// The codes of findings that say what a text was probably meant to be.
const NEAR: [&str; 7] = [
    "nearly-understood",
    "semantic-could-be-condition",
    "unknown-trigger-call",
    "unknown-callee",
    "wrong-arguments",
    "unknown-type",
    "unfilled-name",
];

fn is_near(loaded: &Loaded) -> bool {
    loaded.diagnostics.iter().any(|diagnostic| NEAR.contains(&diagnostic.code))
}

/// How a phrasing is read, in the words of its file.
fn read(family: &str, phrasing: &Phrasing<'_>) -> String {
    if phrasing.is_trigger {
        let trigger = phrasing.lines.join("\n  ");
        let loaded = load_text(format!(
            "# Desk\n\n## Case\n\n### Triggers\n\n- {trigger}\n\n### Steps\n\n- Say \"x\"\n{AROUND}"
        ));
        let playbook = case(&loaded.program);
        let Some(trigger) = playbook.triggers.first() else { return "no trigger".to_owned() };
        let kind = trigger_kind(trigger);
        if is_near(&loaded) && kind.starts_with("semantic") && phrasing.meant.starts_with("near") {
            return phrasing.meant.to_owned();
        }
        return kind.split(", asked").next().unwrap_or(&kind).replace("condition: ", "condition ");
    }
    let has_children = phrasing.lines.len() > 1;
    let lines: Vec<&str> = phrasing.lines.iter().map(|line| line.trim_end()).collect();
    // Loops have something to do, arms stand after an `If`, and a loop is left from inside.
    let in_loop = family == "leaving_loops" || phrasing.meant.contains("break") || phrasing.meant.contains("continue");
    let indent = if in_loop { "  " } else { "" };
    let mut text = if in_loop { "- Repeat 3 times\n".to_owned() } else { String::new() };
    if phrasing.meant.starts_with("branch else") {
        let _ = writeln!(text, "{indent}- If $first is 1\n{indent}  - Say \"x\"");
    }
    let place = text.lines().filter(|line| line.starts_with(&format!("{indent}- "))).count() + 1;
    let _ = writeln!(text, "{indent}- {}", lines.join(&format!("\n{indent}")));
    if phrasing.meant.starts_with("loop") && !phrasing.meant.contains(" -> ") && !has_children {
        let _ = writeln!(text, "{indent}  - Say \"x\"");
    }
    let loaded = load_text(format!("# Desk\n\n## Case\n\n### Steps\n\n{text}{AROUND}"));
    let playbook = case(&loaded.program);
    let inside = |step: &&Step| {
        if in_loop { step.parent.is_some_and(|id| playbook.step(id).parent.is_none()) } else { step.parent.is_none() }
    };
    let Some(step) = playbook.steps.iter().filter(inside).nth(place - 1) else { return "no line".to_owned() };
    let n_nested = usize::from(has_children);
    let mut shown = kind(&loaded.program, playbook, step);
    let is_block = matches!(step.kind, StepKind::Branch { .. } | StepKind::Loop(_));
    // What ends after it on the same line.
    let end_after = |before: &Step| {
        let next = playbook.steps.iter().find(|next| next.parent == before.parent && next.id > before.id);
        let is_same_line = |next: &&Step| {
            let (one, other) = (before.span.range(), next.span.range());
            let between = one.start.min(other.start)..one.end.max(other.end);
            !loaded.program.sources.text(Span::new(before.span.file, between.start, between.end)).contains('\n')
        };
        let next = next.filter(|next| !matches!(next.kind, StepKind::Branch { .. })).filter(is_same_line);
        next.map_or_else(String::new, |next| format!(" & {}", kind(&loaded.program, playbook, next)))
    };
    if !is_block {
        shown.push_str(&end_after(step));
    }
    if is_block && step.children.len() > n_nested && !shown_child_is_ours(playbook, step) {
        let child = playbook.step(step.children[0]);
        let _ = write!(shown, " -> {}{}", kind(&loaded.program, playbook, child), end_after(child));
    }
    let after = playbook.steps.iter().find(|other| other.parent == step.parent && other.id.0 > step.id.0);
    if let Some(arm) = after.filter(|arm| matches!(arm.kind, StepKind::Branch { arm: Arm::Else, .. }))
        && let Some(child) = arm.children.first()
    {
        let _ = write!(shown, " ; else -> {}", kind(&loaded.program, playbook, playbook.step(*child)));
    }
    match (is_near(&loaded), phrasing.meant.starts_with("near")) {
        (true, true) => phrasing.meant.to_owned(),
        (true, false) => shown + ", nearly understood",
        (false, _) => shown,
    }
}

/// Whether the first line under `step` is the one that was put there so that there is one.
fn shown_child_is_ours(playbook: &Playbook, step: &Step) -> bool {
    let child = playbook.step(step.children[0]);
    step.children.len() == 1 && &*child.text == "Say \"x\"" && child.span.start > step.span.end
}

fn kind(program: &Program, playbook: &Playbook, step: &Step) -> String {
    if matches!(step.kind, StepKind::Free) {
        return "words".to_owned();
    }
    if matches!(step.kind, StepKind::End) { "end program".to_owned() } else { step_kind(program, playbook, &step.kind) }
}

fn case(program: &Program) -> &Playbook {
    program.playbooks.iter().find(|playbook| &*playbook.name == "Case").expect("the playbook of the phrasing")
}

/// Both notations without what is the same in them: titles and names, `=` and `:` of an argument, quotes of a date, the
/// letters of what is compared in any case.
fn plain(reading: &str) -> String {
    let mut text = reading.replace("loop while (in words)", "loop, the model's own");
    text = text.replace("loop until (in words)", "loop until, in words");
    // A call is named by its name alone.
    text = text.replace("before a call of ", "before call ").replace("after a call of ", "after call ");
    text = text.strip_prefix("a call of ").map_or(text.clone(), |rest| format!("call of {rest}"));
    for (title, name) in [
        ("Make a booking", "MakeABooking"),
        ("Early check-in", "EarlyCheckIn"),
        ("Handle complaint", "HandleComplaint"),
        ("Load the account", "LoadTheAccount"),
    ] {
        text = text.replace(title, name);
    }
    let is_argument = text.contains("call ");
    let mut shown = String::new();
    for (at, character) in text.char_indices() {
        let after_name = text[..at].ends_with(char::is_alphanumeric);
        let (rest, dated) = (&text[at + character.len_utf8()..], |date: &str| {
            date.len() >= 10 && date.as_bytes()[4] == b'-' && date.as_bytes()[..4].iter().all(u8::is_ascii_digit)
        });
        match character {
            '=' if is_argument && after_name => shown.push_str(": "),
            '"' if dated(rest) || (text[..at].len() >= 10 && dated(text.get(at - 10..at).unwrap_or(""))) => {}
            character => shown.push(character),
        }
    }
    if shown.contains("any case") { shown.to_lowercase() } else { shown }
}

#[test]
fn phrasings_are_read_as_they_are_meant() {
    let (mut differs, mut counts) = (String::new(), String::new());
    let (mut n_all, mut n_read) = (0, 0);
    for (name, path) in golden::cases("lang/phrasings", &["txt"]) {
        let family = name.trim_end_matches(".txt");
        let text = fs::read_to_string(path).unwrap();
        let all = phrasings(&text);
        let (mut n_here, n_family) = (0, all.len());
        for phrasing in &all {
            let got = read(family, phrasing);
            if plain(&got) == plain(phrasing.meant) {
                n_here += 1;
            } else {
                let shown = phrasing.lines.join("\n    ");
                let _ = writeln!(differs, "{family}: {shown}\n  meant {}\n  read  {got}", phrasing.meant);
            }
        }
        let _ = writeln!(counts, "{family}: {n_here} of {n_family}");
        (n_all, n_read) = (n_all + n_family, n_read + n_here);
    }
    assert!(n_all >= 600, "{n_all} phrasings");
    let report = format!("read as they are meant: {n_read} of {n_all}\n{counts}\n{differs}");
    golden::compare("lang/phrasings/differs.golden", &report);
}

/// docs/language.md shows the grammar; `BLESS=1` writes it there.
#[test]
fn the_guide_shows_the_grammar() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/language.md");
    let guide = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- the grammar of lines -->\n", "<!-- end of the grammar -->");
    let (before, rest) = guide.split_once(begin).expect("the place of the grammar");
    let (shown, after) = rest.split_once(end).expect("the end of the grammar");
    let mut rows: Vec<(&str, Vec<String>)> = Vec::new();
    for wording in wordings() {
        let examples = wording.examples.iter().map(|example| format!("`{example}`"));
        match rows.iter_mut().find(|(means, _)| *means == wording.means) {
            Some((_, known)) => known.extend(examples),
            None => rows.push((wording.means, examples.collect())),
        }
    }
    let mut table = "\n| what it means | lines |\n| --- | --- |\n".to_owned();
    for (means, examples) in rows {
        let _ = writeln!(table, "| {means} | {} |", examples.join(", "));
    }
    table.push('\n');
    if golden::is_blessing() {
        fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
        return;
    }
    assert!(
        shown == table,
        "the grammar and docs/language.md differ; if the grammar is right: BLESS=1 cargo test\n{table}"
    );
}

/// Each example is read by its own row, or by one that means the same.
#[test]
fn the_examples_of_the_grammar_are_read() {
    for wording in wordings() {
        for example in wording.examples {
            let nested = if wording.means.contains("round")
                || wording.means.contains("loop over")
                || wording.means.contains("loop of")
            {
                "\n    - Say \"x\""
            } else {
                ""
            };
            let text = format!("# Desk\n\n## Case\n\n### Steps\n\n- Repeat 3 times\n  - {example}{nested}\n{AROUND}");
            let loaded = load_text(text);
            let playbook = case(&loaded.program);
            let step = &playbook.steps[1];
            let is_told = loaded.diagnostics.iter().any(|diagnostic| diagnostic.code == "nearly-understood");
            assert!(!step.is_free() || is_told, "`{example}` of `{}` is free text", wording.pattern);
        }
    }
}

/// A line as somebody writes it in a hurry: a letter too few or too many, two that changed places, a sign that is gone.
fn hurried(line: &str, random: &mut Rng) -> String {
    let letters: Vec<char> = line.chars().collect();
    let at = random.usize(0..letters.len());
    let mut changed = letters.clone();
    match random.u8(0..4) {
        0 => {
            changed.remove(at);
        }
        1 => changed.insert(at, letters[at]),
        2 if at + 1 < letters.len() => changed.swap(at, at + 1),
        _ => {
            let signs: Vec<usize> = (0..letters.len()).filter(|&n| "$\"()[],".contains(letters[n])).collect();
            let Some(&sign) = signs.get(random.usize(0..signs.len().max(1))) else { return line.to_owned() };
            changed.remove(sign);
        }
    }
    changed.into_iter().collect()
}

/// What `check` proposes for a line is read, and means what the line did: nothing is turned round, no number and no
/// callee is another one.
#[test]
fn what_is_proposed_is_read_and_means_the_same() {
    const N_LINES: usize = 10_000;
    let load_line = |lines: &[&str]| {
        let lines: String = lines.iter().map(|line| format!("    - {line}\n      - Say \"x\"\n")).collect();
        load_text(format!(
            "# Desk\n\n## Case($x, $refund)\n\n### Steps\n\n- Repeat 3 times\n  - If $x is 2\n{lines}{AROUND}"
        ))
    };
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    };
    let mut random = Rng::with_seed(20);
    let files = golden::cases("lang/phrasings", &["txt"]).into_iter();
    let texts: Vec<String> = files.map(|(_, path)| fs::read_to_string(path).unwrap()).collect();
    let lines: Vec<&str> =
        texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.strip_prefix("> ")).collect();
    let (mut n_proposed, mut wrong) = (0, Vec::new());
    for n in 0..N_LINES {
        let line = lines[n % lines.len()];
        let line = if n < lines.len() { line.to_owned() } else { hurried(line, &mut random) };
        let loaded = load_line(&[&line]);
        for diagnostic in loaded.diagnostics.iter().filter(|diagnostic| diagnostic.code == "nearly-understood") {
            let note = diagnostic.notes.first().map(|note| note.message.clone()).unwrap_or_default();
            let Some((_, wording)) = note.split_once("a line that is understood: `") else { continue };
            let wording = wording.trim_end_matches('`');
            let proposed: Vec<&str> = wording.split("` and below it `").collect();
            n_proposed += 1;
            let again = load_line(&proposed);
            let steps = &case(&again.program).steps[2..];
            if steps.iter().all(|step| step.is_free() || &*step.text == "Say \"x\"") {
                wrong.push(format!("{line:?}: {wording:?} is not read"));
            }
            let (before, after) = (words(&line), words(&proposed.join(" ")));
            // An example of the grammar is no other form of the line.
            if before.iter().filter(|word| after.contains(word)).count() * 3 < before.len() * 2 {
                continue;
            }
            let is_kept = |word: &&String| {
                word.chars().all(|c| c.is_ascii_digit())
                    || ["not", "no", "never", "unless"].contains(&word.as_str())
                    || TOOLS.iter().any(|(name, _)| name.to_lowercase() == **word)
            };
            if let Some(lost) = before.iter().filter(is_kept).find(|word| !after.contains(word)) {
                wrong.push(format!("{line:?}: {wording:?} has no `{lost}`"));
            }
        }
    }
    assert!(n_proposed > 1_000, "{n_proposed} proposals");
    assert!(wrong.is_empty(), "{} of {n_proposed}:\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}
