#!/usr/bin/env bash
# What `playhouse coverage --format lcov` writes, read by Debian's lcov and genhtml (`apt-get install lcov`).
#     tests/third_party/evaluate/lcov.sh PLAYHOUSE
set -euo pipefail
playhouse=$(realpath "$1")
cd "$(dirname "$0")/../../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0
# `check NAME COMMAND…`
check() {
    local name=$1
    shift
    if "$@" >"$scratch/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $name"
        cat "$scratch/said"
    fi
}

"$playhouse" coverage examples --format lcov >"$scratch/examples.info"
"$playhouse" coverage examples --format json >"$scratch/examples.json"
"$playhouse" coverage examples/order-status.test.md --format lcov >"$scratch/one.info"
"$playhouse" coverage examples/order-status.not-found.test.md --format lcov >"$scratch/other.info"
branches=(--rc lcov_branch_coverage=1 --rc branch_coverage=1)

check "lcov reads it" lcov "${branches[@]}" --summary "$scratch/examples.info"
# What lcov counts is what we count.
lcov "${branches[@]}" --summary "$scratch/examples.info" >"$scratch/summary" 2>&1 || true
# `totals FIELD`: as `N of M`.
totals() {
    python3 - "$scratch/examples.json" "$1" <<'PYTHON'
import json
import sys
told = json.load(open(sys.argv[1]))
if sys.argv[2] == "functions":
    reached, every = told["totals"]["parts"]["reached"], told["totals"]["parts"]["all"]
else:
    # Of branches: ways and calls. Of lines: those of the file, of which several lines of a playbook can be one.
    reached = every = 0
    for part in told["parts"]:
        if sys.argv[2] == "branches":
            taken = [n if line["reached"] else 0 for line in part["lines"] for n in line["ways"].values()]
        else:
            counts = {}
            for line in part["lines"]:
                counts[line["line"]] = max(counts.get(line["line"], 0), line["reached"])
            taken = counts.values()
        reached, every = reached + sum(n > 0 for n in taken), every + len(taken)
print(f"({reached} of {every} ")
PYTHON
}
for what in lines functions branches; do
    check "$what are counted alike: $(totals $what)" grep -F "$(totals $what)" "$scratch/summary"
done
check "two are joined" lcov "${branches[@]}" -a "$scratch/one.info" -a "$scratch/other.info" -o "$scratch/both.info"
"$playhouse" coverage examples/order-status.test.md examples/order-status.not-found.test.md --format lcov >"$scratch/at-once.info"
joined() {
    diff <(lcov "${branches[@]}" --summary "$scratch/both.info" 2>&1 | grep %) \
        <(lcov "${branches[@]}" --summary "$scratch/at-once.info" 2>&1 | grep %)
}
check "and are what both reach at once" joined
check "genhtml draws it" genhtml --branch-coverage -o "$scratch/html" "$scratch/examples.info"
check "with the words of the program" grep -rq "Ahoy! You would like to climb our lighthouse?" "$scratch/html"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
