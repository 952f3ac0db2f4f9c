//! Checks that ask a judge: its answers take the place of the verdicts.

use playhouse_vm::protocol::Usage;

use crate::checks::{Breach, Verdict, Verified};
use crate::judge::transcript::Transcript;
use crate::judge::{Grounds, Judge, Opinion};
use crate::travel::Run;

impl Judge {
    /// Judges a run where checks ask for it; gives the tokens that it took.
    pub async fn settle(&self, run: &Run, verified: &mut [Verified]) -> Usage {
        let transcript = Transcript::of(&run.events);
        let mut usage = Usage::default();
        for verified in verified {
            let Some(question) = &verified.question else { continue };
            let judgement = self.judge(&transcript, question).await;
            usage += judgement.usage.unwrap_or_default();
            verified.verdict = match judgement.opinion {
                Opinion::Yes(_) => Verdict::Holds,
                Opinion::No(Grounds { quote, why }) => {
                    let sentence = format!("the judge {} says no: {why} ({quote:?})", self.llm().id());
                    let event = run.events.len().saturating_sub(1);
                    Verdict::Broken(Breach { event, point: None, place: None, sentence })
                }
                Opinion::Undecided { why } => Verdict::Undecided { why },
            };
        }
        usage
    }
}
