#!/usr/bin/env bash
# The numbers of `eval` and `compare`, made again by scipy.
#     tests/third_party/evaluate/run.sh PLAYHOUSE CACHE
set -euo pipefail
. "$(dirname "$0")/../serve/common.sh"
"$cache/venv/bin/python" stats.py "$playhouse" | tee said || true
count said
conclude
