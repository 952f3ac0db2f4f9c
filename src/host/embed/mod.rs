//! The door for programs in Rust that run playbooks: files in, conversations out. All of it is
//! [`Launch`] and [`SessionHandle`](crate::host::session::SessionHandle) in the words of
//! somebody who wants to talk with a program; whoever wants more uses those.

mod conversation;

use std::path::Path;
use std::sync::Arc;

use crate::host::config::Environment;
use crate::host::events::PublicEvent;
use crate::host::journal::Journal;
use crate::host::journal::address::Place;
use crate::host::journal::memory::MemoryJournal;
use crate::host::launch::{Choices, Launch, LaunchError, Opened, Reopening, Source, StartOptions, Workshop};
use crate::host::sessions::new_id;
use crate::host::tool::Tool;
use crate::lang::SourceText;
use crate::value::Map;

pub use self::conversation::{Conversation, EndError, Question, Turn};
use self::conversation::{Listener, close};

/// With what programs are to run: as `playhouse run` would, as far as nothing else is said. The environment is read when
/// this is made, `playhouse.toml` beside each program when it is loaded.
#[derive(Clone)]
pub struct Playhouse {
    launch: Launch,
    place: Option<Place>,
    listeners: Vec<Listener>,
}

/// A program that is loaded: its text is good, its tools are there, its model is chosen. Any number of conversations can
/// be begun with it.
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

/// With a launch of one's own: another clock, a model in Rust, programs that may not name everything.
impl From<Launch> for Playhouse {
    fn from(launch: Launch) -> Playhouse {
        Playhouse { launch, place: None, listeners: Vec::new() }
    }
}

impl Playhouse {
    /// Everything as it is configured; sessions are kept in memory.
    pub fn new() -> Playhouse {
        Playhouse::default()
    }

    /// Chooses the model: `openai:NAME`, `embedded`, and what else `--model` takes.
    #[must_use]
    pub fn model(mut self, id: impl Into<String>) -> Playhouse {
        self.launch.choices.model = Some(id.into());
        self
    }

    /// Adds a tool, beside those that programs and their configuration declare.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Playhouse {
        self.launch.tools.push(Arc::new(tool));
        self
    }

    /// Keeps sessions at `path`: a folder, or a `.sqlite` file.
    #[must_use]
    pub fn sessions(mut self, path: impl AsRef<Path>) -> Playhouse {
        self.place = Some(Place::at(path.as_ref()));
        self
    }

    /// Lets `listener` hear every event of the conversations, in order and while [`Conversation::next`] is waited for.
    #[must_use]
    pub fn listen(mut self, listener: impl Fn(&PublicEvent) + Send + Sync + 'static) -> Playhouse {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Loads the program in a file, and opens its tools and its model.
    ///
    /// # Errors
    /// One of them cannot be opened, or the text has errors.
    pub async fn load(&self, file: impl AsRef<Path>) -> Result<LoadedProgram, LaunchError> {
        self.open(Source::Files(&[file.as_ref().to_owned()])).await
    }

    /// The same for a text that is in no file; `name` is what messages call it.
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

    /// Goes on with a session that is kept, with the text that it has.
    ///
    /// # Errors
    /// There is no such session, it cannot be read, or what it was begun with is gone.
    pub async fn resume(&self, session: &str) -> Result<Conversation, LaunchError> {
        let place = self.place.as_ref().ok_or_else(|| {
            LaunchError::Gone(
                "sessions in memory end with their process; say where they are kept, with `sessions`".into(),
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
    /// What is open: the program, its findings, its world.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Begins a conversation where the program begins.
    ///
    /// # Errors
    /// Its journal cannot be written.
    pub async fn start(&self) -> Result<Conversation, LaunchError> {
        let id = new_id(&*self.opened.world.clock);
        self.start_with(StartOptions { id, entry: None, arguments: Map::new() }).await
    }

    /// Begins a conversation with an id, a playbook ([`crate::host::launch::find_entry`]) or arguments that are chosen.
    ///
    /// # Errors
    /// As for [`LoadedProgram::start`]; there is a session with this id.
    pub async fn start_with(&self, options: StartOptions) -> Result<Conversation, LaunchError> {
        let journal: Box<dyn Journal> = match &self.place {
            Some(place) => place.address(&options.id)?.open().await?,
            None => Box::new(MemoryJournal::new()),
        };
        let session = self.opened.start(journal, options)?;
        Ok(Conversation::new(session, self.opened.clone(), self.listeners.clone()))
    }

    /// Closes its tools, if no conversation with it is left; else the last [`Conversation::close`] does.
    pub async fn close(self) {
        close(self.opened).await;
    }
}
