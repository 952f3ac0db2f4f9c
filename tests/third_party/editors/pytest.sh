# pytest-lsp: the server as its clients' fixtures for Neovim and VS Code see it.
PLAYHOUSE=$playhouse WORKSPACE=$workspace timeout 120 "$cache/venv/bin/python" -m pytest -q -p no:cacheprovider -W ignore client.py --junit-xml said.xml >said.pytest 2>&1 || cat said.pytest
"$cache/venv/bin/python" - said.xml <<'PY'
import sys
import xml.etree.ElementTree as tree

cases = list(tree.parse(sys.argv[1]).iter("testcase"))
failed = [case for case in cases if len(case)]
for case in cases:
    print("FAILED " if case in failed else "ok     ", case.get("name"))
print(f"{len(cases) - len(failed)} passed, {len(failed)} failed")
PY
