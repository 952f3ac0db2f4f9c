#!/usr/bin/env bash
# Editors that others wrote, with our server and debugger: VS Code in Chromium, Neovim, Emacs, and pytest-lsp.
#     tests/third_party/editors/run.sh PLAYHOUSE CACHE [code|neovim|emacs|pytest]...
# Needs Debian's packages chromium, ripgrep, neovim, emacs-nox, elpa-eglot, elpa-markdown-mode. Pictures of VS Code's window stay
# in CACHE/pictures.
set -euo pipefail
editors=$(cd "$(dirname "$0")/../../../editors" && pwd)
. "$(dirname "$0")/../serve/common.sh"
wanted=" ${*:3} "
wants() { [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]]; }

code() {
    "$here/code-server.sh" "$cache"
    "$editors/vscode/build.sh" "$cache/extension"
    (cd probe && "$cache/extension/node_modules/.bin/vsce" package --no-dependencies --allow-missing-repository --skip-license >/dev/null)
    # Modules are found from where a script stands.
    cp code.mjs "$cache"
    cp -r workspace "$scratch/tickets"
    node "$cache/code.mjs" "$playhouse" "$cache/node_modules/.bin/code-server" "$cache"/extension/*.vsix probe/*.vsix "$scratch" "$cache/pictures"
}
if wants code; then
    code | tee said || true
    count said
fi
for editor in neovim emacs pytest; do
    if wants "$editor"; then
        cp -r workspace "$editor"
        "./$editor.sh" "$playhouse" "$scratch/$editor" "$editors/README.md" | tee said || true
        count said
    fi
done
conclude
