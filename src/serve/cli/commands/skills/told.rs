//! What commands about skills have in common: which one is meant, what is shown of it, what is trusted.

use std::path::{Path, PathBuf};

use crate::diagnostic::render;
use crate::host::skills::find::Places;
use crate::host::skills::folder::SkillFolder;
use crate::host::skills::trust::{Contents, Standing, TrustError, TrustFile, Trusted};
use crate::lang::source::skill::FILE_NAME;
use crate::lang::spelling::nearest;
use crate::serve::cli::commands::skills::check::told;
use crate::serve::cli::machinery::console::{Console, Failure, clean};
use crate::span::Sources;

/// All that somebody reads before they trust a skill; what is wrong with it goes to standard error.
pub(super) fn whole(console: &Console, folder: &Path) -> Result<String, Failure> {
    let mut sources = Sources::default();
    let file = folder.join(FILE_NAME);
    let read = SkillFolder::read(&file, &mut sources);
    let read = read.map_err(|cause| Failure::wrong(format!("{}: cannot read: {cause}", file.display())))?;
    let mut text = told(&read);
    if let Some(allowed) = read.skill.allowed_tools() {
        text.push_str(&format!("  allowed-tools: {allowed}\n"));
    }
    let files: Vec<String> = match Contents::of(folder) {
        Ok(contents) => contents.files().map(str::to_owned).collect(),
        Err(_) => Vec::new(),
    };
    if !files.is_empty() {
        text.push_str(&format!("  files: {}\n", files.join(", ")));
    }
    text.push_str(&format!("  folder: {}\n", folder.display()));
    let findings = render(&read.skill.findings, &sources, console.color);
    if !findings.is_empty() {
        console.tell(&format!("{}\n", clean(&findings)));
    }
    Ok(clean(&text))
}

/// How somebody stands to a skill, in words.
pub(super) fn standing_told(standing: &Standing) -> String {
    match standing {
        Standing::Trusted => "trusted".to_owned(),
        Standing::Unknown => "not trusted".to_owned(),
        Standing::Changed(changes) => format!("changed since it was trusted: {}", changes.join(", ")),
        Standing::Refused(why) => format!("cannot be trusted: {why}"),
    }
}

/// The folder of a skill that was named by its folder, its `SKILL.md` or its name.
pub(super) fn folder_of(console: &Console, skill: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(skill);
    if path.join(FILE_NAME).is_file() {
        return Ok(path.to_owned());
    }
    if path.ends_with(FILE_NAME) && path.is_file() {
        return Ok(path.parent().unwrap_or(Path::new("")).to_owned());
    }
    let found = places(console).find();
    if let Some(found) = found.named(skill) {
        return Ok(found.folder.clone());
    }
    Err(Failure::wrong(match nearest(skill, found.nearest().map(|skill| skill.name.as_str())) {
        Some(close) => {
            format!("{skill}: this is neither a folder with a `{FILE_NAME}` nor a skill; did you mean `{close}`?")
        }
        None => format!(
            "{skill}: this is neither a folder with a `{FILE_NAME}` nor a skill; `playhouse skills list` shows the \
             skills"
        ),
    }))
}

/// Where skills are looked for.
pub(super) fn places(console: &Console) -> Places {
    Places { working: PathBuf::new(), home: console.environment.home.clone() }
}

/// What is trusted, and where that is kept.
pub(super) fn trusted(console: &Console) -> Result<(TrustFile, Trusted), Failure> {
    let file = TrustFile::below(console.environment.state_home.as_deref())?;
    let trusted = file.read()?;
    Ok((file, trusted))
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Failure {
        Failure::wrong(error)
    }
}
