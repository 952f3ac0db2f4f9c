#!/usr/bin/env bash
# OpenAI's own clients, in Python and JavaScript, against `playhouse serve`.
#     tests/third_party/serve/openai/run.sh PLAYHOUSE CACHE
set -euo pipefail
. "$(dirname "$0")/../common.sh"
serve desk.md --model script:desk.jsonl
"$cache/venv/bin/python" client.py "$url" | tee python || true
count python
# It looks for its packages where it stands.
cp client.mjs "$cache"
node "$cache/client.mjs" "$url" | tee javascript || true
count javascript
conclude
