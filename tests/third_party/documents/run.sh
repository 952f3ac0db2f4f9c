#!/usr/bin/env bash
# The example of source 001 over the 250 countries of mledoze/countries (ODbL; downloaded, never kept here) as facts.
#     tests/third_party/documents/run.sh PLAYHOUSE CACHE
set -euo pipefail
plan=$(realpath "$(dirname "$0")/../../../examples/plans/population.branch.json")
. "$(dirname "$0")/../serve/common.sh"

# `check NAME COMMAND…`
check() {
    local name=$1
    shift
    if "$@" >said 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $name"
    fi
    cut -c 1-300 said
}

# It looks for its package where it stands.
cp countries.mjs "$cache"
node "$cache/countries.mjs" >countries.facts.jsonl
check "they are added" "$playhouse" index add countries.facts.jsonl
asked="Countries neighboring France sorted by area in descending order"
"$playhouse" index facts "$asked" --format json >facts.json
# What France borders, the largest first.
neighbours() {
    node -e '
        const facts = JSON.parse(require("fs").readFileSync("facts.json")).relationships;
        const of = (predicate) => facts.filter((fact) => fact.predicate === predicate);
        const area = (name) => Number(of("area in km²").find((fact) => fact.subject === name)?.object ?? 0);
        const borders = of("borders").filter((fact) => fact.subject === "France").map((fact) => fact.object);
        const sorted = borders.sort((one, other) => area(other) - area(one));
        console.log(sorted.map((name) => `${name} ${area(name)}`).join(", "));
        process.exit(sorted.slice(0, 3).join() === "Spain,Germany,Italy" ? 0 : 1);'
}
check "Spain, Germany, Italy" neighbours
check "Rome" "$playhouse" index facts "Capital city of Italy"
grep -q '^Italy | capital | Rome  (countries.facts.jsonl:' said && passed=$((passed + 1)) || failed=$((failed + 1))
cp "$plan" plan.branch.json
check "the plan" "$playhouse" run plan.branch.json --model script:population.jsonl
grep -q 'Rome' said && passed=$((passed + 1)) || failed=$((failed + 1))
conclude
