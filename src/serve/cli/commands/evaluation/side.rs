//! What is measured: a model with the cases' own programs, or another text of them; or a measurement that was kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::config::{ModelId, Search, is_model_id};
use crate::host::eval::measured::{ENDING, Measured};
use crate::host::eval::revision::Revision;
use crate::host::launch::{Choices, Launch, Workshop};
use crate::host::program::{KnownTools, ProgramText, load_files_with};
use crate::lang::SourceText;
use crate::serve::cli::commands::evaluation::case::{Case, Cast, Player};
use crate::serve::cli::machinery::company::Company;
use crate::serve::cli::machinery::console::Failure;

/// What begins a revision.
const REVISION: &str = "rev:";

/// A side as it is written.
pub(super) enum Wanted {
    /// To be played.
    Play(Text),
    /// What was measured before.
    Measured(Box<Measured>),
}

/// Who plays which text of the cases' programs.
pub(super) enum Text {
    /// Their own text, with this model; none: with the one that is chosen otherwise.
    Own(Option<String>),
    /// This program's file.
    Program(PathBuf),
    /// The one of a revision of git.
    Revision(String),
    /// Their own, with another text in place of the one that one of its files has.
    Changed(Arc<SourceText>),
}

/// A side that can be played.
pub(super) struct Side {
    /// `--model`, or the side itself.
    model: Option<String>,
    /// The models' ids, as they are shown: programs may name their own.
    pub(super) models: Arc<str>,
    /// The texts of its programs.
    pub(super) texts: Vec<ProgramText>,
    /// Per case where its program lies, and which of the texts that is.
    programs: Vec<(PathBuf, usize)>,
    /// A text in place of the one that one of their files has.
    changed: Option<Arc<SourceText>>,
    /// Holds the files of a revision.
    _revision: Option<Revision>,
}

impl Wanted {
    /// Reads a side.
    pub(super) fn read(text: &str) -> Result<Wanted, Failure> {
        if let Some(revision) = text.strip_prefix(REVISION) {
            return Ok(Wanted::Play(Text::Revision(revision.to_owned())));
        }
        if text.ends_with(ENDING) {
            let measured = Measured::read(Path::new(text)).map_err(Failure::wrong)?;
            return Ok(Wanted::Measured(Box::new(measured)));
        }
        if is_model_id(text) {
            return Ok(Wanted::Play(Text::Own(Some(text.to_owned()))));
        }
        if Path::new(text).is_file() {
            return Ok(Wanted::Play(Text::Program(text.into())));
        }
        Err(Failure::wrong(format!(
            "`{text}` is neither a model (openai:NAME) nor a program's file; you can also compare `rev:REVISION` and \
             `NAME{ENDING}`"
        )))
    }
}

impl Side {
    /// Gets ready to play `cases`. `model` is the one that is chosen where the side names none; `is_budgeted`: its
    /// prices must be known.
    pub(super) async fn open(
        text: &Text,
        cases: &[Case],
        workshop: &Workshop,
        model: Option<&str>,
        is_budgeted: bool,
    ) -> Result<Side, Failure> {
        let own: Vec<PathBuf> = cases.iter().map(Case::program).collect();
        let (mut revision, mut changed) = (None, None);
        let (mut model, mut paths) = (model.map(str::to_owned), own.clone());
        match text {
            Text::Own(id) => model = id.clone().or(model),
            Text::Changed(text) => changed = Some(text.clone()),
            Text::Program(path) => {
                if let Some(other) = own.iter().find(|other| **other != own[0]) {
                    return Err(Failure::wrong(format!(
                        "{} would replace both {} and {}; give cases of one program",
                        path.display(),
                        own[0].display(),
                        other.display()
                    )));
                }
                paths.fill(path.clone());
            }
            Text::Revision(name) => {
                let read = Revision::read(name, own.iter().map(PathBuf::as_path), &workshop.secrets).await;
                let read = read.map_err(Failure::wrong)?;
                paths = own.iter().filter_map(|path| read.program(path)).map(Path::to_owned).collect();
                revision = Some(read);
            }
        }
        let mut side =
            Side { model, models: "".into(), texts: Vec::new(), programs: Vec::new(), changed, _revision: revision };
        side.look(paths, workshop, is_budgeted).await?;
        Ok(side)
    }

    /// Looks at the programs, each once, and at who would reply to them.
    async fn look(&mut self, paths: Vec<PathBuf>, workshop: &Workshop, is_budgeted: bool) -> Result<(), Failure> {
        let launch = Launch::new(workshop.clone(), Choices { model: self.model.clone(), ..Choices::default() });
        let mut models: Vec<String> = Vec::new();
        for path in paths {
            if let Some((_, text)) = self.programs.iter().find(|(known, _)| *known == path) {
                self.programs.push((path, *text));
                continue;
            }
            let tools = KnownTools { are_more: true, ..KnownTools::default() };
            let (text, loaded) =
                load_files_with(std::slice::from_ref(&path), tools, self.changed.as_deref()).map_err(Failure::wrong)?;
            let chosen = launch.choose_model(&path, &loaded.program.settings).await.map_err(Failure::wrong)?;
            let model = chosen.config.model().0;
            if chosen.config.search == Search::OnTerminal {
                return Err(Failure::wrong(
                    "no model is chosen; name the one to measure, as in --model openai:NAME, or --model embedded",
                ));
            }
            let id = model.to_string();
            if is_budgeted && matches!(model, ModelId::OpenAi(_)) && chosen.config.session.prices.of(&id).is_none() {
                return Err(Failure::wrong(format!(
                    "--budget: the price of {id} is unknown; write `[prices.\"{id}\"]` into the playhouse.toml beside \
                     {} (docs/tools.md)",
                    path.display()
                )));
            }
            if !models.contains(&id) {
                models.push(id);
            }
            self.programs.push((path, self.texts.len()));
            self.texts.push(text);
        }
        self.models = models.join(", ").into();
        Ok(())
    }

    /// Which text a case's program has.
    pub(super) fn program(&self, case: usize) -> usize {
        self.programs[case].1
    }

    /// Whether another side plays the same texts.
    pub(super) fn has_programs_of(&self, other: &Side) -> bool {
        self.texts == other.texts
    }

    /// With what a case is played.
    pub(super) fn cast<'s>(
        &'s self,
        case: usize,
        workshop: &'s Workshop,
        company: &'s Company,
        is_idle: bool,
    ) -> Cast<'s> {
        let player = if is_idle { Player::Idle } else { Player::Model(self.model.as_deref()) };
        Cast { workshop, player, program: &self.programs[case].0, changed: self.changed.as_ref(), company }
    }
}
