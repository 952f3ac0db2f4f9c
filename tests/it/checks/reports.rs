//! Reports of tests for machines: what XML and GitHub's commands cannot hold is escaped.

use std::fs;

use playhouse::host::coverage::Coverage;
use playhouse::host::judge::transcript::Transcript;
use playhouse::lang::files::judge_file::TranscriptLine;
use playhouse::serve::report::{CaseReport, FileReport, Problem, Report, TestVerdict};

use crate::run::Run;

fn report(text: &str) -> Report {
    let problem = Problem { file: "a,b:c.test.md".into(), line: Some(3), text: text.to_owned(), difference: None };
    let failed = CaseReport::failed("Title & <more>", format!("{text}\n"), vec![problem.clone()]);
    let undecided = CaseReport { verdict: TestVerdict::Undecided, ..failed.clone() };
    let file = FileReport {
        path: "a,b:c.test.md".to_owned(),
        title: "Title".to_owned(),
        cases: vec![CaseReport::passed("it's \"quoted\""), failed, undecided],
        rows: Vec::new(),
        details: "lines left out:\n  03\n".to_owned(),
        is_blessed: false,
        ms: 1234,
        transcript: Transcript::default(),
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

/// A page of its own: nothing is loaded, and what is said in a test is no markup.
#[test]
fn the_page_loads_nothing_and_escapes_what_it_shows() {
    let mut report = report("100 % of <b> & </pre>");
    report.files[0].transcript.push(TranscriptLine::User("<img src=x>".into()));
    let page = report.html(&Coverage::default());
    for loads in ["<script", "<link", "<img", "url(", "@import", "http:", "https:"] {
        assert!(!page.contains(loads), "the page has {loads}");
    }
    assert!(page.contains("<pre>100 % of &lt;b&gt; &amp; &lt;/pre&gt;</pre>"), "{page}");
    assert!(page.contains("<tr class=\"user\"><th>user<td><div>&lt;img src=x&gt;</div></tr>"), "{page}");
    // What is wrong is open.
    assert!(page.contains("<details open>"), "{page}");
}

const VAULT: &str = "\
---
variables:
  token: {type: str, secret: true}
  pin: {type: str, secret: true}
---

# Vault

## Open

### Triggers

- At the beginning

### Steps

- $pin = LoadFile(\"pin.txt\")
- SaveFile(\"copy.txt\", $pin)
- $text = \"the token is $token\"
- If $pin contains \"secret\"
  - Say \"{$pin} and {$token} open it.\"
- Keep($pin)
- Return $token

## Keep($value)

### Triggers

- When $text contains \"token\"

### Steps

- SaveFile(\"token.txt\", $token)
";

const WRONG: &str = "\
# Vault

- program: vault.md
- model: embedded
- argument token: hush-4711

## Says

> Nothing.

## Variables

- $pin = \"12\"

## Calls

- SaveFile(path: \"copy.txt\", text: \"5\")

## Outcome

finished: null

## Expect

- $pin is \"12\"
- $token is \"34\"
- $text is \"56\"
- SaveFile(\"copy.txt\", \"5\")
- never SaveFile
- says /hush/
- never says /open/
";

/// Whatever a test says wrongly of secrets, no report tells them; nor does one of coverage, of mutants, of a profile.
#[test]
fn no_report_has_a_byte_of_a_secret() {
    let rules = "# Rules\n\n- program: vault.md\n\n## Secrets\n\n- $token is \"34\"\n- says /hush/\n";
    let (right, _) = WRONG.split_once("## Expect").unwrap();
    let run = Run::new().file("vault.md", VAULT).file("vault.test.md", WRONG).file("pin.txt", "secret-pin-2358");
    let mut done = run.line("test --html t.html --junit t.xml --github --coverage --verbose").code(1);
    let page = done.read("t.html");
    for told in ["*** and *** open it.", "+ finished: &quot;***&quot;", "argument `text` of SaveFile is secret"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let mut outputs = vec![done.stdout.clone(), done.stderr.clone(), page, done.read("t.xml")];
    let _ = done.then().file("right.test.md", right);
    // What a command's output must have in it, so that it is the report and no error.
    for (line, part) in [
        ("test right.test.md --bless", "blessed"),
        ("mutants right.test.md", "caught"),
        ("test --format json", "\"failed\":"),
        ("coverage --format text", "Open"),
        ("coverage --format html", ">Open</a>"),
        ("coverage --format lcov", "SF:vault.md"),
        ("coverage --format json", "Open"),
        (
            "run vault.md --arg token=hush-4711 --model embedded --session s1 --journal s1.jsonl --events e.jsonl",
            "open it",
        ),
        ("sessions profile s1 --journal s1.jsonl --format html", "Profile"),
        ("sessions profile s1 --journal s1.jsonl --format text", "1 session"),
        ("sessions check s1 --journal s1.jsonl --rules secrets.rules.md", "2 rules"),
        ("sessions check s1 --journal s1.jsonl --rules secrets.rules.md --format json", "undecided"),
        ("sessions export s1 --journal s1.jsonl --format md", "open it"),
    ] {
        // From here on: rules are held against tests, too.
        let run = done.then().line(line);
        done = if line.contains("--rules") { run.file("secrets.rules.md", rules) } else { run }.done();
        assert!(done.stdout.contains(part), "{line}: {}{}", done.stdout, done.stderr);
        outputs.extend([done.stdout.clone(), done.stderr.clone()]);
    }
    outputs.push(done.read("e.jsonl"));
    for output in &outputs {
        for secret in ["hush-4711", "secret-pin", "2358"] {
            assert!(!output.contains(secret), "{secret}: {output}");
        }
    }
}
