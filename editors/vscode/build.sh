#!/usr/bin/env bash
# Builds the extension: installs by the lock file, checks the types, plays the tests of what is pure, bundles, packages.
#     editors/vscode/build.sh [FOLDER]    writes FOLDER/playhouse-VERSION.vsix; FOLDER is this one, if none is named
# In FOLDER are then also what was downloaded, and what was built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-$here}"
folder=$(cd "${1:-$here}" && pwd)
if [ "$folder" != "$here" ]; then
    cp -r "$here"/{src,test,syntaxes,package.json,package-lock.json,tsconfig.json,README.md,.vscodeignore} "$folder"
fi
cat "$here"/../../LICENSE-MIT "$here"/../../LICENSE-APACHE >"$folder/LICENSE.txt"
cd "$folder"
npm ci --ignore-scripts --no-audit --no-fund --silent
export PATH="$folder/node_modules/.bin:$PATH"
rm -rf out ./*.vsix
tsc
bundle=(esbuild --bundle --platform=node --target=node18 --format=cjs --loader:.html=text --log-level=warning)
"${bundle[@]}" test/pure.test.ts --outfile=out/pure.test.js
node --test out/pure.test.js >out/tests.log || { cat out/tests.log; exit 1; }
"${bundle[@]}" src/extension.ts --external:vscode --minify --outfile=out/extension.js
vsce package --no-dependencies --no-rewrite-relative-links --allow-missing-repository --skip-license >out/package.log 2>&1 || { cat out/package.log; exit 1; }
package=$(ls ./*.vsix)
size=$(stat -c %s "$package")
[ "$size" -lt 300000 ] || { echo "$package has $size bytes; 300000 are enough" >&2; exit 1; }
echo "$folder/${package#./}"
