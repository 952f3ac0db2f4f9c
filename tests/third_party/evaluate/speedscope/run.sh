#!/usr/bin/env bash
# What `playhouse sessions profile` writes for flame graph programs, imported by npm's speedscope.
#     tests/third_party/evaluate/speedscope/run.sh PLAYHOUSE CACHE
set -euo pipefail
. "$(dirname "$0")/../../serve/common.sh"
"$playhouse" run desk.md --model script:desk.jsonl --tools desk.tools.json --session s1 --journal desk.sqlite \
    --message "It is 4334" >said
"$playhouse" run desk.md --model script:desk.jsonl --tools desk.tools.json --session s2 --journal desk.sqlite \
    --message "It is 4335; quick" >said
for by in tokens time cost; do
    for format in speedscope folded json; do
        "$playhouse" sessions profile s1 s2 --journal desk.sqlite --by "$by" --format "$format" >"$by.$format"
    done
done
# It looks for its packages where it stands.
cp import.mjs "$cache"
node "$cache/import.mjs" . | tee said || true
count said
conclude
