//! The entry point for Rust programs that run playbooks: files in, conversations out. It is a thin layer over
//! [`Launch`] and [`SessionHandle`](crate::session::SessionHandle); use those if you need more.

mod conversation;

use std::path::Path;
use std::sync::Arc;

use playhouse_lang::SourceText;
use playhouse_lang::value::Map;

use crate::config::Environment;
use crate::events::PublicEvent;
use crate::journal::Journal;
use crate::journal::address::Place;
use crate::journal::memory::MemoryJournal;
use crate::launch::{Choices, Launch, LaunchError, Opened, Reopening, Source, StartOptions, Workshop};
use crate::sessions::new_id;
use crate::tool::Tool;

pub use self::conversation::{Conversation, EndError, Question, Turn};
use self::conversation::{Listener, close};

/// How programs run: as with `playhouse run`, except for what you set here. The environment is read when this value is
/// made, and the `playhouse.toml` beside a program when that program is loaded.
#[derive(Clone)]
pub struct Playhouse {
    launch: Launch,
    place: Option<Place>,
    listeners: Vec<Listener>,
}

/// A loaded program: its text has no errors, its tools are open, and its model is chosen. You can start any number of
/// conversations with it.
pub struct LoadedProgram {
    opened: Arc<Opened>,
    place: Option<Place>,
    listeners: Vec<Listener>,
}

impl Default for Playhouse {
    fn default() -> Playhouse {
        let workshop = Workshop { environment: Environment::read(), ..Workshop::default() };
        workshop.environment.api_key.iter().for_each(|key| key.hide(&workshop.secrets));
        Playhouse::from(Launch::new(workshop, Choices::default()))
    }
}

/// Uses a launch of your own: with another clock, a model in Rust, or limits on what programs may name.
impl From<Launch> for Playhouse {
    fn from(launch: Launch) -> Playhouse {
        Playhouse { launch, place: None, listeners: Vec::new() }
    }
}

impl Playhouse {
    /// Uses the configuration for everything; sessions are kept in memory.
    pub fn new() -> Playhouse {
        Playhouse::default()
    }

    /// Chooses the model: `openai:NAME`, `embedded`, or anything else that `--model` accepts.
    #[must_use]
    pub fn model(mut self, id: impl Into<String>) -> Playhouse {
        self.launch.choices.model = Some(id.into());
        self
    }

    /// Adds a tool to those that programs and their configuration declare.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Playhouse {
        self.launch.tools.push(Arc::new(tool));
        self
    }

    /// Stores sessions at `path`: a folder, or a `.sqlite` file.
    #[must_use]
    pub fn sessions(mut self, path: impl AsRef<Path>) -> Playhouse {
        self.place = Some(Place::at(path.as_ref()));
        self
    }

    /// Calls `listener` with every event of the conversations, in order, while [`Conversation::next`] is awaited.
    #[must_use]
    pub fn listen(mut self, listener: impl Fn(&PublicEvent) + Send + Sync + 'static) -> Playhouse {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Loads the program in a file, and opens its tools and its model.
    ///
    /// # Errors
    /// The program's tools or its model cannot be opened, or its text has errors.
    pub async fn load(&self, file: impl AsRef<Path>) -> Result<LoadedProgram, LaunchError> {
        self.open(Source::Files(&[file.as_ref().to_owned()])).await
    }

    /// Loads a program from a text instead of a file; messages call it `name`.
    ///
    /// # Errors
    /// As for [`Playhouse::load`].
    pub async fn load_text(&self, name: &str, text: &str) -> Result<LoadedProgram, LaunchError> {
        self.open(Source::Texts(vec![SourceText { name: name.to_owned(), text: text.to_owned() }])).await
    }

    async fn open(&self, source: Source<'_>) -> Result<LoadedProgram, LaunchError> {
        let opened = Arc::new(self.launch.open(source).await?);
        Ok(LoadedProgram { opened, place: self.place.clone(), listeners: self.listeners.clone() })
    }

    /// Resumes a stored session, with the program text that it began with.
    ///
    /// # Errors
    /// There is no such session, it cannot be read, or something that it began with no longer exists.
    pub async fn resume(&self, session: &str) -> Result<Conversation, LaunchError> {
        let place = self.place.as_ref().ok_or_else(|| {
            LaunchError::Gone(
                "sessions in memory end with their process; say where to store them, with `sessions`".into(),
            )
        })?;
        let address = place.find(session).await?;
        let wanted = Reopening { address: &address, id: session, files: &[], migrate: false };
        let (opened, session) = self.launch.reopen(wanted).await?.resume().await;
        match session {
            Ok(session) => Ok(Conversation::new(session, Arc::new(opened), self.listeners.clone())),
            Err(error) => {
                opened.close().await;
                Err(error)
            }
        }
    }
}

impl LoadedProgram {
    /// What was opened: the program, its findings, and its world (model, tools, clock).
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Starts a conversation where the program begins.
    ///
    /// # Errors
    /// Its journal cannot be written.
    pub async fn start(&self) -> Result<Conversation, LaunchError> {
        let id = new_id(&*self.opened.world.clock);
        self.start_with(StartOptions { id, entry: None, arguments: Map::new() }).await
    }

    /// Starts a conversation with an id, a playbook ([`crate::launch::find_entry`]) or arguments of your choice.
    ///
    /// # Errors
    /// As for [`LoadedProgram::start`], or a session with this id already exists.
    pub async fn start_with(&self, options: StartOptions) -> Result<Conversation, LaunchError> {
        let journal: Box<dyn Journal> = match &self.place {
            Some(place) => place.address(&options.id)?.open().await?,
            None => Box::new(MemoryJournal::new()),
        };
        let session = self.opened.start(journal, options)?;
        Ok(Conversation::new(session, self.opened.clone(), self.listeners.clone()))
    }

    /// Closes the program's tools if no conversation is left; otherwise the last [`Conversation::close`] closes them.
    pub async fn close(self) {
        close(self.opened).await;
    }
}
