#!/usr/bin/env bash
# The page of `playhouse serve` in Chromium: against the mock server, and against the real one.
#     tests/third_party/page/drive.sh PLAYHOUSE CACHE
# What is downloaded (Playwright, axe-core) is kept in CACHE.
set -euo pipefail
playhouse=$(realpath "$1")
cache=$2
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../../.." && pwd)
mkdir -p "$cache"
[ -x "$cache/venv/bin/python" ] || python3 -m venv "$cache/venv"
"$cache/venv/bin/pip" install -q -r "$here/requirements.txt"
cp "$here/package.json" "$here/package-lock.json" "$cache"
npm ci --prefix "$cache" --no-audit --no-fund --silent
axe="$cache/node_modules/axe-core/axe.min.js"
scratch=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$scratch"
}
trap finish EXIT

# With the mock: everything.
"$cache/venv/bin/python" "$here/run.py" --axe "$axe" | tee "$scratch/mock" || true
# With a real server: `real RESULTS SERVER_OPTION… -- RUN_OPTION…`.
cd "$project"
real() {
    local results=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    rm -f "$scratch/address"
    XDG_STATE_HOME="$scratch/$results.state" "$playhouse" serve order-desk=examples/order-status.md \
        --tools examples/order-status.tools.json --model embedded --listen 127.0.0.1:0 "${options[@]}" \
        >"$scratch/address" 2>"$scratch/said" &
    server=$!
    for _ in $(seq 100); do
        [ -s "$scratch/address" ] && break
        sleep 0.1
    done
    url=$(cat "$scratch/address")
    "$cache/venv/bin/python" "$here/run.py" --server "${url%/}" --axe "$axe" "$@" | tee "$scratch/$results" || true
    kill "$server"
    wait "$server" || true
    server=
}
# What needs nothing of the mock.
real real --
# The chat in a frame of another site.
port=$(python3 "$here/../free_ports.py")
printf '[serve]\nvisitors = true\nframe_ancestors = ["http://localhost:%s"]\n' "$port" >"$scratch/frames.toml"
real frames --config "$scratch/frames.toml" -- --frames "$port"

passed=0
failed=0
for file in "$scratch/mock" "$scratch/real" "$scratch/frames"; do
    if [[ $(tail -n 1 "$file") =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
