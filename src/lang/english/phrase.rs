//! A piece of a line with its place, and the small questions that reading English asks of it.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::expr::{
    ACTION_VERBS, Arguments, Expr, ExprError, Style, continues_name, is_one_of, name_length, number_word, parse,
    parse_arguments, parse_as, parse_operand, parse_prefix, scan_name, scan_variable,
};
use crate::program::{Target, Type, TypeKind};
use crate::signature::read_type;
use crate::span::{FileId, Span};

/// A piece of a file's text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phrase<'a> {
    /// The text itself.
    pub(crate) text: &'a str,
    file: FileId,
    offset: usize,
    too_deep: Option<&'a Cell<Option<Span>>>,
}

impl<'a> Phrase<'a> {
    /// The text at `span` of a file whose whole text is `source`.
    pub(crate) fn new(source: &'a str, span: Span) -> Self {
        let text = source.get(span.range()).unwrap_or("");
        Phrase::at(text, span)
    }

    /// `text`, which stands at `span`.
    pub(crate) fn at(text: &'a str, span: Span) -> Self {
        Phrase { text, file: span.file, offset: span.start as usize, too_deep: None }
    }

    /// A text that stands in no file.
    pub(crate) fn by_itself(text: &'a str) -> Self {
        Phrase::at(text, Span::new(FileId(0), 0, text.len()))
    }

    /// With a place where the first expression that is nested too deep is kept.
    pub(crate) fn noting(self, too_deep: &'a Cell<Option<Span>>) -> Phrase<'a> {
        Phrase { too_deep: Some(too_deep), ..self }
    }

    /// Where it stands.
    pub(crate) fn span(self) -> Span {
        Span::new(self.file, self.offset, self.offset + self.text.len())
    }

    /// Where it begins in the file.
    pub(crate) fn start(self) -> usize {
        self.offset
    }

    pub(crate) fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// What stands from byte `at` on.
    pub(crate) fn from(self, at: usize) -> Phrase<'a> {
        Phrase { text: self.text.get(at..).unwrap_or(""), offset: self.offset + at, ..self }
    }

    /// What stands before byte `at`.
    pub(crate) fn until(self, at: usize) -> Phrase<'a> {
        Phrase { text: self.text.get(..at).unwrap_or(self.text), ..self }
    }

    pub(crate) fn trim(self) -> Phrase<'a> {
        let at = self.text.len() - self.text.trim_start().len();
        let from = self.from(at);
        Phrase { text: from.text.trim_end(), ..from }
    }

    /// Without the full stops and colons that end a line.
    pub(crate) fn trim_end_marks(self) -> Phrase<'a> {
        Phrase {
            text: self.text.trim_end_matches(|c: char| matches!(c, '.' | ':' | ';' | '!') || c.is_whitespace()),
            ..self
        }
    }

    /// What follows `phrase` (words of small letters, one space between them), if it begins so; case, kind of
    /// white space and form of an apostrophe do not matter.
    #[inline]
    pub(crate) fn strip(self, phrase: &str) -> Option<Phrase<'a>> {
        if self.may_begin_with(phrase) { self.strip_words(phrase) } else { None }
    }

    /// Whether the first letters do not differ: most phrases are no beginning of a line, and that tells at the least cost.
    #[inline]
    pub(crate) fn may_begin_with(self, phrase: &str) -> bool {
        let (Some(first), Some(wanted)) = (self.text.as_bytes().first(), phrase.as_bytes().first()) else {
            return false;
        };
        !first.is_ascii_graphic() || first.eq_ignore_ascii_case(wanted)
    }

    fn strip_words(self, phrase: &str) -> Option<Phrase<'a>> {
        let is_trimmed = self.text.starts_with(|first: char| first.is_ascii_graphic());
        let text = if is_trimmed { self.text } else { self.text.trim_start() };
        let mut at = 0;
        for wanted in phrase.bytes() {
            if wanted == b'\'' && text[at..].starts_with('’') {
                at += '’'.len_utf8();
                continue;
            }
            if wanted != b' ' {
                text.as_bytes().get(at).filter(|byte| byte.eq_ignore_ascii_case(&wanted))?;
                at += 1;
                continue;
            }
            let rest = &text[at..];
            let n_spaces = rest.len() - rest.trim_start().len();
            at += Some(n_spaces).filter(|n| *n > 0)?;
        }
        let rest = text.get(at..).filter(|rest| !rest.starts_with(continues_name))?;
        Some(self.from(self.text.len() - rest.len()).trim())
    }

    /// What follows the first of `phrases` that it begins with.
    pub(crate) fn strip_any(self, phrases: &[&str]) -> Option<Phrase<'a>> {
        let first = self.text.trim_start().bytes().next()?.to_ascii_lowercase();
        phrases.iter().filter(|phrase| phrase.as_bytes().first() == Some(&first)).find_map(|phrase| self.strip(phrase))
    }

    /// What follows `prefix`, a mark and no word.
    pub(crate) fn strip_mark(self, prefix: char) -> Option<Phrase<'a>> {
        self.text.starts_with(prefix).then(|| self.from(prefix.len_utf8()).trim())
    }

    /// What follows a comma or `word`, or both of them, which join it to what stands before.
    pub(crate) fn strip_joint(self, word: &str) -> Option<Phrase<'a>> {
        let after = self.strip_mark(',');
        after.unwrap_or(self).strip(word).or(after)
    }

    /// Without what authors put around a line for its looks: a box to tick, emphasis, a comment after it.
    pub(crate) fn plain(self) -> Phrase<'a> {
        let mut words = self.trim();
        for tick in ["[ ]", "[x]", "[X]"].into_iter().filter(|_| words.text.starts_with('[')) {
            words = words.text.strip_prefix(tick).map_or(words, |_| words.from(tick.len()).trim());
        }
        // `[Make a booking](#make-a-booking)` leads a reader to the playbook.
        let link = words.text.strip_prefix('[').and_then(|rest| rest.trim_end_matches('.').strip_suffix(')'));
        // What stands after a link is more of the line.
        let is_whole = |(title, anchor): &(&str, &str)| {
            !title.contains(['[', ']']) && !anchor.contains(|c: char| c.is_whitespace() || matches!(c, '(' | ')'))
        };
        if let Some((title, _)) = link.and_then(|link| link.split_once("](#")).filter(is_whole) {
            words = words.from(1).until(title.len());
        }
        if let Some(at) = words.comment() {
            words = words.until(at).trim();
        }
        for mark in ["*", "_"] {
            let inside = words.text.strip_prefix(mark).and_then(|rest| rest.trim_end_matches('.').strip_suffix(mark));
            if let Some(inside) = inside.filter(|inside| !inside.is_empty() && !inside.contains(mark)) {
                words = words.from(mark.len()).until(inside.len());
            }
        }
        words.without_ticks()
    }

    /// Where a comment begins, outside of quotes: ` // …`, ` <!-- …`.
    fn comment(self) -> Option<usize> {
        if !self.text.bytes().any(|byte| matches!(byte, b'/' | b'#' | b'<')) {
            return None;
        }
        let marks = ["// ", "# ", "<!--"].into_iter().flat_map(|mark| self.text.match_indices(mark)).map(|(at, _)| at);
        let before = |at: &usize| self.text[..*at].ends_with(char::is_whitespace);
        let quoted = |at: &usize| self.text[..*at].matches(['"', '“', '”']).count() % 2 == 1;
        marks.filter(before).filter(|at| !quoted(at)).min()
    }

    /// The values that a sentence lists, each with the word before it: `$a`, `$a, $b and 3`, `player $p and score 3`.
    pub(crate) fn listed_values(self) -> Option<Vec<(Option<&'a str>, Expr)>> {
        let (mut values, mut rest) = (Vec::new(), self);
        loop {
            rest = rest.strip_any(&["the", "a", "an"]).unwrap_or(rest);
            let word =
                rest.words().next().filter(|(at, word)| *at == 0 && !word.starts_with(|c: char| c.is_ascii_digit()));
            let name = word
                .map(|(_, word)| word)
                .filter(|word| rest.from(word.len()).trim().text.starts_with(['$', '"', '“']));
            rest = name.map_or(rest, |name| rest.from(name.len()).trim());
            let (value, length) = rest.leading_operand()?;
            values.push((name, value));
            rest = rest.from(length).trim();
            if rest.is_empty() {
                return Some(values);
            }
            rest = rest.strip_joint("and")?;
        }
    }

    /// Without the backticks around it, if it is one piece of code and nothing else.
    pub(crate) fn without_ticks(self) -> Phrase<'a> {
        let inside = self.text.strip_prefix('`').and_then(|rest| rest.trim_end_matches('.').strip_suffix('`'));
        match inside {
            Some(inside) if !inside.contains('`') => self.from(1).until(inside.len()),
            _ => self,
        }
    }

    /// What follows a `(` at the very beginning.
    pub(crate) fn strip_bracket(self) -> Option<Phrase<'a>> {
        self.text.starts_with('(').then(|| self.from(1))
    }

    /// Whether it begins with a verb of an action.
    pub(crate) fn begins_action(self) -> bool {
        self.first_word().is_some_and(|word| is_one_of(ACTION_VERBS, word))
    }

    /// What stands before `word` at the end.
    pub(crate) fn strip_end(self, word: &str) -> Option<Phrase<'a>> {
        // Most lines end otherwise, and the last bytes tell.
        let end = self.text.len().checked_sub(word.len()).and_then(|at| self.text.get(at..))?;
        let (at, last) = end.eq_ignore_ascii_case(word).then(|| self.words().last())??;
        (last.eq_ignore_ascii_case(word) && at + last.len() == self.text.len()).then(|| self.until(at).trim())
    }

    /// Whether it is `phrase` and nothing else.
    pub(crate) fn is(self, phrase: &str) -> bool {
        self.strip(phrase).is_some_and(Phrase::is_empty)
    }

    /// Where the words of `phrase` (one word) begin, outside of quotes.
    pub(crate) fn find_word(self, word: &str) -> Option<usize> {
        // Most words that are looked for stand nowhere, and bytes tell that at less cost.
        let first = word.bytes().next()?;
        let mut places = self.text.as_bytes().windows(word.len());
        let may_stand =
            places.any(|place| place[0].eq_ignore_ascii_case(&first) && place.eq_ignore_ascii_case(word.as_bytes()));
        let mut words = may_stand.then(|| self.words())?;
        words.find(|(_, found)| found.eq_ignore_ascii_case(word)).map(|(at, _)| at)
    }

    /// The word that it begins with.
    pub(crate) fn first_word(self) -> Option<&'a str> {
        self.words().next().filter(|(at, _)| *at == 0).map(|(_, word)| word)
    }

    /// The number that its first word says, with that word.
    pub(crate) fn leading_number(self) -> Option<(&'a str, i64)> {
        self.first_word().and_then(|word| Some((word, number_word(word)?)))
    }

    /// Its words with their places: runs of letters and digits outside of quotes, and not variables.
    pub(crate) fn words(self) -> impl Iterator<Item = (usize, &'a str)> {
        let text = self.text;
        let (mut at, mut quote) = (0, false);
        std::iter::from_fn(move || {
            while let Some(character) = text[at..].chars().next() {
                let here = at;
                if continues_name(character) {
                    at += name_length(&text[at..]);
                    if !quote {
                        return Some((here, &text[here..at]));
                    }
                    continue;
                }
                at += character.len_utf8();
                if matches!(character, '"' | '“' | '”') {
                    quote = !quote;
                } else if character == '$' {
                    at += scan_name(&text[at..]);
                }
            }
            None
        })
    }

    /// The whole text as an expression.
    pub(crate) fn expr(self) -> Option<Expr> {
        self.note(parse(self.text, self.file, self.offset))
    }

    /// The whole text as a condition in a sentence.
    pub(crate) fn condition(self) -> Option<Expr> {
        self.note(parse_as(Style::Sentence, self.text, self.file, self.offset))
    }

    /// The longest expression at the beginning, and its length.
    pub(crate) fn leading(self, style: Style) -> Option<(Expr, usize)> {
        self.note(parse_prefix(style, self.text, self.file, self.offset))
    }

    /// The longest value without comparisons at the beginning, and its length.
    pub(crate) fn leading_operand(self) -> Option<(Expr, usize)> {
        self.note(parse_operand(self.text, self.file, self.offset))
    }

    /// What stands between the brackets of a call, up to the length given with it.
    pub(crate) fn arguments(self) -> Option<(Arguments, usize)> {
        self.note(parse_arguments(self.text, self.file, self.offset))
    }

    fn note<T>(self, result: Result<T, ExprError>) -> Option<T> {
        if let (Err(error), Some(slot)) = (&result, self.too_deep)
            && error.is_too_deep()
        {
            slot.set(Some(error.span));
        }
        result.ok()
    }

    /// `$x` or `$x:int` at the beginning, and what follows. A path (`$x.a`) is no target.
    pub(crate) fn target(self) -> Option<(Target, Phrase<'a>)> {
        let rest = self.text.strip_prefix('$')?;
        let length = scan_name(rest);
        if length == 0 {
            return None;
        }
        let name: Arc<str> = rest[..length].into();
        let span = self.until(1 + length).span();
        let rest = self.from(1 + length);
        if rest.text.starts_with('[') || (rest.text.starts_with('.') && scan_name(&rest.text[1..]) > 0) {
            return None;
        }
        let (ty, rest) = rest.type_suffix();
        Some((Target { name, ty: ty.unwrap_or(Type::ANY), span }, rest))
    }

    /// `:int` or `:str | None` at the beginning, and what follows.
    fn type_suffix(self) -> (Option<Type>, Phrase<'a>) {
        let Some(written) = self.text.strip_prefix(':') else { return (None, self) };
        let spaces = written.len() - written.trim_start_matches(' ').len();
        let is =
            |words: &&&str| written[spaces..].get(..words.len()).is_some_and(|text| text.eq_ignore_ascii_case(words));
        if let Some(yes_no) = ["yes/no", "yes or no"].iter().find(is) {
            let ty = Type { kind: TypeKind::Bool, optional: false };
            return (Some(ty), self.from(1 + spaces + yes_no.len()));
        }
        let length = scan_name(&written[spaces..]);
        if length == 0 || spaces > 1 {
            return (None, self);
        }
        let mut end = spaces + length;
        if written[end..].starts_with('[')
            && let Some(close) = written[end..].bytes().take(64).position(|byte| byte == b']')
        {
            end += close + 1;
        }
        let none = written[end..].trim_start().strip_prefix('|').map(str::trim_start);
        if let Some(none) = none
            && none.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("none"))
        {
            end = written.len() - none.len() + 4;
        }
        // `$day: date of arrival` speaks of it.
        let after = written[end..].trim_start();
        let is_over = after.is_empty()
            || after.starts_with([',', '.', ';', ':', ')', '(', '=', '"', '→', '|', ']', '}'])
            || after.starts_with("and ")
            || after.starts_with("or ");
        match read_type(&written[..end]).filter(|_| spaces == 0 || is_over) {
            Some(ty) => (Some(ty), self.from(1 + end)),
            None => (None, self),
        }
    }

    /// All variables mentioned, each with the place of its `$name` and the type beside it. `$$` is no variable.
    pub(crate) fn mentions(self) -> Vec<Mention<'a>> {
        let mut mentions = Vec::new();
        let mut at = 0;
        while let Some(found) = self.text[at..].find('$') {
            at += found;
            if self.text[at..].starts_with("$$") {
                at += 2;
            } else if let Some((name, length)) = scan_variable(&self.text[at..]) {
                let span = self.from(at).until(1 + name.len()).span();
                let after = self.from(at + length);
                let is_path = length > 1 + name.len();
                let ty = if is_path { None } else { after.type_suffix().0 };
                let word = after.text.strip_prefix(':').map_or(0, scan_name);
                // `$kind:one of water, fire` lists values.
                let lists = || after.from(1).strip("one of").is_some();
                let unknown = (word > 0 && ty.is_none() && !lists()).then(|| after.from(1).until(word).span());
                mentions.push(Mention { name, span, ty, is_path, unknown_type: unknown });
                at += length;
            } else {
                at += 1;
            }
        }
        mentions
    }

    /// The variables that a line may set: one in braces (`may we refund {$price} euros`) is read, and so is a path.
    pub(crate) fn mentions_outside_braces(self) -> impl Iterator<Item = Mention<'a>> {
        let is_outside =
            move |mention: &Mention<'_>| !self.text[..mention.span.start as usize - self.offset].ends_with('{');
        self.mentions().into_iter().filter(|mention| !mention.is_path).filter(is_outside)
    }
}

/// A variable's name as it stands in a text.
#[derive(Clone, Debug)]
pub(crate) struct Mention<'a> {
    /// Its name, without `$`.
    pub(crate) name: &'a str,
    /// The place of `$name`.
    pub(crate) span: Span,
    /// The type written beside it.
    pub(crate) ty: Option<Type>,
    /// Whether it is a part of what the variable holds: `$question.text`.
    pub(crate) is_path: bool,
    /// The place of a word that stands there as a type does and is none.
    pub(crate) unknown_type: Option<Span>,
}

impl Mention<'_> {
    /// It as a variable that is written.
    pub(crate) fn into_target(self) -> Target {
        Target { name: self.name.into(), ty: self.ty.unwrap_or(Type::ANY), span: self.span }
    }
}

/// `text` with spaces for the marks of emphasis (`**If** $x is 1`, `_$x_ is *1*`), outside of quotes: what stands where
/// stays.
pub(crate) fn without_emphasis(text: &str) -> Cow<'_, str> {
    if !text.contains(['*', '_', '`']) {
        return Cow::Borrowed(text);
    }
    let mut plain = Cow::Borrowed(text);
    if text.contains("**") || text.contains("__") {
        let is_quoted = |at: usize| text[..at].matches(['"', '“', '”', '`']).count() % 2 == 1;
        let joins = |at: usize| text[..at].ends_with(continues_name) && text[at + 2..].starts_with(continues_name);
        for mark in ["**", "__"] {
            for (at, _) in text.match_indices(mark).filter(|(at, _)| !is_quoted(*at) && (mark == "**" || !joins(*at))) {
                plain.to_mut().replace_range(at..at + 2, "  ");
            }
        }
    }
    for at in single_marks(&plain) {
        plain.to_mut().replace_range(at..=at, " ");
    }
    plain
}

/// The places of the single marks around words and values: `*$guests*`, `_dinner_`, and the backticks of `` `$x` is `dinner` ``.
fn single_marks(text: &str) -> Vec<usize> {
    let (mut marks, mut open, mut tick) = (Vec::new(), None, None);
    let (mut is_quoted, mut before, mut has_variable) = (false, ' ', false);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let after = characters.peek().map_or(' ', |(_, next)| *next);
        match character {
            '"' | '“' | '”' if tick.is_none() => is_quoted = !is_quoted,
            '\n' => open = None,
            '`' if !is_quoted => match tick.take() {
                Some(start) if is_plain_code(text, start, at, has_variable) => marks.extend([start, at]),
                Some(_) => {}
                None => tick = Some(at),
            },
            '*' | '_' if !is_quoted && tick.is_none() && character != before && character != after => match open {
                Some((start, mark)) if mark == character && !before.is_whitespace() && !continues_name(after) => {
                    marks.extend([start, at]);
                    open = None;
                }
                _ if !continues_name(before) && before != '$' && !after.is_whitespace() => open = Some((at, character)),
                _ => {}
            },
            _ => {}
        }
        has_variable |= character == '$';
        before = character;
    }
    marks
}

/// Whether what stands in backticks is a variable, or words that one is compared with; the name of an event keeps its ticks.
fn is_plain_code(text: &str, start: usize, end: usize, has_variable: bool) -> bool {
    const COMPARES: &str = "is not isn't or than equals becomes least most";
    let inside = &text[start + 1..end];
    let is_word = |c: char| continues_name(c) || matches!(c, ' ' | '-' | '.');
    let is_compared = || text[..start].split_whitespace().next_back().is_some_and(|word| is_one_of(COMPARES, word));
    inside.starts_with('$') || (has_variable && !inside.is_empty() && inside.chars().all(is_word) && is_compared())
}

/// The names of all variables mentioned in `text`.
pub(crate) fn mentioned_names(text: &str) -> BTreeSet<Arc<str>> {
    Phrase::by_itself(text).mentions().into_iter().map(|mention| mention.name.into()).collect()
}

/// The end in `End the call with "Bye"`: `End` alone is the playbook's.
pub(super) fn end_before<'a>(line: Phrase<'a>, said: Phrase<'a>) -> Phrase<'a> {
    let end = line.until(line.text[..said.start() - line.start()].trim_end_matches([':', ' ']).len()).trim();
    let by_saying = || end.strip_end("saying")?.strip_end("by");
    let and_say = || end.strip_end("say")?.strip_end("and");
    end.strip_end("with").or_else(by_saying).or_else(and_say).unwrap_or(end)
}
