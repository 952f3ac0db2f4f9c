//! What is coloured: only what was read. A word is a keyword where its line is a branch, a `$name` a variable.

use playhouse_lang::expr::scan_reference;
use playhouse_lang::program::{Playbook, Step, StepKind};
use playhouse_lang::span::{FileId, Span};

use crate::View;
use crate::occurrences::{Occurrence, Role, Symbol};

/// What a coloured place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// The first words of a line that were read.
    Keyword,
    /// A variable.
    Variable,
    /// A parameter of the playbook in which it stands.
    Parameter,
    /// A playbook or plan.
    Function,
    /// A tool.
    Method,
    /// An agent.
    Class,
}

/// What is known of it besides; each is there or is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// It is said here that there is such a thing.
    pub is_declaration: bool,
    /// It is set here.
    pub is_modification: bool,
    /// Of a keyword: its line costs no model call.
    pub is_explicit: bool,
    /// Of a keyword: its line is the model's.
    pub is_by_model: bool,
    /// Its value is never shown.
    pub is_secret: bool,
    /// Nothing is known by this name.
    pub is_unknown: bool,
}

/// A coloured place, within one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Where.
    pub span: Span,
    /// What.
    pub kind: TokenKind,
    /// What besides.
    pub modifiers: Modifiers,
}

impl View {
    /// What is coloured in a range of a file, by place, no two over each other.
    pub fn tokens(&self, file: FileId, range: std::ops::Range<usize>) -> Vec<Token> {
        let is_seen =
            |span: Span| span.file == file && span.range().start < range.end && range.start <= span.range().end;
        let places = self.names_in(file, range.clone()).into_iter();
        let mut tokens: Vec<Token> = places.map(|place| self.name_token(place)).collect();
        for playbook in self.playbooks(file).filter(|playbook| is_seen(playbook.span)) {
            let seen = playbook.steps.iter().filter(|line| is_seen(line.span));
            tokens.extend(seen.filter_map(|line| keyword(playbook, line)));
        }
        tokens.sort_by_key(|token| (token.span.start, token.span.end));
        let mut end = 0;
        tokens.retain(|token| {
            let is_free = end <= token.span.start && token.span.start < token.span.end;
            end = if is_free { token.span.end } else { end };
            is_free && !self.program().sources.text(token.span).contains('\n')
        });
        tokens
    }

    fn name_token(&self, place: &Occurrence) -> Token {
        let program = self.program();
        let mut modifiers = Modifiers {
            is_declaration: place.role == Role::Definition,
            is_modification: place.role == Role::Write,
            ..Modifiers::default()
        };
        let kind = match &place.symbol {
            Symbol::Agent(_) => TokenKind::Class,
            Symbol::Playbook(_) => TokenKind::Function,
            Symbol::Callable(name) if program.find_plan(name).is_some() => TokenKind::Function,
            Symbol::Callable(name) => {
                modifiers.is_unknown = self.tool(name).is_none();
                TokenKind::Method
            }
            Symbol::Own(id, name) => {
                let is_parameter = program.playbook(*id).parameters.iter().any(|parameter| parameter.name == *name);
                if is_parameter { TokenKind::Parameter } else { TokenKind::Variable }
            }
            Symbol::Shared(agent, name) => {
                modifiers.is_secret = program.agent(*agent).declares_secret(name);
                TokenKind::Variable
            }
        };
        Token { span: place.span, kind, modifiers }
    }
}

/// The word by which a line is known; none: it begins with a name, or is the model's in all.
fn keyword(playbook: &Playbook, line: &Step) -> Option<Token> {
    // What begins with a name has its own colour, and free text none.
    let is_prose = matches!(line.kind, StepKind::Free | StepKind::Gone(_));
    let length = line.text.find(|c: char| !c.is_alphabetic()).unwrap_or(line.text.len());
    let is_callee = line.call().is_some_and(|call| call.callee_span.start == line.span.start);
    if is_prose
        || length == 0
        || is_callee
        || scan_reference(&line.text).is_some()
        || !playbook.span.contains(line.span.start as usize)
    {
        return None;
    }
    let modifiers = Modifiers { is_explicit: line.explicit, is_by_model: !line.explicit, ..Modifiers::default() };
    Some(Token { span: line.span.part(0..length), kind: TokenKind::Keyword, modifiers })
}
