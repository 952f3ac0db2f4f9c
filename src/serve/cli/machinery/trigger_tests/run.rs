//! One file of trigger tables: read, judged, scored.

use std::path::Path;
use std::sync::Arc;

use super::judge::judge;
use super::prompts::{is_named_so, parse, program_of};
use super::score::{Judged, TriggerScores};
use crate::diagnostic::render;
use crate::host::config::{ClassifierId, FileConfig};
use crate::host::launch::Launch;
use crate::lang::files::trigger_table::{ResolvedTable, TriggerTable};
use crate::lang::program::Program;
use crate::serve::cli::machinery::beside::{load_files_beside, read_by};
use crate::serve::cli::machinery::scores::ScoreOptions;
use crate::serve::cli::machinery::test_session::{ChosenClassifier, configuration};
use crate::serve::report::scored::Scored;

/// Runs the file at `path`. `judge` gives what came of each case, in order, or says why it can't.
pub async fn run_table(
    path: &Path,
    options: ScoreOptions,
    judge: impl AsyncFn(&Program, &TriggerTable) -> Result<Vec<Judged>, String>,
) -> Scored {
    let name = path.display().to_string();
    try_run(path, &name, options, judge).await.unwrap_or_else(|why| Scored::none(&name, why))
}

/// A table that is read, with its program.
pub(crate) struct ReadTable {
    pub(crate) table: TriggerTable,
    pub(crate) program: Arc<Program>,
    resolved: ResolvedTable,
}

impl ReadTable {
    /// Reads the file at `path` and the program that it names. The error is for people.
    pub(crate) fn read(path: &Path, color: bool) -> Result<ReadTable, String> {
        let (table, sources) = read_by(path, color, |file, text| parse(path, file, text))?;
        let files = if is_named_so(path) { program_of(path)? } else { vec![path.with_file_name(&table.program)] };
        let (program, _) = load_files_beside(path, &files, table.tools.as_deref(), color)?;
        let resolved = table.resolve(&program).map_err(|found| render(&found, &sources, color))?;
        Ok(ReadTable { table, program: Arc::new(program), resolved })
    }

    /// Whether nothing is under the threshold.
    pub(crate) fn passes(&self, judged: &[Judged]) -> bool {
        TriggerScores::count(&self.resolved, judged, self.table.strict).under(self.table.required()).is_empty()
    }
}

async fn try_run(
    path: &Path,
    name: &str,
    options: ScoreOptions,
    judge: impl AsyncFn(&Program, &TriggerTable) -> Result<Vec<Judged>, String>,
) -> Result<Scored, String> {
    let ReadTable { table, program, resolved } = ReadTable::read(path, options.color)?;
    let judged = judge(&program, &table).await?;
    let strict = table.strict && !options.lenient;
    let scores = TriggerScores::count(&resolved, &judged, strict);
    for round in 2..=options.repeat {
        let again = TriggerScores::count(&resolved, &judge(&program, &table).await?, strict);
        let differs = scores.cases.iter().zip(&again.cases).position(|(first, again)| first != again);
        if let Some(case) = differs.and_then(|index| table.cases.get(index)) {
            return Ok(scores.report(name, &table, &program).differs(name, case.line, round, &case.text()));
        }
    }
    Ok(scores.report(name, &table, &program))
}

/// Judges a table's cases with the classifier that is configured: by the command line, the table, the program or
/// `playhouse.toml`; else by patterns.
pub(crate) async fn judge_table(
    path: &Path,
    program: &Program,
    table: &TriggerTable,
    chosen: &ChosenClassifier<'_>,
) -> Result<Vec<Judged>, String> {
    let program_path = path.with_file_name(&table.program);
    // Which model the program would have is none of a table's business.
    let configuration = Some(FileConfig { model: None, ..configuration(&program_path, path, &table.settings)? });
    let launch = Launch { configuration, ..chosen.launch() };
    let (classifier, config) =
        launch.classifier(program, Some(program_path)).await.map_err(|error| error.to_string())?;
    let timeout = config.session.classifier_timeout;
    let asked = (*config.classifier().0 != ClassifierId::Off).then_some(&*classifier);
    judge(program, table, asked, timeout).await
}
