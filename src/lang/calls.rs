//! The call graph: recursion, and what the playbooks below a call look up.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use crate::program::{AgentId, Mode, OnLimit, Playbook, PlaybookId, Program, TriggerKind};
use crate::tail_calls::NoTailCall;

/// Names as the playbooks of an agent look them up.
pub type AgentNames = BTreeSet<(AgentId, Arc<str>)>;

/// What the analyses of calls have computed so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallCache {
    cycles: OnceLock<Vec<usize>>,
    /// Per cycle of calls the outer names of its playbooks and of all they call.
    below: Vec<OnceLock<Arc<AgentNames>>>,
    /// Names that a trigger can look up at any time.
    watched: OnceLock<AgentNames>,
    /// The outer names of all playbooks.
    outer: OnceLock<AgentNames>,
    /// Per playbook and line why it is no tail call, if it is none.
    verdicts: Vec<Vec<OnceLock<Option<NoTailCall>>>>,
}

impl CallCache {
    /// For a program whose playbooks have that many lines.
    pub(crate) fn new(n_steps: impl Iterator<Item = usize>) -> Self {
        let verdicts: Vec<_> = n_steps.map(|n| vec![OnceLock::new(); n]).collect();
        // There are at most as many cycles as playbooks.
        CallCache { below: vec![OnceLock::new(); verdicts.len()], verdicts, ..CallCache::default() }
    }

    /// Where the verdict on a line is kept; none for a line that the program does not have.
    pub(crate) fn verdict(&self, playbook: PlaybookId, step: usize) -> Option<&OnceLock<Option<NoTailCall>>> {
        self.verdicts.get(playbook.0 as usize)?.get(step)
    }
}

impl Program {
    /// Per playbook the number of the cycle of calls it belongs to; playbooks with one number call each other,
    /// directly or not. One that is in no cycle has a number of its own.
    pub(crate) fn call_cycles(&self) -> &[usize] {
        self.reach.calls.cycles.get_or_init(|| {
            let callees = |playbook: &Playbook| {
                playbook.steps.iter().flat_map(|step| self.callees(step)).map(|callee| callee.0 as usize).collect()
            };
            strongly_connected(&self.playbooks.iter().map(callees).collect::<Vec<Vec<usize>>>())
        })
    }

    /// The names that `playbook` and all it can call look up outside of their own frames.
    pub fn names_below(&self, playbook: PlaybookId) -> Arc<AgentNames> {
        // The members of a cycle reach the same playbooks.
        let slot = &self.reach.calls.below[self.call_cycles()[playbook.0 as usize]];
        slot.get_or_init(|| Arc::new(self.looked_up(vec![playbook]))).clone()
    }

    /// The names that triggers, and the playbooks that they call, look up: at any time, wherever the session is.
    pub fn watched_names(&self) -> &AgentNames {
        self.reach.calls.watched.get_or_init(|| {
            // A beginning has been when the first line is done.
            let can_fire = |playbook: &&Playbook| playbook.triggers.iter().any(|t| t.kind != TriggerKind::Beginning);
            let fired: Vec<&Playbook> = self.playbooks.iter().filter(can_fire).collect();
            let mut names = self.looked_up(fired.iter().map(|playbook| playbook.id).collect());
            for playbook in fired {
                let mentioned = playbook.triggers.iter().flat_map(|trigger| &trigger.names);
                names.extend(mentioned.map(|name| (playbook.agent, name.clone())));
            }
            names
        })
    }

    /// The outer names of all playbooks.
    pub(crate) fn outer_names(&self) -> &AgentNames {
        self.reach.calls.outer.get_or_init(|| {
            let of_playbook = |playbook: &Playbook| {
                let agent = playbook.agent;
                playbook.outer.iter().map(move |name| (agent, name.clone())).collect::<Vec<_>>()
            };
            self.playbooks.iter().flat_map(of_playbook).collect()
        })
    }

    fn looked_up(&self, starts: Vec<PlaybookId>) -> AgentNames {
        let mut names = AgentNames::new();
        let mut seen: BTreeSet<PlaybookId> = starts.iter().copied().collect();
        let mut pending = VecDeque::from(starts);
        while let Some(id) = pending.pop_front() {
            let body = self.playbook(id);
            names.extend(body.outer.iter().map(|name| (body.agent, name.clone())));
            let mut callees: Vec<PlaybookId> = body.steps.iter().flat_map(|step| self.callees(step)).collect();
            if body.mode == Mode::Goal {
                // The model chooses among all of them.
                callees.extend(self.agent(body.agent).playbooks.iter().chain(&self.called_by_plans));
            }
            if let OnLimit::Call(name) = &body.limits.on_limit {
                callees.extend(self.find_playbook(body.agent, name));
            }
            pending.extend(callees.into_iter().filter(|callee| seen.insert(*callee)));
        }
        names
    }
}

/// Tarjan's algorithm with a stack of its own, for a program may have thousands of playbooks in one chain.
fn strongly_connected(edges: &[Vec<usize>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let n = edges.len();
    let (mut order, mut low, mut component) = (vec![UNSEEN; n], vec![0; n], vec![UNSEEN; n]);
    let (mut stack, mut n_seen, mut n_components) = (Vec::new(), 0, 0);
    for root in 0..n {
        if order[root] != UNSEEN {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if *next == 0 {
                order[node] = n_seen;
                low[node] = n_seen;
                n_seen += 1;
                stack.push(node);
            }
            if let Some(&callee) = edges[node].get(*next) {
                *next += 1;
                if order[callee] == UNSEEN {
                    path.push((callee, 0));
                } else if component[callee] == UNSEEN {
                    low[node] = low[node].min(order[callee]);
                }
                continue;
            }
            path.pop();
            if let Some((caller, _)) = path.last() {
                low[*caller] = low[*caller].min(low[node]);
            }
            if low[node] == order[node] {
                while let Some(member) = stack.pop() {
                    component[member] = n_components;
                    if member == node {
                        break;
                    }
                }
                n_components += 1;
            }
        }
    }
    component
}
