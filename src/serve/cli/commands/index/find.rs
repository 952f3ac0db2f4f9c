//! `index search`, `show`, `facts`, `eval`: what an index finds.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value as Json, json};

use crate::host::documents::Index;
use crate::host::documents::claims::{Kept, claims};
use crate::host::documents::measure::{Measure, RANKS, TOP, questions};
use crate::host::documents::search::{Hit, Query};
use crate::host::llm::ModelKind;
use crate::host::llm::answer::NoAnswer;
use crate::host::llm::embeddings::{Embedder, MAX_TEXTS};
use crate::host::text::{one_line, shorten};
use crate::serve::cli::commands::index::options::{IndexFile, Server, embedder_of};
use crate::serve::cli::machinery::beside::read;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, count, finish, put};
use crate::serve::cli::machinery::ending::tell_left_over;
use crate::serve::cli::machinery::output::{Format, json_array};
use crate::serve::cli::machinery::runtime::Runtime;
use crate::vm::protocol::Usage;

/// Characters of a chunk that are shown.
const MAX_SHOWN: usize = 240;

/// Questions without an answer that are shown.
const MAX_MISSES: usize = 20;

/// By what chunks are found.
#[derive(Args)]
struct By {
    /// Search by words only
    #[arg(long, conflicts_with = "vectors")]
    words: bool,
    /// Search by vectors only
    #[arg(long)]
    vectors: bool,
}

impl By {
    /// What asks for the vectors of questions, if they count.
    fn embedder(
        &self,
        console: &Console,
        index: &Index,
        file: &IndexFile,
        server: &Server,
    ) -> Result<Option<Embedder>, Failure> {
        if self.words { Ok(None) } else { embedder_of(console, index, file, server, self.vectors) }
    }
}

/// Finds the chunks that best answer a question
#[derive(Args)]
pub(super) struct SearchArguments {
    /// The question, or words from the documents
    question: String,
    #[command(flatten)]
    file: IndexFile,
    /// How many chunks to show
    #[arg(long, value_name = "N", default_value_t = 8)]
    top: usize,
    #[command(flatten)]
    by: By,
    /// Also show why: ranks, matched words, the cosine of the vectors
    #[arg(long)]
    explain: bool,
    /// The output format: text for people, or a JSON array for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    server: Server,
}

/// Shows a part of a document as the index has it
#[derive(Args)]
pub(super) struct ShowArguments {
    /// A source as a search prints it, such as docs/refunds.md:12-40, or a document
    source: String,
    #[command(flatten)]
    file: IndexFile,
    /// How many chunks to show before it
    #[arg(long, value_name = "N", default_value_t = 0)]
    before: usize,
    /// How many chunks to show after it
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: usize,
}

/// Looks up what the documents say about the things that a question names; with --model, a model first reads them for
/// facts
#[derive(Args)]
pub(super) struct FactsArguments {
    /// A question that names things
    #[arg(required_unless_present = "model")]
    question: Option<String>,
    /// Have this model read all chunks that it has not read yet, as for `run`; a fact that it cannot quote is dropped
    #[arg(long, value_name = "ID", conflicts_with_all = ["question", "format"])]
    model: Option<String>,
    #[command(flatten)]
    file: IndexFile,
    /// The output format: text for people, or a JSON object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    server: Server,
}

/// Measures how well questions find their sources; each line of the file is {"query", "sources": ["docs/a.md:12-40"]}
#[derive(Args)]
pub(super) struct EvalArguments {
    /// The file of questions
    #[arg(value_name = "FILE")]
    questions: PathBuf,
    #[command(flatten)]
    file: IndexFile,
    #[command(flatten)]
    by: By,
    /// The output format: text for people, or a JSON object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    server: Server,
}

pub(super) fn search(console: &Console, arguments: &SearchArguments) -> Result<Exit, Failure> {
    let SearchArguments { question, file, top, by, explain, format, server } = arguments;
    let mut index = Index::open(&file.index)?;
    let embedder = by.embedder(console, &index, file, server)?;
    let vector = vector_of(console, embedder.as_ref(), question, by.vectors)?;
    let query = Query { text: question, by_words: !by.vectors, vector: vector.as_deref(), top: *top };
    let hits = index.search(query)?;
    let text = match format {
        Format::Json => json_array(hits.iter().map(|hit| in_json(&index, question, hit, *explain))),
        Format::Text => {
            let hits = hits.iter().enumerate().map(|(place, hit)| in_text(&index, question, place + 1, hit, *explain));
            hits.collect()
        }
    };
    put(&text)?;
    if hits.is_empty() {
        console.remark("nothing was found");
    }
    Ok(Exit::Finished)
}

/// The vector of a question; without a server, words are what is found by.
fn vector_of(
    console: &Console,
    embedder: Option<&Embedder>,
    question: &str,
    must: bool,
) -> Result<Option<Vec<f32>>, Failure> {
    let Some(embedder) = embedder else { return Ok(None) };
    match Runtime::for_one()?.block_on(embedder.embed(&[question])) {
        Ok(vectors) => Ok(vectors.into_iter().next()),
        Err(cause) if must => Err(Failure::failed(cause)),
        Err(cause) => {
            console.warning(&format!("{cause}; this search went by words only"));
            Ok(None)
        }
    }
}

// A public interface: fields are added, never changed or removed.
fn in_json(index: &Index, question: &str, hit: &Hit, explain: bool) -> Json {
    let mut told = json!(hit);
    if explain {
        told["why"] = json!(hit.why);
        told["why"]["words"] = json!(index.matched_words(question, hit));
    }
    told
}

fn in_text(index: &Index, question: &str, place: usize, hit: &Hit, explain: bool) -> String {
    let under = if hit.heading.is_empty() { &hit.title } else { &hit.heading };
    let stale = if hit.stale { "  (stale: the file has changed since)" } else { "" };
    let mut text = format!("{place}  {}  {}{stale}\n", hit.source, one_line(under));
    if explain {
        let rank = |name: &str, rank: Option<usize>| rank.map(|rank| format!("{name} {rank}"));
        let cosine = hit.why.cosine.map(|cosine| format!("cosine {cosine:.3}"));
        let ranks = [rank("words", hit.why.by_words), rank("vectors", hit.why.by_vectors), cosine];
        let ranks = ranks.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let matched = index.matched_words(question, hit).join(", ");
        text.push_str(&format!("   {ranks}; score {:.4}; matches {matched}\n", hit.score));
    }
    text.push_str(&format!("   {}\n", shorten(&one_line(&hit.content), MAX_SHOWN)));
    clean(&text)
}

pub(super) fn show(arguments: &ShowArguments) -> Result<Exit, Failure> {
    let index = Index::open(&arguments.file.index)?;
    let excerpt = index.read(&arguments.source, arguments.before, arguments.after)?;
    let stale = if excerpt.stale { " (stale: the file has changed since)" } else { "" };
    finish(&clean(&format!("{}{stale}  {}\n\n{}\n", excerpt.source, excerpt.title, excerpt.content)))
}

pub(super) fn facts(console: &Console, arguments: &FactsArguments) -> Result<Exit, Failure> {
    let FactsArguments { question, model, file, format, server } = arguments;
    if let Some(model) = model {
        return read_facts(console, model, file, server);
    }
    let question = question.as_deref().unwrap_or_default();
    let mut index = Index::open(&file.index)?;
    let embedder = embedder_of(console, &index, file, server, false)?;
    let vector = vector_of(console, embedder.as_ref(), question, false)?;
    let facts = index.facts(question, vector.as_deref())?;
    let text = match format {
        Format::Json => format!("{:#}\n", json!(facts)),
        Format::Text => {
            let lines = facts.relationships.iter().map(|fact| {
                format!("{} | {} | {}  ({})\n", fact.subject, fact.predicate, one_line(&fact.object), fact.source)
            });
            clean(&lines.collect::<String>())
        }
    };
    put(&text)?;
    if facts.relationships.is_empty() {
        console.remark("there are no facts about what the question names");
    }
    Ok(Exit::Finished)
}

/// Has a model read all chunks that it has not read yet. What it said of each is kept at once.
fn read_facts(console: &Console, model: &str, file: &IndexFile, server: &Server) -> Result<Exit, Failure> {
    let mut index = Index::open_to_write(&file.index)?;
    let runtime = Runtime::for_one()?;
    let (llm, timeout) = server.model(console, &runtime, model, &file.index)?;
    if llm.kind() == ModelKind::Embedded {
        return Err(Failure::wrong("the embedded model cannot read documents; name another model, as in openai:NAME"));
    }
    let shown = index.shown();
    let n_unasked = index.count_unasked(model)?;
    console.remark(&format!("{shown}: {model} reads {}", count(n_unasked, "chunk")));
    let (mut all, mut n_unusable, mut tokens, mut unreachable) = (Kept::default(), 0, Usage::default(), None);
    let mut passage = None;
    while let Some(next) = index.next_unasked(model, passage.as_ref())? {
        let (said, usage) = runtime.block_on(claims(&*llm, timeout, &next));
        tokens += usage;
        match said {
            Ok(said) => {
                let Kept { kept, dropped } = index.keep_claims(model, &next, &said)?;
                all = Kept { kept: all.kept + kept, dropped: all.dropped + dropped };
            }
            Err(NoAnswer::Unusable(_)) => n_unusable += 1,
            Err(NoAnswer::Unreachable(cause)) => {
                unreachable = Some(cause);
                break;
            }
        }
        passage = Some(next);
    }
    let facts = count(all.kept, "new fact");
    let tokens = count(tokens.prompt_tokens + tokens.completion_tokens, "token");
    console.remark(&format!("{facts}; {} dropped whose quote is not in the text; {tokens}", all.dropped));
    if n_unusable > 0 {
        let chunks = count(n_unusable, "chunk");
        console.warning(&format!("for {chunks} no answer could be used; run the same command to ask again"));
    }
    if let Some(cause) = unreachable {
        return Err(Failure::failed(format!("{cause}; what was read is kept; run the same command to continue")));
    }
    let has_failed = tell_left_over(console, &llm.left_over(), true);
    Ok(if has_failed { Exit::Failed } else { Exit::Finished })
}

pub(super) fn eval(console: &Console, arguments: &EvalArguments) -> Result<Exit, Failure> {
    let EvalArguments { questions: path, file, by, format, server } = arguments;
    let questions = questions(&read(path).map_err(Failure::wrong)?).map_err(|cause| {
        let next = "write {\"query\": …, \"sources\": [\"docs/a.md:12-40\"]} in each line";
        Failure::wrong(format!("{}: {cause}; {next}", path.display()))
    })?;
    let mut index = Index::open(&file.index)?;
    let embedder = by.embedder(console, &index, file, server)?;
    let mut measure = Measure::default();
    for questions in questions.chunks(MAX_TEXTS) {
        let texts: Vec<&str> = questions.iter().map(|question| &*question.query).collect();
        let vectors = match &embedder {
            Some(embedder) => Runtime::for_one()?.block_on(embedder.embed(&texts)).map_err(Failure::failed)?,
            None => Vec::new(),
        };
        for (place, question) in questions.iter().enumerate() {
            let vector = vectors.get(place).map(|vector| &vector[..]);
            let query = Query { text: &question.query, by_words: !by.vectors, vector, top: TOP };
            measure.add(question, &index.search(query)?);
        }
    }
    finish(&match format {
        // A public interface: fields are added, never changed or removed.
        Format::Json => format!("{:#}\n", json!(measure)),
        Format::Text => measured(&measure),
    })
}

fn measured(measure: &Measure) -> String {
    let recall = RANKS.iter().zip(measure.recall).map(|(rank, recall)| format!(", recall@{rank} {recall:.3}"));
    let recall: String = recall.collect();
    let n_questions = count(measure.questions, "question");
    let mut text = format!("{n_questions}: nDCG@10 {:.3}{recall}\n", measure.ndcg_10);
    if !measure.misses.is_empty() {
        text.push_str(&format!("{} found none of its sources among the first 10:\n", measure.misses.len()));
        let shown = measure.misses.iter().take(MAX_MISSES);
        text.extend(shown.map(|question| clean(&format!("  {}\n", shorten(&one_line(question), MAX_SHOWN)))));
    }
    text
}
