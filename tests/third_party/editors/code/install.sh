#!/usr/bin/env bash
# Puts code-server into FOLDER, by its lock file; once. Its own scripts would download ripgrep, so they are not run: Debian's
# ripgrep is taken, and what must be compiled is named here. The packages of its VS Code are pinned by its own lock files,
# which lack a peer, so that `npm ci` refuses them.
#     install.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
! cmp -s "$here/package-lock.json" installed || exit 0
rg=$(command -v rg) || { echo "ripgrep is missing: install Debian's package ripgrep" >&2; exit 1; }
quietly=(--no-audit --no-fund --loglevel=error)
# A rebuild asks otherwise.
export npm_config_yes=true
cp "$here"/package*.json .
npm ci --ignore-scripts "${quietly[@]}"
npm rebuild argon2 --loglevel=error
cd node_modules/code-server/lib/vscode
npm install --omit=dev --ignore-scripts "${quietly[@]}"
mkdir -p node_modules/@vscode/ripgrep/bin
ln -sf "$rg" node_modules/@vscode/ripgrep/bin/rg
# Not Kerberos, which wants headers of the system.
npm rebuild node-pty native-watchdog @vscode/spdlog @vscode/deviceid @parcel/watcher --loglevel=error
ln -sfn node_modules node_modules.asar
(cd extensions && npm install --omit=dev --ignore-scripts "${quietly[@]}")
cp "$here/package-lock.json" "$OLDPWD/installed"
