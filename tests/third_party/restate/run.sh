#!/usr/bin/env bash
# Sessions on many nodes, whatever dies: `drive.py`, with the Restate server from npm. PLAYHOUSE is built with
# `--features restate`. What stands after CACHE goes to drive.py: numbers of scenarios, `--sessions 50`.
#     tests/third_party/restate/run.sh PLAYHOUSE CACHE [ARGUMENT…]
# Before it, those tests of tests/it that need such a server or the feature, where PLAYHOUSE is what cargo has built: the
# contract of stores, faults, `engine import`, commands in the guides. The last line is `N passed, M failed`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
server=$("$here/../../../examples/cluster/install" "$2") || { echo "0 passed, 1 failed"; exit 1; }
playhouse=$(realpath "$1")

said=$(mktemp)
trap 'rm -f "$said"' EXIT
n_passed=0 n_failed=0
# Counts what a proof says in the last line that has counts; one that ends otherwise than that line says has failed.
prove() {
    local status=0 counts
    "$@" 2>&1 | tee "$said" || status=1
    counts=$(sed -nE 's/^(test result: .* )?([0-9]+) passed[,;] ([0-9]+) failed.*/\2 \3/p' "$said" | tail -n 1)
    read -r passed failed <<<"${counts:-0 0}"
    [ "$status" = 0 ] && [ "$passed" != 0 ] || [ "$failed" != 0 ] || failed=1
    n_passed=$((n_passed + passed)) n_failed=$((n_failed + failed))
}

if [ "$playhouse" = "$(realpath -m "${CARGO_TARGET_DIR:-$root/target}/release/playhouse")" ]; then
    RESTATE_SERVER=$server prove "$root/.ci/release" -- --include-ignored on_the_engine engine:: guides::
fi
prove python3 "$here/drive.py" "$playhouse" "$server" "${@:3}"
echo "$n_passed passed, $n_failed failed"
[ "$n_failed" = 0 ]
