//! Two sessions side by side: how long they did the same, what each did then, and how their variables differ.
//!
//! Compared is what the machines did, in order. Where a reply was cut into chunks, how long things took and what they
//! cost is no difference.

use std::collections::BTreeMap;
use std::sync::Arc;

use playhouse_lang::value::Value;
use playhouse_vm::protocol::Tracked;
use playhouse_vm::protocol::view::View;

use crate::events::{PublicBody, PublicEvent};
use crate::replay::error::SessionError;
use crate::travel::point::Point;
use crate::travel::steps::{Step, steps};
use crate::travel::timeline::Timeline;

/// How two sessions differ: of each pair the first is the first session's.
#[derive(Clone, Debug)]
pub struct Difference {
    /// So many steps are the same.
    pub n_same: usize,
    /// The points after the last of them, in each session; the ends, if they did the same.
    pub same_up_to: [Point; 2],
    /// What each did then. Both empty: they did the same.
    pub then: [Vec<Step>; 2],
    /// The variables that are not the same at the ends.
    pub variables: Vec<VariableDifference>,
}

/// A variable that is not the same.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableDifference {
    /// Whose it is: `Desk.Main` for a frame, `others of Desk` for an agent.
    pub place: String,
    /// Its name.
    pub name: Arc<str>,
    /// Its values, secrets masked; none: there is no such variable.
    pub values: [Option<Value>; 2],
}

/// Compares two sessions.
///
/// # Errors
/// A machine does not follow its records.
pub fn diff(a: &Timeline, b: &Timeline) -> Result<Difference, SessionError> {
    let [of_a, of_b] = [deeds(a)?, deeds(b)?];
    let n_same = of_a.iter().zip(&of_b).take_while(|(a, b)| is_same(&a.event, &b.event)).count();
    let last = |deeds: &[Step]| n_same.checked_sub(1).and_then(|index| deeds.get(index)).map(|step| step.point);
    let same_up_to = match of_a.len() == n_same && of_b.len() == n_same {
        true => [a.end(), b.end()],
        false => [last(&of_a).unwrap_or(a.start()), last(&of_b).unwrap_or(b.start())],
    };
    let then = [of_a, of_b].map(|deeds| deeds.into_iter().skip(n_same).collect());
    let [at_a, at_b] = [a.at(a.end())?.machine.view(), b.at(b.end())?.machine.view()];
    Ok(Difference { n_same, same_up_to, then, variables: compare(&variables(&at_a), &variables(&at_b)) })
}

/// What a machine did of itself: pieces of speech are in the utterances, and when a reply has come to its end is the
/// world's.
fn deeds(timeline: &Timeline) -> Result<Vec<Step>, SessionError> {
    let mut deeds = steps(timeline, timeline.start(), timeline.end())?;
    deeds.retain(|step| !matches!(step.event.body, PublicBody::SaidDelta { .. } | PublicBody::TurnFinished { .. }));
    Ok(deeds)
}

/// Whether they tell the same, but for times and costs.
pub(crate) fn is_same(a: &PublicEvent, b: &PublicEvent) -> bool {
    let place = |event: &PublicEvent| {
        let PublicEvent { agent, playbook, plan, line, depth, .. } = event.clone();
        (agent, playbook, plan, line, depth)
    };
    place(a) == place(b) && essence(&a.body) == essence(&b.body)
}

/// The event without times and costs.
fn essence(body: &PublicBody) -> PublicBody {
    let mut essence = body.clone();
    if let PublicBody::TurnStarted { prompt_tokens, .. } = &mut essence {
        *prompt_tokens = 0;
    } else if let PublicBody::CallFinished { ms, .. } = &mut essence {
        *ms = 0;
    } else if let PublicBody::TriggerEvaluated { ms, tokens, .. } = &mut essence {
        (*ms, *tokens) = (0, None);
    } else if let PublicBody::StreamCancelled { discarded_bytes, .. } = &mut essence {
        *discarded_bytes = 0;
    }
    essence
}

/// By depth (the agents' others come last), place and name.
type Variables = BTreeMap<(usize, String, Arc<str>), Tracked>;

fn variables(view: &View) -> Variables {
    let of_frames = view.stack.iter().enumerate().flat_map(|(depth, frame)| {
        let place = format!("{}.{}", frame.agent, frame.name);
        frame.variables.iter().map(move |variable| (depth, place.clone(), variable))
    });
    let others = view.globals.iter().flat_map(|(agent, variables)| {
        variables.iter().map(move |variable| (usize::MAX, format!("others of {agent}"), variable))
    });
    let all = of_frames.chain(others);
    all.map(|(depth, place, variable)| ((depth, place, variable.name.clone()), variable.value.clone())).collect()
}

fn compare(a: &Variables, b: &Variables) -> Vec<VariableDifference> {
    let only_in_b = b.keys().filter(|key| !a.contains_key(*key));
    let mut keys: Vec<_> = a.keys().chain(only_in_b).collect();
    keys.sort();
    let differing = keys.into_iter().filter_map(|key| {
        let values = [a.get(key), b.get(key)];
        let plain = values.map(|value| value.map(|tracked| tracked.value()));
        let (_, place, name) = key;
        let difference = || VariableDifference {
            place: place.clone(),
            name: name.clone(),
            values: values.map(|value| value.map(Tracked::shown)),
        };
        (plain[0] != plain[1]).then(difference)
    });
    differing.collect()
}
