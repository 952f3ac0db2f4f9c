//! Which session a thread is.

use std::sync::Arc;

use serde_json::json;

use crate::host::journal::store::is_session_id;
use crate::host::ledger::Served;
use crate::host::residents::Beginning;
use crate::host::residents::error::ResidentError;
use crate::serve::http::access::caller::Caller;
use crate::serve::http::agui::input::Wanted;
use crate::serve::http::answers::key::Key;
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;

/// The label of a session whose thread's id is not its own.
const THREAD_LABEL: &str = "thread";

impl Server {
    /// The session of a thread, and whether it begins just now. Its id is the thread's; where that cannot be a session's,
    /// or is a session's that the caller may not know of, it follows from caller, program and thread. One begins where the
    /// run can be its first.
    pub(super) async fn thread(
        self: &Arc<Self>,
        caller: &Caller,
        program: &str,
        wanted: &Wanted,
    ) -> Result<(Served, bool), Problem> {
        let thread = &*wanted.thread;
        let program = self.offered(caller, program)?.name.clone();
        let plain: Option<Arc<str>> = is_session_id(thread).then(|| thread.into());
        let key = Key::of(["agui", &caller.name, &program, thread]).text();
        let own: Arc<str> = format!("agui-{}", &key[..32]).into();
        for id in plain.iter().chain([&own]) {
            match caller.find(&self.residents, id).await {
                Ok(served) if served.program == program => return Ok((served, false)),
                Ok(served) => {
                    let detail = format!("the thread is a session of {}; choose another id", served.program);
                    return Err(Problem::conflict(detail));
                }
                Err(ResidentError::NoSession(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !wanted.is_whole || wanted.resume.is_some() {
            return Err(ResidentError::NoSession(thread.into()).into());
        }
        let begin = |id: Arc<str>| {
            let is_own = id == own;
            self.residents.begin(Beginning {
                program: program.clone(),
                id: Some(id),
                owner: caller.name.clone(),
                labels: if is_own { json!({ THREAD_LABEL: thread }).to_string() } else { "{}".to_owned() },
                ..Beginning::default()
            })
        };
        if let Some(id) = plain {
            match begin(id).await {
                Err(ResidentError::Taken(_)) => {}
                begun => return Ok(begun?),
            }
        }
        Ok(begin(own.clone()).await?)
    }
}
