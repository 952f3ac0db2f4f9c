//! Reports of tests for machines: what XML and GitHub's commands cannot hold is escaped.

use std::fs;

use playhouse::serve::report::{CaseReport, FileReport, Problem, Report, TestVerdict};

use crate::run::Run;

fn report(text: &str) -> Report {
    let problem = Problem { file: "a,b:c.test.md".into(), line: Some(3), text: text.to_owned() };
    let failed = CaseReport::failed("Title & <more>", format!("{text}\n"), vec![problem.clone()]);
    let undecided = CaseReport { verdict: TestVerdict::Undecided, ..failed.clone() };
    let file = FileReport {
        path: "a,b:c.test.md".to_owned(),
        title: "Title".to_owned(),
        cases: vec![CaseReport::passed("it's \"quoted\""), failed, undecided],
        details: "lines left out:\n  03\n".to_owned(),
        is_blessed: false,
        ms: 1234,
        run: None,
    };
    Report { files: vec![file] }
}

#[test]
fn junit_is_escaped() {
    let xml = report("100 % of <b> & \u{1}\u{1b}[31m \"x\"\nand more").junit();
    let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"playhouse\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\" time=\"1.234\">
  <testsuite name=\"a,b:c.test.md\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\" time=\"1.234\">
    <testcase classname=\"a,b:c.test.md\" name=\"it&apos;s &quot;quoted&quot;\" time=\"1.234\"/>
    <testcase classname=\"a,b:c.test.md\" name=\"Title &amp; &lt;more&gt;\" time=\"0.000\">
      <failure message=\"100 % of &lt;b&gt; &amp; \u{fffd}\u{fffd}[31m &quot;x&quot;\" type=\"failed\">100 % of &lt;b&gt; &amp; \u{fffd}\u{fffd}[31m &quot;x&quot;&#10;and more</failure>
    </testcase>
    <testcase classname=\"a,b:c.test.md\" name=\"Title &amp; &lt;more&gt;\" time=\"0.000\">
      <error message=\"100 % of &lt;b&gt; &amp; \u{fffd}\u{fffd}[31m &quot;x&quot;\" type=\"undecided\">100 % of &lt;b&gt; &amp; \u{fffd}\u{fffd}[31m &quot;x&quot;&#10;and more</error>
    </testcase>
    <system-out>lines left out:&#10;  03&#10;</system-out>
  </testsuite>
</testsuites>
";
    assert_eq!(xml, expected);
}

#[test]
fn annotations_are_escaped() {
    let text = report("50 %, <b>:\r\nand more").github_annotations();
    let line = "::error file=a%2Cb%3Ac.test.md,line=3::50 %25, <b>:%0D%0Aand more\n";
    assert_eq!(text, line.repeat(2));
}

#[test]
fn no_more_than_ten_annotations_are_made() {
    let mut many = report("no");
    for _ in 0..20 {
        many.files.extend(report("no").files);
    }
    assert_eq!(many.github_annotations().lines().count(), 10);
}

const PROGRAM: &str = "# A\n\n## Main\n\n### Steps\n\n- Say \"Hello.\"\n";

#[test]
fn a_summary_is_added_to_the_jobs_own() {
    let run = Run::new().program(PROGRAM).file(
        "a.test.md",
        "# A | B\n\n- program: program.md\n\n## Says\n\n> Bye.\n\n## Expect\n\n- never says /Hello/\n",
    );
    let summary = run.folder().join("summary.md");
    fs::write(&summary, "# Before\n").unwrap();
    let done = run.variable("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()).line("test --github").code(1);
    assert!(
        done.stdout.contains("::error file=a.test.md,line=5::Says differs%0A- > Bye.%0A+ > Hello.\n"),
        "{}",
        done.stdout
    );
    let broken = "::error file=a.test.md,line=11::never says /Hello/: broken: Main:01: the program said \"Hello.\"\n";
    assert!(done.stdout.contains(broken), "{}", done.stdout);
    let text = fs::read_to_string(&summary).unwrap();
    assert!(
        text.starts_with("# Before\n### playhouse test: 0 passed, 1 failed\n\n| test | verdict | ms |\n"),
        "{text}"
    );
    assert!(text.contains("| a.test.md | failed | ") && text.contains("**a.test.md**\n\n```text\n"), "{text}");
}
