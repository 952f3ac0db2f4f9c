//! Lines that ask somebody who takes no part in the conversation: of `Ask my boss for approval` the user is asked, and the
//! user's yes counts as the boss's.

use crate::diagnostic::Diagnostic;
use crate::english::grammar::people::{SomebodyElse, asked_of_somebody_else, is_partner};
use crate::english::items::strip_always;
use crate::english::lines::strip_lead;
use crate::english::phrase::{Phrase, without_emphasis};
use crate::english::triggers::conditions::strip_when;
use crate::english::words::bare_words;
use crate::program::{Agent, Mode, Program, StepKind, Trigger};

/// Adds a warning for each.
pub(super) fn check_asked(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    for agent in &program.agents {
        let playbooks = || agent.playbooks.iter().map(|id| program.playbook(*id));
        for playbook in playbooks().filter(|playbook| playbook.mode == Mode::Steps && playbook.skill.is_none()) {
            for step in playbook.steps.iter().filter(|step| matches!(step.kind, StepKind::Ask { .. } | StepKind::Free))
            {
                let plain = without_emphasis(program.sources.text(step.span));
                let line = question(Phrase::at(&plain, step.span));
                let asked = asked_of_somebody_else(line).filter(|asked| !takes_part(program, agent, asked));
                diagnostics.extend(asked.map(|asked| asks_somebody_else(&asked)));
            }
        }
    }
}

/// A line without what stands before its question.
fn question(line: Phrase<'_>) -> Phrase<'_> {
    let line = line.plain();
    let line = strip_always(line).unwrap_or(line);
    let line = strip_lead(line).unwrap_or(line);
    match line.text.split_once('=') {
        Some((target, _)) if line.text.starts_with('$') => line.from(target.len() + 1).trim(),
        _ => line,
    }
}

/// Whether they take part: they are another agent, or the program shows that its author calls the user so. The agent's description names them and no other partner, a
/// trigger waits for them, or a line greets them.
fn takes_part(program: &Program, agent: &Agent, asked: &SomebodyElse<'_>) -> bool {
    let is_asked = |word: &&str| word.eq_ignore_ascii_case(asked.noun);
    // Another agent takes part, too.
    if program.agents.iter().any(|agent| is_asked(&&*agent.name)) {
        return true;
    }
    let described = bare_words(&agent.description);
    if described.iter().any(is_asked) && !described.iter().any(|word| is_partner(word) && !is_asked(word)) {
        return true;
    }
    let begins =
        |words: Phrase<'_>| words.strip("the").unwrap_or(words).first_word().is_some_and(|word| is_asked(&word));
    let waits = |trigger: &Trigger| strip_when(Phrase::at(&trigger.text, trigger.span)).is_some_and(begins);
    agent.playbooks.iter().map(|id| program.playbook(*id)).any(|playbook| {
        let greets =
            |text: &str, span| Phrase::at(text, span).strip_any(&["greet", "welcome", "thank"]).is_some_and(begins);
        playbook.triggers.iter().any(waits) || playbook.steps.iter().any(|step| greets(&step.text, step.span))
    })
}

fn asks_somebody_else(asked: &SomebodyElse<'_>) -> Diagnostic {
    let message =
        format!("`{}` does not take part in the conversation, so this question goes to the user", asked.words.text);
    let warning = Diagnostic::warning("asks-somebody-else", asked.words.span(), message);
    warning.with_note(
        "to let somebody else decide, call a tool that needs their approval (`approval: ask`, docs/tools.md); to learn \
         something from them, call a tool or another agent",
    )
}
