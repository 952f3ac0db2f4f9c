# VS Code in Chromium.
"$here/code/install.sh" "$cache/code" >&2
extension=$("$editors/vscode/build.sh" "$cache/extension")
(cd code/probe && "$cache/extension/node_modules/.bin/vsce" package --no-dependencies --allow-missing-repository --skip-license >&2)
# Modules are found from where a script stands.
cp code/code.mjs "$cache/code"
node "$cache/code/code.mjs" "$playhouse" "$cache/code/node_modules/.bin/code-server" "$extension" code/probe/*.vsix "$PWD/scratch-code" "$workspace" "$cache/pictures"
