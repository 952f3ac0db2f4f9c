//! Which names a playbook owns, and which names can still be reached (spec `execution.md`, "Variables").

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use crate::calls::CallCache;
use crate::flow_graph::{FlowGraph, Node};
use crate::program::{CallSite, Loop, Mode, Playbook, PlaybookId, Program, Returned, Step, StepId, StepKind, Target};

/// The names that can be mentioned from some point on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Names mentioned by any line that can be reached, by the playbooks called there, and by their triggers.
    pub names: BTreeSet<Arc<str>>,
    /// Whether a free line or a playbook in goal mode is among them: it may use names it does not mention.
    pub free: bool,
}

/// What [`Program::names_from`] and the analyses of calls have computed so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReachCache {
    /// What is looked up below calls, and the verdicts on tail calls.
    pub(crate) calls: CallCache,
    /// Per playbook: its own reach, and per line (the last place is [`Node::End`]) the reach from there.
    playbooks: Vec<PlaybookReach>,
}

#[derive(Clone, Debug, Default)]
struct PlaybookReach {
    whole: OnceLock<Arc<Reach>>,
    from: Vec<OnceLock<Arc<Reach>>>,
}

impl ReachCache {
    pub(crate) fn new(playbooks: &[Playbook]) -> Self {
        let n_steps = playbooks.iter().map(|playbook| playbook.steps.len());
        let calls = CallCache::new(n_steps);
        let places = |playbook: &Playbook| vec![OnceLock::new(); playbook.steps.len() + 1];
        let playbooks = playbooks.iter().map(|p| PlaybookReach { whole: OnceLock::new(), from: places(p) });
        ReachCache { calls, playbooks: playbooks.collect() }
    }
}

impl Program {
    /// The playbooks that a line calls, or that the plan calls which it calls: for a plan those of all plans, as one
    /// may call another.
    pub(crate) fn callees(&self, step: &Step) -> impl Iterator<Item = PlaybookId> {
        let call = step.call();
        let is_plan = call.is_some_and(|call| call.playbook.is_none() && self.find_plan(&call.callee).is_some());
        let of_plans: &[PlaybookId] = if is_plan { &self.called_by_plans } else { &[] };
        call.and_then(|call| call.playbook).into_iter().chain(of_plans.iter().copied())
    }

    /// The names mentioned by any line that can be reached from `from` in `playbook`, that line included, and by
    /// the whole bodies and triggers of the playbooks called there. Computed once per place, then cheap.
    ///
    /// # Panics
    /// If `playbook` is of another program.
    pub fn names_from(&self, playbook: PlaybookId, from: Node) -> Arc<Reach> {
        let body = self.playbook(playbook);
        if body.mode == Mode::Goal {
            return self.names_of(playbook);
        }
        let place = match from {
            Node::Step(step) if (step.0 as usize) < body.steps.len() => step.0 as usize,
            Node::Step(_) | Node::End => body.steps.len(),
        };
        let slot = &self.reach.playbooks[playbook.0 as usize].from[place];
        let compute = || {
            let mut reach = Reach::default();
            let reached = body.flow.reachable_from(from);
            for step in body.steps.iter().filter(|step| reached[step.id.0 as usize]) {
                add_step(&mut reach, step);
                for callee in self.callees(step) {
                    let whole = self.names_of(callee);
                    reach.names.extend(whole.names.iter().cloned());
                    reach.free |= whole.free;
                }
            }
            Arc::new(reach)
        };
        slot.get_or_init(compute).clone()
    }

    /// The names of a playbook's parameters, whole body and triggers, and of all it calls. Computed once, then cheap.
    ///
    /// # Panics
    /// If `playbook` is of another program.
    pub fn names_of(&self, playbook: PlaybookId) -> Arc<Reach> {
        let compute = || {
            let mut reach = Reach::default();
            let mut seen = BTreeSet::from([playbook]);
            let mut pending = VecDeque::from([playbook]);
            while let Some(id) = pending.pop_front() {
                let body = self.playbook(id);
                reach.names.extend(body.own.iter().chain(&body.outer).cloned());
                reach.free |= body.mode == Mode::Goal;
                for step in &body.steps {
                    add_step(&mut reach, step);
                    pending.extend(self.callees(step).filter(|callee| seen.insert(*callee)));
                }
            }
            Arc::new(reach)
        };
        self.reach.playbooks[playbook.0 as usize].whole.get_or_init(compute).clone()
    }
}

fn add_step(reach: &mut Reach, step: &Step) {
    reach.names.extend(step.reads.iter().chain(&step.writes).cloned());
    reach.free |= step.is_free();
}

impl StepKind {
    /// What is done: the action of a branch that has one, else this itself.
    pub fn action(&self) -> &StepKind {
        if let StepKind::Branch { action: Some(action), .. } = self { action } else { self }
    }

    /// The call that this is or does, an action behind a condition included.
    pub fn call(&self) -> Option<&CallSite> {
        match self {
            StepKind::Call(call) | StepKind::Return(Returned::Call(call)) => Some(call),
            // Actions hold no branches, so this goes one level deep.
            StepKind::Branch { action, .. } => action.as_deref().and_then(StepKind::call),
            StepKind::Return(Returned::Nothing | Returned::Value(_) | Returned::Words)
            | StepKind::Loop(_)
            | StepKind::End
            | StepKind::Assign { .. }
            | StepKind::Ask { .. }
            | StepKind::Say { .. }
            | StepKind::Free => None,
        }
    }

    /// The variables that it is certain to write when it has been done.
    pub fn targets(&self) -> Vec<&Target> {
        match self {
            StepKind::Assign { target, .. } => vec![target],
            StepKind::Ask { targets } => targets.iter().collect(),
            StepKind::Call(call) => call.result.iter().collect(),
            StepKind::Loop(Loop::ForEach { variable, .. }) => vec![variable],
            StepKind::Branch { action, .. } => action.as_deref().map_or_else(Vec::new, StepKind::targets),
            StepKind::Loop(Loop::Repeat { .. } | Loop::While { .. } | Loop::Until { .. })
            | StepKind::Return(_)
            | StepKind::End
            | StepKind::Say { .. }
            | StepKind::Free => Vec::new(),
        }
    }
}

impl Step {
    /// The call that this line is or does, an action behind a condition included.
    pub fn call(&self) -> Option<&CallSite> {
        self.kind.call()
    }

    /// Whether the line, or the action behind its condition, was read as nothing in particular.
    pub fn is_free(&self) -> bool {
        match &self.kind {
            StepKind::Free => true,
            StepKind::Branch { action, .. } => matches!(action.as_deref(), Some(StepKind::Free)),
            StepKind::Loop(_)
            | StepKind::Return(_)
            | StepKind::End
            | StepKind::Call(_)
            | StepKind::Assign { .. }
            | StepKind::Ask { .. }
            | StepKind::Say { .. } => false,
        }
    }
}

/// Per line the names that a later line may read before any line writes them, for the names that some line of
/// the playbook is certain to write.
pub(crate) struct Liveness {
    /// The names looked at, by their bit.
    names: HashMap<Arc<str>, usize>,
    n_words: usize,
    /// Per line, the bits of the names that are live when the line begins.
    live: Vec<u64>,
}

impl Liveness {
    /// Solves for `names`. A line that reads a name and writes it reads first.
    pub(crate) fn new(steps: &[Step], flow: &FlowGraph, names: impl Iterator<Item = Arc<str>>) -> Self {
        let mut index = HashMap::new();
        for name in names {
            let next = index.len();
            index.entry(name).or_insert(next);
        }
        let n_words = index.len().div_ceil(64);
        let mut liveness = Liveness { names: index, n_words, live: vec![0; n_words * steps.len()] };
        if n_words == 0 {
            return liveness;
        }
        let mut row = vec![0_u64; n_words];
        // Backwards in document order: without loops one pass is enough, each level of loops costs one more. Every
        // other pass goes forwards, for lines that lead back one by one.
        for pass in 0_usize.. {
            let mut changed = false;
            for index in 0..steps.len() {
                let step = &steps[if pass % 2 == 0 { steps.len() - 1 - index } else { index }];
                liveness.live_behind(flow, step.id, &mut row);
                // What only one of two ways writes is not certain to be written: the action of a condition.
                if !matches!(step.kind, StepKind::Branch { .. } | StepKind::Loop(_)) {
                    for target in step.kind.targets() {
                        liveness.set(&mut row, &target.name, false);
                    }
                }
                for name in &step.reads {
                    liveness.set(&mut row, name, true);
                }
                let start = step.id.0 as usize * n_words;
                if liveness.live[start..start + n_words] != row[..] {
                    liveness.live[start..start + n_words].copy_from_slice(&row);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        liveness
    }

    fn set(&self, row: &mut [u64], name: &str, live: bool) {
        if let Some(&bit) = self.names.get(name) {
            let mask = 1 << (bit % 64);
            if live {
                row[bit / 64] |= mask;
            } else {
                row[bit / 64] &= !mask;
            }
        }
    }

    fn live_behind(&self, flow: &FlowGraph, step: StepId, row: &mut [u64]) {
        row.fill(0);
        for edge in flow.successors(step) {
            if let Node::Step(next) = edge.to {
                let start = next.0 as usize * self.n_words;
                for (word, live) in row.iter_mut().zip(&self.live[start..]) {
                    *word |= live;
                }
            }
        }
    }

    /// Whether `name` may be read from the beginning of `at` on before it is written.
    pub(crate) fn is_live_at(&self, at: Node, name: &str) -> bool {
        let (Node::Step(step), Some(&bit)) = (at, self.names.get(name)) else { return false };
        self.live[step.0 as usize * self.n_words + bit / 64] & (1 << (bit % 64)) != 0
    }

    /// Whether `name` may be read behind `step` before it is written.
    pub(crate) fn is_live_behind(&self, flow: &FlowGraph, step: StepId, name: &str) -> bool {
        flow.successors(step).iter().any(|edge| self.is_live_at(edge.to, name))
    }
}

/// How many names are solved for together: a bound for the memory that a hostile playbook takes, which is this
/// many bits per line.
const NAMES_AT_ONCE: usize = 4096;

/// Sorts the names of a playbook into own and outer. `in_triggers` count as read first, `declared` exist from
/// the start and are never own, `in_texts` are mentioned by description and notes.
pub(crate) fn sort_names(
    playbook: &mut Playbook,
    in_triggers: &BTreeSet<Arc<str>>,
    in_texts: &BTreeSet<Arc<str>>,
    declared: &dyn Fn(&str) -> bool,
) {
    let parameters: BTreeSet<Arc<str>> = playbook.parameters.iter().map(|p| p.name.clone()).collect();
    let mut own = parameters.clone();
    if playbook.mode == Mode::Steps {
        let loops = playbook.steps.iter().filter(|step| matches!(step.kind, StepKind::Loop(_)));
        own.extend(loops.flat_map(|step| step.kind.targets()).map(|target| target.name.clone()));
        let targets = playbook.steps.iter().flat_map(|step| step.kind.targets());
        let written: BTreeSet<Arc<str>> = targets.map(|target| target.name.clone()).collect();
        let written: Vec<Arc<str>> = written.into_iter().filter(|name| !in_triggers.contains(name)).collect();
        for names in written.chunks(NAMES_AT_ONCE) {
            let liveness = Liveness::new(&playbook.steps, &playbook.flow, names.iter().cloned());
            let entry = playbook.flow.entry;
            own.extend(names.iter().filter(|name| !liveness.is_live_at(entry, name)).cloned());
        }
        own.retain(|name| parameters.contains(name) || !declared(name));
    }
    let mentioned = playbook.steps.iter().flat_map(|step| step.reads.iter().chain(&step.writes));
    let all = mentioned.chain(in_triggers).chain(in_texts);
    playbook.outer = all.filter(|name| !own.contains(*name)).cloned().collect();
    playbook.own = own;
}
