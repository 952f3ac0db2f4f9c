#!/usr/bin/env bash
# The documentation as a site: mdBook builds it, and every link, text, code and example of it is looked for.
#     tests/third_party/site/run.sh CACHE
set -euo pipefail
version=0.5.4
root=$(realpath "$(dirname "$0")/../../..")
mkdir -p "$1"
cache=$(realpath "$1")
mdbook="$cache/bin/mdbook"

# Without its web server and with little optimisation: three minutes of one core, once.
if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$version" ]; then
    CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo install --quiet --locked mdbook --version "$version" \
        --no-default-features --features search --root "$cache" --target-dir "$cache/target"
    rm -rf "$cache/target"
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PYTHONDONTWRITEBYTECODE=1

"$mdbook" build "$root/packaging/site" --dest-dir "$scratch/site" 2>"$scratch/said" || { cat "$scratch/said"; exit 1; }
# What mdBook warns of, such as a word in angle brackets that it takes for a tag, would not be seen on the page.
if grep -E 'WARN|ERROR' -A 3 "$scratch/said"; then
    echo "0 passed, 1 failed"
    exit 1
fi
python3 "$root/tests/third_party/site/check.py" "$root" "$scratch/site"
