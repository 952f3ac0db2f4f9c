//! A report as one page that loads nothing: totals, what came of each test, what was said and called in it, and the
//! programs with what the tests reach beside each line (spec `evaluate.md`, section 10).

use std::fmt::Write as _;

use crate::host::coverage::Coverage;
use crate::lang::files::judge_file::TranscriptLine;
use crate::serve::report::coverage::{ANNOTATED_STYLE, Reported, annotated};
use crate::serve::report::{CaseReport, FileReport, Report, TestVerdict};
use crate::serve::show::sheet::Sheet;
use crate::value::markup::xml_text;

impl Report {
    /// The page. `reached` is what the tests reach of their programs.
    pub fn html(&self, reached: &Coverage) -> String {
        let mut main = format!("<h1>Tests: {}</h1>\n<div class=\"wide\"><table>\n", xml_text(&self.totals()));
        main.push_str("<tr><th>Test<th>Verdict<th class=\"n\">ms</tr>\n");
        for (index, file) in self.files.iter().enumerate() {
            let (class, path, ms) = (file.verdict(), xml_text(&file.path), file.ms);
            let _ = writeln!(
                main,
                "<tr><td><a href=\"#t{index}\">{path}</a><td class=\"{class}\">{class}<td class=\"n\">{ms}</tr>"
            );
        }
        main.push_str("</table></div>\n");
        for (index, file) in self.files.iter().enumerate() {
            test(&mut main, index, file);
        }
        main.push_str("<h1>What the tests reach</h1>\n");
        main.push_str(&annotated(Reported { tests: reached, sessions: None }));
        let style = format!("{}{ANNOTATED_STYLE}", include_str!("report.css"));
        Sheet { title: "Tests", style: &style, main: &main, script: None }.render()
    }
}

/// What came of a file; open where something is wrong.
fn test(main: &mut String, index: usize, file: &FileReport) {
    let verdict = file.verdict();
    let open = match verdict {
        TestVerdict::Passed | TestVerdict::Skipped => "",
        TestVerdict::Undecided | TestVerdict::Failed => " open",
    };
    let (class, path, title) = (verdict, xml_text(&file.path), xml_text(&file.title));
    let _ = writeln!(
        main,
        "<details{open}><summary><b class=\"{class}\">{class}</b> {path} <span class=\"soft\">{title}\
         </span></summary>"
    );
    // Inside, as a link to what is folded opens it.
    let _ = writeln!(main, "<ul class=\"cases\" id=\"t{index}\">");
    for CaseReport { case, verdict: class, text, .. } in &file.cases {
        let name = xml_text(&case.name);
        let _ = writeln!(main, "<li><b class=\"{class}\">{class}</b> {name}{}", preformatted(text));
    }
    let _ = writeln!(main, "</ul>{}", preformatted(&file.details));
    if !file.transcript.lines().is_empty() {
        main.push_str("<table class=\"said\">\n");
        for line in file.transcript.lines() {
            let (class, who) = speaker(line);
            let _ = writeln!(
                main,
                "<tr class=\"{class}\"><th>{}<td><div>{}</div></tr>",
                xml_text(&who),
                xml_text(&line.text())
            );
        }
        main.push_str("</table>\n");
    }
    main.push_str("</details>\n");
}

fn preformatted(text: &str) -> String {
    match text.trim_end() {
        "" => String::new(),
        text => format!("\n<pre>{}</pre>", xml_text(text)),
    }
}

/// How a line looks, and whose it is.
fn speaker(line: &TranscriptLine) -> (&'static str, String) {
    match line {
        TranscriptLine::Program(_) => ("program", "program".to_owned()),
        TranscriptLine::Asks(_) => ("program", "program asks".to_owned()),
        TranscriptLine::User(_) => ("user", "user".to_owned()),
        TranscriptLine::Call(_) => ("call", "call".to_owned()),
        TranscriptLine::Result { tool, .. } => ("call", format!("result of {tool}")),
        TranscriptLine::Error { tool, .. } => ("failed", format!("error of {tool}")),
    }
}
