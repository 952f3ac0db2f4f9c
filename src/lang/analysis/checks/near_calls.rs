//! Lines that begin with the name of a playbook and say more, so that they are no calls: `Check the identity of the customer`
//! beside `## Check the identity`. A line that says only the beginning of a name is none, either.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::english::calls::strip_verb;
use crate::english::items::strip_always;
use crate::english::lines::strip_lead;
use crate::english::phrase::{Phrase, without_emphasis};
use crate::english::words::{plain_words, split_camel_case};
use crate::expr::{is_one_of, scan_name};
use crate::program::{Mode, Playbook, Program, Returned, Step, StepKind};

/// A name of one word (`Greet`) stands at the beginning of many lines that mean no call.
const MIN_WORDS: usize = 2;

/// Words that say which one or whose: `Load their account` begins with the name of `LoadAccount`.
const DETERMINERS: &str = "the a an this that these those my your his her its our their";

/// Adds a warning for each.
pub(super) fn check_near_calls(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    for agent in &program.agents {
        let playbooks = || agent.playbooks.iter().map(|id| program.playbook(*id));
        let names = Names::new(playbooks().filter(|playbook| !playbook.implicit));
        for playbook in playbooks().filter(|playbook| playbook.mode == Mode::Steps && playbook.skill.is_none()) {
            for step in playbook.steps.iter().filter(|step| is_in_words(step)) {
                let plain = without_emphasis(program.sources.text(step.span));
                let words = whole_action(Phrase::at(&plain, step.span), &step.kind);
                let named = words.and_then(|words| Some((words, names.near(words)?)));
                // Who describes what a playbook does may well say its name.
                let other = named.filter(|(_, callee)| callee.id != playbook.id);
                diagnostics.extend(other.map(|(words, callee)| near_call(words, callee)));
            }
        }
    }
}

/// Whether a model does the line, and calls nothing that it names.
fn is_in_words(step: &Step) -> bool {
    let asks = |kind: &StepKind| matches!(kind, StepKind::Ask { targets } if targets.is_empty());
    let is_in_words = matches!(
        step.kind,
        StepKind::Free
            | StepKind::Say { literal: None }
            | StepKind::Assign { value: None, .. }
            | StepKind::Return(Returned::Words)
    );
    (is_in_words || asks(&step.kind)) && !step.explicit && step.due_call.is_none()
}

/// What a line does, without what stands before that.
fn whole_action<'a>(line: Phrase<'a>, kind: &StepKind) -> Option<Phrase<'a>> {
    let line = line.plain();
    let line = strip_always(line).unwrap_or(line);
    let line = if let StepKind::Assign { .. } = kind {
        line.from(line.text.find('=')? + 1).trim()
    } else if let StepKind::Return(_) = kind {
        line.strip("return")?
    } else {
        strip_lead(line).unwrap_or(line)
    };
    Some(strip_verb(line).unwrap_or(line).trim_end_marks())
}

/// The names of an agent's playbooks, by all the words that they begin with.
struct Names<'a> {
    /// None: several begin so.
    by_beginning: HashMap<Vec<String>, Option<&'a Playbook>>,
    whole: HashMap<Vec<String>, &'a Playbook>,
}

impl<'a> Names<'a> {
    fn new(playbooks: impl Iterator<Item = &'a Playbook>) -> Names<'a> {
        let mut names = Names { by_beginning: HashMap::new(), whole: HashMap::new() };
        for playbook in playbooks {
            let Some(words) = plain_words(&playbook.name).filter(|words| words.len() >= MIN_WORDS) else { continue };
            for n_words in MIN_WORDS..words.len() {
                let beginning = names.by_beginning.entry(words[..n_words].to_vec());
                beginning.and_modify(|known| *known = None).or_insert(Some(playbook));
            }
            names.whole.insert(words, playbook);
        }
        names
    }

    /// The playbook whose name `line` begins with, or that begins with all words of `line`.
    fn near(&self, line: Phrase<'_>) -> Option<&'a Playbook> {
        if self.whole.is_empty() {
            return None;
        }
        let (words, is_all) = first_words(line.text);
        let lengths = (MIN_WORDS..=words.len()).rev();
        let longest = lengths.into_iter().find_map(|n_words| self.whole.get(&words[..n_words]).copied());
        longest.or_else(|| self.by_beginning.get(&words).copied().flatten().filter(|_| is_all))
    }
}

/// The words of a text up to the first mark, without determiners and possessors, and whether these are all.
fn first_words(text: &str) -> (Vec<String>, bool) {
    const MAX_WORDS: usize = 24;
    let (mut words, mut rest) = (Vec::new(), text);
    while words.len() < MAX_WORDS {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '‑'));
        let (word, after) = rest.split_at(scan_name(rest));
        if word.is_empty() {
            break;
        }
        let possessive = ["'s", "’s"].iter().find_map(|ending| after.strip_prefix(ending));
        rest = possessive.unwrap_or(after);
        if possessive.is_none() && !is_one_of(DETERMINERS, word) {
            split_camel_case(word, &mut words);
        }
    }
    (words, rest.is_empty())
}

fn near_call(words: Phrase<'_>, callee: &Playbook) -> Diagnostic {
    let title =
        callee.title.split(['(', ':']).next().and_then(|title| title.split("->").next()).unwrap_or_default().trim();
    let message =
        format!("this line does not call `{title}`: a call is the name alone, so the model does what this line says");
    let warning = Diagnostic::warning("near-call", words.span(), message).with_place(callee.title_span, "the playbook");
    let needed: Vec<String> = callee.parameters.iter().map(|parameter| format!("${}", parameter.name)).collect();
    // What is named beside the name may be meant as an argument.
    if needed.is_empty() && !words.text.contains(['$', '\n']) {
        return warning.with_fix(format!("to call it, write `{title}`"), words.span(), title);
    }
    warning.with_note(format!("to call it, write `{}({})`", callee.name, needed.join(", ")))
}
