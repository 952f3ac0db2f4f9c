#!/usr/bin/env bash
# No Markdown of other people is taken for a playbook: that of the packages which cargo brought for the build, at least 300
# files, and below CACHE that of those which the other proofs brought by npm.
#     tests/third_party/foreign/run.sh PLAYHOUSE CACHE
set -euo pipefail
playhouse=$(realpath "$1")
folders=("${CARGO_HOME:-$HOME/.cargo}/registry/src")
[ ! -d "$2" ] || folders+=("$(realpath "$2")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# Each under a name of its own: what a name says is another test's business, and so is what is hidden.
n=0
while IFS= read -r -d '' file; do
    n=$((n + 1))
    mkdir -p "$scratch/all/$((n / 1000))"
    cp "$file" "$scratch/all/$((n / 1000))/$n.md"
    echo "$n $file" >>"$scratch/names"
done < <(find -L "${folders[@]}" -type f -iname '*.md' -print0)
echo "$n files"
# `fmt` names what it takes for ours.
"$playhouse" fmt --check "$scratch/all" >"$scratch/said" 2>&1 || true
cat "$scratch/said"
if [ "$n" -ge 300 ] && [ "$(cat "$scratch/said")" = "0 files would be formatted, 0 as they should be" ]; then
    passed=1
else
    failed=1
    # Which they are.
    grep -oE '[0-9]+\.md' "$scratch/said" | sed 's/\.md//' | while read -r taken; do
        grep "^$taken " "$scratch/names"
    done || true
fi
# What is ours among them is found.
printf '# Desk\n\n## Main\n\n### Steps\n\n- Say "x"\n' >"$scratch/all/0/ours.md"
"$playhouse" fmt --check "$scratch/all" >"$scratch/said" 2>&1 || true
if [ "$(tail -n 1 "$scratch/said")" = "0 files would be formatted, 1 as they should be" ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    cat "$scratch/said"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
