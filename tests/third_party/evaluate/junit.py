#!/usr/bin/env python3
"""Has PyPI's `junitparser` read what `playhouse test --junit` writes: `junit.py BINARY`.

The binary runs three tests in a folder of their own: one passes, one fails with text that XML has no place for, one is
undecided. The parser must find a suite for each file, a case for each conversation and check, the failure and the error
where they are, and texts that are what was said.

Packages are installed into a virtual environment in `$XDG_CACHE_HOME/playhouse-third-party/evaluate`; with them there,
nothing is downloaded. Needs Python 3.9 or newer; this file itself uses the standard library alone.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "playhouse-third-party" / "evaluate"
ENVIRONMENT = CACHE / "venv"
PACKAGE = "junitparser==4.0.2"

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


def in_environment():
    """This file again, with the packages."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PACKAGE], check=True)
    os.execv(str(python), [str(python), *sys.argv])


def main():
    try:
        import junitparser
    except ImportError:
        return in_environment()
    binary = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.md").write_text(PROGRAM)
        tests = {
            "good.test.md": ("Good", SAID, "says /Hello/"),
            "bad.test.md": ('Bad & "worse"', "Bye", "never says /<b>/"),
            "open.test.md": ("Nobody judges", SAID, "judge: It is polite."),
        }
        for file, (title, said, check) in tests.items():
            (folder / file).write_text(TEST.format(title=title, said=said, check=check))
        environment = {"HOME": name, "PATH": os.environ["PATH"]}
        done = subprocess.run([binary, "test", "--junit", "tests.xml"], cwd=folder, env=environment, timeout=60)
        assert done.returncode == 1, done.returncode
        read = junitparser.JUnitXml.fromfile(str(folder / "tests.xml"))
    suites = {suite.name: suite for suite in read}
    assert sorted(suites) == sorted(tests), suites
    assert (read.tests, read.failures, read.errors, read.skipped) == (6, 2, 1, 0)
    found = {
        file: [(case.name, [(type(result).__name__, result.text) for result in case.result]) for case in suite]
        for file, suite in suites.items()
    }
    assert [results for _, results in found["good.test.md"]] == [[], []], found
    (title, [(kind, text)]), (check, [(check_kind, check_text)]) = found["bad.test.md"]
    assert title == 'Bad & "worse"' and kind == "Failure" and f"+ > {SAID}" in text, found
    assert check == "Expect: never says /<b>/" and check_kind == "Failure" and SAID in check_text, found
    (_, []), (_, [(kind, text)]) = found["open.test.md"]
    assert kind == "Error" and "no judge was asked" in text, found
    print(f"junitparser read {len(suites)} suites of {read.tests} cases")


if __name__ == "__main__":
    main()
