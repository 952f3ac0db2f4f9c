//! Which programs there are: each text that is open belongs to the programs that reach it, or is one itself.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use playhouse_ide::{Tools, View};

use crate::diagnostic::Diagnostic;
use crate::host::config::Environment;
use crate::host::launch::{Choices, Launch, Workshop, surveyed};
use crate::host::program::{KnownTools, ToolInventory, load_roots_again, read_roots};
use crate::lang::program::Program;
use crate::lang::{LoadOptions, Readings, SourceText};
use crate::serve::lsp::documents::{Document, Documents, Text};
use crate::serve::lsp::workspace::Workspace;
use crate::serve::show::tools::about_tool;
use crate::span::{FileId, Span};

/// A program, loaded.
pub(super) struct Loaded {
    /// The file that it begins with.
    root: String,
    survey: Survey,
    pub(super) view: View,
    /// What reading it gave besides, for the next time.
    readings: Readings,
}

/// What is known of a program's tools without starting anything: by its files and the configuration beside them, as they
/// were saved last.
#[derive(Clone)]
pub(super) struct Survey {
    inventory: ToolInventory,
    tools: Tools,
    /// Why there is none.
    trouble: Option<String>,
}

/// What has changed since programs were loaded.
pub(super) struct Changes {
    /// Which texts.
    pub(super) names: BTreeSet<String>,
    /// Whether what lies on the disk has, too.
    pub(super) is_disk_changed: bool,
}

/// All programs.
#[derive(Default)]
pub(super) struct Programs {
    all: Vec<Loaded>,
    /// Texts that have changed since the programs were loaded.
    changed: BTreeSet<String>,
    /// Whether what lies on the disk has changed, too.
    is_disk_changed: bool,
}

impl Survey {
    /// What `check` would know.
    fn of(root: &str) -> Survey {
        Survey::with(root, Choices::default())
    }

    /// The same with these choices.
    pub(super) fn with(root: &str, choices: Choices) -> Survey {
        // What nobody has saved cannot be surveyed, and that is no fault.
        if !Path::new(root).exists() {
            return Survey::unknown(None);
        }
        // Of the environment only where a person's skills are, and which of them are trusted.
        let Environment { home, state_home, .. } = Environment::read();
        let environment = Environment { home, state_home, ..Environment::default() };
        let launch = Launch::new(Workshop { environment, ..Workshop::default() }, choices);
        match launch.survey_tools(&[PathBuf::from(root)]) {
            Ok(equipment) => {
                let tools = equipment.tools.signatures();
                let about = tools.iter().map(|tool| (tool.signature.name.clone(), about_tool(tool)));
                let signatures = tools.iter().map(|tool| tool.signature.clone()).collect();
                let tools = Tools { signatures, about: about.filter(|(_, about)| !about.is_empty()).collect() };
                Survey { inventory: surveyed(&equipment), tools, trouble: None }
            }
            // Which tools there are is not known, so an unknown name is no finding.
            Err(error) => Survey::unknown(Some(error.to_string())),
        }
    }

    fn unknown(trouble: Option<String>) -> Survey {
        let inventory = ToolInventory { are_more: true, ..ToolInventory::default() };
        Survey { inventory, tools: Tools::default(), trouble }
    }
}

impl Loaded {
    /// The texts that are open stand in the place of those in files; none: its first file cannot be read.
    pub(super) fn load(root: &str, survey: Survey, documents: &Documents) -> Option<Loaded> {
        let roots = read_roots(&[PathBuf::from(root)], &mut |path| documents.read(path)).ok()?;
        Some(Loaded::of(root.to_owned(), None, roots, survey, &mut |path| documents.read(path)))
    }

    /// A file without what it imports, and without a look at its tools; none: it cannot be read.
    pub(super) fn alone(name: &str, documents: &Documents) -> Option<Loaded> {
        let text = documents.read(Path::new(name)).ok()?;
        let roots = vec![SourceText { name: name.to_owned(), text }];
        let mut nothing = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
        Some(Loaded::of(name.to_owned(), None, roots, Survey::unknown(None), &mut nothing))
    }

    /// As it is now; none: its first file cannot be read any more. `survey`: what is known of its tools now, if that is other.
    pub(super) fn again(self, survey: Option<Survey>, documents: &Documents) -> Option<Loaded> {
        let roots = read_roots(&[PathBuf::from(&self.root)], &mut |path| documents.read(path)).ok()?;
        let before = (self.view.into_loaded().program, self.readings);
        let survey = survey.unwrap_or(self.survey);
        Some(Loaded::of(self.root, Some(before), roots, survey, &mut |path| documents.read(path)))
    }

    fn of(
        root: String,
        before: Option<(Program, Readings)>,
        roots: Vec<SourceText>,
        survey: Survey,
        read: &mut dyn FnMut(&Path) -> std::io::Result<String>,
    ) -> Loaded {
        let (mut loaded, readings) = load_roots_again(before, roots, &survey.inventory, read);
        if let Some(trouble) = &survey.trouble {
            loaded.diagnostics.insert(0, Diagnostic::error("tools", Span::default(), trouble.clone()));
        }
        let view = View::new(loaded, survey.tools.clone());
        Loaded { root, survey, view, readings }
    }

    /// With which names it was loaded beside its own.
    pub(super) fn world(&self) -> LoadOptions<'_> {
        KnownTools::from(&self.survey.inventory).into()
    }

    /// Whether both begin with the same file.
    pub(super) fn is_same(&self, other: &Loaded) -> bool {
        self.root == other.root
    }

    /// The names of its files.
    pub(super) fn files(&self) -> impl Iterator<Item = (FileId, &str)> {
        self.view.program().sources.iter().map(|(id, file)| (id, &*file.name))
    }

    /// The text of one of its files.
    pub(super) fn text(&self, file: FileId) -> Option<Text<'_>> {
        self.view.program().sources.get(file).map(Text::of)
    }

    /// The same program with other texts in the place of some, by name.
    pub(super) fn with_texts(&self, edited: &HashMap<String, String>, documents: &Documents) -> Option<View> {
        let mut read = |path: &Path| match edited.get(&*path.to_string_lossy()) {
            Some(text) => Ok(text.clone()),
            None => documents.read(path),
        };
        let roots = read_roots(&[PathBuf::from(&self.root)], &mut read).ok()?;
        let before = (self.view.program().clone(), self.readings.clone());
        let (loaded, _) = load_roots_again(Some(before), roots, &self.survey.inventory, &mut read);
        Some(View::new(loaded, self.survey.tools.clone()))
    }
}

impl Programs {
    /// A text was opened, edited or closed.
    pub(super) fn edited(&mut self, name: String) {
        self.changed.insert(name);
    }

    /// A file was saved, made or taken away: what programs are made of may be other than it was, and so may tools.
    pub(super) fn saved(&mut self, name: String) {
        self.changed.insert(name);
        self.is_disk_changed = true;
    }

    /// Loads anew what has changed; what that is, if anything has.
    pub(super) fn refresh(&mut self, documents: &Documents, workspace: &Workspace) -> Option<Changes> {
        let changed = std::mem::take(&mut self.changed);
        let is_disk_changed = std::mem::take(&mut self.is_disk_changed);
        if changed.is_empty() {
            return None;
        }
        let is_changed = |program: &Loaded| changed.iter().any(|name| program.view.file(name).is_some());
        let again = |program: Loaded| {
            let survey = is_disk_changed.then(|| Survey::of(&program.root));
            if survey.is_some() || is_changed(&program) { program.again(survey, documents) } else { Some(program) }
        };
        self.all = std::mem::take(&mut self.all).into_iter().filter_map(again).collect();
        // What lies on the disk may import a text now that it did not.
        for name in documents.names().filter(|name| is_disk_changed || changed.contains(*name)) {
            for root in workspace.programs_of(name) {
                if !self.all.iter().any(|program| program.root == root) {
                    self.all.extend(Loaded::load(&root, Survey::of(&root), documents));
                }
            }
            let is_program = || documents.get(name).is_some_and(Document::is_program);
            if self.of(name).next().is_none() && is_program() {
                self.all.extend(Loaded::load(name, Survey::of(name), documents));
            }
        }
        // One that another one reaches is judged there; one that nobody looks at is not judged.
        let is_kept = |program: &Loaded| {
            let is_inner =
                self.all.iter().any(|other| other.root != program.root && other.view.file(&program.root).is_some());
            // One that is none any more is found out when it is saved: it takes as long as loading it.
            let is_program = !is_disk_changed || documents.get(&program.root).is_none_or(Document::is_program);
            !is_inner && is_program && program.files().any(|(_, name)| documents.get(name).is_some())
        };
        let kept: Vec<bool> = self.all.iter().map(is_kept).collect();
        let mut kept = kept.into_iter();
        self.all.retain(|_| kept.next().unwrap_or(true));
        Some(Changes { names: changed, is_disk_changed })
    }

    /// Those that reach a file, with its number there.
    pub(super) fn of<'p, 'n>(&'p self, name: &'n str) -> impl Iterator<Item = (&'p Loaded, FileId)> + use<'p, 'n> {
        self.all.iter().filter_map(move |program| Some((program, program.view.file(name)?)))
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Loaded] {
        &self.all
    }

    /// The files of all programs, each once.
    pub(super) fn files(&self) -> Vec<String> {
        let mut files: Vec<String> =
            self.all.iter().flat_map(|program| program.files().map(|(_, name)| name.to_owned())).collect();
        files.sort();
        files.dedup();
        files
    }
}
