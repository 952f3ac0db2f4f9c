# VS Code in Chromium.
"$here/code/install.sh" "$cache/code" >&2 || exit 1
extension=$("$editors/vscode/build.sh" "$cache/extension") || exit 1
(cd code/probe && "$cache/extension/node_modules/.bin/vsce" package --no-dependencies --allow-missing-repository --skip-license >&2) || exit 1
# Modules are found from where a script stands.
cp code/code.mjs "$cache/code"
for part in trusted untrusted missing; do
    node "$cache/code/code.mjs" $part "$playhouse" "$cache/code/node_modules/.bin/code-server" "$extension" code/probe/*.vsix \
        "$scratch/$part" "$workspace" "$cache/pictures/$part" >$part.said || true
    cat $part.said
done
