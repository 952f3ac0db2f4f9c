# VS Code in Chromium.
"$here/code/install.sh" "$cache/code" >&2 || exit 1
extension=$("$editors/vscode/build.sh" "$cache/extension") || exit 1
(cd code/probe && "$cache/extension/node_modules/.bin/vsce" package --no-dependencies --allow-missing-repository --skip-license >&2) || exit 1
# Modules are found from where a script stands.
cp code/code.mjs "$cache/code"
for trust in trusted untrusted; do
    node "$cache/code/code.mjs" $trust "$playhouse" "$cache/code/node_modules/.bin/code-server" "$extension" code/probe/*.vsix \
        "$scratch/$trust" "$workspace" "$cache/pictures/$trust" >$trust.said || true
    cat $trust.said
done
