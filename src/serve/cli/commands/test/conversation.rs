//! One scripted conversation: played, compared, blessed, and held against its checks.

use std::path::Path;

use super::checked::checked;
use super::compare::{Compared, compare};
use super::options::Options;
use super::record::record_test;
use crate::diagnostic::{Diagnostic, render};
use crate::host::coverage::reached;
use crate::host::judge::transcript::Transcript;
use crate::lang::files::test_file::{TestFile, TestModel};
use crate::serve::cli::machinery::beside::read;
use crate::serve::cli::machinery::console::Failure;
use crate::serve::cli::machinery::output::differences;
use crate::serve::cli::machinery::test_session::{ChosenClassifier, Played, play};
use crate::serve::report::{CaseReport, FileReport, Problem, TestVerdict};
use crate::serve::show::skipped;
use crate::serve::show::unjudged::unjudged;
use crate::span::Sources;

/// What a file is called in a report before its title is known.
const CONVERSATION: &str = "conversation";

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
    options: Options<'_>,
    classifier: &ChosenClassifier<'_>,
) -> Result<FileReport, Failure> {
    let name = path.display().to_string();
    let report = FileReport::new(name.clone());
    let mut reporting = Reporting { name: &name, sources: Sources::default(), color: options.color, report };
    reporting.run(path, options, classifier).await?;
    let mut report = reporting.report;
    if report.verdict() == TestVerdict::Failed {
        report.details.push_str(&happened(&report.transcript));
    }
    Ok(report)
}

/// What was said and called in a conversation that is not as it should be: the end of it.
fn happened(transcript: &Transcript) -> String {
    const MOST: usize = 40;
    let lines = transcript.shown();
    if lines.is_empty() {
        return String::new();
    }
    let n_left_out = lines.len().saturating_sub(MOST);
    let lines: String = lines[n_left_out..].iter().map(|line| format!("  {line}\n")).collect();
    let head = if n_left_out == 0 { String::new() } else { format!(", from its line {}", n_left_out + 1) };
    format!("what happened{head}:\n{lines}")
}

impl Reporting<'_> {
    async fn run(
        &mut self,
        path: &Path,
        options: Options<'_>,
        classifier: &ChosenClassifier<'_>,
    ) -> Result<(), Failure> {
        let mut text = match read(path) {
            Ok(text) => text,
            Err(why) => {
                self.fail(&why);
                return Ok(());
            }
        };
        let file = self.sources.add(self.name, text.as_str());
        let mut test = match TestFile::parse(file, &text) {
            Ok(test) => test,
            Err(findings) => {
                self.fail_with(CONVERSATION, &findings);
                return Ok(());
            }
        };
        self.report.title.clone_from(&test.title);
        let played = match options.record.filter(|_| test.model == Some(TestModel::Recorded)) {
            None => play(path, &test, classifier).await,
            Some((mode, model)) => record_test(path, (&text, &test), classifier, mode, model).await.map(|made| {
                // With stand-ins it may be another text.
                (text, test, self.report.details) = (made.text, made.test, made.report);
                self.sources = Sources::default();
                self.sources.add(self.name, text.as_str());
                made.played
            }),
        };
        let played = match played {
            Ok(played) => played,
            Err(why) => {
                self.fail(&why);
                return Ok(());
            }
        };
        if let Some(run) = &played.run {
            self.report.transcript = Transcript::of(&run.events);
            if let Some(gathered) = options.gathered {
                gathered.borrow_mut().add(&run.program, &reached(run));
            }
        }
        for round in 2..=options.repeat {
            let again = play(path, &test, classifier).await;
            if let Some(difference) = difference(&played, &again) {
                self.fail(&format!("{}: run {round} differs from run 1: {difference}", self.name));
                return Ok(());
            }
        }
        let differences = compare(self.name, &test, &played.stretches, Compared::All);
        let (problems, texts): (Vec<Problem>, Vec<String>) = differences.into_iter().unzip();
        if !played.problems.is_empty() {
            // What happened is not what the test is about, so it is neither kept nor checked.
            let told = played.problems.iter().map(|problem| Problem::told(self.name, problem));
            let text = format!("{}\n{}", played.problems.join("\n"), texts.concat());
            let problems = told.chain(problems).collect();
            self.report.cases.push(CaseReport::failed(self.title(), text, problems));
            self.report.details.push_str(&remarks(&played, true));
            return Ok(());
        }
        let differs = !problems.is_empty() && !options.bless;
        self.report.cases.push(match differs {
            true => CaseReport::failed(self.title(), texts.concat(), problems),
            false => CaseReport::passed(self.title()),
        });
        if options.bless {
            self.bless(path, &test, &text, &played)?;
        } else {
            self.report.details.push_str(&remarks(&played, options.verbose || differs));
        }
        let company = options.company.open(&classifier.launch(), &path.with_file_name(&test.program), false).await;
        let judge = match company {
            Ok(company) => company.judge,
            Err(why) => {
                self.fail(&why);
                return Ok(());
            }
        };
        let checked = checked(path, &test, &played, &mut self.sources, judge.as_ref()).await;
        checked.findings.iter().for_each(|(what, findings)| self.fail_with(what, findings));
        self.report.cases.extend(checked.cases(&self.sources, self.name));
        Ok(())
    }

    fn title(&self) -> String {
        whole(&self.report.title)
    }

    /// What is wrong with the whole.
    fn fail(&mut self, text: &str) {
        let problem = Problem::told(self.name, text);
        self.report.cases.push(CaseReport::failed(self.title(), text.to_owned(), vec![problem]));
    }

    fn fail_with(&mut self, case: &str, findings: &[Diagnostic]) {
        let problems = findings.iter().map(|finding| Problem::found(finding, &self.sources)).collect();
        let text = render(findings, &self.sources, self.color);
        self.report.cases.push(CaseReport::failed(case, text, problems));
    }

    /// Writes what happened in the place of what was expected, and reports what that changes.
    fn bless(&mut self, path: &Path, test: &TestFile, text: &str, played: &Played) -> Result<(), Failure> {
        let mut blessed = test.clone();
        blessed.bless(&played.stretches);
        let blessed = blessed.render();
        if blessed != text {
            let name = self.name;
            std::fs::write(path, &blessed)
                .map_err(|cause| Failure::failed(format!("{name}: cannot write: {cause}; make it writable")))?;
            self.report.is_blessed = true;
            self.report.details.push_str(&differences(text, &blessed, 1));
        }
        Ok(())
    }
}

/// What the conversation as a whole is called in a report.
pub(super) fn whole(title: &str) -> String {
    if title.is_empty() { CONVERSATION.to_owned() } else { title.to_owned() }
}

/// What there is to know besides what a test expects; what answered what, too, if that `tells_answers`.
fn remarks(played: &Played, tells_answers: bool) -> String {
    let answers = played.answers.iter().filter(|_| tells_answers).map(|answer| format!("  {answer}\n")).collect();
    let unjudged = played.run.as_ref().map_or_else(String::new, |run| unjudged(&run.program, &run.events));
    let listed = [
        ("replies:\n", answers),
        ("triggers that nobody judged:\n", unjudged),
        ("lines left out:\n", skipped(&played.summary.skipped)),
        ("plugins that were called because no canned tool stands in for these commands:\n", played.real.clone()),
    ];
    listed.into_iter().filter(|(_, lines)| !lines.is_empty()).map(|(head, lines)| format!("{head}{lines}")).collect()
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
