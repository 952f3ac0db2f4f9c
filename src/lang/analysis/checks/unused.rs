//! Finds the playbooks that nobody calls or triggers. A name that merely stands somewhere counts as a use: the
//! model reads it there.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::Diagnostic;
use crate::english::words::{bare_words, split_camel_case};
use crate::expr::scan_name;
use crate::program::{AgentKind, Entry, Mode, OnLimit, Playbook, Program};

/// How often a name is compared with a text before the search is given up.
const MAX_COMPARED: usize = 1_000_000;

/// Adds a warning for each playbook without a use.
pub(crate) fn check_unused(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    let mut used: Vec<bool> = program.playbooks.iter().map(|playbook| is_used_by_itself(program, playbook)).collect();
    for playbook in &program.playbooks {
        for callee in playbook.steps.iter().filter_map(|step| step.call()?.playbook) {
            used[callee.0 as usize] |= callee != playbook.id;
        }
        if let OnLimit::Call(name) = &playbook.limits.on_limit
            && let Some(callee) = program.find_playbook(playbook.agent, name)
        {
            used[callee.0 as usize] = true;
        }
    }
    if used.contains(&false) {
        mark_mentioned(program, &mut used);
    }
    if used.contains(&false) {
        mark_in_plain_words(program, &mut used);
    }
    // In goal mode the model chooses among all playbooks of the agent.
    let mut has_goal = vec![false; program.agents.len()];
    for playbook in program.playbooks.iter().filter(|playbook| playbook.mode == Mode::Goal) {
        has_goal[playbook.agent.0 as usize] |= used[playbook.id.0 as usize];
    }
    for agent in &program.agents {
        if has_goal[agent.id.0 as usize] {
            agent.playbooks.iter().for_each(|id| used[id.0 as usize] = true);
        }
    }
    for playbook in program.playbooks.iter().filter(|playbook| !used[playbook.id.0 as usize]) {
        let message = format!("nothing calls or triggers `{}`", playbook.name);
        let warning = Diagnostic::warning("never-called", playbook.title_span, message);
        diagnostics.push(warning.with_note("call it, give it a trigger, or write `public: true` under its heading"));
    }
}

fn is_used_by_itself(program: &Program, playbook: &Playbook) -> bool {
    let is_entry = match &program.entry {
        Entry::Beginning(ids) => ids.contains(&playbook.id),
        Entry::Single(id) | Entry::Root(id) => *id == playbook.id,
        Entry::Plan(_) | Entry::None => false,
    };
    is_entry
        || playbook.public
        || !playbook.triggers.is_empty()
        || program.agent(playbook.agent).kind != AgentKind::Playbooks
}

/// Marks those whose name stands anywhere outside of themselves: in a line, a text, a Python fence.
fn mark_mentioned(program: &Program, used: &mut [bool]) {
    let mut wanted: HashMap<&str, Vec<&Playbook>> = HashMap::new();
    for playbook in program.playbooks.iter().filter(|playbook| !used[playbook.id.0 as usize]) {
        wanted.entry(&playbook.name).or_default().push(playbook);
    }
    for (file, source) in program.sources.iter() {
        let mut at = 0;
        while at < source.text.len() {
            let length = scan_name(&source.text[at..]);
            if length == 0 {
                at += source.text[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            for playbook in wanted.get(&source.text[at..at + length]).into_iter().flatten() {
                if playbook.span.file != file || !playbook.span.contains(at) {
                    used[playbook.id.0 as usize] = true;
                }
            }
            at += length;
        }
    }
}

/// Marks those whose name's words all stand in one line or text of their agent: `Get the user's order` may well
/// mean `GetOrder`. When there is too much to compare, all are marked: a lint is not worth the time.
fn mark_in_plain_words(program: &Program, used: &mut [bool]) {
    let mut by_first_word: HashMap<String, Vec<(Vec<String>, &Playbook)>> = HashMap::new();
    for playbook in program.playbooks.iter().filter(|playbook| !used[playbook.id.0 as usize]) {
        let words = words_of(&playbook.name);
        if let Some(first) = words.first() {
            by_first_word.entry(first.clone()).or_default().push((words, playbook));
        }
    }
    let mut n_compared = 0_usize;
    for playbook in &program.playbooks {
        let texts = playbook.steps.iter().map(|step| &step.text);
        for text in texts.chain([&playbook.description, &playbook.notes]) {
            let words: HashSet<String> = words_of(text).into_iter().collect();
            for (name, found) in words.iter().filter_map(|word| by_first_word.get(word)).flatten() {
                n_compared += 1;
                if n_compared > MAX_COMPARED {
                    used.fill(true);
                    return;
                }
                if found.id != playbook.id && found.agent == playbook.agent {
                    used[found.id.0 as usize] |= name.iter().all(|word| words.contains(word));
                }
            }
        }
    }
}

fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in bare_words(text) {
        split_camel_case(part, &mut words);
    }
    words.retain(|word| !matches!(word.as_str(), "the" | "a" | "an"));
    words
}
