#!/usr/bin/env bash
# `playhouse mcp` and `/mcp` with the clients of other people: the protocol's Python SDK, and its inspector.
#     tests/third_party/serve/mcp.sh PLAYHOUSE CACHE
# What is downloaded is kept in CACHE.
set -euo pipefail
playhouse=$(realpath "$1")
cache=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$cache"
cache=$(realpath "$cache")
[ -x "$cache/venv/bin/python" ] || python3 -m venv "$cache/venv"
"$cache/venv/bin/pip" install -q -r "$here/mcp_requirements.txt"
cp "$here/package.json" "$here/package-lock.json" "$cache"
npm ci --prefix "$cache" --ignore-scripts --no-audit --no-fund --silent
scratch=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$scratch"
}
trap finish EXIT
cp "$here"/mcp.md "$here"/mcp.jsonl "$scratch"
cd "$scratch"
export XDG_STATE_HOME="$scratch/state"

token=$("$playhouse" serve token new agent 2>/dev/null)
other=$("$playhouse" serve token new other 2>/dev/null)
mkfifo address
"$playhouse" serve mcp.md --model script:mcp.jsonl --listen 127.0.0.1:0 >address 2>said &
server=$!
# Comes when it listens, or is empty when it has ended.
read -r url <address || { cat said; exit 1; }
url="${url%/}/mcp"

"$cache/venv/bin/python" "$here/mcp_client.py" "$playhouse" "$url" "$token" "$other" | tee python || true
passed=0
failed=0
if [[ $(tail -n 1 python) =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]}
else
    failed=1
fi

# What the inspector prints has this in it.
inspect() {
    local what=$1 wanted=$2 found
    shift 2
    found=$("$cache/node_modules/.bin/mcp-inspector" --cli "$@" 2>&1) || true
    if [[ $found == *$wanted* ]]; then
        passed=$((passed + 1))
        echo "passed: inspector: $what"
    else
        failed=$((failed + 1))
        printf 'FAILED: inspector: %s\n--- wanted\n%s\n--- got\n%s\n' "$what" "$wanted" "$found"
    fi
}
stdio=("$playhouse" mcp mcp.md --model script:mcp.jsonl --journal inspected.sqlite)
http=("$url" --transport http --header "Authorization: Bearer $token")
inspect "tools on stdio" '"name": "Twice"' "${stdio[@]}" --method tools/list
inspect "a call on stdio" '"value": "ho"' "${stdio[@]}" --method tools/call --tool-name Twice --tool-arg word=ho
inspect "tools over HTTP" '"name": "Twice"' "${http[@]}" --method tools/list
inspect "a call over HTTP" '"value": "ho"' "${http[@]}" --method tools/call --tool-name Twice --tool-arg word=ho
inspect "a wrong argument" 'is missing' "${http[@]}" --method tools/call --tool-name Mood
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
