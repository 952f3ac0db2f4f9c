//! What fires in the cases of a table: conditions are judged by the interpreter, the others by the classifier.

use std::sync::Arc;
use std::time::Duration;

use super::score::Judged;
use crate::host::classify::TriggerClassifier;
use crate::lang::files::trigger_table::{TriggerCase, TriggerTable, TriggerUpdate};
use crate::lang::program::{Agent, AgentKind, Program};
use crate::value::Value;
use crate::vm::protocol::{Question, USER_MESSAGE, Verdict};
use crate::vm::triggers::trial::Trial;

/// Judges all cases, one after the other. In a program of several agents each of them sees the updates. Without a
/// classifier nobody judges what only it can. A verdict that takes longer than `timeout` is no match, as in a
/// session.
///
/// # Errors
/// The classifier has failed: what it says of the other cases is no measure then.
pub async fn judge(
    program: &Program,
    table: &TriggerTable,
    classifier: Option<&dyn TriggerClassifier>,
    timeout: Duration,
) -> Result<Vec<Judged>, String> {
    // One skill alone has nobody beside it who could begin it.
    let is_skill = |agent: &Agent| agent.playbooks.iter().any(|id| program.playbook(*id).skill.is_some());
    let alone = matches!(&program.agents[..], [only] if is_skill(only)).then(|| program.triggers_of_skills());
    let mut judged = Vec::with_capacity(table.cases.len());
    for case in &table.cases {
        let mut result = Judged::default();
        for agent in program.agents.iter().filter(|agent| agent.kind == AgentKind::Playbooks) {
            let tried = trial(agent, case).run(program, agent.id, alone.as_ref().unwrap_or(&agent.triggers));
            result.fired.extend(tried.fired);
            let Some(question) = tried.question else { continue };
            match classifier {
                Some(classifier) => ask(&mut result, question, classifier, timeout)
                    .await
                    .map_err(|reason| format!("line {}: the classifier failed: {reason}", case.line))?,
                None => result.abstained.extend(question.candidates.iter().map(|candidate| candidate.trigger)),
            }
        }
        judged.push(result);
    }
    Ok(judged)
}

/// The case as the interpreter tries it, in an agent whose declared variables have their first values.
fn trial(agent: &Agent, case: &TriggerCase) -> Trial {
    let declared = agent.variables.iter().filter_map(|declared| Some((declared.name.clone(), declared.value.clone()?)));
    let given = case.given.iter().map(|(name, value)| (name.as_str().into(), value.clone()));
    let update = |update: &TriggerUpdate| match update {
        TriggerUpdate::User(message) => (USER_MESSAGE.into(), Value::str(message.as_str())),
        TriggerUpdate::Set(name, value) => (name.as_str().into(), value.clone()),
    };
    Trial { declared: declared.collect(), given: given.collect(), updates: case.updates.iter().map(update).collect() }
}

async fn ask(
    result: &mut Judged,
    question: Question,
    classifier: &dyn TriggerClassifier,
    timeout: Duration,
) -> Result<(), String> {
    match tokio::time::timeout(timeout, classifier.judge(Arc::new(question))).await {
        Ok(Verdict::Judged { matched, abstained, .. }) => {
            result.fired.extend(matched);
            result.abstained.extend(abstained);
            Ok(())
        }
        Ok(Verdict::TimedOut) | Err(_) => Ok(()),
        Ok(Verdict::Failed { reason }) => Err(reason.to_string()),
    }
}
