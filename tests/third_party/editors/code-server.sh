#!/usr/bin/env bash
# Finishes what `npm ci --ignore-scripts` has put in FOLDER: the packages of code-server's VS Code, pinned by its own lock
# files, and those that are compiled. Its own script would download ripgrep; Debian's is taken.
#     code-server.sh FOLDER
set -euo pipefail
cd "$1/node_modules/code-server"
[ ! -f finished ] || exit 0
rg=$(command -v rg) || { echo "ripgrep is missing: install Debian's package ripgrep" >&2; exit 1; }
quietly=(--omit=dev --no-audit --no-fund --loglevel=error)
# A rebuild asks otherwise.
export npm_config_yes=true
[ ! -d node_modules/argon2 ] || npm rebuild argon2 --loglevel=error
[ ! -d ../argon2 ] || npm rebuild argon2 --loglevel=error --prefix "$1"
cd lib/vscode
npm install --ignore-scripts "${quietly[@]}"
mkdir -p node_modules/@vscode/ripgrep/bin
ln -sf "$rg" node_modules/@vscode/ripgrep/bin/rg
# Not Kerberos, which wants headers of the system.
npm rebuild node-pty native-watchdog @vscode/spdlog @vscode/deviceid @parcel/watcher --loglevel=error
rm -rf node_modules.asar
ln -s node_modules node_modules.asar
(cd extensions && npm install --ignore-scripts "${quietly[@]}")
touch ../../finished
