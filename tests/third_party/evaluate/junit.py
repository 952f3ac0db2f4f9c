"""Has PyPI's `junitparser` read what `playhouse test --junit` writes: `junit.py PLAYHOUSE`.

The binary runs three tests in a folder of their own: one passes, one fails with text that XML has no place for, one is
undecided. The parser must find a suite for each file, a case for each conversation and check, the failure and the error
where they are, and texts that are what was said.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import junitparser

PROGRAM = """# A

## Main

### Steps

- Say "Hello & <b>good</b> day."
"""

TEST = """# {title}

- program: program.md

## Says

> {said}

## Expect

- {check}
"""

SAID = "Hello & <b>good</b> day."


passed = failed = 0


def check(name, found, expected):
    global passed, failed
    if found == expected:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}: {found!r}, not {expected!r}")


def contains(name, text, part):
    check(f"{name}: {part!r} in {text!r}", part in (text or ""), True)


def main():
    binary = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.md").write_text(PROGRAM)
        tests = {
            "good.test.md": ("Good", SAID, "says /Hello/"),
            "bad.test.md": ('Bad & "worse"', "Bye", "never says /<b>/"),
            "open.test.md": ("Nobody judges", SAID, "judge: It is polite."),
        }
        for file, (title, said, expected) in tests.items():
            (folder / file).write_text(TEST.format(title=title, said=said, check=expected))
        environment = {"HOME": name, "PATH": os.environ["PATH"]}
        command = [binary, "test", "--junit", "tests.xml"]
        done = subprocess.run(command, cwd=folder, env=environment, timeout=60, capture_output=True, text=True)
        check("exit code", done.returncode, 1)
        read = junitparser.JUnitXml.fromfile(str(folder / "tests.xml"))
    suites = {suite.name: suite for suite in read}
    check("a suite for each file", sorted(suites), sorted(tests))
    check("counts", (read.tests, read.failures, read.errors, read.skipped), (6, 2, 1, 0))
    counted = [sum(of) for of in zip(*((suite.tests, suite.failures, suite.errors) for suite in suites.values()))]
    check("counts of suites", counted, [6, 2, 1])
    found = {
        file: [(case.name, [(type(result).__name__, result.text) for result in case.result]) for case in suite]
        for file, suite in suites.items()
    }
    check("what passed", [results for _, results in found["good.test.md"]], [[], []])
    (title, [(kind, text)]), (expected, [(expected_kind, expected_text)]) = found["bad.test.md"]
    check("the conversation", (title, kind), ('Bad & "worse"', "Failure"))
    contains("what was said", text, f"+ > {SAID}")
    check("the check", (expected, expected_kind), ("Expect: never says /<b>/", "Failure"))
    contains("what broke it", expected_text, SAID)
    (_, nothing), (_, [(kind, text)]) = found["open.test.md"]
    check("undecided", (nothing, kind), ([], "Error"))
    contains("why", text, "no judge was asked")
    print(f"junitparser read {len(suites)} suites of {read.tests} cases")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
