//! Patterns of English: what the rows of a grammar are written in, and how a text is matched with one.
//!
//! `word`, `one|other`, `(some words|other words)`, `[words that may be there]`, and holes: `{target}` is `$x` or
//! `$x:int`, `{value}` an expression, `{condition}` one as in a sentence, `{count}` a number in digits or words, `{call}`
//! is `Name(…)`, `{quoted}` a text in quotes, `{words}` any words, `{rest}` whatever remains. After `!` the text can mean
//! nothing else: where it goes on otherwise it was nearly understood.

use crate::english::words::{Phrase, closing_bracket, scan_path};
use crate::expr::Style;
use crate::expr::lexer::{scan_curly_quotes, scan_string};

/// How many words a hole for words is tried with; a bound for hostile texts only.
const MAX_WORDS: usize = 60;

#[derive(Debug)]
enum Node {
    Word(&'static str),
    Mark(&'static str),
    OneOf(Vec<Vec<Node>>),
    Hole(Hole),
    Sure,
}

/// What stands in a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hole {
    Target,
    Value,
    Condition,
    Count,
    Call,
    Quoted,
    Words,
    Rest,
}

const HOLES: [(&str, Hole); 8] = [
    ("{target}", Hole::Target),
    ("{value}", Hole::Value),
    ("{condition}", Hole::Condition),
    ("{count}", Hole::Count),
    ("{call}", Hole::Call),
    ("{quoted}", Hole::Quoted),
    ("{words}", Hole::Words),
    ("{rest}", Hole::Rest),
];

impl Hole {
    /// What is expected there, for people.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Hole::Target => "a variable such as `$name`",
            Hole::Value => "a value: a number, a text in quotes, `$name`, or a list of them",
            Hole::Condition => "a condition such as `$n is 3`",
            Hole::Count => "a number",
            Hole::Call => "a call such as `Name($x)`",
            Hole::Quoted => "a text in quotes",
            Hole::Words | Hole::Rest => "something else",
        }
    }

    /// What it takes from the beginning of `text`: the shortest first.
    fn take<'a>(self, text: Phrase<'a>, attempt: usize) -> Option<(Phrase<'a>, Phrase<'a>)> {
        let split = |n_bytes: usize| Some((text.until(n_bytes), text.from(n_bytes).trim()));
        match self {
            Hole::Words => {
                let mut ends = text.text.char_indices().filter(|(_, c)| c.is_whitespace() || matches!(c, ',' | ':'));
                let end = ends.nth(attempt).map(|(at, _)| at).filter(|&at| at > 0)?;
                (attempt < MAX_WORDS).then(|| split(end)).flatten()
            }
            _ if attempt > 0 => None,
            Hole::Rest => (!text.trim_end_marks().is_empty()).then(|| (text, text.from(text.text.len()))),
            Hole::Target => {
                let (_, rest) = text.target()?;
                split(text.text.len() - rest.text.len()).map(|(taken, rest)| (taken.trim(), rest))
            }
            Hole::Value => split(text.leading_operand()?.1),
            Hole::Condition => split(text.leading(Style::Sentence)?.1),
            Hole::Count => match text.leading_number() {
                Some((word, _)) => split(word.len()),
                None => split(text.leading_operand()?.1),
            },
            Hole::Call => {
                let length = scan_path(text.text);
                let inside = text.from(length).strip_bracket().filter(|_| length > 0)?;
                split(length + 1 + closing_bracket(inside.text)? + 1)
            }
            Hole::Quoted => {
                let plain = || text.text.starts_with(['"', '\'']).then(|| scan_string(text.text)).flatten();
                let length =
                    plain().map(|found| found.1).or_else(|| scan_curly_quotes(text.text).map(|found| found.1))?;
                split(length)
            }
        }
    }
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

struct State<'a> {
    holes: Vec<Phrase<'a>>,
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
    /// Reads a pattern of the grammar, which is known to be well formed (a test reads them all).
    pub(crate) fn new(text: &'static str) -> Pattern {
        let mut rest = text;
        let nodes: Vec<Node> = read_nodes(&mut rest).into_iter().flatten().collect();
        let surely = nodes.iter().take_while(|node| !matches!(node, Node::Sure));
        let needs = surely.map(needed).filter(|group| !group.is_empty()).collect();
        Pattern { nodes, needs }
    }

    /// Whether the words and marks that it needs stand in `text`, whose words are given. It is asked before the text is
    /// matched because it costs less.
    pub(crate) fn may_match(&self, text: &str, words: &[&str]) -> bool {
        let has_word = |needed: &str| words.iter().any(|word| word.eq_ignore_ascii_case(needed));
        let has = |needed: &&str| {
            if needed.starts_with(char::is_alphabetic) { has_word(needed) } else { text.contains(needed) }
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
        let mut state = State { holes: Vec::new(), sure: false, stuck: None };
        if run(&Rest { nodes: &self.nodes, then: None }, text.trim(), &mut state) {
            return Matched::Whole(state.holes);
        }
        state.stuck.map_or(Matched::Not, |(hole, place)| Matched::Nearly(hole, place))
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
            None => text.trim_end_marks().is_empty(),
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
                run(&Rest { nodes: choice, then: Some(&next) }, text, state)
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

/// Choices up to the end or a closing bracket.
fn read_nodes(rest: &mut &'static str) -> Vec<Vec<Node>> {
    let mut choices = vec![Vec::new()];
    loop {
        *rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return choices };
        let nodes = choices.len() - 1;
        match first {
            '[' | '(' => {
                *rest = &rest[1..];
                let mut inner = read_nodes(rest);
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
                choices[nodes].push(match HOLES.iter().find(|(name, _)| *name == word) {
                    Some((_, hole)) => Node::Hole(*hole),
                    None if word == "!" => Node::Sure,
                    None if word.starts_with(char::is_alphabetic) => Node::Word(word),
                    None => Node::Mark(word),
                });
            }
        }
    }
}
