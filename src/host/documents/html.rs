//! Pages in HTML to Markdown, as far as chunks need it: headings, paragraphs, lists, tables and code. What is no text (scripts,
//! styles, navigation) is left out.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};

/// What of a page is none of its text.
const LEFT_OUT: [&[u8]; 8] = [b"script", b"style", b"template", b"noscript", b"svg", b"nav", b"head", b"iframe"];

/// What begins a block of its own.
const BLOCKS: [&[u8]; 24] = [
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"body",
    b"dd",
    b"div",
    b"dl",
    b"dt",
    b"figcaption",
    b"figure",
    b"footer",
    b"form",
    b"header",
    b"hr",
    b"main",
    b"ol",
    b"p",
    b"pre",
    b"section",
    b"table",
    b"tbody",
    b"thead",
    b"ul",
];

/// The title of a page, and its text in Markdown.
pub(super) fn to_markdown(page: &str) -> (Option<String>, String) {
    let mut emitter: DefaultEmitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut writer = Writer::default();
    for token in Tokenizer::new_with_emitter(page, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => writer.start(&tag),
            Token::EndTag(tag) => writer.end(&tag.name),
            Token::String(text) => writer.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    (writer.title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty()), writer.out)
}

#[derive(Default)]
struct Writer {
    out: String,
    /// The text of `<title>`, once it has begun.
    title: Option<String>,
    is_in_title: bool,
    /// What is left out at the moment: its name, and how often it is open.
    left_out: Option<(Vec<u8>, usize)>,
    /// Whether the text stands in `<pre>`, as it is.
    is_as_it_is: bool,
    /// How many lists are open.
    n_lists: usize,
    /// The cells of the row so far, and whether the table has had a row.
    n_cells: usize,
    has_row: bool,
    /// Where the links that are open lead.
    links: Vec<String>,
}

impl Writer {
    fn start(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        if name == b"title" && self.title.is_none() {
            (self.title, self.is_in_title) = (Some(String::new()), true);
            return;
        }
        match &mut self.left_out {
            Some((left_out, n_open)) => {
                *n_open += usize::from(left_out == name && !tag.self_closing);
                // A page that does not close its head has a body nevertheless.
                if name != b"body" || left_out != b"head" {
                    return;
                }
                self.left_out = None;
            }
            None if LEFT_OUT.contains(&name) && !tag.self_closing => {
                self.left_out = Some((name.to_owned(), 1));
                return;
            }
            None => {}
        }
        match name {
            [b'h', level @ b'1'..=b'6'] => {
                self.block();
                self.out.push_str(&"#".repeat(usize::from(level - b'0')));
                self.out.push(' ');
            }
            b"br" => self.out.push('\n'),
            b"li" => {
                self.line();
                self.out.push_str(&"  ".repeat(self.n_lists.saturating_sub(1)));
                self.out.push_str("- ");
            }
            b"tr" => {
                self.line();
                self.n_cells = 0;
            }
            b"td" | b"th" => {
                self.out.push_str(if self.n_cells == 0 { "| " } else { " | " });
                self.n_cells += 1;
            }
            b"a" => {
                let target = tag.attributes.get(&b"href"[..]).map(|href| String::from_utf8_lossy(href).into_owned());
                self.links.push(target.unwrap_or_default());
                self.out.push('[');
            }
            _ if BLOCKS.contains(&name) => {
                if self.n_lists == 0 || name == b"pre" {
                    self.block()
                } else {
                    self.line()
                }
                match name {
                    b"ul" | b"ol" => self.n_lists += 1,
                    b"table" => self.has_row = false,
                    b"pre" => {
                        self.out.push_str("```\n");
                        self.is_as_it_is = true;
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        if name == b"title" {
            self.is_in_title = false;
            return;
        }
        if let Some((left_out, n_open)) = &mut self.left_out {
            *n_open -= usize::from(left_out == name);
            if *n_open == 0 {
                self.left_out = None;
            }
            return;
        }
        match name {
            [b'h', b'1'..=b'6'] => self.block(),
            b"a" => {
                if let Some(target) = self.links.pop() {
                    self.out.push_str(&format!("]({target})"));
                }
            }
            b"tr" if self.n_cells > 0 => {
                self.out.push_str(" |\n");
                if !self.has_row {
                    self.out.push_str(&"| --- ".repeat(self.n_cells));
                    self.out.push_str("|\n");
                }
                self.has_row = true;
            }
            b"ul" | b"ol" => {
                self.n_lists = self.n_lists.saturating_sub(1);
                if self.n_lists == 0 {
                    self.block();
                }
            }
            b"pre" => {
                self.line();
                self.out.push_str("```");
                self.is_as_it_is = false;
                self.block();
            }
            _ if BLOCKS.contains(&name) && self.n_lists == 0 => self.block(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_in_title {
            self.title.get_or_insert_default().push_str(text);
        } else if self.left_out.is_some() {
        } else if self.is_as_it_is {
            self.out.push_str(text);
        } else {
            for (index, word) in text.split(char::is_whitespace).enumerate() {
                if index > 0 && !self.out.ends_with([' ', '\n']) && !self.out.is_empty() {
                    self.out.push(' ');
                }
                self.out.push_str(word);
            }
        }
    }

    /// Ends the line.
    fn line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Ends the block.
    fn block(&mut self) {
        self.line();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }
}
