//! Programs from disk and from journals: the texts, and which file each import meant.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use playhouse_lang::diagnostic::Severity;
use playhouse_lang::program::{FrontMatter, Program, Signature};
use playhouse_lang::source::skill::{FILE_NAME, SCHEME};
use playhouse_lang::span::Sources;
use playhouse_lang::{
    Fields, ImportRequest, LoadOptions, Loaded, Readings, SourceText, load, load_again, load_settings,
};
use serde::{Deserialize, Serialize};

use crate::journal::wire::FileWire;
use crate::library;
use crate::skills::known::KnownSkills;
use crate::text::text_hash;

/// All texts of a program: enough to load it again without any file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramText {
    /// The names of the files that were given; the others were imported.
    pub roots: Vec<Arc<str>>,
    /// All files in load order, with what their imports meant.
    pub files: Vec<FileWire>,
}

/// A program's file that cannot be read. Files that are imported and cannot be read are diagnostics instead.
#[derive(Debug, thiserror::Error)]
pub enum ProgramFileError {
    /// A file on disk.
    #[error("{path}: cannot read the program: {cause}; check the path")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said, or that it is no text.
        cause: std::io::Error,
    },
    /// A file of the library that is not there.
    #[error("{path}: {cause}")]
    Library {
        /// Its path, with the scheme.
        path: String,
        /// Which files there are.
        cause: String,
    },
    /// A skill that comes with every program; in words.
    #[error("{0}")]
    Skill(String),
}

/// The tools and skills that are known before a program runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownTools<'a> {
    /// Their signatures.
    pub signatures: &'a [Signature],
    /// Whether there are more: a name that nothing has is then only a warning.
    pub are_more: bool,
    /// What rules may name besides ([`LoadOptions::others`]).
    pub others: &'a [Arc<str>],
    /// The fields of what they give back ([`LoadOptions::fields`]).
    pub fields: Option<&'a Fields>,
    /// The skills that it may name; none: it names them by paths.
    pub skills: Option<&'a KnownSkills>,
}

/// The same, to be kept.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the fields are those of KnownTools")]
pub struct ToolInventory {
    pub signatures: Vec<Signature>,
    pub are_more: bool,
    pub others: Vec<Arc<str>>,
    pub fields: Fields,
    pub skills: KnownSkills,
}

impl<'a> From<&'a ToolInventory> for KnownTools<'a> {
    fn from(tools: &'a ToolInventory) -> KnownTools<'a> {
        let ToolInventory { signatures, are_more, others, fields, skills } = tools;
        KnownTools { signatures, are_more: *are_more, others, fields: Some(fields), skills: Some(skills) }
    }
}

impl<'a> From<KnownTools<'a>> for LoadOptions<'a> {
    fn from(tools: KnownTools<'a>) -> LoadOptions<'a> {
        let KnownTools { signatures: tools, are_more: open_world, others, fields, .. } = tools;
        LoadOptions { tools, open_world, others, fields }
    }
}

/// These are all.
impl<'a, S: AsRef<[Signature]> + ?Sized> From<&'a S> for KnownTools<'a> {
    fn from(signatures: &'a S) -> KnownTools<'a> {
        KnownTools { signatures: signatures.as_ref(), ..KnownTools::default() }
    }
}

/// Reads programs from disk, with what they import, and loads them. A path such as
/// `playhouse:confirm` is a file of the [`library`], here as in imports.
///
/// # Errors
/// A given file cannot be read.
pub fn load_files<'a>(
    paths: &[PathBuf],
    tools: impl Into<KnownTools<'a>>,
) -> Result<(ProgramText, Loaded), ProgramFileError> {
    load_files_with(paths, tools, None)
}

/// As [`load_files`], with one file's text in place of the one on disk; its name is the one that it has in the program.
///
/// # Errors
/// The same.
pub fn load_files_with<'a>(
    paths: &[PathBuf],
    tools: impl Into<KnownTools<'a>>,
    changed: Option<&SourceText>,
) -> Result<(ProgramText, Loaded), ProgramFileError> {
    load_files_by(paths, tools, &mut |path| match changed.filter(|changed| changed.name == name_of(path)) {
        Some(changed) => Ok(changed.text.clone()),
        None => std::fs::read_to_string(path),
    })
}

/// As [`load_files`]; `read` reads every file there is on disk.
///
/// # Errors
/// The same.
pub fn load_files_by<'a>(
    paths: &[PathBuf],
    tools: impl Into<KnownTools<'a>>,
    read: &mut dyn FnMut(&Path) -> std::io::Result<String>,
) -> Result<(ProgramText, Loaded), ProgramFileError> {
    let known = tools.into();
    let roots = with_skills(read_roots(paths, read)?, known, read)?;
    Ok(load_texts(roots, known, &mut |path| read(path).map_err(|cause| cause.to_string())))
}

/// The same texts, and those of the skills that come with every program.
fn with_skills(
    mut roots: Vec<SourceText>,
    known: KnownTools<'_>,
    read: &mut dyn FnMut(&Path) -> std::io::Result<String>,
) -> Result<Vec<SourceText>, ProgramFileError> {
    let skills = known.skills.map(KnownSkills::of_every_program).transpose().map_err(ProgramFileError::Skill)?;
    let (files, _) = skills.unwrap_or_default();
    for skill in read_roots(&files, read)? {
        if roots.iter().all(|root| root.name != skill.name) {
            roots.push(skill);
        }
    }
    Ok(roots)
}

/// As [`load_files`], of files that [`read_roots`] has read, and that are edited: what was read `before` of the same text
/// is taken from there.
pub fn load_roots_again<'a>(
    before: Option<(Program, Readings)>,
    roots: Vec<SourceText>,
    tools: impl Into<KnownTools<'a>>,
    read: &mut dyn FnMut(&Path) -> std::io::Result<String>,
) -> (Loaded, Readings) {
    let known = tools.into();
    // What cannot be read is told where the program is run.
    let roots = with_skills(roots.clone(), known, read).unwrap_or(roots);
    let mut read = |path: &Path| read(path).map_err(|cause| cause.to_string());
    load_by(before, roots, known, &mut |request| fetch(request, known.skills, &mut read))
}

/// Loads a program from texts; what is found in the library's own is nobody's business here.
fn load_by(
    before: Option<(Program, Readings)>,
    roots: Vec<SourceText>,
    known: KnownTools<'_>,
    follow: &mut dyn FnMut(&ImportRequest<'_>) -> Result<SourceText, String>,
) -> (Loaded, Readings) {
    let (mut loaded, readings) = load_again(before, roots, follow, &known.into());
    let sources = &loaded.program.sources;
    loaded.diagnostics.retain(|finding| library::concerns_author(finding, sources));
    (loaded, readings)
}

/// What the front matter of these files and of what they import sets, with the files' texts, those of skills among them.
/// Nothing else of them is read: other mistakes in them are found when they are loaded.
///
/// # Errors
/// A given file cannot be read, or a skill that comes with every program.
pub fn load_settings_of(
    paths: &[PathBuf],
    skills: Option<&KnownSkills>,
) -> Result<(FrontMatter, Sources), ProgramFileError> {
    let mut read = |path: &Path| std::fs::read_to_string(path);
    let known = KnownTools { skills, ..KnownTools::default() };
    let roots = with_skills(read_roots(paths, &mut read)?, known, &mut read)?;
    let mut read = |path: &Path| read(path).map_err(|cause| cause.to_string());
    Ok(load_settings(roots, &mut |request| fetch(request, skills, &mut read)))
}

/// The texts of the given files.
///
/// # Errors
/// One cannot be read.
pub fn read_roots(
    paths: &[PathBuf],
    read: &mut dyn FnMut(&Path) -> std::io::Result<String>,
) -> Result<Vec<SourceText>, ProgramFileError> {
    let root = |path: &PathBuf| {
        if let Some(path) = path.to_str().filter(|path| library::is_library(path)) {
            library::find(path).map_err(|cause| ProgramFileError::Library { path: path.to_owned(), cause })?;
            let (name, text) = library::stand_in(path);
            return Ok(SourceText { name, text });
        }
        match read_file_or_skill(path, read) {
            Ok(file) => Ok(file),
            Err(cause) => Err(ProgramFileError::File { path: path.clone(), cause }),
        }
    };
    paths.iter().map(root).collect()
}

/// A file that is imported. `read` gets a path that is relative to where the process is.
fn fetch(
    request: &ImportRequest<'_>,
    skills: Option<&KnownSkills>,
    read: &mut dyn FnMut(&Path) -> Result<String, String>,
) -> Result<SourceText, String> {
    if let Some(name) = request.path.strip_prefix(SCHEME) {
        let path = skills.unwrap_or(&KnownSkills::default()).file_of(name)?;
        return read_file_or_skill(&path, read);
    }
    if library::is_library(request.path) {
        let file = library::find(request.path)?;
        return Ok(SourceText { name: file.path.to_owned(), text: file.text.to_owned() });
    }
    read_file_or_skill(&beside(request.from, request.path), read)
}

/// Loads a program from texts. `read` fetches imported files by path (relative to the importing file, made
/// plain: no `.` or `..` inside); those of the library are there already.
pub fn load_texts<'a>(
    roots: Vec<SourceText>,
    tools: impl Into<KnownTools<'a>>,
    read: &mut dyn FnMut(&Path) -> Result<String, String>,
) -> (ProgramText, Loaded) {
    let known = tools.into();
    let root_names = roots.iter().map(|root| Arc::from(root.name.as_str())).collect();
    let mut imports: BTreeMap<String, BTreeMap<String, Arc<str>>> = BTreeMap::new();
    let mut follow = |request: &ImportRequest<'_>| {
        let file = fetch(request, known.skills, read)?;
        imports.entry(request.from.to_owned()).or_default().insert(request.path.to_owned(), file.name.as_str().into());
        Ok(file)
    };
    let (loaded, _) = load_by(None, roots, known, &mut follow);
    let files = loaded.program.sources.iter().map(|(_, file)| FileWire {
        name: file.name.clone(),
        text: file.text.clone(),
        imports: imports.remove(&*file.name).unwrap_or_default(),
    });
    let files = files.collect();
    (ProgramText { roots: root_names, files }, loaded)
}

impl ProgramText {
    /// A name for the texts: equal texts have equal names.
    pub fn hash(&self) -> String {
        text_hash(self.files.iter().map(|file| (&*file.name, &*file.text)))
    }

    /// Whether another program has the same texts, whatever its files are called: they may have moved.
    pub fn has_texts_of(&self, other: &ProgramText) -> bool {
        let texts = |text: &ProgramText| text.files.iter().map(|file| file.text.clone()).collect::<Vec<_>>();
        texts(self) == texts(other)
    }

    /// Loads the program again, from these texts alone.
    pub fn load(&self, tools: &[Signature]) -> Loaded {
        let find = |name: &str| self.files.iter().find(|file| &*file.name == name);
        let source = |file: &FileWire| SourceText { name: file.name.to_string(), text: file.text.to_string() };
        let roots = self.roots.iter().filter_map(|name| find(name)).map(source).collect();
        let mut read = |request: &ImportRequest<'_>| {
            let meant = find(request.from).and_then(|from| from.imports.get(request.path));
            let file = meant.and_then(|name| find(name));
            file.map(source).ok_or_else(|| "it was not there when the session began".to_owned())
        };
        load(roots, &mut read, &LoadOptions { tools, ..LoadOptions::default() })
    }

    /// The same, where it must have no error.
    ///
    /// # Errors
    /// The first error's place and words.
    pub fn load_good(&self, tools: &[Signature]) -> Result<Arc<Program>, String> {
        let loaded = self.load(tools);
        match loaded.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error) {
            Some(fault) => Err(format!("{}: {}", loaded.program.sources.place(fault.span), fault.message)),
            None => Ok(Arc::new(loaded.program)),
        }
    }
}

/// Programs that a process has read, as long as anybody has them. Cheap to clone: the clones are one.
#[derive(Clone, Debug, Default)]
pub struct ProgramCache(Arc<DashMap<String, Vec<Reading>>>);

/// What was read with which tools.
#[derive(Debug)]
struct Reading {
    text: ProgramText,
    tools: Vec<Signature>,
    program: Weak<Program>,
}

impl ProgramCache {
    /// Reads a program's texts with these tools, or finds what was read of them.
    ///
    /// # Errors
    /// As for [`ProgramText::load_good`].
    pub fn load(&self, text: &ProgramText, tools: Vec<Signature>) -> Result<Arc<Program>, String> {
        let key = text.hash();
        let known = self.0.get(&key).and_then(|readings| {
            let same = readings.iter().find(|reading| reading.text == *text && reading.tools == tools)?;
            same.program.upgrade()
        });
        if let Some(program) = known {
            return Ok(program);
        }
        let program = text.load_good(&tools)?;
        let mut readings = self.0.entry(key).or_default();
        readings.retain(|reading| reading.program.strong_count() > 0);
        readings.push(Reading { text: text.clone(), tools, program: Arc::downgrade(&program) });
        Ok(program)
    }
}

/// Sessions that share one and that do not are equal.
impl PartialEq for ProgramCache {
    fn eq(&self, _: &ProgramCache) -> bool {
        true
    }
}

/// The text of the skill that a folder is.
pub fn skill_in(folder: &Path) -> PathBuf {
    folder.join(FILE_NAME)
}

/// The file of this path, or the skill that is the folder of this path.
fn read_file_or_skill<E>(
    path: &Path,
    read: &mut (impl FnMut(&Path) -> Result<String, E> + ?Sized),
) -> Result<SourceText, E> {
    match read(path) {
        Ok(text) => Ok(SourceText { name: name_of(path), text }),
        Err(cause) => {
            let skill = skill_in(path);
            read(&skill).map(|text| SourceText { name: name_of(&skill), text }).map_err(|_| cause)
        }
    }
}

/// The name of a file on disk; never one of the library's.
fn name_of(path: &Path) -> String {
    let name = path.to_string_lossy().into_owned();
    if library::is_library(&name) { format!("./{name}") } else { name }
}

/// The name of a program's file without its folders: where it stood may have changed since.
pub fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The file that another one names by a path.
pub fn beside(from: &str, path: &str) -> PathBuf {
    plain(&Path::new(from).parent().unwrap_or(Path::new("")).join(path))
}

/// The path without `.` and, where the text alone tells, without `..`: a file has one name however it is imported.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            Component::ParentDir | Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                plain.push(component);
            }
        }
    }
    plain
}
