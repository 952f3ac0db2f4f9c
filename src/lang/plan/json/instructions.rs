//! What each instruction does (spec `plans.md`, 1.3 to 1.6 and 2.2, 2.3).

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::plan::json::decoder::Decoder;
use crate::plan::json::dialect::InstructionType;
use crate::plan::json::layout::{Entry, Layout, kind_of_number};
use crate::plan::json::parameters::Parameters;
use crate::plan::json::references::variable_object;
use crate::plan::json::tree::{Json, Kind};
use crate::plan::json::values::MAX_DATA_DEPTH;
use crate::plan::json::{
    Assignment, Branch, Dialect, InstructionKind, Output, PlanCall, PlanValue, PlanValueKind, Target,
};
use crate::plan::node::NodeId;

impl<'t> Decoder<'t> {
    /// What `entry` does; what can't be read has no effect.
    pub(crate) fn instruction(&mut self, layout: &Layout<'t>, entry: &Entry<'t>) -> InstructionKind {
        let read = match (entry.kind, entry.parameters) {
            (Some(kind), Some(object)) => self.read_instruction(layout, entry, kind, object),
            _ => None,
        };
        read.unwrap_or_else(|| InstructionKind::Reasoning { text: "".into() })
    }

    fn read_instruction(
        &mut self,
        layout: &Layout<'t>,
        entry: &Entry<'t>,
        kind: InstructionType,
        object: Json<'t>,
    ) -> Option<InstructionKind> {
        let parameters = Parameters::new(entry, object, kind);
        let read = match kind {
            InstructionType::Reasoning => return Some(self.reasoning(&parameters)),
            InstructionType::Assign if self.dialect == Dialect::Jmp => {
                return Some(self.assign_many(&parameters));
            }
            InstructionType::Assign => self.assign(&parameters),
            InstructionType::Jmp => self.jmp(&parameters),
            InstructionType::Calling => self.calling(&parameters),
            InstructionType::LlmGenerate
            | InstructionType::RetrieveKnowledgeGraph
            | InstructionType::RetrieveEmbeddedChunks => self.typed_call(&parameters, kind),
            InstructionType::Condition => self.condition(layout, entry, &parameters),
        };
        self.unknown_parameters(&parameters);
        read
    }

    fn reasoning(&mut self, parameters: &Parameters<'t>) -> InstructionKind {
        const KEYS: [&str; 3] = ["chain_of_thoughts", "chain of thoughts", "dependency_analysis"];
        let mut text = String::new();
        for value in KEYS.iter().filter_map(|key| parameters.given(key)) {
            if value.height() > MAX_DATA_DEPTH {
                // Reports it.
                self.value(value);
                continue;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&value.to_value().to_text());
        }
        InstructionKind::Reasoning { text: text.into() }
    }

    /// Dialect A: every key is a variable.
    fn assign_many(&mut self, parameters: &Parameters<'t>) -> InstructionKind {
        let mut assignments = Vec::new();
        for member in parameters.members() {
            let value = self.value(member.value);
            if self.sound_name(member.key, member.key_span) {
                assignments.push(Assignment { name: member.key.into(), name_span: member.key_span, value });
            }
        }
        InstructionKind::Assign(assignments)
    }

    /// Dialect B: one variable.
    fn assign(&mut self, parameters: &Parameters<'t>) -> Option<InstructionKind> {
        let value = self.required(parameters, "value", true).map(|value| self.value(value));
        let name = self.required(parameters, "var_name", false)?;
        let place = name.span();
        let name = self.variable_name("var_name", name)?;
        Some(InstructionKind::Assign(vec![Assignment { name: name.into(), name_span: place, value: value? }]))
    }

    fn jmp(&mut self, parameters: &Parameters<'t>) -> Option<InstructionKind> {
        let Some(prompt) = parameters.given("condition_prompt") else {
            let has_ways = parameters.given("jump_if_true").or(parameters.given("jump_if_false")).is_some();
            if has_ways && parameters.given("target_seq").is_none() {
                self.required(parameters, "condition_prompt", false);
                return None;
            }
            let target = self.required(parameters, "target_seq", false);
            for name in ["jump_if_true", "jump_if_false", "context"] {
                self.unused(parameters, name, "without a `condition_prompt`");
            }
            return Some(InstructionKind::Jump(self.target("target_seq", target?)?));
        };
        let prompt = self.prompt("condition_prompt", prompt);
        let context = parameters.given("context").map(|context| self.value(context));
        let mut target = |name: &str| {
            let target = self.required(parameters, name, false)?;
            self.target(name, target)
        };
        let (if_true, if_false) = (target("jump_if_true"), target("jump_if_false"));
        self.unused(parameters, "target_seq", "next to a `condition_prompt`");
        Some(InstructionKind::Branch(Branch { prompt: prompt?, context, if_true: if_true?, if_false: if_false? }))
    }

    fn unused(&mut self, parameters: &Parameters<'t>, name: &str, why: &str) {
        if let Some(member) = parameters.members().find(|member| member.key == name && !member.value.is_null()) {
            self.warning("plan-unused-parameter", member.key_span, format!("`{name}` is not read {why}"));
        }
    }

    /// Where a jump goes: a number in the plan, or a variable that holds one when it is executed.
    fn target(&mut self, name: &str, value: Json<'t>) -> Option<Target> {
        if let Some(number) = value.int() {
            return self.node_of(number, value).map(|node| Target::Node(Some(node)));
        }
        if let Some(text) = value.text()
            && text.contains("${")
        {
            let computed = self.value(value);
            if let PlanValueKind::Variable(_) = computed.kind {
                return Some(Target::Computed(computed));
            }
        }
        let message = format!("`{name}` must be a seq_no, an integer, not {}", kind_of_number(value));
        self.error("plan-wrong-type", value.span(), message);
        None
    }

    fn node_of(&mut self, number: i64, value: Json<'t>) -> Option<NodeId> {
        if let Ok(at) = self.targets.binary_search_by_key(&number, |target| target.0) {
            return Some(self.targets[at].1);
        }
        let message = format!("there is no instruction with seq_no {number} to jump to");
        let error = Diagnostic::error("plan-unknown-target", value.span(), message);
        self.diagnostics.push(error.with_note("a plan ends after its last instruction; that place has no number"));
        None
    }

    fn calling(&mut self, parameters: &Parameters<'t>) -> Option<InstructionKind> {
        let tool = self.required(parameters, "tool", false);
        let callee = tool.and_then(|tool| self.tool_name(tool));
        let mut arguments = Vec::new();
        let mut is_sound = true;
        if let Some(params) = parameters.given("params") {
            is_sound = *params.kind() == Kind::Object;
            if !is_sound {
                self.wrong_type("params", "an object of arguments by name", params);
            }
            for member in params.members() {
                arguments.push((Arc::from(member.key), self.value(member.value)));
            }
        }
        let output = parameters.given("output_vars").map_or(Some(Output::Dropped), |output| self.output_vars(output));
        let callee_span = tool.map_or(parameters.place, Json::span);
        let call = PlanCall { callee: callee?.into(), callee_span, arguments, output: output? };
        is_sound.then_some(InstructionKind::Call(call))
    }

    fn tool_name(&mut self, tool: Json<'t>) -> Option<&'t str> {
        let Some(name) = tool.text() else {
            self.wrong_type("tool", "the name of a tool", tool);
            return None;
        };
        if name.is_empty() {
            self.error("plan-wrong-type", tool.span(), "the name of a tool can't be empty");
            return None;
        }
        match self.value(tool).kind {
            PlanValueKind::Variable(_) | PlanValueKind::Text(_) => {
                self.error("plan-wrong-type", tool.span(), "the tool must be known before the plan runs");
                None
            }
            PlanValueKind::Literal(_) | PlanValueKind::List(_) | PlanValueKind::Map(_) => Some(name),
        }
    }

    fn output_vars(&mut self, output: Json<'t>) -> Option<Output> {
        if output.text().is_some() {
            return self.variable_name("output_vars", output).map(|name| Output::Whole(name.into()));
        }
        if *output.kind() != Kind::List {
            self.wrong_type("output_vars", "the name of a variable, or a list of them", output);
            return None;
        }
        if output.items().next().is_none() {
            self.warning("plan-empty-output", output.span(), "this list names no variable: the response is dropped");
            return Some(Output::Dropped);
        }
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut is_sound = true;
        let mut seen = std::collections::HashSet::new();
        for item in output.items() {
            match self.variable_name("output_vars", item) {
                Some(name) if seen.insert(name) => names.push(name.into()),
                Some(_) => self.warning("plan-duplicate-output", item.span(), "this variable is in the list twice"),
                None => is_sound = false,
            }
        }
        is_sound.then_some(Output::Members(names))
    }

    /// The calls that dialect B has a type for.
    fn typed_call(&mut self, parameters: &Parameters<'t>, kind: InstructionType) -> Option<InstructionKind> {
        let mut arguments = Vec::new();
        let question = kind.parameters()[0];
        let asked = self.required(parameters, question, false);
        let asked = asked.and_then(|asked| self.prompt(question, asked));
        let mut is_sound = asked.is_some();
        arguments.extend(asked.map(|asked| (Arc::from(question), asked)));
        if kind == InstructionType::LlmGenerate
            && let Some(context) = parameters.given("context")
        {
            arguments.push(("context".into(), self.value(context)));
        }
        if kind == InstructionType::RetrieveEmbeddedChunks {
            let top_k = self.required(parameters, "top_k", false);
            let top_k = top_k.and_then(|top_k| self.top_k(top_k));
            is_sound &= top_k.is_some();
            arguments.extend(top_k.map(|top_k| (Arc::from("top_k"), top_k)));
        }
        let name = self.required(parameters, "output_var", false);
        let name = name.and_then(|name| self.variable_name("output_var", name))?;
        let call = PlanCall {
            callee: kind.name().into(),
            callee_span: parameters.place,
            arguments,
            output: Output::Whole(name.into()),
        };
        is_sound.then_some(InstructionKind::Call(call))
    }

    /// Text or a reference.
    fn prompt(&mut self, name: &str, value: Json<'t>) -> Option<PlanValue> {
        let is_reference = self.dialect == Dialect::Branch && variable_object(value).is_some();
        if value.text().is_some() || is_reference {
            return Some(self.value(value));
        }
        self.wrong_type(name, "text or a reference", value);
        None
    }

    /// A positive integer, also in digits, or a reference.
    fn top_k(&mut self, value: Json<'t>) -> Option<PlanValue> {
        let read = self.value(value);
        if let PlanValueKind::Variable(_) | PlanValueKind::Text(_) = read.kind {
            return Some(read);
        }
        let digits = value.text().and_then(|text| text.trim().parse().ok());
        let message = match value.int().or(digits) {
            Some(1..) => return Some(read),
            Some(number) => format!("`top_k` must be at least 1, not {number}"),
            None => format!("`top_k` must be a positive integer, not {}", kind_of_number(value)),
        };
        self.error("plan-top-k", value.span(), message);
        None
    }

    fn condition(
        &mut self,
        layout: &Layout<'t>,
        entry: &Entry<'t>,
        parameters: &Parameters<'t>,
    ) -> Option<InstructionKind> {
        let prompt = self.required(parameters, "prompt", false);
        let prompt = prompt.and_then(|prompt| self.prompt("prompt", prompt));
        let context = parameters.given("context").map(|context| self.value(context));
        // A branch without instructions goes on after the condition.
        let begin = |list: Option<usize>| Target::Node(list.and_then(|list| layout.first(list)).or(entry.next));
        let [if_true, if_false] = entry.branches.map(begin);
        Some(InstructionKind::Branch(Branch { prompt: prompt?, context, if_true, if_false }))
    }
}
