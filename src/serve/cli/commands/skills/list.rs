//! `playhouse skills list`: the skills in the folders where programs keep them.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value as Json, json};

use crate::host::config::FileConfig;
use crate::host::skills::find::FoundSkill;
use crate::host::skills::folder::SkillFolder;
use crate::host::skills::trust::Standing;
use crate::serve::cli::commands::skills::told::{places, standing_told, trusted};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, count, put};
use crate::serve::cli::machinery::output::{Format, json_array, table};
use crate::span::Sources;

const EXAMPLES: &str = "\
Examples:
  playhouse skills list
  playhouse skills list --format json";

/// Lists the skills in the folders where programs keep them (here, above, and in your home), and whether you trust
/// them
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ListArguments {
    /// The output format: a table for people, or a JSON array for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The configuration file, for the budget of descriptions [default: playhouse.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A skill of the list.
struct Listed<'f> {
    skill: &'f FoundSkill,
    standing: Standing,
    mode: &'static str,
    n_lines: usize,
}

/// Writes the list.
pub(crate) fn list(console: &Console, arguments: &ListArguments) -> Result<Exit, Failure> {
    let config = FileConfig::find(arguments.config.as_deref(), Some(Path::new("program.md")));
    let budget = config.map_err(Failure::wrong)?.skills.budget;
    let (_, trusted) = trusted(console)?;
    let found = places(console).find();
    let listed = found.skills.iter().map(|skill| {
        let (mode, n_lines) = outline(skill);
        Listed { skill, standing: trusted.standing(&skill.folder), mode, n_lines }
    });
    let listed: Vec<Listed<'_>> = listed.collect();
    match arguments.format {
        Format::Json => put(&json_array(listed.iter().map(Listed::to_json)))?,
        Format::Text => put(&clean(&table(listed.iter().map(Listed::row))))?,
    }
    for passed_over in &found.passed_over {
        console.warning(&clean(passed_over));
    }
    for vanished in trusted.vanished() {
        console.warning(&format!("{}: it was trusted, but no longer exists", vanished.display()));
    }
    let is_shown = |one: &&Listed<'_>| one.standing == Standing::Trusted && one.skill.shadowed_by.is_none();
    let n_characters: usize = listed.iter().filter(is_shown).map(|one| one.skill.description.chars().count()).sum();
    if n_characters > budget {
        console.warning(&format!(
            "the descriptions of trusted skills have {n_characters} characters, but `[skills] budget` allows \
             {budget}; whoever chooses a skill sees those that seem to fit"
        ));
    }
    if arguments.format == Format::Text {
        let n_trusted = listed.iter().filter(|one| one.standing == Standing::Trusted).count();
        console.remark(&format!("{}, {n_trusted} trusted", count(listed.len(), "skill")));
    }
    Ok(Exit::Finished)
}

/// How a skill runs, and how many lines it has.
fn outline(skill: &FoundSkill) -> (&'static str, usize) {
    let Ok(folder) = SkillFolder::read(&skill.file(), &mut Sources::default()) else { return ("unreadable", 0) };
    let mode = match &folder.outline.procedures[..] {
        [] => "goal",
        [_] => "steps",
        _ => "guide",
    };
    (mode, folder.outline.lines().count())
}

impl Listed<'_> {
    fn row(&self) -> [String; 5] {
        let FoundSkill { name, folder, shadowed_by, .. } = self.skill;
        let lines = if self.n_lines == 0 { String::new() } else { count(self.n_lines, "line") };
        let place = match shadowed_by {
            Some(nearer) => format!("{} (not used: {} is nearer)", folder.display(), nearer.display()),
            None => folder.display().to_string(),
        };
        [name.clone(), standing_told(&self.standing), self.mode.to_owned(), lines, place]
    }

    /// A public interface: fields are added, never changed or removed.
    fn to_json(&self) -> Json {
        let FoundSkill { name, description, folder, shadowed_by } = self.skill;
        let (standing, changes) = match &self.standing {
            Standing::Trusted => ("trusted", Vec::new()),
            Standing::Unknown => ("unknown", Vec::new()),
            Standing::Changed(changes) => ("changed", changes.clone()),
            Standing::Refused(why) => ("refused", vec![why.clone()]),
        };
        json!({
            "name": name,
            "description": description,
            "folder": folder.display().to_string(),
            "standing": standing,
            "changes": changes,
            "shadowed_by": shadowed_by.as_ref().map(|nearer| nearer.display().to_string()),
            "mode": self.mode,
            "lines": self.n_lines,
        })
    }
}
