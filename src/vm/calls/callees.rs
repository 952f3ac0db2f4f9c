//! What can be called from one place of a session, and by which name.

use playhouse_lang::program::builtins::Builtin;
use playhouse_lang::program::{AgentId, Playbook, PlaybookId, Program, Signature, TriggerKind, builtins};

use playhouse_lang::spelling::nearest;

use crate::calls::arguments::Resolved;
use crate::calls::call::{Called, Callee};
use crate::prompt::system::{Prompts, knows, may_call};
use crate::protocol::ToolSignature;

/// What one frame can call.
#[derive(Clone, Copy)]
pub(crate) struct Callees<'a> {
    pub(crate) program: &'a Program,
    pub(crate) tools: &'a [ToolSignature],
    prompts: &'a Prompts,
    /// In whose name it calls.
    agent: AgentId,
    /// The playbook whose list of tools holds.
    caller: Option<&'a Playbook>,
}

impl<'a> Callees<'a> {
    /// What a frame of `agent` can call. A plan has no list of tools of its own: what holds is that of the playbook
    /// that it is called by (`caller`), or of nobody.
    pub(crate) fn new(
        program: &'a Program,
        tools: &'a [ToolSignature],
        prompts: &'a Prompts,
        agent: AgentId,
        caller: Option<PlaybookId>,
    ) -> Callees<'a> {
        let caller = caller.map(|id| program.playbook(id)).filter(|playbook| playbook.agent == agent);
        Callees { program, tools, prompts, agent, caller }
    }

    /// What the frame means by a name.
    ///
    /// # Errors
    /// Why it cannot call that, in words for the program's model.
    pub(crate) fn find(self, name: &str) -> Result<Resolved, String> {
        let Callees { program, tools, agent, .. } = self;
        if let Some(id) = program.find_playbook(agent, name) {
            let signature = Signature { name: name.into(), ..program.playbook(id).signature() };
            return Ok(Resolved { callee: Callee::Playbook(id), signature, checks_itself: false });
        }
        if let Some(id) = program.find_plan(name) {
            let signature = program.plans[id.0 as usize].signature();
            return Ok(Resolved { callee: Callee::Plan(id), signature, checks_itself: false });
        }
        if let Some(tool) = ToolSignature::find(tools, name).filter(|tool| knows(program, agent, tool)) {
            if let Some(whose) = self.refusal(tool) {
                return Err(format!("`{name}` may not be called here: {whose} does not permit it"));
            }
            let (signature, checks_itself) = (tool.signature.clone(), tool.schema.is_some());
            return Ok(Resolved { callee: Callee::Tool(tool.effect), signature, checks_itself });
        }
        if builtins::find(name) == Some(Builtin::Unsupported) {
            return Err(format!(
                "`{name}` is a built-in of the older project that is not supported; write what it did in words"
            ));
        }
        let callables = self.prompts.callables(program, tools, agent);
        Err(match nearest(name, callables.iter()) {
            Some(other) => format!("there is no playbook or tool `{name}`; did you mean `{other}`?"),
            None if callables.is_empty() => format!("there is no playbook or tool `{name}`; nothing can be called"),
            None => format!("there is no playbook or tool `{name}`; available: {}", callables.join(", ")),
        })
    }

    /// Whose list does not permit a tool; none: it may be called.
    fn refusal(self, tool: &ToolSignature) -> Option<&'static str> {
        match self.caller {
            Some(playbook) => self.program.refusal(playbook, &tool.signature.name),
            None if !may_call(self.program, self.agent, tool) => Some("`tools` of the agent"),
            None => None,
        }
    }

    /// Whether a plan's call is of a tool that no trigger's playbook may refuse: such calls need no frame, and run
    /// beside others.
    pub(crate) fn may_overlap(self, resolved: &Resolved) -> bool {
        let called = Called { callee: resolved.callee, name: resolved.signature.name.clone() };
        let is_guard = |kind: &TriggerKind| matches!(kind, TriggerKind::BeforeCall(_));
        matches!(resolved.callee, Callee::Tool(_))
            && called.triggers(self.program, self.agent, None, is_guard).is_empty()
    }
}
