#!/usr/bin/env bash
# From nothing to the first conversation: the npm package, the archive and the Debian package of a binary are made, installed
# into something empty, and talk, with a clean environment and without a network. The npm client's own cache is below CACHE.
#     tests/third_party/packaging/run.sh PLAYHOUSE CACHE
# Beside the checks it prints what `packaging/build` does, and how long each way to the first conversation took.
set -euo pipefail
playhouse=$(realpath "$1")
mkdir -p "$2"
cache=$(realpath "$2")
packaging=$(realpath "$(dirname "$0")/../../../packaging")
examples=$(realpath "$packaging/../examples")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0
# `check NAME COMMAND…`
check() {
    local name=$1
    shift
    if "$@" >"$scratch/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $name"
        cat "$scratch/said"
    fi
}

# With nothing of this machine but its commands. HOME is empty, and no proxy or registry is known.
mkdir "$scratch/home"
clean() {
    env -i PATH="$PATH" HOME="$scratch/home" npm_config_cache="$cache/npm" npm_config_offline=true \
        npm_config_update_notifier=false "$@"
}

# `talk BINARY`: a new folder with a program, and a whole conversation with an example, on the model inside.
talk() (
    cd "$(mktemp -d -p "$scratch")"
    clean "$1" new shop && printf '1042\n' | clean "$1" run shop/program.md | grep -x 'Welcome to the order desk!' &&
        printf 'Ida\n' | clean "$1" run "$examples/hello.md" | tail -n 1 | grep -x 'Hello, Ida! I wish you a good day.'
)

# `from_nothing NAME INSTALL BINARY`: it is installed, and it talks.
from_nothing() {
    local start=${EPOCHREALTIME/./}
    check "$1 is installed" "$2"
    check "$1 talks" talk "$3"
    local milliseconds=$(((${EPOCHREALTIME/./} - start) / 1000))
    printf '%s: %d.%d s from nothing to the first conversation\n' "$1" $((milliseconds / 1000)) $((milliseconds % 1000 / 100))
}

# Small is for those who publish; this is to be done soon.
export DEB_LEVEL=1
for kind in npm archive deb; do
    start=$SECONDS
    check "$kind is made" "$packaging/$kind/build" "$playhouse" "$scratch/$kind"
    du -h --apparent-size "$scratch/$kind"/* | sed "s|\t.*/| |; s|$|, $((SECONDS - start)) s|"
done

prefix=$scratch/prefix
npm_install() { clean npm install --global --prefix "$prefix" --no-audit --no-fund "$scratch"/npm/*.tgz; }
from_nothing npm npm_install "$prefix/bin/playhouse"
check "npm's own has the manual where man looks for it" test -s "$prefix/share/man/man1/playhouse-run.1.gz"

archive_install() { mkdir "$scratch/anywhere" && tar -xf "$scratch"/archive/*.tar.gz -C "$scratch/anywhere" --strip-components 1; }
from_nothing archive archive_install "$scratch/anywhere/bin/playhouse"

# A system with no packages at all: what it depends on is checked below.
system=$scratch/system
dpkg_here() { dpkg --root="$system" --force-depends --force-not-root --force-script-chrootless "$@"; }
deb_install() {
    mkdir -p "$system"/var/lib/dpkg/{info,updates}
    touch "$system/var/lib/dpkg/status"
    dpkg_here -i "$scratch"/deb/*.deb
}
from_nothing deb deb_install "$system/usr/bin/playhouse"

# `newest FILE`: the newest version of glibc that a binary asks for.
newest() { objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sed 's/.*_//' | sort -uV | tail -n 1; }
depends() {
    local needed given
    needed=$(newest "$system/usr/bin/playhouse")
    given=$(dpkg-deb -f "$scratch"/deb/*.deb Depends | sed -n 's/.*libc6 (>= \([0-9.]*\)).*/\1/p')
    echo "needs $needed, asks for $given"
    [ "$needed$given" = "" ] || dpkg --compare-versions "$given" ge "$needed"
}
check "the Debian package asks for the glibc that it needs" depends
check "its files are those that it says" dpkg_here --verify playhouse
# `same KIND`: made again it is the same, byte for byte.
same() { "$packaging/$1/build" "$playhouse" "$scratch/again" && cmp "$scratch/$1"/* "$scratch/again"/*; }
check "an archive that is made again is the same" same archive

pages() {
    local page
    [ "$(find "$scratch/anywhere/share/man" -name '*.1.gz' | wc -l)" -gt 20 ] || return 1
    for page in "$scratch"/anywhere/share/man/man1/*; do
        zcat "$page" | groff -man -ww -z -K utf8 -T utf8 2>>"$scratch/warnings"
    done
    cat "$scratch/warnings"
    [ ! -s "$scratch/warnings" ]
}
check "the manual is read without a warning" pages
completes() {
    bash --norc -c '
        . "$1/share/bash-completion/completions/playhouse"
        COMP_WORDS=(playhouse comp) COMP_CWORD=1
        "$(complete -p playhouse | sed "s/.*-F \([^ ]*\).*/\1/")" playhouse comp playhouse
        printf "%s\n" "${COMPREPLY[@]}"' bash "$scratch/anywhere" | grep -x completions
}
check "bash completes commands" completes
check "the licences of others are there" grep -q '^serde_json 1' "$scratch/anywhere/share/doc/playhouse/THIRD-PARTY.txt"
check "examples are what they are here" "$scratch/anywhere/bin/playhouse" test "$scratch/anywhere/share/doc/playhouse/examples/hello.test.md"
remove() { dpkg_here -P playhouse && [ -z "$(find "$system" -name '*playhouse*' -print -quit)" ]; }
check "it goes without a trace" remove

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
