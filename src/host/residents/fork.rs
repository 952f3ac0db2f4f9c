//! Sessions that leave another one and go their own way.

use std::sync::Arc;

use playhouse_vm::protocol::view::View;

use crate::journal::record::RecordBody;
use crate::ledger::Served;
use crate::replay::start::program_changed;
use crate::residents::Residents;
use crate::residents::dispatch::Visit;
use crate::residents::error::ResidentError;
use crate::session::SessionError;
use crate::sessions::new_id;
use crate::travel::{self, At, Changes, Edit, Point, can_go_on};

/// What a fork's variables are to be, once it is known what it stands on.
pub type MakeEdits = Box<dyn FnOnce(&View, Point) -> Result<Vec<Edit>, SessionError> + Send>;

/// A session that is to leave another one.
pub struct Forking {
    /// Where.
    pub at: At,
    /// What is different from there on.
    pub edits: MakeEdits,
    /// Its id; none: a new one.
    pub id: Option<Arc<str>>,
    /// Go on with the text of this program; none: with its own.
    pub program: Option<String>,
    /// Whose it is.
    pub owner: Arc<str>,
    /// What its owner says of it, as JSON.
    pub labels: String,
}

impl Residents {
    /// Makes a session that leaves another one; it goes on at once, as whoever forks wants to see what comes of it.
    ///
    /// # Errors
    /// There is no such point or program, the session was over there, the text has an error, the id is taken, or it cannot
    /// be written.
    pub async fn fork(self: &Arc<Self>, of: &Served, forking: Forking) -> Result<Served, ResidentError> {
        self.check_room()?;
        let Forking { at, edits, id, program, owner, labels } = forking;
        let id = id.unwrap_or_else(|| new_id(&*self.launch.workshop.clock));
        let offered = program.as_deref().map(|name| self.program(name)).transpose()?;
        let (programs, of_fork) = (self.program_cache(), id.clone());
        let text = offered.as_ref().map(|offered| offered.opened.text.clone());
        let forked = self.past(&of.session, move |timeline| {
            let point = timeline.point_at(at);
            let moment = timeline.at(point)?;
            if !can_go_on(&moment, text.is_some()) {
                let detail = format!("the session was over at {point}, so a fork would have nothing to do");
                return Err(SessionError::NoPoint(detail));
            }
            let edits = edits(&moment.machine.view(), point)?;
            let mut records = Vec::new();
            if let Some(text) = text {
                let tools = moment.machine.tools();
                let signatures = tools.iter().map(|tool| tool.signature.clone()).collect();
                let program = programs.load(&text, signatures).map_err(SessionError::Change)?;
                records.push(RecordBody::ProgramChanged(Box::new(program_changed(&text, &program, tools, false))));
            }
            Ok((travel::fork(&timeline, point, &Changes { edits, records }, of_fork)?.records, point))
        });
        let (records, point) = forked.await?;
        let (program, version) = match &offered {
            Some(offered) => (offered.name.clone(), offered.version.clone()),
            None => (of.program.clone(), of.version.clone()),
        };
        let served = Served {
            session: id,
            program,
            version,
            owner,
            labels,
            created: self.now(),
            forked: Some(format!("{}@{point}", of.session)),
            ..Served::default()
        };
        self.add(served.clone(), &records).await?;
        match &self.dispatch {
            Some(dispatch) => dispatch.hand_in(served.session.clone(), Visit::Wake, None).await.map(|_| ())?,
            None => self.handle(&served.session).await.map(|_| ())?,
        }
        Ok(served)
    }
}
