//! How a program wants its skills to run: the maps in `skills:` of front matter (docs/skills.md, "How a skill is
//! read").

use std::collections::HashMap;
use std::str::FromStr;

use strum::VariantNames;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::diagnostic::wording::meant_or;
use crate::english::outline::Outline;
use crate::lower::load::{Files, SKILLS, names};
use crate::lower::settings::{Setting, Words};
use crate::program::{SkillMode, SkillRun};
use crate::source::skill::Skill;
use crate::span::{FileId, Span};
use crate::value::{Map, Value};

/// The keys of such a map.
const NAME: &str = "name";
const MODE: &str = "mode";
const STRICT: &str = "strict";
const KEYS: [&str; 3] = [NAME, MODE, STRICT];

/// What a program wants of one skill, and where it says so.
#[derive(Clone, Copy, Default)]
struct Wish {
    mode: Option<(SkillMode, Span)>,
    strict: Option<(bool, Span)>,
}

/// What is wanted of the skills in these files, by their texts' files.
pub(super) fn skill_runs(files: &Files, diagnostics: &mut Vec<Diagnostic>) -> HashMap<FileId, SkillRun> {
    let mut wishes: Vec<(FileId, Wish)> = Vec::new();
    for (from, file) in files.files.iter().enumerate() {
        for setting in file.settings.iter().filter(|setting| setting.key == SKILLS && !names(setting).is_empty()) {
            for (name, wish) in named_skills(setting, diagnostics) {
                let place = setting.place_of(name);
                // One that is not there was told.
                let Some(edge) = files.imports.iter().find(|edge| edge.from == from && edge.span == place) else {
                    continue;
                };
                let skill = files.files[edge.to].tree.file;
                match wishes.iter_mut().find(|(known, _)| *known == skill) {
                    Some((_, known)) => {
                        join(name, MODE, &mut known.mode, wish.mode, diagnostics);
                        join(name, STRICT, &mut known.strict, wish.strict, diagnostics);
                    }
                    None => wishes.push((skill, wish)),
                }
            }
        }
    }
    diagnostics.extend(wishes.iter().filter_map(|(file, wish)| without_effect(files, *file, *wish)));
    let run = |wish: Wish| SkillRun {
        mode: wish.mode.map(|(mode, _)| mode),
        strict: wish.strict.is_some_and(|(strict, _)| strict),
    };
    wishes.into_iter().map(|(file, wish)| (file, run(wish))).collect()
}

/// Takes over what another place wants, which may not be another thing.
fn join<T: Copy + PartialEq + std::fmt::Display>(
    name: &str,
    key: &str,
    known: &mut Option<(T, Span)>,
    wanted: Option<(T, Span)>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    match (*known, wanted) {
        (Some((before, first)), Some((now, span))) if before != now => {
            let message = format!("the skill `{name}` already has `{key}: {before}`, and here `{key}: {now}`");
            let error = Diagnostic::error("skill-mode", span, message).with_place(first, "the first one");
            diagnostics.push(error.with_note("remove one of them, or write the same in both"));
        }
        (None, wanted) => *known = wanted,
        _ => {}
    }
}

/// What is wanted of the lines of a text in which nothing is one.
fn without_effect(files: &Files, file: FileId, wish: Wish) -> Option<Diagnostic> {
    let (is_goal, place) = match (wish.mode, wish.strict) {
        (Some((SkillMode::Goal, _)), Some((true, place))) => (true, place),
        (Some((SkillMode::Goal, _)), _) => return None,
        (Some((SkillMode::Steps | SkillMode::Guide, place)), _) | (None, Some((true, place))) => (false, place),
        (None, _) => return None,
    };
    let text = files.text(file);
    let from = Skill::read(file, "", text).body.range().start;
    if !is_goal && !Outline::find(file, text, from).procedures.is_empty() {
        return None;
    }
    let message = "this has no effect: the skill runs as a goal, which has no lines";
    let advice = if is_goal { "remove one of the two" } else { "in its text, number what must be done in order" };
    Some(Diagnostic::warning("skill-mode", place, message).with_note(advice))
}

/// The skills that a setting names, each with what it wants of it.
fn named_skills<'s>(setting: &'s Setting, diagnostics: &mut Vec<Diagnostic>) -> Vec<(&'s str, Wish)> {
    let mut named = Vec::new();
    for (item, words) in setting.items() {
        match item {
            Value::Str(name) => named.push((&**name, Wish::default())),
            Value::Map(members) => named.extend(read_map(members, words, setting.span, diagnostics)),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => {
                let place = words.first().map_or(setting.span, |(_, place)| *place);
                let error = Diagnostic::error("bad-skill", place, "this is not the name of a skill");
                diagnostics.push(error.with_note("write a name, or a map: `{name: pdf-forms, mode: goal}`"));
            }
        }
    }
    named
}

fn read_map<'s>(
    members: &'s Map,
    words: &Words,
    whole: Span,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(&'s str, Wish)> {
    let mut wish = Wish::default();
    let at = |key: &str| words.iter().position(|(word, _)| word == key);
    let place_of = |at: Option<usize>| at.and_then(|at| words.get(at)).map_or(whole, |(_, place)| *place);
    let mut wrong = |place: Span, message: String, note: String| {
        diagnostics.push(Diagnostic::error("bad-skill", place, message).with_note(note));
    };
    for (key, value) in members.iter() {
        // A value stands after its key.
        let (key_place, place) = (place_of(at(key)), place_of(at(key).map(|at| at + 1)));
        match (&**key, value) {
            (NAME, Value::Str(_)) => {}
            (NAME, _) => {
                wrong(place, "the name of a skill must be text".to_owned(), "write `name: pdf-forms`".to_owned())
            }
            (MODE, value) => {
                let written = value.to_text();
                match SkillMode::from_str(&written) {
                    Ok(mode) => wish.mode = Some((mode, place)),
                    Err(_) => {
                        let near = nearest(&written, SkillMode::VARIANTS.iter().copied());
                        let note = meant_or(near, "write `steps`, `guide` or `goal`");
                        wrong(place, format!("`{written}` is not a mode of a skill"), note);
                    }
                }
            }
            (STRICT, Value::Bool(strict)) => wish.strict = Some((*strict, place)),
            (STRICT, value) => {
                let message = format!("`strict` is `true` or `false`, not `{}`", value.to_text());
                wrong(place, message, "write `strict: true` if no line may be skipped".to_owned());
            }
            (key, _) => {
                let note = meant_or(nearest(key, KEYS.into_iter()), "the keys are `name`, `mode` and `strict`");
                wrong(key_place, format!("a skill has no key `{key}` here"), note);
            }
        }
    }
    let name = members.get(NAME).and_then(Value::as_str);
    if !members.contains_key(NAME) {
        let place = words.first().map_or(whole, |(_, place)| *place);
        wrong(place, "nothing says which skill this is about".to_owned(), "write `{name: pdf-forms, …}`".to_owned());
    }
    name.map(|name| (name, wish))
}
