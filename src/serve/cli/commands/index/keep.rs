//! `index add`, `refresh`, `embed`, `delete`, `list`: what an index holds.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::host::documents::write::{Update, can_add};
use crate::host::documents::{Index, Status};
use crate::host::llm::embeddings::{Embedder, MAX_TEXTS};
use crate::serve::cli::commands::index::options::{IndexFile, Server};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, count, finish};
use crate::serve::cli::machinery::output::{Format, table};
use crate::serve::cli::machinery::runtime::Runtime;

/// Files that cannot be read and are named, at most; the others are counted.
const MAX_NAMED: usize = 20;

/// How an update is told.
#[derive(Args)]
struct Telling {
    /// List each document that is written or removed
    #[arg(long, short)]
    verbose: bool,
    /// Fail if a file cannot be read
    #[arg(long)]
    strict: bool,
}

/// Adds files, and folders without what a .gitignore excludes; reads a document again if it has changed
#[derive(Args)]
pub(super) struct AddArguments {
    /// Files and folders, inside the folder of the index
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    file: IndexFile,
    /// Only files that match, in the syntax of .gitignore: '*.md' (repeatable)
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// A model that computes vectors of texts, such as openai:nomic-embed-text; without one, searches go by words
    /// only
    #[arg(long, value_name = "ID")]
    embedding: Option<String>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    telling: Telling,
}

/// Reads changed documents again, adds new ones, removes those that are gone
#[derive(Args)]
pub(super) struct RefreshArguments {
    #[command(flatten)]
    file: IndexFile,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    telling: Telling,
}

/// Computes the missing vectors; continues where it was interrupted
#[derive(Args)]
pub(super) struct EmbedArguments {
    #[command(flatten)]
    file: IndexFile,
    /// Compute all vectors again, including those of another model
    #[arg(long)]
    again: bool,
    /// The model [default: the index's own]
    #[arg(long, value_name = "ID")]
    embedding: Option<String>,
    #[command(flatten)]
    server: Server,
}

/// Removes a document, or all below a folder, from the index; the files stay, and a refresh does not add them again
#[derive(Args)]
pub(super) struct DeleteArguments {
    /// The document or folder
    path: PathBuf,
    #[command(flatten)]
    file: IndexFile,
}

/// Shows what an index holds
#[derive(Args)]
pub(super) struct ListArguments {
    #[command(flatten)]
    file: IndexFile,
    /// The output format: text for people, or a JSON object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn add(console: &Console, arguments: &AddArguments) -> Result<Exit, Failure> {
    let AddArguments { paths, file, include, embedding, server, telling } = arguments;
    // Before anything is written.
    can_add(&file.index, paths, include)?;
    embedding.as_ref().map(|model| server.embedder(console, model, &file.index)).transpose()?;
    let mut index = Index::create(&file.index)?;
    if let Some(model) = embedding {
        index.use_embedding(model, false)?;
    }
    server.extract_by(console, &mut index, &file.index)?;
    let update = index.add(paths, include, &mut |news| tell(console, telling, news))?;
    end(console, index, &update, file, server, telling)
}

pub(super) fn refresh(console: &Console, arguments: &RefreshArguments) -> Result<Exit, Failure> {
    let RefreshArguments { file, server, telling } = arguments;
    let mut index = Index::open_to_write(&file.index)?;
    server.extract_by(console, &mut index, &file.index)?;
    let update = index.refresh(&mut |news| tell(console, telling, news))?;
    end(console, index, &update, file, server, telling)
}

fn tell(console: &Console, telling: &Telling, news: &str) {
    if telling.verbose {
        console.remark(news);
    }
}

/// Tells what came of an update, and makes the vectors that are missing.
fn end(
    console: &Console,
    mut index: Index,
    update: &Update,
    file: &IndexFile,
    server: &Server,
    telling: &Telling,
) -> Result<Exit, Failure> {
    let shown = file.index.display();
    for (name, why) in update.unreadable.iter().take(MAX_NAMED) {
        console.warning(&format!("{name}: {why} (index-unreadable); it is skipped until it is fixed"));
    }
    let more = update.unreadable.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        console.warning(&format!("{more} more files cannot be read (index-unreadable)"));
    }
    let Update { added, changed, removed, unchanged, left_out, unreadable } = update;
    console.remark(&format!(
        "{shown}: {added} added, {changed} changed, {removed} removed, {unchanged} unchanged; {left_out} skipped (not \
         text, or larger than 10 MB), {} unreadable",
        unreadable.len()
    ));
    if let Some(model) = index.embedding()? {
        let embedder = server.embedder(console, &model, &file.index)?;
        // What is added is found by words at once.
        if let Err(cause) = embed_all(console, &mut index, &embedder)? {
            console.warning(&format!(
                "{cause}; {shown} is searched by words until `playhouse index embed` has made the vectors"
            ));
        }
    }
    Ok(if telling.strict && !unreadable.is_empty() { Exit::Failed } else { Exit::Finished })
}

pub(super) fn embed(console: &Console, arguments: &EmbedArguments) -> Result<Exit, Failure> {
    let EmbedArguments { file, again, embedding, server } = arguments;
    let mut index = Index::open_to_write(&file.index)?;
    let Some(model) = embedding.clone().or(index.embedding()?) else {
        return Err(Failure::wrong(format!(
            "{}: it has no model for its vectors (index-model); name one, as in --embedding openai:nomic-embed-text",
            file.index.display()
        )));
    };
    let embedder = server.embedder(console, &model, &file.index)?;
    index.use_embedding(&model, *again)?;
    embed_all(console, &mut index, &embedder)?.map_err(Failure::failed)?;
    Ok(Exit::Finished)
}

/// Makes all vectors that are missing; the inner error is the server's.
fn embed_all(console: &Console, index: &mut Index, embedder: &Embedder) -> Result<Result<(), String>, Failure> {
    let runtime = Runtime::for_one()?;
    let mut n_made = 0;
    loop {
        let chunks = index.without_vectors(MAX_TEXTS)?;
        if chunks.is_empty() {
            break;
        }
        let texts: Vec<&str> = chunks.iter().map(|(_, text)| &**text).collect();
        let vectors = match runtime.block_on(embedder.embed(&texts)) {
            Ok(vectors) => vectors,
            Err(cause) => return Ok(Err(cause)),
        };
        let vectors: Vec<(i64, Vec<f32>)> = chunks.iter().map(|(chunk, _)| *chunk).zip(vectors).collect();
        index.keep_vectors(&vectors)?;
        n_made += vectors.len();
    }
    console.remark(&format!("{} made", count(n_made, "vector")));
    Ok(Ok(()))
}

pub(super) fn delete(console: &Console, arguments: &DeleteArguments) -> Result<Exit, Failure> {
    let mut index = Index::open_to_write(&arguments.file.index)?;
    let n_removed = index.delete(&arguments.path)?;
    console.remark(&format!("{}: {} removed", index.shown(), count(n_removed, "document")));
    Ok(Exit::Finished)
}

pub(super) fn list(arguments: &ListArguments) -> Result<Exit, Failure> {
    let index = Index::open(&arguments.file.index)?;
    let status = index.status()?;
    let documents = index.documents()?;
    let text = match arguments.format {
        Format::Json => {
            // A public interface: fields are added, never changed or removed.
            let mut told = json!(status);
            told["list"] = json!(documents);
            format!("{told:#}\n")
        }
        Format::Text => {
            let rows = documents.iter().map(|document| {
                let held = [count(document.chunks, "chunk"), count(document.facts, "fact")].join(", ");
                [document.path.clone(), held, document.title.clone()]
            });
            summary(&index.shown(), &status) + &table(rows)
        }
    };
    finish(&text)
}

fn summary(shown: &str, status: &Status) -> String {
    let Status { roots, documents, chunks, facts, embedding, vectors } = status;
    let held = [count(*documents, "document"), count(*chunks, "chunk"), count(*facts, "fact")].join(", ");
    let mut text = format!("{shown}: {held}");
    if let Some(model) = embedding {
        let percent = vectors * 100 / (*chunks).max(1);
        text.push_str(&format!(", vectors {percent} % ({model})"));
    }
    text.push('\n');
    for root in roots {
        let path = if root.path.is_empty() { "." } else { &root.path };
        let include = if root.include.is_empty() { String::new() } else { format!(" ({})", root.include.join(", ")) };
        text.push_str(&format!("{} {path}{include}\n", if root.deleted { "without" } else { "of" }));
    }
    text
}
