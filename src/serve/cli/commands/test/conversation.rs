//! One scripted conversation: played, compared, blessed, and held against its checks.

use std::path::Path;

use super::compare::compare;
use super::rules::{Rules, rules_of};
use crate::diagnostic::{Diagnostic, render};
use crate::host::checks::{Checks, Verdict, Verified, Written, verify};
use crate::host::clock::{Clock, SystemClock};
use crate::serve::cli::machinery::console::Failure;
use crate::serve::cli::machinery::test_file::TestFile;
use crate::serve::cli::machinery::test_session::{ChosenClassifier, Played, play};
use crate::serve::report::{CaseReport, FileReport, Problem, TestVerdict};
use crate::serve::show::skipped;
use crate::span::Sources;

/// What a file is called in a report before its title is known.
const CONVERSATION: &str = "conversation";

/// How a conversation is run.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// How often, at least once.
    pub(super) repeat: u32,
    /// What happened is written in the place of what was expected.
    pub(super) bless: bool,
    /// Findings are coloured.
    pub(super) color: bool,
}

/// A file's report while it is made.
struct Reporting<'a> {
    name: &'a str,
    sources: Sources,
    color: bool,
    report: FileReport,
}

/// Runs one. A failure is one of the command; whatever is wrong with the test is in the report.
pub(super) async fn run_conversation(
    path: &Path,
    options: Options,
    classifier: &ChosenClassifier<'_>,
) -> Result<FileReport, Failure> {
    let name = path.display().to_string();
    let began = SystemClock.now();
    let report = FileReport {
        path: name.clone(),
        title: String::new(),
        cases: Vec::new(),
        details: String::new(),
        is_blessed: false,
        ms: 0,
        run: None,
    };
    let mut reporting = Reporting { name: &name, sources: Sources::default(), color: options.color, report };
    reporting.run(path, options, classifier).await?;
    let ms = u64::try_from(SystemClock.now().0 - began.0).unwrap_or(0);
    Ok(FileReport { ms, ..reporting.report })
}

impl Reporting<'_> {
    async fn run(&mut self, path: &Path, options: Options, classifier: &ChosenClassifier<'_>) -> Result<(), Failure> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(cause) => {
                self.fail(&format!("{}: cannot read: {cause}; check the path", self.name));
                return Ok(());
            }
        };
        let file = self.sources.add(self.name, text.as_str());
        let test = match TestFile::parse(file, &text) {
            Ok(test) => test,
            Err(findings) => {
                self.fail_with(CONVERSATION, &findings);
                return Ok(());
            }
        };
        self.report.title.clone_from(&test.title);
        let played = match play(path, &test, classifier).await {
            Ok(played) => played,
            Err(why) => {
                self.fail(&why);
                return Ok(());
            }
        };
        for round in 2..=options.repeat {
            let again = play(path, &test, classifier).await;
            if let Some(difference) = difference(&played, &again) {
                self.fail(&format!("{}: run {round} differs from run 1: {difference}", self.name));
                return Ok(());
            }
        }
        if !played.problems.is_empty() {
            // What happened is not what the test is about, so it is neither kept nor checked.
            let differences = compare(self.name, &test, &played.stretches);
            let told = played.problems.iter().map(|problem| Problem::told(self.name, problem));
            let problems = told.chain(differences.iter().map(|(problem, _)| problem.clone())).collect();
            let differences: String = differences.into_iter().map(|(_, text)| text).collect();
            let text = format!("{}\n{differences}", played.problems.join("\n"));
            self.report.cases.push(CaseReport::failed(self.title(), text, problems));
            return Ok(());
        }
        if options.bless {
            self.bless(path, &test, &text, &played)?;
        } else {
            self.compare(&test, &played);
        }
        self.check(path, &test, &played);
        self.report.run = played.run;
        Ok(())
    }

    fn title(&self) -> String {
        if self.report.title.is_empty() { CONVERSATION.to_owned() } else { self.report.title.clone() }
    }

    /// What is wrong with the whole.
    fn fail(&mut self, text: &str) {
        let problem = Problem::told(self.name, text);
        self.report.cases.push(CaseReport::failed(self.title(), text.to_owned(), vec![problem]));
    }

    fn fail_with(&mut self, case: &str, findings: &[Diagnostic]) {
        let problem = |finding: &Diagnostic| {
            let file = self.sources.get(finding.span.file);
            let line = file.map(|file| file.lines.line_column(finding.span.start as usize).0);
            let notes =
                finding.notes.iter().filter(|note| note.span.is_none()).map(|note| format!("; {}", note.message));
            let text = format!("{}{}", finding.message, notes.collect::<String>());
            Problem { file: file.map_or_else(|| self.name.to_owned(), |file| file.name.to_string()), line, text }
        };
        let problems = findings.iter().map(problem).collect();
        let text = render(findings, &self.sources, self.color);
        self.report.cases.push(CaseReport::failed(case, text, problems));
    }

    /// Writes what happened in the place of what was expected.
    fn bless(&mut self, path: &Path, test: &TestFile, text: &str, played: &Played) -> Result<(), Failure> {
        let mut blessed = test.clone();
        blessed.bless(&played.stretches);
        let blessed = blessed.render();
        self.report.cases.push(CaseReport::passed(self.title()));
        if blessed != text {
            let name = self.name;
            std::fs::write(path, blessed)
                .map_err(|cause| Failure::failed(format!("{name}: cannot write: {cause}; make it writable")))?;
            self.report.is_blessed = true;
        }
        Ok(())
    }

    fn compare(&mut self, test: &TestFile, played: &Played) {
        let differences = compare(self.name, test, &played.stretches);
        let (problems, texts): (Vec<Problem>, Vec<String>) = differences.into_iter().unzip();
        self.report.cases.push(match problems.is_empty() {
            true => CaseReport::passed(self.title()),
            false => CaseReport::failed(self.title(), texts.concat(), problems),
        });
        let left_out = skipped(&played.skipped);
        if !left_out.is_empty() {
            self.report.details = format!("lines left out:\n{left_out}");
        }
    }

    /// Holds the run against the checks of the test, and the rules beside its program.
    fn check(&mut self, path: &Path, test: &TestFile, played: &Played) {
        let Rules { mut written, findings } = rules_of(&path.with_file_name(&test.program), &mut self.sources);
        if !findings.is_empty() {
            self.fail_with("rules", &findings);
        }
        written.splice(0..0, test.checks().cloned());
        if written.is_empty() {
            return;
        }
        let Some(run) = &played.run else {
            let undecided =
                |written: &Written| (written.clone(), Verdict::Undecided { why: "the program was refused".into() });
            let cases: Vec<CaseReport> =
                written.iter().map(undecided).map(|(of, verdict)| self.case(&of, &verdict)).collect();
            self.report.cases.extend(cases);
            return;
        };
        let sources = &self.sources;
        let mut read = |file, schema: &str| {
            let beside = sources.get(file).map_or(path, |file| Path::new(&*file.name)).with_file_name(schema);
            std::fs::read_to_string(beside).map_err(|cause| format!("cannot read: {cause}"))
        };
        match Checks::new(written, &run.program, &played.tools, &mut read) {
            Err(findings) => self.fail_with("checks", &findings),
            Ok(checks) => {
                let verified = verify(&checks, run);
                let cases =
                    checks.written().zip(&verified).map(|(of, Verified { verdict, .. })| self.case(of, verdict));
                let cases: Vec<CaseReport> = cases.collect();
                self.report.cases.extend(cases);
            }
        }
    }

    /// What came of one check. The conversation is over: what is missing does not come any more.
    fn case(&self, Written { label, line, check }: &Written, verdict: &Verdict) -> CaseReport {
        let name = format!("{label}: {}", check.text);
        let (verdict, why) = match verdict {
            Verdict::Holds => return CaseReport::passed(name),
            Verdict::Broken(breach) => {
                let place = breach.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
                (TestVerdict::Failed, format!("broken: {place}{}", breach.sentence))
            }
            Verdict::Open { why } => (TestVerdict::Failed, format!("open at the end: {why}")),
            Verdict::Undecided { why } => (TestVerdict::Undecided, format!("undecided: {why}")),
        };
        let file = self.sources.get(check.span.file).map_or(self.name, |file| &file.name).to_owned();
        let problem = Problem { file, line: Some(*line), text: format!("{}: {why}", check.text) };
        let text = format!("{}: {}\n  {why}\n", problem.place(), check.text);
        CaseReport { name, verdict, text, problems: vec![problem] }
    }
}

/// In what two runs of one test differ.
fn difference(first: &Played, again: &Result<Played, String>) -> Option<String> {
    match again {
        Err(why) => Some(why.clone()),
        Ok(again) if again.problems != first.problems => Some(again.problems.join("\n")),
        Ok(again) => {
            let stretches = first.stretches.iter().zip(&again.stretches);
            let index = stretches.clone().position(|(first, again)| first != again);
            let index = index.or((first.stretches.len() != again.stretches.len()).then(|| stretches.count()))?;
            Some(format!(
                "stretch {} was\n{:#?}\nand is now\n{:#?}",
                index + 1,
                first.stretches.get(index),
                again.stretches.get(index)
            ))
        }
    }
}
