#!/usr/bin/env bash
# Editors that others wrote, with our server and debugger: VS Code in Chromium, Neovim, Emacs (eglot; dap-mode), and pytest-lsp.
#     tests/third_party/editors/run.sh PLAYHOUSE CACHE [code|neovim|emacs|dap|pytest]...
# Needs Debian's packages chromium, ripgrep, neovim, emacs-nox, elpa-eglot, elpa-markdown-mode, elpa-dap-mode. Pictures of VS
# Code's window stay in CACHE/pictures.
set -euo pipefail
editors=$(cd "$(dirname "$0")/../../../editors" && pwd)
. "$(dirname "$0")/../serve/common.sh"
# Settings name the binary `playhouse`.
mkdir bin
ln -s "$playhouse" bin/playhouse
export PATH="$scratch/bin:$PATH"

# The first block of this language in the guide for editors.
block() {
    awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```$/ && inside { exit } inside' "$editors/README.md"
}

for editor in code neovim emacs dap pytest; do
    [ $# = 2 ] || [[ " ${*:3} " == *" $editor "* ]] || continue
    # Each changes files of its own.
    workspace=$scratch/$editor.workspace/tickets
    mkdir "$scratch/$editor.workspace"
    cp -r workspace "$workspace"
    echo "== $editor"
    (. "./$editor.sh") | tee "$scratch/said" || true
    # One may be several, each with its own count.
    grep -E '^[0-9]+ passed, [0-9]+ failed$' "$scratch/said" >counts || echo "0 passed, 1 failed" >counts
    while read -r one; do
        echo "$one" >one
        count one
    done <counts
done
conclude
