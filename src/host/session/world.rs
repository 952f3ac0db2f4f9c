//! What a session acts through, and its times.

use std::sync::Arc;
use std::time::Duration;

use crate::classify::TriggerClassifier;
use crate::clock::Clock;
use crate::llm::Llm;
use crate::otel::spans::Traces;
use crate::program::ProgramCache;
use crate::replay::Witnesses;
use crate::resource::prices::PriceTable;
use crate::tool::registry::Registry;

/// What a session acts through. Cheap to clone; sessions of a process share it.
#[derive(Clone)]
pub struct World {
    /// The model.
    pub llm: Arc<dyn Llm>,
    /// What judges semantic triggers; [`crate::classify::off::Off`] where none does.
    pub classifier: Arc<dyn TriggerClassifier>,
    /// The tools.
    pub tools: Arc<Registry>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Times and sizes of the session's task; not of the machine.
    pub options: SessionOptions,
}

/// Times of the session's task. They decide when events come, never what the machine makes of them.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOptions {
    /// How long a connection may run on after the model has yielded, for its usage.
    pub yield_grace: Duration,
    /// The longest time from a request to the end of its reply.
    pub turn_timeout: Duration,
    /// The longest time from a question to the trigger classifier to its answer.
    pub classifier_timeout: Duration,
    /// Whether requests carry the JSON Schema that replies should keep to.
    pub constrain: bool,
    /// How large a message of the user may be.
    pub message_bytes: usize,
    /// What models cost, for the summary.
    pub prices: Arc<PriceTable>,
    /// Programs that this process has read: a session that is taken up again reads none a second time.
    pub programs: ProgramCache,
    /// Who is told what its sessions do, as spans.
    pub traces: Traces,
}

impl World {
    /// Those of it who are told of what a session had done before.
    pub(crate) fn witnesses(&self) -> Witnesses<'_> {
        let World { llm, classifier, tools, options, .. } = self;
        Witnesses { llm: &**llm, classifier: &**classifier, tools, programs: &options.programs }
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions {
            yield_grace: Duration::from_secs(1),
            turn_timeout: Duration::from_secs(600),
            classifier_timeout: Duration::from_secs(5),
            constrain: false,
            message_bytes: 1 << 20,
            prices: Arc::default(),
            programs: ProgramCache::default(),
            traces: Traces::default(),
        }
    }
}
