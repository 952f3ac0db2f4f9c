//! The tree of an edited file, where the edit is in one playbook: of the rest it is known what it is.

use std::ops::Range;

use crate::lower::places::{Places, Shift, distance};
use crate::source::ast::{AgentTree, FileTree, PlaybookTree};
use crate::source::parse::{parse, parse_part, read_beginning};

/// The tree of `new`, of which `tree` was the tree when it was `old`: what [`parse`] would give.
///
/// An outermost heading stands at the root of Markdown, whatever is above it: so a text can be read from the heading of the
/// playbook with the edit to the end of the next one, and if that still begins where it did, nothing below it has changed.
/// If it doesn't (an open fence, another heading), all is read.
pub(crate) fn reparse(mut tree: FileTree, old: &str, new: &str) -> FileTree {
    if old == new {
        return tree;
    }
    let edit = Edit::between(old, new);
    let Some((place, playbook)) = edited_playbook(&tree, old, new, &edit) else { return parse(tree.file, new) };
    tree.shift(&Shift { file: tree.file, part: edit.old.end..usize::MAX, by: edit.by });
    let owner = match place.agent {
        Some(agent) => &mut tree.agents[agent],
        None => &mut tree.preamble,
    };
    owner.playbooks[place.index] = playbook;
    tree
}

/// What two texts differ in.
struct Edit {
    /// The part that is other than it was.
    old: Range<usize>,
    /// How much longer the text is now, in bytes.
    by: isize,
}

impl Edit {
    /// The smallest part. It may begin and end inside of a character.
    fn between(old: &str, new: &str) -> Edit {
        let (before, after) = (old.as_bytes(), new.as_bytes());
        let start = n_equal(before, after, |text, n| &text[..n], |text, n| &text[n..]);
        let (before, after) = (&before[start..], &after[start..]);
        let n_behind = n_equal(before, after, |text, n| &text[text.len() - n..], |text, n| &text[..text.len() - n]);
        let end = old.len() - n_behind;
        Edit { old: start..end, by: distance(old.len(), new.len()) }
    }
}

/// How many bytes are the same at one end of two texts: by blocks first, which the processor compares many bytes at a time.
fn n_equal<'a>(
    mut left: &'a [u8],
    mut right: &'a [u8],
    take: impl Fn(&'a [u8], usize) -> &'a [u8],
    rest: impl Fn(&'a [u8], usize) -> &'a [u8],
) -> usize {
    let mut n_equal = 0;
    for length in [4096, 64, 1] {
        while left.len() >= length && right.len() >= length && take(left, length) == take(right, length) {
            (left, right) = (rest(left, length), rest(right, length));
            n_equal += length;
        }
    }
    n_equal
}

/// Which playbook of a file.
#[derive(Clone, Copy)]
struct Place {
    /// Its agent; none: it stands in the preamble.
    agent: Option<usize>,
    index: usize,
}

/// The playbook that holds the whole edit, below its heading, and its tree as it is now; none: more may be other.
fn edited_playbook(tree: &FileTree, old: &str, new: &str, edit: &Edit) -> Option<(Place, PlaybookTree)> {
    if read_beginning(tree.file, new) != read_beginning(tree.file, old) {
        return None;
    }
    let all = agents(tree).flat_map(|(agent, tree)| {
        tree.playbooks.iter().enumerate().map(move |(index, playbook)| (Place { agent, index }, playbook))
    });
    let (place, playbook) = all.clone().find(|(_, playbook)| {
        let heading = playbook.heading.title.range().end;
        let between = old.as_bytes().get(heading..edit.old.start);
        between.is_some_and(|between| between.contains(&b'\n')) && edit.old.end <= playbook.span.range().end
    })?;
    let (start, end) = (playbook.span.range().start, playbook.span.range().end);
    let moved = |offset: usize| offset.saturating_add_signed(edit.by);
    // Where what stands after the next playbook or agent begins.
    let headings = agents(tree).filter_map(|(_, agent)| Some(agent.heading?.marks.range().start));
    let starts = headings.chain(all.map(|(_, playbook)| playbook.span.range().start));
    let behind = starts.filter(|start| *start > end).min().unwrap_or(old.len());
    let read = parse_part(tree.file, new, start..moved(behind));
    let [first, rest @ ..] = &read.preamble.playbooks[..] else { return None };
    let is_whole = first.span.range() == (start..moved(end));
    let n_below = rest.len() + read.agents.len();
    (is_whole && n_below == usize::from(end < old.len())).then(|| (place, first.clone()))
}

/// The agents of a file, each with its number, the preamble among them.
fn agents(tree: &FileTree) -> impl Iterator<Item = (Option<usize>, &AgentTree)> + Clone {
    let agents = tree.agents.iter().enumerate().map(|(index, agent)| (Some(index), agent));
    std::iter::once((None, &tree.preamble)).chain(agents)
}
