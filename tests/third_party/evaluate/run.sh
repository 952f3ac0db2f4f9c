#!/usr/bin/env bash
# One proof of what measures and observes, in Python; without a name, the numbers of `eval` and `compare`, made again by scipy.
#     tests/third_party/evaluate/run.sh PLAYHOUSE CACHE [stats|junit|otel]
set -euo pipefail
examples=$(cd "$(dirname "$0")/../../../examples" && pwd)
. "$(dirname "$0")/../serve/common.sh"
"$cache/venv/bin/python" "${3:-stats}.py" "$playhouse" "$examples" | tee said || true
count said
conclude
