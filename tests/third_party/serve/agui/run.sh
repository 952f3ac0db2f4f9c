#!/usr/bin/env bash
# AG-UI's own client, in JavaScript, against `playhouse serve`.
#     tests/third_party/serve/agui/run.sh PLAYHOUSE CACHE
set -euo pipefail
. "$(dirname "$0")/../common.sh"
serve desk.md broken.md --model embedded --tools desk.json
# It looks for its packages where it stands.
cp client.mjs "$cache"
node "$cache/client.mjs" "$url" | tee javascript || true
count javascript
conclude
