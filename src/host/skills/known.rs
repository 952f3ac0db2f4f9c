//! Skills that a program names by their names alone, and those that come with every program: looked for when somebody asks
//! for the first, loaded only if they are trusted.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use playhouse_lang::source::skill::FILE_NAME;
use playhouse_lang::spelling::nearest;

use crate::skills::find::{Found, FoundSkill, Places};
use crate::skills::trust::{Standing, TrustFile, Trusted};

/// What is known of skills before a program is loaded. Cheap to clone; the clones look once.
#[derive(Clone, Debug, Default)]
pub struct KnownSkills(Option<Arc<Known>>);

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Where.
    pub places: Places,
    /// Below which folder it is kept what is trusted.
    pub state_home: Option<PathBuf>,
    /// What comes with every program: names, and paths (with a `/`, or those that begin with a dot).
    pub chosen: Vec<String>,
    /// Whether all that are trusted come with every program.
    pub discover: bool,
}

#[derive(Debug)]
struct Known {
    wanted: Wanted,
    found: OnceLock<Found>,
    every: OnceLock<Result<Every, String>>,
}

/// The files of skills that come with every program, and what people should know of those that do not.
type Every = (Vec<PathBuf>, Vec<String>);

impl KnownSkills {
    /// What is looked for, when it is needed.
    pub fn new(wanted: Wanted) -> KnownSkills {
        KnownSkills(Some(Arc::new(Known { wanted, found: OnceLock::new(), every: OnceLock::new() })))
    }

    /// The file of the skill of this name.
    ///
    /// # Errors
    /// There is none, or it is not trusted: why, and the next step.
    pub fn file_of(&self, name: &str) -> Result<PathBuf, String> {
        let known = self.0.as_ref().ok_or("skills are not looked for here; import the skill's folder")?;
        known.file_of(name)
    }

    /// The files of the skills that come with every program, and what people should know of those that do not.
    ///
    /// # Errors
    /// One that was chosen is not there or not trusted, or one that was trusted has changed; what is trusted cannot be read.
    pub fn of_every_program(&self) -> Result<(Vec<PathBuf>, Vec<String>), String> {
        match &self.0 {
            Some(known) => known.every.get_or_init(|| known.of_every_program()).clone(),
            None => Ok(Default::default()),
        }
    }
}

impl Known {
    fn found(&self) -> &Found {
        self.found.get_or_init(|| self.wanted.places.find())
    }

    fn trusted(&self) -> Result<Trusted, String> {
        let file = TrustFile::below(self.wanted.state_home.as_deref());
        file.and_then(|file| file.read()).map_err(|error| error.to_string())
    }

    fn file_of(&self, name: &str) -> Result<PathBuf, String> {
        let trusted = self.trusted()?;
        let Some(skill) = self.found().named(name) else { return Err(self.nothing_called(name, &trusted)) };
        match reason_against(skill, &trusted) {
            None => Ok(skill.file()),
            Some(why) => Err(why),
        }
    }

    fn nothing_called(&self, name: &str, trusted: &Trusted) -> String {
        if let Some(folder) = trusted.vanished().find(|folder| folder.ends_with(name)) {
            return format!("it was trusted in {}, and is no longer there; restore it", folder.display());
        }
        match nearest(name, self.found().nearest().map(|skill| skill.name.as_str())) {
            Some(close) => format!("there is no skill of this name; did you mean `{close}`?"),
            None => "there is no skill of this name; `playhouse skills list` shows the skills; import a folder by its \
                     path"
                .to_owned(),
        }
    }

    fn of_every_program(&self) -> Result<Every, String> {
        let (mut files, mut remarks) = (Vec::new(), Vec::new());
        for chosen in &self.wanted.chosen {
            let file = match is_path(chosen) {
                true => file_at(Path::new(chosen)),
                false => self.file_of(chosen),
            };
            files.push(file.map_err(|why| format!("the skill `{chosen}`: {why}"))?);
        }
        if self.wanted.discover {
            let trusted = self.trusted()?;
            let mut n_unknown = 0;
            for skill in self.found().nearest() {
                match trusted.standing(&skill.folder) {
                    Standing::Trusted => files.push(skill.file()),
                    Standing::Unknown => n_unknown += 1,
                    // Somebody relies on it.
                    Standing::Changed(_) | Standing::Refused(_) => {
                        let why = reason_against(skill, &trusted).unwrap_or_default();
                        return Err(format!("the skill `{}`: {why}", skill.name));
                    }
                }
            }
            if n_unknown > 0 {
                let told =
                    format!("skills not loaded, as they are not trusted: {n_unknown}; see `playhouse skills list`");
                remarks.push(told);
            }
        }
        Ok((files, remarks))
    }
}

/// Whether a skill is named by where it is; else by its name.
fn is_path(chosen: &str) -> bool {
    chosen.starts_with('.') || chosen.contains(['/', '\\'])
}

/// The text of the skill at a path: of its folder, or of its `SKILL.md`.
fn file_at(path: &Path) -> Result<PathBuf, String> {
    let file = if path.ends_with(FILE_NAME) { path.to_owned() } else { path.join(FILE_NAME) };
    if file.is_file() { Ok(file) } else { Err(format!("there is no {}; check the path", file.display())) }
}

/// Why a skill that was found is not loaded, and the next step; none: it is trusted.
fn reason_against(skill: &FoundSkill, trusted: &Trusted) -> Option<String> {
    let folder = skill.folder.display();
    match trusted.standing(&skill.folder) {
        Standing::Trusted => None,
        Standing::Unknown => Some(format!(
            "it is not trusted; read it with `playhouse skills show {folder}`, then `playhouse skills trust {folder}`"
        )),
        Standing::Changed(changes) => Some(format!(
            "it has changed since it was trusted ({}); read it, then `playhouse skills trust {folder}`",
            changes.join(", ")
        )),
        Standing::Refused(why) => Some(why),
    }
}
