//! Patterns of English: what the rows of a grammar are written in, and how a text is matched with one.
//!
//! `word`, `one|other`, `(some words|other words)`, `[words that may be there]`, and holes: `{target}` is `$x` or
//! `$x:int`, `{value}` an expression, `{condition}` one as in a sentence, `{count}` a number in digits or words, `{call}`
//! is `Name(…)`, `{quoted}` a text in quotes, `{percent}` is `10%`, `{words}` any words, `{rest}` whatever remains. Triggers have some of their own (see [`Hole`]). After `!` the text can mean
//! nothing else: where it goes on otherwise it was nearly understood. Any other name in braces is one of the groups that
//! a table has, patterns of which others are made.

use crate::english::grammar::holes::Hole;
use crate::english::phrase::Phrase;

#[derive(Debug)]
enum Node {
    Word(&'static str),
    Mark(&'static str),
    OneOf(Vec<Vec<Node>>),
    Hole(Hole),
    Sure,
}

/// A pattern, ready to be matched.
#[derive(Debug)]
pub(crate) struct Pattern {
    nodes: Vec<Node>,
    /// Words and marks of which one of each group stands in every text of this pattern, or in one that it nearly is.
    needs: Vec<Vec<&'static str>>,
}

/// How a text goes with a pattern.
#[derive(Debug)]
pub(crate) enum Matched<'a> {
    /// It is one: what stands in its holes.
    Whole(Vec<Phrase<'a>>),
    /// It begins so that it can mean nothing else; what was expected, and what stands there.
    Nearly(Hole, Phrase<'a>),
    /// It is none.
    Not,
}

struct Rest<'p> {
    nodes: &'p [Node],
    then: Option<&'p Rest<'p>>,
}

#[derive(Default)]
struct State<'a> {
    holes: Vec<Phrase<'a>>,
    /// Whether anything may follow the pattern; where that begins.
    is_prefix: bool,
    behind: Option<Phrase<'a>>,
    sure: bool,
    stuck: Option<(Hole, Phrase<'a>)>,
}

impl<'a> State<'a> {
    /// The text goes on otherwise here than it should.
    fn note(&mut self, expected: Hole, place: Phrase<'a>) {
        if self.sure && self.stuck.is_none_or(|(_, known)| known.start() < place.start()) {
            self.stuck = Some((expected, place));
        }
    }
}

impl Pattern {
    /// Reads a pattern of a table, which is known to be well formed (a test reads them all).
    pub(crate) fn new(text: &'static str, groups: Groups) -> Pattern {
        let nodes = match read_nodes(&mut { text }, groups) {
            mut choices if choices.len() == 1 => choices.remove(0),
            choices => vec![Node::OneOf(choices)],
        };
        let surely = nodes.iter().take_while(|node| !matches!(node, Node::Sure));
        let needs = surely.map(needed).filter(|group| !group.is_empty()).collect();
        Pattern { nodes, needs }
    }

    /// Whether the words and marks that it needs stand in `text`, whose words are given. It is asked before the text is
    /// matched because it costs less.
    pub(crate) fn may_match(&self, text: &str, words: &[&str]) -> bool {
        let has_word = |needed: &str| words.iter().any(|word| word.eq_ignore_ascii_case(needed));
        let has = |needed: &&str| {
            if needed.as_bytes()[0].is_ascii_alphabetic() { has_word(needed) } else { text.contains(needed) }
        };
        self.needs.iter().all(|group| group.iter().any(has))
    }

    /// The words that a text of this pattern begins with; none: it begins with a hole.
    pub(crate) fn first_words(&self) -> Vec<&'static str> {
        let mut words = Vec::new();
        first_words(&self.nodes, &mut words);
        words
    }

    /// Matches the whole of `text`, but for the marks at its end.
    pub(crate) fn matches<'a>(&self, text: Phrase<'a>) -> Matched<'a> {
        let mut state = State::default();
        if run(&Rest { nodes: &self.nodes, then: None }, text.trim(), &mut state) {
            return Matched::Whole(state.holes);
        }
        state.stuck.map_or(Matched::Not, |(hole, place)| Matched::Nearly(hole, place))
    }

    /// What follows it, if `text` begins so.
    pub(crate) fn strip<'a>(&self, text: Phrase<'a>) -> Option<Phrase<'a>> {
        let mut state = State { is_prefix: true, ..State::default() };
        run(&Rest { nodes: &self.nodes, then: None }, text, &mut state).then_some(state.behind)?
    }
}

/// The words and marks of which one stands wherever `node` is matched; none: it can be matched without.
fn needed(node: &Node) -> Vec<&'static str> {
    match node {
        Node::Hole(_) | Node::Sure => Vec::new(),
        // `that's` is two words of a text.
        Node::Word(word) if !word.chars().all(char::is_alphanumeric) => Vec::new(),
        Node::Word(word) | Node::Mark(word) => vec![word],
        Node::OneOf(choices) => {
            let each: Vec<_> =
                choices.iter().map(|nodes| nodes.iter().map(needed).find(|group| !group.is_empty())).collect();
            each.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default().concat()
        }
    }
}

/// Whether the pattern can begin with something else than the words that were added.
fn first_words(nodes: &[Node], words: &mut Vec<&'static str>) -> bool {
    for node in nodes {
        match node {
            Node::Sure => {}
            Node::Word(word) => {
                words.push(word);
                return false;
            }
            Node::Mark(_) | Node::Hole(_) => return false,
            Node::OneOf(choices) => {
                let open = choices.iter().map(|choice| first_words(choice, words)).collect::<Vec<_>>();
                if !open.contains(&true) {
                    return false;
                }
            }
        }
    }
    true
}

fn run<'a>(rest: &Rest<'_>, text: Phrase<'a>, state: &mut State<'a>) -> bool {
    let Some((node, nodes)) = rest.nodes.split_first() else {
        return match rest.then {
            Some(then) => run(then, text, state),
            None => {
                state.behind = Some(text);
                state.is_prefix || text.trim_end_marks().is_empty()
            }
        };
    };
    let next = Rest { nodes, then: rest.then };
    match node {
        Node::Sure => {
            state.sure = true;
            run(&next, text, state)
        }
        Node::Word(word) => match text.strip(word) {
            Some(after) => run(&next, after, state),
            None => {
                state.note(Hole::Rest, text);
                false
            }
        },
        Node::Mark(mark) => text.text.starts_with(mark) && run(&next, text.from(mark.len()).trim(), state),
        Node::OneOf(choices) => {
            let (sure, n_holes) = (state.sure, state.holes.len());
            choices.iter().any(|choice| {
                state.sure = sure;
                state.holes.truncate(n_holes);
                // Of many choices most begin otherwise.
                let may_be = |word: &str| sure || text.may_begin_with(word);
                let may_begin = if let Some(Node::Word(word)) = choice.first() { may_be(word) } else { true };
                may_begin && run(&Rest { nodes: choice, then: Some(&next) }, text, state)
            })
        }
        Node::Hole(hole) => {
            let n_holes = state.holes.len();
            for attempt in 0.. {
                let Some((taken, after)) = hole.take(text, attempt) else { break };
                state.holes.truncate(n_holes);
                state.holes.push(taken);
                if run(&next, after, state) {
                    return true;
                }
            }
            state.holes.truncate(n_holes);
            if !matches!(hole, Hole::Words | Hole::Rest) {
                state.note(*hole, text);
            }
            false
        }
    }
}

/// Patterns that others use, each with its name.
pub(crate) type Groups = &'static [(&'static str, &'static str)];

/// Choices up to the end or a closing bracket.
fn read_nodes(rest: &mut &'static str, groups: Groups) -> Vec<Vec<Node>> {
    let mut choices = vec![Vec::new()];
    loop {
        *rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return choices };
        let nodes = choices.len() - 1;
        match first {
            '[' | '(' => {
                *rest = &rest[1..];
                let mut inner = read_nodes(rest, groups);
                if first == '[' {
                    inner.push(Vec::new());
                }
                choices[nodes].push(Node::OneOf(inner));
            }
            ']' | ')' => {
                *rest = &rest[1..];
                return choices;
            }
            '|' => {
                *rest = &rest[1..];
                choices.push(Vec::new());
            }
            _ => {
                let end = rest.find([' ', ']', ')', '|', '[', '(']).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                *rest = after;
                choices[nodes].push(read_node(word, groups));
            }
        }
    }
}

fn read_node(word: &'static str, groups: Groups) -> Node {
    let name = word.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
    if let Some(Ok(hole)) = name.map(str::parse) {
        return Node::Hole(hole);
    }
    if let Some((_, pattern)) = name.and_then(|name| groups.iter().find(|(known, _)| *known == name)) {
        return Node::OneOf(read_nodes(&mut { *pattern }, groups));
    }
    match word {
        "!" => Node::Sure,
        _ if word.starts_with(char::is_alphabetic) => Node::Word(word),
        _ => Node::Mark(word),
    }
}
