//! The built-ins of the older Python project: programs that call them must load (spec `language.md`,
//! "Diagnostics").

/// What a call of a name means that no playbook and no tool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// `Say(target, message)`, `SendMessage(target, message)`: a say line.
    Say,
    /// `EndProgram()`: an end line.
    End,
    /// `Loadfile(path)`: a call of the tool `LoadFile`.
    LoadFile,
    /// `SaveArtifact(name, summary, value)`: an assignment.
    SaveArtifact,
    /// `$x = LoadArtifact(name)`: an assignment the other way round.
    LoadArtifact,
    /// Known by name only: fails when it is reached.
    Unsupported,
}

/// The tool that `Loadfile` is read as.
pub(crate) const LOAD_FILE: &str = "LoadFile";

/// The meaning of `name`, if it is one of the older project's.
pub fn find(name: &str) -> Option<Builtin> {
    Some(match name.strip_prefix("self.").unwrap_or(name) {
        "Say" | "SendMessage" => Builtin::Say,
        "EndProgram" => Builtin::End,
        "Loadfile" => Builtin::LoadFile,
        "SaveArtifact" => Builtin::SaveArtifact,
        "LoadArtifact" => Builtin::LoadArtifact,
        "WaitForMessage"
        | "CreateAgent"
        | "CreateMeeting"
        | "InviteToMeeting"
        | "JoinMeeting"
        | "LeaveMeeting"
        | "StartMeeting"
        | "EndMeeting"
        | "MessageProcessingEventLoop"
        | "ProcessMessages"
        | "ResolveDescriptionPlaceholders"
        | "LogTrigger"
        | "Step"
        | "Yield"
        | "Yld"
        | "Var" => Builtin::Unsupported,
        _ => return None,
    })
}
