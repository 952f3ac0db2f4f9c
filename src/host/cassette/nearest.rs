//! A request that is not recorded beside the one that is most like it: in which block they differ, and how.

use std::cmp::Reverse;

use playhouse_lang::value::Map;
use playhouse_vm::protocol::Role;

use crate::cassette::entry::{Call, Request};
use crate::cassette::key::{Asked, Block, Digest, Message, heading};
use crate::text::{cut, difference};

/// So many differing lines are shown.
const SHOWN_LINES: usize = 12;

/// So many characters are shown of each.
const SHOWN_CHARACTERS: usize = 200;

/// Lists up to this length are compared line by line.
const MAX_LINES: usize = 2_000;

/// What differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// What people call the block; none: what is asked is the same.
    pub(super) block: Option<String>,
    /// `- …` recorded, `+ …` asked.
    pub(super) lines: Vec<String>,
    /// The recorded block that is asked no more.
    pub(super) gone: Option<Digest>,
}

/// The recorded request that is most like this one, which is the run's `number`th, and its own number. `recorded` are
/// requests with their numbers.
pub(super) fn nearest<'r>(
    asked: &Asked,
    at: Option<&str>,
    number: usize,
    recorded: impl Iterator<Item = (usize, &'r Request)>,
) -> Option<(usize, &'r Request)> {
    let alike = recorded.filter(|(_, request)| *request.purpose == *asked.purpose);
    alike.max_by_key(|(its_number, request)| {
        let is_there = request.at.as_deref() == at;
        (similarity(&asked.messages, &request.messages), is_there, Reverse(its_number.abs_diff(number)))
    })
}

/// How many of their blocks two requests share, of 1,000.
fn similarity(asked: &[Message], recorded: &[Message]) -> usize {
    let digests = |messages| flat(messages).into_iter().map(|(_, block)| block.digest()).collect::<Vec<_>>();
    let (asked, mut left) = (digests(asked), digests(recorded));
    let n_all = asked.len() + left.len();
    let mut n_shared = 0;
    for digest in asked {
        if let Some(index) = left.iter().position(|other| *other == digest) {
            left.swap_remove(index);
            n_shared += 1;
        }
    }
    2_000 * n_shared / n_all.max(1)
}

fn flat(messages: &[Message]) -> Vec<(Role, &Block)> {
    messages.iter().flat_map(|message| message.blocks.iter().map(|block| (message.role, block))).collect()
}

/// Where a request begins to be another one than the recorded one.
pub(super) fn compare(asked: &[Message], recorded: &[Message]) -> Difference {
    let (asked, recorded) = (flat(asked), flat(recorded));
    let n_same = asked.iter().zip(&recorded).take_while(|(asked, recorded)| asked == recorded).count();
    let (asked, recorded) = (&asked[n_same..], &recorded[n_same..]);
    let (mut new, mut old) = (asked.first(), recorded.first());
    if let (Some(new_one), Some(old_one)) = (new, old)
        && name(new_one) != name(old_one)
    {
        // One of them stands in the other request, too, only later: what stands before it there is the difference.
        if recorded.contains(new_one) {
            new = None;
        } else if asked.contains(old_one) {
            old = None;
        }
    }
    Difference {
        block: new.or(old).map(name),
        lines: differing(old.map_or("", |(_, block)| block.text()), new.map_or("", |(_, block)| block.text())),
        gone: old.map(|(_, block)| block.digest().clone()),
    }
}

fn name((role, block): &(Role, &Block)) -> String {
    heading(*role, block.text())
}

/// The lines that differ, as far as they are shown.
fn differing(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let n_before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[n_before..], &new[n_before..]);
    let n_after = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - n_after], &new[..new.len() - n_after]);
    let changed = difference(&old[..old.len().min(MAX_LINES)], &new[..new.len().min(MAX_LINES)]);
    let changed: Vec<&str> = changed.lines().filter(|line| !line.starts_with(' ')).collect();
    let mut shown: Vec<String> = changed.iter().take(SHOWN_LINES).map(|line| cut(line, SHOWN_CHARACTERS)).collect();
    if changed.len() > SHOWN_LINES {
        shown.push(format!("… {} more lines differ", changed.len() - SHOWN_LINES));
    }
    shown
}

/// How a call differs from the recorded one of the same tool that is most like it; none: the tool has no other.
pub(super) fn compare_call<'r>(
    name: &str,
    arguments: &Map,
    recorded: impl Iterator<Item = &'r Call>,
) -> Option<Vec<String>> {
    let n_same = |call: &&Call| {
        call.arguments.iter().filter(|(name, value)| arguments.get(&***name).is_some_and(|own| own == *value)).count()
    };
    let alike = recorded.filter(|call| *call.name == *name).max_by_key(n_same)?;
    Some(differing(&argument_lines(&alike.arguments), &argument_lines(arguments)))
}

fn argument_lines(arguments: &Map) -> String {
    arguments.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}
