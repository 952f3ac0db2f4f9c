//! Texts and what they import to trees: follows `!import` and `import:`, finds cycles and what is missing.

use std::collections::VecDeque;

use crate::diagnostic::Diagnostic;
use crate::lower::kept::Kept;
use crate::lower::settings::{FRONT_MATTER, Setting, read_front_matter};
use crate::plan::PlanLanguage;
use crate::source::ast::FileTree;
use crate::source::parse::parse;
use crate::source::skill::{SCHEME, Skill, folder_of};
use crate::source::{ImportRequest, SourceText};
use crate::span::{FileId, Sources, Span};
use crate::value::Value;

/// More files than any program has; a bound for a reader that makes up new ones without end.
const MAX_FILES: usize = 1_000;

/// The key of front matter that names skills.
pub(super) const SKILLS: &str = "skills";

/// A file with its front matter read.
pub(crate) struct LoadedFile {
    pub(crate) tree: FileTree,
    pub(crate) settings: Vec<Setting>,
}

/// One file pulled in by another.
pub(crate) struct ImportEdge {
    pub(crate) from: usize,
    /// The agent in `from` whose text holds the import, by its position; none for front matter and preamble.
    pub(crate) agent: Option<usize>,
    pub(crate) to: usize,
    /// The import; of a skill that is named by its name alone that name.
    pub(crate) span: Span,
}

/// All files of a program.
#[derive(Default)]
pub(crate) struct Files {
    pub(crate) sources: Sources,
    pub(crate) files: Vec<LoadedFile>,
    pub(crate) imports: Vec<ImportEdge>,
    /// The plans among them.
    pub(crate) plans: Vec<PlanFile>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// A file that holds a plan.
pub(crate) struct PlanFile {
    pub(crate) file: FileId,
    /// The first import that names it; none: it was given.
    pub(crate) import: Option<Span>,
}

struct Wanted {
    from: usize,
    agent: Option<usize>,
    path: String,
    span: Span,
}

/// A file that a text imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Its path as it is written, without quotes: relative to the folder of the text, or a file of the library; of a skill
    /// that is named by its name alone this after [`SCHEME`].
    pub path: String,
    /// Where the path stands.
    pub span: Span,
}

/// What a text imports.
pub(crate) fn imports(text: &str) -> Vec<Imported> {
    // Most texts end here: finding their headings takes a thousand times as long.
    if !text.contains("import") && !text.contains(SKILLS) {
        return Vec::new();
    }
    let tree = parse(FileId(0), text);
    let settings = tree.front_matter.map(|span| read_front_matter(text, span, &mut Vec::new())).unwrap_or_default();
    imported(&tree, &settings, text).into_iter().map(|(_, _, imported)| imported).collect()
}

/// The same of a text that was read: in its front matter, then in its lines, each with the agent whose text says so and with
/// the setting or line.
fn imported(tree: &FileTree, settings: &[Setting], text: &str) -> Vec<(Option<usize>, Span, Imported)> {
    let set = settings.iter().filter(|setting| setting.imports()).flat_map(|setting| {
        let is_skill = setting.key == SKILLS;
        let written = &text[setting.span.range()];
        let place = |path: &str| match written.find(path) {
            Some(at) => {
                let start = setting.span.range().start + at;
                Span::new(setting.span.file, start, start + path.len())
            }
            // Written with escapes.
            None => setting.span,
        };
        let import = move |path: &str| {
            // The key's own letters may stand in a name.
            let span = if is_skill { setting.place_of(path) } else { place(path) };
            let whole = if is_skill { span } else { setting.span };
            let path = if is_skill { format!("{SCHEME}{path}") } else { path.to_owned() };
            (None, whole, Imported { path, span })
        };
        names(setting).into_iter().map(import)
    });
    let lines = tree.bodies().flat_map(|(agent, body)| body.imports.iter().map(move |import| (agent, import)));
    let said = lines.map(|(agent, import)| {
        let written = &text[import.path.range()];
        let path = written.trim_matches(['"', '\'']);
        let start = import.path.range().start + written.find(path).unwrap_or(0);
        let span = Span::new(import.path.file, start, start + path.len());
        (agent, import.span, Imported { path: path.to_owned(), span })
    });
    set.chain(said).collect()
}

impl Setting {
    /// Whether it brings files in.
    pub(crate) fn imports(&self) -> bool {
        matches!(self.key.as_str(), "import" | SKILLS)
    }
}

/// The paths that `import:` has, and the names that `skills:` has, of which some stand in maps.
pub(super) fn names(setting: &Setting) -> Vec<&str> {
    let names = setting.items().into_iter().filter_map(|(item, _)| {
        if let (Value::Map(members), SKILLS) = (item, setting.key.as_str()) {
            members.get("name")?.as_str()
        } else {
            item.as_str()
        }
    });
    names.collect()
}

/// Reads `roots` and all they import. What was kept of them is taken where a text is the same.
pub(crate) fn load_files(
    roots: Vec<SourceText>,
    read: &mut dyn FnMut(&ImportRequest<'_>) -> Result<SourceText, String>,
    kept: &mut Kept,
) -> Files {
    let mut files = Files::default();
    let mut wanted = VecDeque::new();
    for root in roots {
        if is_plan(&root.name) {
            files.add_plan(root, None);
        } else {
            files.add(root, &mut wanted, kept);
        }
    }
    // A queue, so that imported files stand in the order in which a reader meets them.
    while let Some(import) = wanted.pop_front() {
        files.follow(&import, read, &mut wanted, kept);
    }
    files
}

impl Files {
    /// The text of a file.
    pub(crate) fn text(&self, file: FileId) -> &str {
        self.sources.get(file).map_or("", |file| &file.text)
    }

    fn add(&mut self, source: SourceText, wanted: &mut VecDeque<Wanted>, kept: &mut Kept) -> usize {
        let from = self.files.len();
        let file = self.sources.add(source.name, source.text);
        let text = self.sources.get(file).map(|file| file.text.clone()).unwrap_or_default();
        let name = self.sources.get(file).map(|file| file.name.clone()).unwrap_or_default();
        if let Some(folder) = folder_of(&name) {
            let skill = Skill::read(file, folder, &text);
            self.files.push(LoadedFile { tree: skill.tree(&text), settings: Vec::new() });
            self.diagnostics.extend(skill.findings);
            return from;
        }
        let tree = kept.tree(file, &text);
        let settings = match tree.front_matter {
            Some(span) => read_front_matter(&text, span, &mut self.diagnostics),
            None => Vec::new(),
        };
        self.diagnostics.extend(lost_settings(&tree, &text));
        self.diagnostics.extend(marks_without_space(tree.file, &text));
        for setting in settings.iter().filter(|setting| setting.imports() && names(setting).is_empty()) {
            let message = match &*setting.key {
                SKILLS => "`skills` needs names; write `skills: [pdf-forms]`",
                _ => "an import needs a path; write `import: [other.md]`",
            };
            self.diagnostics.push(Diagnostic::error("bad-import", setting.span, message));
        }
        let near = tree.bodies().filter_map(|(_, body)| body.near_metadata);
        self.diagnostics.extend(near.map(|(key, meant)| {
            let message = format!("`{}:` is read as text here, and has no effect", &text[key.range()]);
            let warning = Diagnostic::warning("unknown-setting", key, message);
            warning.with_fix(format!("write `{meant}`"), key, meant)
        }));
        let imported = imported(&tree, &settings, &text).into_iter();
        wanted.extend(imported.map(|(agent, span, Imported { path, .. })| Wanted { from, agent, path, span }));
        self.files.push(LoadedFile { tree, settings });
        from
    }

    fn add_plan(&mut self, source: SourceText, import: Option<Span>) {
        let known = self.sources.iter().any(|(_, file)| *file.name == *source.name);
        if !known {
            let file = self.sources.add(source.name, source.text);
            self.plans.push(PlanFile { file, import });
        }
    }

    fn follow(
        &mut self,
        import: &Wanted,
        read: &mut dyn FnMut(&ImportRequest<'_>) -> Result<SourceText, String>,
        wanted: &mut VecDeque<Wanted>,
        kept: &mut Kept,
    ) {
        let Wanted { from, agent, ref path, span } = *import;
        if path.starts_with("http://") || path.starts_with("https://") {
            let message = format!("imports of URLs are not supported: download `{path}` and import the file");
            self.diagnostics.push(Diagnostic::error("url-import", span, message));
            return;
        }
        if self.files.len() + self.plans.len() >= MAX_FILES {
            let message = format!("a program has at most {MAX_FILES} files; import fewer");
            self.diagnostics.push(Diagnostic::error("too-many-files", span, message));
            return;
        }
        let importer = self.sources.get(self.files[from].tree.file).map(|file| file.name.clone());
        let request =
            ImportRequest { path: path.strip_prefix("file://").unwrap_or(path), from: &importer.unwrap_or_default() };
        let source = match read(&request) {
            Ok(source) => source,
            Err(why) => {
                let message = match path.strip_prefix(SCHEME) {
                    Some(name) => format!("the skill `{name}` can't be used: {why}"),
                    None => format!("`{path}` can't be imported: {why}"),
                };
                self.diagnostics.push(Diagnostic::error("import-missing", span, message));
                return;
            }
        };
        if is_plan(path) {
            return self.add_plan(source, Some(span));
        }
        let known = self
            .files
            .iter()
            .position(|file| self.sources.get(file.tree.file).is_some_and(|known| *known.name == *source.name));
        let to = match known {
            Some(to) => to,
            None => self.add(source, wanted, kept),
        };
        if let Some(back) = self.path_between(to, from) {
            let mut error =
                Diagnostic::error("import-cycle", span, format!("`{path}` imports this file; remove one import"));
            if let Some(back) = back {
                error = error.with_place(back, "the cycle begins here");
            }
            self.diagnostics.push(error);
            return;
        }
        self.imports.push(ImportEdge { from, agent, to, span });
    }

    /// Whether `from` imports `to`, directly or not, and the import by which it begins to (none: they are one).
    fn path_between(&self, from: usize, to: usize) -> Option<Option<Span>> {
        if from == to {
            return Some(None);
        }
        let mut seen = vec![false; self.files.len()];
        let mut pending: Vec<(usize, Option<Span>)> = vec![(from, None)];
        while let Some((at, first)) = pending.pop() {
            for edge in self.imports.iter().filter(|edge| edge.from == at) {
                let first = first.or(Some(edge.span));
                if edge.to == to {
                    return Some(first);
                }
                if !std::mem::replace(&mut seen[edge.to], true) {
                    pending.push((edge.to, first));
                }
            }
        }
        None
    }
}

/// `###Steps`: without a space it is text.
fn marks_without_space(file: FileId, text: &str) -> Vec<Diagnostic> {
    let (mut found, mut in_fence, mut at) = (Vec::new(), false, 0);
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        in_fence ^= words.starts_with("```") || words.starts_with("~~~");
        let title = words.trim_start_matches('#');
        let n_marks = words.len() - title.len();
        if !in_fence && line.starts_with("##") && n_marks <= 6 && title.starts_with(char::is_alphabetic) {
            let span = Span::new(file, at, at + words.len());
            let warning =
                Diagnostic::warning("heading-without-space", span, "without a space after `#` this is not a heading");
            let marks = &words[..n_marks];
            found.push(warning.with_fix(format!("write `{marks} {title}`"), span, format!("{marks} {title}")));
        }
        at += line.len();
    }
    found
}

/// What looks like front matter and is none: whoever wrote it relies on it.
fn lost_settings(tree: &FileTree, text: &str) -> Option<Diagnostic> {
    if let Some((mark, advice)) = tree.lost_front_matter {
        let message = format!("this looks like front matter, but is read as text: {advice}");
        return Some(Diagnostic::error(FRONT_MATTER, mark, message));
    }
    let first = tree.preamble.body.metadata.first()?;
    let key = text.get(first.key.range()).unwrap_or("");
    let message =
        format!("`{key}:` has no effect here: it belongs between two `---` lines at the beginning of the file");
    Some(Diagnostic::error(FRONT_MATTER, first.key.to(first.value), message))
}

/// Whether a file of this name holds a plan.
fn is_plan(path: &str) -> bool {
    PlanLanguage::of_file(path).is_some()
}
