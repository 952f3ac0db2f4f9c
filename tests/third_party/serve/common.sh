# What the proofs with other people's clients and libraries have in common; read by `run.sh PLAYHOUSE CACHE` of each folder.
# Gives: playhouse, cache (what is downloaded is kept there), here, a scratch folder in which the rest runs, and
#     serve ARGUMENT…    starts `playhouse serve ARGUMENT…`; its address is in url
#     told WHAT COMMAND… runs a command, and says and counts whether it succeeds
#     count FILE         adds what a program has printed last, `N passed, N failed`
#     conclude           prints the sum, and ends
playhouse=$(realpath "$1")
mkdir -p "$2"
cache=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
server=
passed=0
failed=0
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$scratch"
}
trap finish EXIT
export XDG_STATE_HOME="$scratch/state"

if [ -f "$here/requirements.txt" ]; then
    [ -x "$cache/venv/bin/python" ] || python3 -m venv "$cache/venv"
    "$cache/venv/bin/pip" install -q -r "$here/requirements.txt"
fi
if [ -f "$here/package.json" ]; then
    cp "$here"/package*.json "$cache"
    npm ci --prefix "$cache" --ignore-scripts --no-audit --no-fund --silent
fi
cp -r "$here"/. "$scratch"
cd "$scratch"

serve() {
    mkfifo address
    "$playhouse" serve "$@" --listen 127.0.0.1:0 >address 2>said &
    server=$!
    # Comes when it listens, or is empty when it has ended.
    read -r url <address || { cat said; exit 1; }
    url=${url%/}
}

told() {
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "passed: $what"
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
    fi
}

count() {
    if [[ $(tail -n 1 "$1") =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
    else
        failed=$((failed + 1))
    fi
}

conclude() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
