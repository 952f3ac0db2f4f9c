"""Makes the chapters of the site of what lies in the repository: a preprocessor of mdBook.

mdBook gives the book that docs/SUMMARY.md lists, as JSON, and takes it back with three kinds of changes: chapters that
SUMMARY.md only names get their texts (from README.md, examples/ and tests/cases/); files from outside of docs/ get a place
inside of the site; and links are turned to where things are in the site, or become text where they are not in it.
"""

import json
import os
import re
import sys
from pathlib import Path

import codes
import conversations
from markdown import LINK, Block, parts, title_of

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"


def place_in_site(source):
    """Where a file of the repository stands in the site: docs/ is its root, and a README the first page of its folder."""
    path = source.removeprefix("docs/")
    return re.sub(r"README\.md$", "index.md", path)


class Site:
    """The pages of the site, by the file of the repository that each is made from."""

    def __init__(self):
        self.pages = {}
        # Their names in the list of chapters.
        self.names = {}

    def target(self, page, source, link):
        """Where a link of a source leads when it stands on this page; none if that is not in the site."""
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            return link
        goal = os.path.normpath(os.path.join(os.path.dirname(source), path)) if path else source
        suffix = f"#{anchor}" if anchor else ""
        if goal in self.pages:
            found = self.pages[goal]
        elif goal == "docs":
            found = "index.md"
        elif goal.startswith("docs/") and (ROOT / goal).is_file():
            found = goal.removeprefix("docs/")
        else:
            return None
        if found == page and suffix:
            return suffix
        return os.path.relpath(found, os.path.dirname(page) or ".") + suffix

    def localise(self, page, source, text):
        """The text of a source as it stands on a page: links, and the names of blocks."""
        def link(found):
            if found["code"]:
                return found[0]
            target = self.target(page, source, found["target"])
            if not target:
                return found["text"]
            # Where a guide names a file, the site names the page.
            there = os.path.normpath(os.path.join(os.path.dirname(page), target.partition("#")[0]))
            is_file = re.fullmatch(r"[\w/.-]+\.md", found["text"])
            return f"[{is_file and self.names.get(there) or found['text']}]({target})"

        shown = []
        for part in parts(text):
            shown += part.shown() if isinstance(part, Block) else [LINK.sub(link, part)]
        return "\n".join(shown) + "\n"


def add(parent, name, path, content):
    """A chapter below another one. mdBook indents it by its number, which is not shown."""
    one = {
        "name": name,
        "content": content,
        "number": [*parent["number"], len(parent["sub_items"]) + 1],
        "sub_items": [],
        "path": path,
        "source_path": None,
        "parent_names": [*parent["parent_names"], parent["name"]],
    }
    parent["sub_items"].append({"Chapter": one})
    return one


def all_chapters(items):
    for item in items:
        if "Chapter" in item:
            yield item["Chapter"]
            yield from all_chapters(item["Chapter"]["sub_items"])


def link_codes(text, known):
    """The codes in the tables of a guide lead to their pages."""
    def link(found):
        return f"[`{found[1]}`](errors/{found[1]}.md)" if found[1] in known else found[0]

    out = []
    for line in text.splitlines():
        if line.startswith("| `"):
            cell, bar, others = line.partition(" | ")
            line = codes.CODE.sub(link, cell) + bar + others
        out.append(line)
    return "\n".join(out) + "\n"


def build(book):
    items = book["items"]
    site = Site()
    drafts = {one["name"]: one for one in all_chapters(items) if one["path"] is None}
    sources = {}
    for one in all_chapters(items):
        if one["path"]:
            source = os.path.normpath(os.path.join("docs", one["path"]))
            one["path"] = place_in_site(source)
            site.pages[source] = one["path"]
            site.names[one["path"]] = one["name"]
            sources[one["path"]] = (one, source)

    records = sources["decisions/index.md"][0]
    for path in sorted((DOCS / "decisions").glob("[0-9]*.md")):
        source = path.relative_to(ROOT).as_posix()
        text = path.read_text()
        one = add(records, title_of(text), place_in_site(source), text)
        site.pages[source] = one["path"]
        sources[one["path"]] = (one, source)

    examples = conversations.programs(ROOT / "examples")
    for path in examples:
        site.pages[f"examples/{path.name}"] = f"examples/{path.stem}.md"
    site.pages["examples"] = "examples/index.md"

    found = codes.entries(DOCS)
    for code in found:
        site.pages[f"docs/errors/{code}.md"] = f"errors/{code}.md"
    site.pages["docs/errors/index.md"] = "errors/index.md"

    for one, source in sources.values():
        one["content"] = site.localise(one["path"], source, one["content"])
        if source.removeprefix("docs/") in codes.HOMES:
            one["content"] = link_codes(one["content"], found)

    listed = fill(drafts, "Examples", "examples/index.md", conversations.index(examples))
    for path in examples:
        page = f"examples/{path.stem}.md"
        text = site.localise(page, f"examples/{path.name}", conversations.page(path))
        add(listed, title_of(path.read_text()), page, text)

    listed = fill(drafts, "Codes", "errors/index.md", codes.index(found))
    shown = codes.examples(ROOT / "tests/cases")
    for code in sorted(found):
        page = f"errors/{code}.md"
        said = codes.page(code, found[code], shown.get(code, []), DOCS)
        add(listed, code, page, "\n".join(site.localise(page, f"docs/{guide}", text) for guide, text in said))

    if drafts:
        raise SystemExit(f"docs/SUMMARY.md: nothing makes the chapter `{next(iter(drafts))}`")


def fill(drafts, name, path, content):
    """Gives a chapter that SUMMARY.md only names its text."""
    one = drafts.pop(name)
    one["path"], one["content"] = path, content
    return one


def main():
    if sys.argv[1:2] == ["supports"]:
        sys.exit(sys.argv[2] != "html")
    _, book = json.load(sys.stdin)
    build(book)
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
