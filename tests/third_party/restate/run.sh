#!/usr/bin/env bash
# Sessions on many nodes, whatever dies: `drive.py`, with the Restate server from npm. PLAYHOUSE is built with
# `--features restate`. What stands after CACHE goes to drive.py: numbers of scenarios, `--sessions 50`.
#     tests/third_party/restate/run.sh PLAYHOUSE CACHE [ARGUMENT…]
# The last line is `N passed, M failed`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
server=$("$here/../../../examples/cluster/install" "$2") || { echo "0 passed, 1 failed"; exit 1; }
exec python3 "$here/drive.py" "$1" "$server" "${@:3}"
