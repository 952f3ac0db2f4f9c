//! What a build without the Debug Adapter Protocol says of `--debug-listen`.

use std::net::SocketAddr;

use crate::host::session::Session;
use crate::serve::cli::machinery::console::{Console, Failure};
use crate::serve::cli::machinery::ending::Subject;

/// An address at which debuggers are listened to: here there is none.
pub(crate) enum Listening {}

impl Listening {
    /// Refuses.
    pub(crate) async fn open(_: &Console, _: SocketAddr) -> Result<Listening, Failure> {
        Err(Failure::wrong(
            "--debug-listen: this program was built without its debugger; build it with `--features dap`",
        ))
    }

    /// Never comes to pass.
    pub(crate) fn show(&self, _: &Console, _: &Session, _: &Subject) {
        match *self {}
    }

    /// Never comes to pass.
    pub(crate) async fn hide(&self) {
        match *self {}
    }
}
