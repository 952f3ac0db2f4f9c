//! The task of a session.

use std::sync::Arc;

use crate::host::session::listeners::Queue;

pub(crate) struct Task {
    pub(crate) listeners: Vec<Arc<Queue>>,
}

impl Task {
    pub(crate) async fn run(self) {}
}
