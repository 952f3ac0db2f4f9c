#!/usr/bin/env bash
# The package for Python: its wheel with this binary, tools, clients of a server that is killed, sessions, a notebook, what
# docs/python.md shows, and what mypy and pyright find.
#     tests/third_party/python/run.sh PLAYHOUSE CACHE
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
. "$(dirname "$0")/../serve/common.sh"
bin="$cache/venv/bin"
export PATH="$bin:$PATH" PYTHONDONTWRITEBYTECODE=1 PYRIGHT_PYTHON_CACHE_DIR="$cache/pyright" PYRIGHT_PYTHON_IGNORE_WARNINGS=1
package="$root/packaging/python"

# The tag that the build gives is the one that auditwheel finds.
consistent() {
    "$bin/auditwheel" show "$wheel" | tr -s ' \n' ' ' | grep "consistent with the following platform tag: \"$(tag)\""
}
tag() {
    basename "$wheel" .whl | cut -d - -f 5
}

# What pytest counts, each test for itself; nothing is a failure, too.
tests() {
    local n kind before=$((passed + failed))
    "$bin/pytest" >told || true
    cat told
    while read -r n kind; do
        [ "$kind" = passed ] && passed=$((passed + n)) || failed=$((failed + n))
    done < <(tail -n 1 told | grep -oE '[0-9]+ (passed|failed|error)')
    [ $((passed + failed)) != "$before" ] || failed=$((failed + 1))
}

rm -rf "$cache/wheel"
told "a wheel, in an empty environment" env PYTHON="$bin/python" "$package/build" "$playhouse" "$cache/wheel"
wheel=$(echo "$cache"/wheel/*.whl)
told "auditwheel finds the same tag" consistent
"$bin/pip" install -q --disable-pip-version-check --force-reinstall --no-deps "$wheel"
export PLAYHOUSE_REPOSITORY=$root
tests
told "mypy --strict" "$bin/mypy" --cache-dir "$cache/mypy" "$package" .
told "pyright" "$bin/pyright" "$package" .
told "whoever imports it knows every type" "$bin/pyright" --verifytypes playhouse_sdk --ignoreexternal
conclude
