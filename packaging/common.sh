# What the scripts `build BINARY OUT_FOLDER` have in common; each of them reads it, and prints the path of what it made. It gives
#     binary, out, root   absolute paths: the binary, the folder for what is made, this repository
#     version, machine    of the binary: 0.1.0, x86_64
#     linked              `static`, or `gnu`: the binary needs glibc
#     scratch             a folder that goes when the script ends
#     field NAME          a text of Cargo.toml, such as its description
#     tree PREFIX ZSH     lays out an installation below PREFIX; completions for zsh go into PREFIX/share/ZSH
#     settle FOLDER       gives its files one time and one set of rights, so that a package is the same for everybody
# The time is SOURCE_DATE_EPOCH, and without it that of the last commit.
if [ $# != 2 ]; then
    echo "usage: $0 BINARY OUT_FOLDER" >&2
    exit 2
fi
for command in readelf gzip; do
    command -v "$command" >/dev/null || {
        echo "$0: $command is missing: on Debian, apt-get install binutils gzip" >&2
        exit 1
    }
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
binary=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
umask 022
export LC_ALL=C TZ=UTC
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}"

version=$("$binary" --version) || {
    echo "$0: $binary does not run here; build packages on a machine of its kind" >&2
    exit 1
}
version=${version#playhouse }
case $(readelf -h "$binary" | sed -n 's/^ *Machine: *//p') in
*X86-64) machine=x86_64 ;;
AArch64) machine=aarch64 ;;
*)
    echo "$0: $binary is for a machine that the packages have no name for; add it to packaging/common.sh" >&2
    exit 1
    ;;
esac
# A static binary asks for no interpreter.
linked=gnu
readelf -lW "$binary" | grep -q ' INTERP ' || linked=static

field() {
    sed -n "s/^$1 = \"\(.*\)\"$/\1/p" "$root/Cargo.toml" | head -n 1
}

tree() {
    local share=$1/share folder
    install -D -m 755 "$binary" "$1/bin/playhouse"
    "$binary" man "$share/man/man1"
    gzip -9n "$share"/man/man1/*
    mkdir -p "$share"/{bash-completion/completions,fish/vendor_completions.d,"$2",doc/playhouse}
    "$binary" completions bash >"$share/bash-completion/completions/playhouse"
    "$binary" completions fish >"$share/fish/vendor_completions.d/playhouse.fish"
    "$binary" completions zsh >"$share/$2/_playhouse"
    "$root/packaging/licences" "$share/doc/playhouse/THIRD-PARTY.txt"
    for folder in docs examples; do
        # Copies that plugins have made of themselves, records of decisions, and programs in Rust are for this repository.
        tar -C "$root" --exclude .runtime --exclude __pycache__ --exclude docs/decisions --exclude examples/embed -c "$folder" |
            tar -C "$share/doc/playhouse" -x
    done
    cp "$root"/{README.md,CHANGELOG.md,LICENSE-APACHE,LICENSE-MIT} "$share/doc/playhouse"
}

settle() {
    chmod -R u=rwX,go=rX "$1"
    find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}
