#!/usr/bin/env bash
# `playhouse mcp` and `/mcp` with the clients of other people: the protocol's Python SDK, and its inspector.
#     tests/third_party/serve/mcp/run.sh PLAYHOUSE CACHE
set -euo pipefail
. "$(dirname "$0")/../common.sh"

token=$("$playhouse" serve token new agent 2>/dev/null)
other=$("$playhouse" serve token new other 2>/dev/null)
serve mcp.md --model script:mcp.jsonl
url="$url/mcp"
"$cache/venv/bin/python" client.py "$playhouse" "$url" "$token" "$other" | tee python || true
count python

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
conclude
