//! A program that is open: its text is good, its tools are there, its model is chosen. Any number of sessions can be
//! begun with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse_lang::diagnostic::Severity;
use playhouse_lang::program::{Entry, EntryId, Program};
use playhouse_lang::value::Map;
use playhouse_lang::{Loaded, SourceText};
use playhouse_vm::protocol::settings::Settings;

use crate::cassette;
use crate::config::{ClassifierId, Config};
use crate::equipment::Equipment;
use crate::equipment::declaration;
use crate::journal::Journal;
use crate::journal::record::GivenFiles;
use crate::launch::error::LaunchError;
use crate::launch::models::{BegunWith, Cast};
use crate::launch::telemetry::Sending;
use crate::launch::tools::{first_file, opened};
use crate::launch::workshop::{Launch, Remark};
use crate::program::{ProgramFileError, ProgramText, ToolInventory, load_files, load_files_with, load_texts};
use crate::session::{Session, SessionOptions, Start, World};

/// Loads the files of a program for these tools.
pub type Loading<'a> = dyn FnMut(&ToolInventory) -> Result<(ProgramText, Loaded), ProgramFileError> + Send + 'a;

/// Where a program's text comes from.
pub enum Source<'a> {
    /// These files.
    Files(&'a [PathBuf]),
    /// These files, read by somebody who wants to know what is read.
    Watched(&'a [PathBuf], &'a mut Loading<'a>),
    /// These texts, which import nothing from a disk.
    Texts(Vec<SourceText>),
    /// A journal, or a program that is open: loaded already.
    Loaded(ProgramText, Arc<Program>),
}

/// What a session begins with.
#[derive(Clone, Debug)]
pub struct StartOptions {
    /// The session's id ([`crate::sessions::new_id`]).
    pub id: Arc<str>,
    /// The playbook or plan to begin with; none: the program's entry.
    pub entry: Option<EntryId>,
    /// Its arguments; without `entry` they become variables of the agent that the session begins with.
    pub arguments: Map,
}

/// A program that is open. To be closed when its sessions have ended ([`Opened::close`]).
pub struct Opened {
    pub(super) launch: Launch,
    /// Its text.
    pub text: ProgramText,
    /// The program.
    pub program: Arc<Program>,
    /// What its sessions act through.
    pub world: World,
    /// Bounds and switches of their machines.
    pub settings: Settings,
    /// What people should know of what was opened, in this order.
    pub remarks: Vec<Remark>,
    pub(super) given: GivenFiles,
    pub(super) has_classifier: bool,
    equipment: Equipment,
    sending: Sending,
}

impl Launch {
    /// Opens a program: its tools, its text, its model.
    ///
    /// # Errors
    /// One of them cannot be opened, or the text has errors. Nothing stays open then.
    pub async fn open(&self, source: Source<'_>) -> Result<Opened, LaunchError> {
        self.open_as(source, None).await
    }

    /// As [`Launch::open`], with the model and the classifier that a session was begun with, where no others are chosen.
    pub(super) async fn open_as(&self, source: Source<'_>, begun: Option<&BegunWith>) -> Result<Opened, LaunchError> {
        let (declared, first) = match &source {
            Source::Files(files) | Source::Watched(files, _) => (self.declared_by(files)?, files.first().cloned()),
            Source::Texts(texts) => {
                let (settings, sources) = playhouse_lang::load_settings(texts.clone(), &mut |_| Err(String::new()));
                (declaration::of_program(&settings, &sources), None)
            }
            Source::Loaded(_, program) => {
                (declaration::of_program(&program.settings, &program.sources), first_file(program))
            }
        };
        let equipment = self.equip(&declared, first.as_deref()).await?;
        self.open_with(equipment, source, begun).await
    }

    /// Opens a program for tools that are open already.
    ///
    /// # Errors
    /// As for [`Launch::open`]; the tools are closed then.
    pub async fn open_on(&self, equipment: Equipment, source: Source<'_>) -> Result<Opened, LaunchError> {
        self.open_with(equipment, source, None).await
    }

    async fn open_with(
        &self,
        equipment: Equipment,
        source: Source<'_>,
        begun: Option<&BegunWith>,
    ) -> Result<Opened, LaunchError> {
        let is_read = matches!(source, Source::Files(_) | Source::Watched(..));
        let opened = async {
            let tools = opened(&equipment);
            let (text, program, findings) = if let (Source::Files(files), Some(_)) = (&source, &self.changed) {
                let changed = self.changed.as_deref();
                load(Source::Watched(files, &mut |tools| load_files_with(files, tools, changed)), &tools)?
            } else {
                load(source, &tools)?
            };
            let traces = self.telemetry(first_file(&program).as_deref())?;
            Ok((self.cast(&program, first_file(&program), begun).await?, text, program, findings, traces))
        };
        let (cast, text, program, findings, (traces, sending, told)) = match opened.await {
            Ok(opened) => opened,
            Err(error) => {
                equipment.close().await;
                return Err(error);
            }
        };
        let Cast { llm, chosen, classifier, has_classifier, remarks } = cast;
        // What is wrong with them was told when they were read.
        let every = is_read.then(|| equipment.skills.of_every_program());
        let (_, of_skills) = every.and_then(Result::ok).unwrap_or_default();
        let of_skills = of_skills.into_iter().map(|text| Remark::note("skills", text));
        let of_tools = equipment.warnings.iter().map(|warning| Remark::warning("tools", warning));
        let remarks = findings.into_iter().chain(remarks).chain(told).chain(of_tools).chain(of_skills).collect();
        let config = &chosen.config;
        let given = self.to_keep(&chosen.config);
        let programs = self.workshop.programs.clone();
        let options = SessionOptions { constrain: config.openai.constrain, programs, traces, ..config.session.clone() };
        let settings = config.settings_for(&*llm);
        if let Some(take) = &self.take {
            let tools = if take.has_tools() { equipment.tools.recorded() } else { Vec::new() };
            // A file of this machine is none of a recording's.
            let is_script = matches!(config.classifier().0, ClassifierId::Script(_));
            let classifier = (!is_script).then(|| config.classifier().0.to_string().into());
            take.note_cast(cassette::take::Cast { model: llm.id(), classifier, tools });
        }
        let (tools, clock) = (equipment.tools.clone(), self.workshop.clock.clone());
        let world = World { llm, classifier, tools, clock, options };
        let launch = self.clone();
        Ok(Opened { launch, text, program, world, settings, remarks, given, has_classifier, equipment, sending })
    }

    /// What is beside the program, for the journal.
    fn to_keep(&self, config: &Config) -> GivenFiles {
        let absolute = |path: &Path| {
            let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            Arc::from(whole.to_string_lossy())
        };
        GivenFiles {
            tools: self.choices.tools.iter().map(|path| absolute(path)).collect(),
            config: config.file.as_deref().map(absolute),
            working_directory: self.choices.working_directory.as_deref().map(absolute),
            // A model that whoever launches has given knows its server itself.
            server: config.server().filter(|_| self.llm.is_none()).map(Arc::from),
        }
    }
}

/// Loads a program; its warnings are counted.
///
/// # Errors
/// A file cannot be read, or the text has errors.
pub fn load(
    source: Source<'_>,
    tools: &ToolInventory,
) -> Result<(ProgramText, Arc<Program>, Option<Remark>), LaunchError> {
    let (text, loaded) = match source {
        Source::Loaded(text, program) => return Ok((text, program, None)),
        Source::Files(files) => load_files(files, tools)?,
        Source::Watched(_, load) => load(tools)?,
        Source::Texts(texts) => load_texts(texts, tools, &mut |path| {
            Err(format!("{}: a program that is not in a file cannot import files", path.display()))
        }),
    };
    let n_of = |severity| loaded.diagnostics.iter().filter(|finding| finding.severity == severity).count();
    if n_of(Severity::Error) > 0 {
        return Err(LaunchError::Program { findings: loaded.diagnostics, sources: loaded.program.sources });
    }
    let remark = match n_of(Severity::Warning) {
        0 => None,
        1 => Some("1 warning; `playhouse check` shows what and where".to_owned()),
        n => Some(format!("{n} warnings; `playhouse check` shows what and where")),
    };
    Ok((text, Arc::new(loaded.program), remark.map(|text| Remark::note("findings", text))))
}

/// The playbook or plan of this name: of the agent the program begins with, or `Agent.Playbook`.
///
/// # Errors
/// There is none.
pub fn find_entry(program: &Program, name: &str) -> Result<EntryId, LaunchError> {
    let known = || program.entry_names().map(ToString::to_string).collect();
    program.find_entry(name).ok_or_else(|| LaunchError::NoEntry { name: name.to_owned(), known: known() })
}

impl Opened {
    /// Begins a session in an empty journal.
    ///
    /// # Errors
    /// The journal cannot be written, or holds a session already.
    pub fn start(&self, journal: Box<dyn Journal>, options: StartOptions) -> Result<Session, LaunchError> {
        let StartOptions { id, entry, arguments } = options;
        let (program, text, given) = (self.program.clone(), self.text.clone(), self.given.clone());
        let start = Start { id, program, text, settings: self.settings.clone(), entry, arguments, given };
        Ok(Session::start(self.world.clone(), journal, start)?)
    }

    /// The same program with tools and models of its own, for a fork: what is scripted begins anew.
    ///
    /// # Errors
    /// As for [`Launch::open`].
    pub async fn again(&self) -> Result<Opened, LaunchError> {
        let begun = BegunWith::now(&*self.world.llm, &*self.world.classifier, &self.given);
        self.launch.open_as(Source::Loaded(self.text.clone(), self.program.clone()), Some(&begun)).await
    }

    /// Whether a session that begins there is of a plan.
    pub fn is_plan(&self, entry: Option<EntryId>) -> bool {
        match (entry, &self.program.entry) {
            (Some(EntryId::Plan(_)), _) | (None, Entry::Plan(_)) => true,
            (Some(EntryId::Playbook(_)), _)
            | (None, Entry::Beginning(_) | Entry::Single(_) | Entry::Root(_) | Entry::None) => false,
        }
    }

    /// Whether its sessions can change anything outside of themselves ([`Equipment::acts_outside`]).
    pub fn acts_outside(&self) -> bool {
        self.equipment.acts_outside()
    }

    /// Whether a plugin is called by this name although there are canned tools.
    pub fn is_real_beside_canned(&self, name: &str) -> bool {
        self.equipment.is_real_beside_canned(name)
    }

    /// Closes the tools, and sends what is left of the sessions' traces. Whoever still calls a tool gets an error.
    pub async fn close(&self) {
        self.equipment.close().await;
        self.sending.close().await;
    }
}
