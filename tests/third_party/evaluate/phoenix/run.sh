#!/usr/bin/env bash
# What Phoenix shows of a session that was sent to it, and of one that is exported and posted. Not a step of `.ci/third-party`: it
# downloads 855 MB.
#     tests/third_party/evaluate/phoenix/run.sh PLAYHOUSE CACHE
set -euo pipefail
examples=$(cd "$(dirname "$0")/../../../../examples" && pwd)
. "$(dirname "$0")/../../serve/common.sh"
cp "$here"/../otel.py "$here"/../collector.py .
"$cache/venv/bin/python" shown.py "$playhouse" "$examples" "$cache/venv/bin/phoenix" | tee said || true
count said
conclude
