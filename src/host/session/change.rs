//! A session whose program gets another text.

use std::sync::Arc;

use crate::host::journal::record::RecordBody;
use crate::host::program::ProgramText;
use crate::host::replay::start::program_changed;
use crate::host::session::task::Task;
use crate::lang::program::Program;
use crate::vm::protocol::{Event, NewProgram, ToolSignature};

impl Task {
    /// The program has another text. The machine must be where it can handle an event.
    pub(crate) fn change_program(
        &mut self,
        text: &ProgramText,
        program: Arc<Program>,
        tools: Arc<[ToolSignature]>,
        reopened: bool,
    ) {
        self.time = self.time.max(self.world.clock.now());
        let body = program_changed(text, &program, &tools, reopened);
        self.record(RecordBody::ProgramChanged(Box::new(body)));
        let event = Event::ProgramChanged { program: NewProgram(program), tools, reopened };
        self.machine.handle(self.time, event);
    }
}
