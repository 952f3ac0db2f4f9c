//! Agent Skills: what a `SKILL.md` says of itself (spec `skills.md`, "Reading"; the format is that of agentskills.io). Every text
//! is a skill. What is wrong with it is a warning, for other people's skills must run; those that the format's own checker has
//! as errors are marked, see [`Skill::is_refused`].

use std::collections::HashSet;
use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::wording::in_ticks;
use crate::source::ast::{AgentTree, Body, FileTree, HeadingTree, PlaybookTree, SkillTree};
use crate::source::front_matter::{self, Found};
use crate::source::markdown;
use crate::source::yaml::{self, Node, NodeKind};
use crate::span::{FileId, Span};

/// What the files of skills are called.
pub const FILE_NAME: &str = "SKILL.md";

/// What the paths of skills begin with that a program names by their names alone.
pub const SCHEME: &str = "skill:";

/// The keys that the format has.
const KEYS: &str = "allowed-tools compatibility description license metadata name";

/// Keys of one other program that change how it runs a skill, and change nothing here.
const NOT_FOLLOWED: [&str; 5] = ["agent", "effort", "hooks", "model", "paths"];

/// Characters of a name, a description, a `compatibility`, at most.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1_024;
const MAX_COMPATIBILITY: usize = 500;

/// Lines of a text that is read as a whole each time, at most: what is longer belongs into files beside it.
const MAX_LINES: usize = 500;

/// How deep front matter may be nested.
const MAX_NESTING: usize = 32;

/// What the format's own checker refuses.
const REFUSED: [&str; 5] = ["skill-description", "skill-field", "skill-folder", "skill-name", "skill-yaml"];

/// A skill as it was written.
#[derive(Debug)]
pub struct Skill {
    /// What it is called: as it says, else as its folder is called.
    pub name: String,
    /// Where its text stands, below the front matter.
    pub body: Span,
    /// What was found, by place.
    pub findings: Vec<Diagnostic>,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    key: String,
    place: Span,
    /// What stands after it; none: that is no text.
    text: Option<String>,
    /// The texts of a list that stands after it.
    items: Vec<String>,
}

/// The folder of the skill that a file of this name is, by its own name; none: the file is no skill. Empty: it is not known.
pub fn folder_of(name: &str) -> Option<&str> {
    let folder = name.strip_suffix(FILE_NAME)?;
    if folder.is_empty() {
        return Some("");
    }
    let folder = folder.strip_suffix(['/', '\\'])?;
    // `.` is a folder of some name.
    folder.rsplit(['/', '\\']).next().map(|name| if matches!(name, "." | "..") { "" } else { name })
}

impl Skill {
    /// Reads the `SKILL.md` of a folder of this name; empty: that is not known.
    pub fn read(file: FileId, folder: &str, text: &str) -> Skill {
        let from = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut findings = Vec::new();
        let (fields, body) = match front_matter::find(text, from) {
            Found::Yaml(range, body) => (read_fields(file, text, range, &mut findings), body),
            Found::Lost(mark, advice) => {
                let place = Span::new(file, mark.start, mark.end);
                findings
                    .push(Diagnostic::warning("skill-yaml", place, "this front matter is not read").with_note(advice));
                (Vec::new(), from)
            }
            Found::Nothing => {
                let message = "a skill begins with front matter: `name:` and `description:` between lines of `---`";
                findings.push(Diagnostic::warning("skill-yaml", Span::new(file, from, from), message));
                (Vec::new(), from)
            }
        };
        let body = Span::new(file, body, text.len());
        let mut skill = Skill { name: folder.to_owned(), body, findings, fields };
        skill.check_name(folder);
        skill.check_description();
        skill.check_keys();
        let n_lines = text.lines().count();
        if n_lines > MAX_LINES {
            let message = format!("this text has {n_lines} lines, and all of them are read at each call");
            let advice = format!("keep it below {MAX_LINES}, and move what is rarely needed into files beside it");
            let top = Span::new(file, body.range().start, body.range().start);
            skill.findings.push(Diagnostic::warning("skill-long", top, message).with_note(advice));
        }
        skill.findings.sort_by_key(|finding| finding.span);
        skill
    }

    /// What it is for and when it is used; empty if nothing says so.
    pub fn description(&self) -> String {
        let when = self.text("when_to_use").map(str::trim).filter(|text| !text.is_empty());
        let parts = [self.text("description").map(str::trim).filter(|text| !text.is_empty()), when];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The tree of its file, which has this text: nothing of it is a heading, a trigger or an import of ours.
    pub(crate) fn tree(&self, text: &str) -> FileTree {
        let (file, key) = (self.body.file, self.place("name"));
        let rest = text.get(key.range().end..self.body.range().start).unwrap_or_default();
        let written = rest.find(&self.name).map(|at| key.range().end + at);
        let place = written.map_or(key, |start| Span::new(file, start, start + self.name.len()));
        let heading = HeadingTree { marks: Span::new(file, place.range().start, place.range().start), title: place };
        let skill = SkillTree {
            name: self.name.clone(),
            description: self.description(),
            // `argument-hint`, as others have it, or `arguments`.
            has_hint: self.fields.iter().any(|field| field.key.starts_with("argument")),
            allowed_tools: self.allowed_tools(),
            disallowed_tools: self.disallowed_tools(),
            begins_by_description: self.text("disable-model-invocation") != Some("true"),
            begins_by_name: self.text("user-invocable") != Some("false"),
            body: self.body,
        };
        let (body, span) = (Body::default(), Span::new(file, 0, text.len()));
        let playbook = PlaybookTree { heading, body, sections: Vec::new(), span, skill: Some(skill) };
        let agent = |heading, playbooks| AgentTree { heading, body: Body::default(), playbooks };
        let (preamble, agents) = (agent(None, Vec::new()), vec![agent(Some(heading), vec![playbook])]);
        FileTree { file, front_matter: None, lost_front_matter: None, preamble, agents }
    }

    /// The tools that it says it uses, as it says so; none: it says nothing.
    pub fn allowed_tools(&self) -> Option<String> {
        self.names("allowed-tools")
    }

    /// The tools that it may never use, as it says so.
    pub fn disallowed_tools(&self) -> String {
        self.names("disallowed-tools").unwrap_or_default()
    }

    /// Names after a key: a text, or a list.
    fn names(&self, key: &str) -> Option<String> {
        let field = self.field(key)?;
        Some(field.text.clone().unwrap_or_else(|| field.items.join(", ")))
    }

    /// The text of a key; none: it is not there, or is no text.
    fn text(&self, key: &str) -> Option<&str> {
        self.field(key)?.text.as_deref()
    }

    /// The files beside it that its text leads to, by their paths in its folder, each with its place.
    pub fn links(&self, text: &str) -> Vec<(Span, String)> {
        let is_file =
            |path: &str| !path.is_empty() && !path.contains(':') && !path.starts_with(['#', '/', '{', '<', '$']);
        let link = |(range, target): (Range<usize>, String)| {
            let path = target.split(['#', '?']).next().unwrap_or_default();
            is_file(path).then(|| (Span::new(self.body.file, range.start, range.end), path.to_owned()))
        };
        markdown::links(text, self.body.range().start).into_iter().filter_map(link).collect()
    }

    /// Whether the format's own checker refuses it for this finding.
    pub fn is_refused(finding: &Diagnostic) -> bool {
        REFUSED.contains(&finding.code)
    }

    fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// The place of a key, else where it would stand.
    fn place(&self, key: &str) -> Span {
        let start = self.fields.first().map_or(self.body, |field| field.place);
        self.field(key).map_or(Span::new(start.file, start.range().start, start.range().start), |field| field.place)
    }

    fn add_finding(&mut self, code: &'static str, key: &str, message: String) {
        let place = self.place(key);
        self.findings.push(Diagnostic::warning(code, place, message));
    }

    fn check_name(&mut self, folder: &str) {
        let Some(name) = self.text("name").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned) else {
            self.add_finding("skill-name", "name", format!("this skill has no name; write `name: {folder}`"));
            return;
        };
        let n_characters = name.chars().count();
        if n_characters > MAX_NAME {
            self.add_finding(
                "skill-name",
                "name",
                format!("a name has at most {MAX_NAME} characters, this has {n_characters}"),
            );
        }
        let is_plain = name.chars().all(|c| (c.is_alphanumeric() || c == '-') && c.to_lowercase().eq([c]));
        if !is_plain || name.starts_with('-') || name.ends_with('-') || name.contains("--") {
            let message = format!(
                "`{name}` is not a valid skill name: use lower-case letters and digits, with single hyphens between \
                 them"
            );
            self.add_finding("skill-name", "name", message);
        }
        if name != folder && !folder.is_empty() {
            let message = format!("this skill is called `{name}`, and its folder `{folder}`; give both the same name");
            self.add_finding("skill-folder", "name", message);
        }
        self.name = name;
    }

    fn check_description(&mut self) {
        let description = self.text("description").unwrap_or_default();
        let n_characters = description.chars().count();
        if description.trim().is_empty() {
            let message = "nothing says what this skill is for and when it is used, so it is only called by name; write \
                           `description: …`";
            self.add_finding("skill-description", "description", message.to_owned());
        } else if n_characters > MAX_DESCRIPTION {
            let message = format!("a description has at most {MAX_DESCRIPTION} characters, this has {n_characters}");
            self.add_finding("skill-description", "description", message);
        }
    }

    fn check_keys(&mut self) {
        let is_long = |text: &Option<String>| text.as_ref().is_none_or(|text| text.chars().count() > MAX_COMPATIBILITY);
        if self.field("compatibility").is_some_and(|field| is_long(&field.text)) {
            let message = format!("`compatibility` is a text of at most {MAX_COMPATIBILITY} characters");
            self.add_finding("skill-field", "compatibility", message);
        }
        for Field { key, place, .. } in &self.fields {
            if !KEYS.split(' ').any(|known| known == key) {
                let message =
                    format!("`{key}` is not a key of the format; put what is for one program only under `metadata`");
                self.findings.push(Diagnostic::warning("skill-field", *place, message));
            }
        }
        let is_lost = |field: &&Field| NOT_FOLLOWED.contains(&field.key.as_str());
        let lost: Vec<&Field> = self.fields.iter().filter(is_lost).collect();
        if let Some(first) = lost.first() {
            let keys = in_ticks(lost.iter().map(|field| &field.key));
            let message = format!("{keys}: another program follows this; it has no effect here");
            self.findings.push(Diagnostic::warning("skill-not-followed", first.place, message));
        }
    }
}

/// The keys of front matter with what stands after them. What is no YAML is read once more with what people forget to put in
/// quotes in quotes, then line by line.
fn read_fields(file: FileId, text: &str, range: Range<usize>, findings: &mut Vec<Diagnostic>) -> Vec<Field> {
    let source = &text[range.clone()];
    let (root, errors) = yaml::parse(source, file, MAX_NESTING, &|at| at + range.start);
    if let (Some(root), []) = (&root, &errors[..])
        && let NodeKind::Mapping(pairs) = &root.kind
    {
        findings.extend(beyond_the_format(root, text));
        return pairs.iter().filter_map(|(key, value)| field(key, value)).collect();
    }
    let fault = errors.into_iter().next().map(|error| (error.span, error.message));
    let no_map = || (Span::new(file, range.start, range.start), "front matter must be a map".to_owned());
    let (place, message) = fault.unwrap_or_else(no_map);
    let advice = "it is read as well as possible; put texts with `: ` or `#` in quotes";
    findings.push(Diagnostic::warning("skill-yaml", place, message).with_note(advice));
    let quoted = quoted(source);
    let (root, errors) = yaml::parse(&quoted, file, MAX_NESTING, &|_| range.start);
    match root.map(|root| root.kind) {
        // Where they stand is not where they stood.
        Some(NodeKind::Mapping(pairs)) if errors.is_empty() => {
            let mut written = by_lines(file, source, range.start).into_iter();
            let place = |read: Field| {
                let place = written.find(|written| written.key == read.key).map_or(read.place, |written| written.place);
                Field { place, ..read }
            };
            pairs.iter().filter_map(|(key, value)| field(key, value)).map(place).collect()
        }
        _ => by_lines(file, source, range.start),
    }
}

fn field(key: &Node, value: &Node) -> Option<Field> {
    let text_of = |node: &Node| node.scalar().map(|scalar| scalar.text.clone());
    let items = if let NodeKind::List(items) = &value.kind { &items[..] } else { &[] };
    let items = items.iter().filter_map(text_of).collect();
    Some(Field { key: text_of(key)?, place: key.span, text: text_of(value), items })
}

/// What YAML has and the format has not: lists and maps in brackets, and a key that stands twice.
fn beyond_the_format(root: &Node, text: &str) -> Vec<Diagnostic> {
    let (mut findings, mut pending) = (Vec::new(), vec![root]);
    while let Some(node) = pending.pop() {
        let is_collection = !matches!(node.kind, NodeKind::Scalar(_) | NodeKind::Unread);
        if is_collection && text[node.span.range()].starts_with(['[', '{']) {
            let message = "lists and maps in brackets are not part of the format; write each item on a line of its own";
            findings.push(Diagnostic::warning("skill-yaml", node.span, message));
            continue;
        }
        match &node.kind {
            NodeKind::List(items) => pending.extend(items),
            NodeKind::Mapping(pairs) => {
                let mut known = HashSet::new();
                for (key, value) in pairs {
                    let name = key.scalar().map(|scalar| scalar.text.as_str());
                    if name.is_some_and(|name| !known.insert(name)) {
                        findings.push(Diagnostic::warning("skill-yaml", key.span, "this key appears a second time"));
                    }
                    pending.extend([key, value]);
                }
            }
            NodeKind::Scalar(_) | NodeKind::Unread => {}
        }
    }
    findings
}

/// A key at the beginning of a line, and what stands after its colon.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    (is_key && (value.is_empty() || value.starts_with([' ', '\t', '\r', '\n']))).then_some((key, value))
}

/// The same front matter with plain texts in quotes.
fn quoted(source: &str) -> String {
    let mut written = String::with_capacity(source.len() + 16);
    for line in source.split_inclusive('\n') {
        let value = key_of(line).map(|(_, value)| value.trim());
        let is_plain =
            |value: &&str| !value.is_empty() && !value.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*', '!']);
        match value.filter(is_plain) {
            Some(value) => {
                let key = &line[..line.find(value).unwrap_or(0)];
                let text = value.replace('\\', "\\\\").replace('"', "\\\"");
                written.push_str(&format!("{key}\"{text}\"\n"));
            }
            None => written.push_str(line),
        }
    }
    written
}

/// Each key with the rest of its line and the lines below that belong to none.
fn by_lines(file: FileId, source: &str, start: usize) -> Vec<Field> {
    let (mut fields, mut at): (Vec<Field>, usize) = (Vec::new(), start);
    for line in source.split_inclusive('\n') {
        match (key_of(line), fields.last_mut()) {
            (Some((key, value)), _) => {
                let place = Span::new(file, at, at + key.len());
                let value = value.trim().trim_matches(['"', '\'', '|', '>']).trim().to_owned();
                fields.push(Field { key: key.to_owned(), place, text: Some(value), items: Vec::new() });
            }
            (None, Some(Field { text: Some(text), .. })) if line.starts_with([' ', '\t']) => {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(line.trim());
            }
            (None, _) => {}
        }
        at += line.len();
    }
    fields
}
