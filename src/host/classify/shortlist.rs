//! Which skills a classifier is asked about, where there are more than it can be shown (spec `skills.md`, "Triggers").

use std::borrow::Cow;
use std::collections::HashSet;

use playhouse_lang::program::TriggerId;
use playhouse_vm::protocol::Question;

/// So many are shown where not all are.
const SHOWN: usize = 32;

/// The question with all its candidates, if the descriptions of the skills among them have no more than `budget` characters;
/// else with those that fit the user's words best by their own.
pub(super) fn shortened(question: &Question, budget: usize) -> Cow<'_, Question> {
    let skills: Vec<_> = question.candidates.iter().filter(|candidate| candidate.is_skill).collect();
    let n_characters: usize = skills.iter().map(|candidate| candidate.text.chars().count()).sum();
    if n_characters <= budget {
        return Cow::Borrowed(question);
    }
    let texts: Vec<String> = skills.iter().map(|skill| format!("{} {}", skill.name, skill.text)).collect();
    let best = best_of(question.user.as_deref().unwrap_or_default(), &texts);
    // Those that share no word with the user's are shown in program order as far as there is room.
    let in_order = best.into_iter().chain(0..skills.len());
    let mut shown: HashSet<TriggerId> = HashSet::new();
    for index in in_order {
        if shown.len() < SHOWN {
            shown.insert(skills[index].trigger);
        }
    }
    let is_shown = |trigger: TriggerId, is_skill: bool| !is_skill || shown.contains(&trigger);
    let kept = question.candidates.iter().filter(|candidate| is_shown(candidate.trigger, candidate.is_skill));
    Cow::Owned(Question { candidates: kept.cloned().collect(), ..question.clone() })
}

/// The texts that share words with a question, by their places, the best first.
#[cfg(feature = "sqlite")]
fn best_of(question: &str, texts: &[String]) -> Vec<usize> {
    crate::documents::search::best_of(question, texts, SHOWN).unwrap_or_else(|cause| {
        tracing::warn!("the descriptions of skills cannot be compared with what was said: {cause}");
        Vec::new()
    })
}

/// Without an index nothing is compared.
#[cfg(not(feature = "sqlite"))]
fn best_of(_: &str, _: &[String]) -> Vec<usize> {
    Vec::new()
}
