"""Measures with `playhouse`, and makes all numbers again with scipy:

    stats.py PLAYHOUSE

runs in the current folder and ends with `N passed, M failed`.
"""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import section5
from server import Server

DESK = """# Desk

## Judge($number: int)

### Steps

- Decide whether parcel $number is lost, and store $is_lost:bool
- If $is_lost
  - Report($number)
- Return $is_lost
"""
TOOLS = {"Report": {"args": ["number"], "required": ["number"], "responses": [{"return": "reported"}]}}
CONFIGURATION = """[limits]
max_retries = 1
retry_delay_ms = 0
max_retry_delay_ms = 0

[prices.good]
prompt = 1
completion = 4

[prices.hasty]
prompt = 0.5
completion = 2
"""
CASE = """# Parcel {number}

- program: desk.md
- tools: tools.json
- playbook: Judge
- argument number: {number}

## Calls

- Report(number: {number})

## Outcome

finished: true
"""

# Cases, runs, and how many errors the parcel 2 meets with the model `good`: of a run six, then it is invalid.
MEASUREMENTS = [(12, 7, 12), (1, 10, 0), (5, 4, 0), (20, 1, 0), (30, 3, 0), (8, 10, 0)]

passed = failed = 0


def check(what, actual, expected, tolerance=1e-9):
    global passed, failed
    if actual is None or expected is None:
        is_same = actual is None and expected is None
    else:
        is_same = math.isclose(actual, expected, rel_tol=tolerance, abs_tol=tolerance)
    passed, failed = passed + is_same, failed + (not is_same)
    if not is_same:
        print(f"{what}: {actual}, and scipy says {expected}")


def check_interval(what, actual, expected):
    for bound, of_scipy in zip(actual or (None, None), expected, strict=True):
        check(what, bound, of_scipy)


def check_drawn(what, actual, expected, n_draws=10_000):
    """Both are drawn by chance: five standard errors."""
    error = math.sqrt(max(expected * (1 - expected), 1e-4) / n_draws)
    check(f"{what} ({actual}, {expected})", 0.0 if abs(actual - expected) < 5 * error else actual - expected, 0.0)


def run(playhouse, server, *arguments):
    environment = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.url, "PATH": os.environ["PATH"]}
    done = subprocess.run([playhouse, *arguments, "--format", "json"], env=environment, capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"{arguments}: {done.stderr}")
    return json.loads(done.stdout)


def tallies(kept):
    valid = lambda case: [trial for trial in case["trials"] if trial["verdict"] != "invalid"]
    return [(sum(t["verdict"] == "passed" for t in valid(case)), len(valid(case))) for case in kept["cases"]]


def values(kept, name):
    return [[t[name] for t in case["trials"] if t["verdict"] != "invalid"] for case in kept["cases"]]


def check_side(name, told, kept):
    cases, k = tallies(kept), kept["k"]
    mean, *interval = section5.score(cases)
    check(f"{name}: pass^1", told["pass^1"]["mean"], mean)
    check_interval(f"{name}: interval", told["pass^1"]["interval"], interval)
    check(f"{name}: pass^k", told["pass^k"], section5.pass_all(cases, k))
    check(f"{name}: pass@k", told["pass@k"], section5.pass_at(cases, k))
    flaky = [0 < c < n for c, n in cases]
    check(f"{name}: flaky", [case["flaky"] for case in told["cases"]] == flaky, True)
    check(f"{name}: invalid", told["invalid"], sum(len(case["trials"]) for case in kept["cases"]) - sum(n for _, n in cases))


def check_difference(name, told, a, b):
    mean, interval, p = section5.difference(a, b)
    difference = told["difference"]
    check(f"{name}: difference", difference["mean"], mean)
    check_interval(f"{name}: its interval", difference["interval"], interval)
    check(f"{name}: detectable", difference["detectable"], section5.detectable(a, b))
    if p is None:
        check_drawn(f"{name}: p", difference["p"], section5.p_of_signs(section5.differences(a, b), 200_000))
    else:
        check(f"{name}: p", difference["p"], p)
    judgement = "undecided"
    if difference["p"] < 0.05:
        judgement = "better" if mean > 0 else "worse"
    elif interval[0] is not None and interval[0] > -0.05:
        judgement = "as good"
    check(f"{name}: {told['judgement']}, and {judgement}", told["judgement"] == judgement, True)


def check_ratio(name, told, of_a, of_b):
    expected = section5.ratio(of_a, of_b)
    check(f"{name}: ratio", told and told["ratio"], expected and expected[0])
    if told and expected:
        check_interval(f"{name}: its interval", told["interval"], expected[1:])


def check_part(name, part, a, b):
    """Finds the place that is told in the prefix tree of the runs, and counts there."""
    found = []
    prefixes = {tuple(steps[:i]) for steps in a + b for i in range(len(steps))}
    for prefix in sorted(prefixes):
        if (prefix[-1] if prefix else None) != part["after"]:
            continue
        here = [[steps[len(prefix)] for steps in side if tuple(steps[: len(prefix)]) == prefix] for side in (a, b)]
        counts = [[Counter(side)[part["next"]], len(side)] for side in here]
        if counts == [part["a"], part["b"]]:
            found.append(here)
    check(f"{name}: the place is in the tree", bool(found), True)
    # scipy wants two of each.
    if found and min(map(len, found[0])) > 1:
        check_drawn(f"{name}: p", part["p"], section5.p_of_labels(*found[0]))


def measure(playhouse, n_cases, k, n_errors):
    folder = Path(f"cases-{n_cases}-{k}")
    folder.mkdir()
    for file, text in [("desk.md", DESK), ("tools.json", json.dumps(TOOLS)), ("playhouse.toml", CONFIGURATION)]:
        (folder / file).write_text(text)
    for number in range(1, n_cases + 1):
        (folder / f"{number:02}.test.md").write_text(CASE.format(number=number))
    rates = {"good": lambda number: 0.95 - 0.01 * number, "hasty": lambda number: 0.9 - 0.04 * (number % 15)}
    server = Server(n_cases, lambda model, number: rates[model](number), {("good", 2): n_errors})
    told, kept = {}, {}
    for model in rates:
        out = folder / f"{model}.eval.json"
        # One at a time: so the errors meet one run, and then the next.
        told[model] = run(playhouse, server, "eval", folder, "-k", str(k), "--model", f"openai:{model}", "--out", out,
                          "--jobs", "1")
        kept[model] = json.loads(out.read_text())
        check_side(f"{folder}, {model}", told[model], kept[model])
    compared = run(playhouse, server, "compare", *(folder / f"{model}.eval.json" for model in rates))
    good, hasty = kept["good"], kept["hasty"]
    check_difference(str(folder), compared, tallies(good), tallies(hasty))
    for what, value in [("cost", "cost"), ("time", "model_ms")]:
        check_ratio(f"{folder}, {what}", compared[what], values(good, value), values(hasty, value))
    for index, case in enumerate(compared["cases"]):
        if case["part"]:
            check_part(f"{folder}, {case['case']}", case["part"], *(values(side, "steps")[index] for side in (good, hasty)))
    server.shutdown()


def main():
    for measurement in MEASUREMENTS:
        measure(sys.argv[1], *measurement)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
