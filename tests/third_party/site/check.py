"""Holds the built site against the repository: every link and anchor leads somewhere inside of it, nothing is loaded from
elsewhere, every text stands there as it was written, every code and every example has its page.

    check.py REPOSITORY SITE
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT, SITE = (Path(argument).resolve() for argument in sys.argv[1:3])
LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src"}


class Page(HTMLParser):
    """The anchors and links of a page, its text, and the texts of its blocks of code."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.blocks, self.words = set(), [], [], []
        self.is_pre, self.skipped, self.is_main = False, 0, False
        self.feed(path.read_text())
        self.text = squeezed("".join(self.words))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(filter(None, [given.get("id"), given.get("name")]))
        if given.get(LINKS.get(tag)):
            self.links.append((tag, given[LINKS[tag]]))
        self.skipped += tag in ("script", "style")
        self.is_main = self.is_main or tag == "main"
        if tag == "pre":
            self.is_pre = True
            self.blocks.append("")
        if tag == "br":
            self.words.append("\n")

    def handle_endtag(self, tag):
        self.skipped -= tag in ("script", "style")
        self.is_main = self.is_main and tag != "main"
        self.is_pre = self.is_pre and tag != "pre"

    def handle_data(self, data):
        if self.is_pre:
            self.blocks[-1] += data
        if self.is_main and not self.skipped:
            self.words.append(data)


def squeezed(text):
    return " ".join(text.split())


def written(text):
    """The blocks of a Markdown text, and its spans of code."""
    blocks, spans, fence, indent = [], [], None, 0
    for line in text.splitlines():
        bare = line.strip()
        opens = re.match(r"(`{3,})[^`]*$", bare)
        if fence and bare == fence:
            fence = None
        elif fence:
            blocks[-1] += (line[indent:] if not line[:indent].strip() else line.lstrip()) + "\n"
        elif opens:
            fence, indent = opens[1], len(line) - len(line.lstrip())
            blocks.append("")
        else:
            spans += [span[1] for span in re.finditer(r"(?<!`)`([^`]+)`(?!`)", line)]
    return blocks, [squeezed(span.replace("\\|", "|")) for span in spans]


n_passed = n_failed = 0


def count(name, faults):
    """One check of a thing, with what is wrong with it."""
    global n_passed, n_failed
    for fault in list(faults)[:5]:
        print(f"FAILED {name}: {fault}")
    n_passed, n_failed = n_passed + (not faults), n_failed + bool(faults)


def links_of(path, page):
    """The links of a page that lead nowhere, and what it would load from elsewhere."""
    for tag, link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if tag != "a" and parts.scheme != "data":
                yield f"{link} is not in the site"
            continue
        goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if goal.is_dir():
            goal /= "index.html"
        if not goal.is_file() or SITE not in goal.parents:
            yield f"{link} leads nowhere"
        elif parts.fragment and goal in pages and unquote(parts.fragment) not in pages[goal].anchors:
            yield f"{link}: the page has no such anchor"


def texts_of(text, page):
    """What stands in a text and not on its page."""
    blocks, spans = written(text)
    there = {block.rstrip("\n") for block in page.blocks}
    yield from (f"a block is not there: {block[:60]!r}" for block in blocks if block.rstrip("\n") not in there)
    # A link that names a file is given its page's name.
    yield from (f"`{span}` is not there" for span in spans if span not in page.text and not span.endswith(".md"))


pages = {path: Page(path) for path in sorted(SITE.rglob("*.html"))}
for path, page in pages.items():
    count(f"links of {path.relative_to(SITE)}", list(links_of(path, page)))


def at(name):
    return pages.get(SITE / name)


sources = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/decisions/*.md")]
for source in sorted(sources):
    if source.name == "SUMMARY.md":
        continue
    name = source.relative_to(ROOT / "docs").with_suffix(".html").as_posix().replace("README", "index")
    page = at(name)
    count(source.name, list(texts_of(source.read_text(), page)) if page else ["docs/SUMMARY.md does not list it"])
count("README.md", list(texts_of((ROOT / "README.md").read_text(), at("index.html"))))

# The codes that tables explain and those that goldens show, with what they show.
shown = {}
for guide in ("troubleshooting.md", "documents.md"):
    is_table = False
    for line in (ROOT / "docs" / guide).read_text().splitlines():
        is_table = line.startswith("|") and (is_table or re.match(r"\| (code|kind) \|", line))
        for code in re.findall(r"`([a-z_-]+)`", line[2:].split(" | ")[0]) if is_table else ():
            shown.setdefault(code, set())
n_tabled = len(shown)
for golden in ROOT.glob("tests/cases/**/*.golden"):
    for found in re.finditer(r"(?m)^(?:! |  )?((?:error|warning|note)\[([a-z]+(?:-[a-z]+)+)\]: .*)$", golden.read_text()):
        shown.setdefault(found[2], set()).add(squeezed(found[1]))
for code, lines in sorted(shown.items()):
    page = at(f"errors/{code}.html")
    faults = [] if page else ["it has no page"]
    if page and len(page.text) < len(code) + 60:
        faults.append(f"its page says nothing: {page.text}")
    if page and lines and not any(line in page.text for line in lines):
        faults.append("its page has no example")
    if not re.search(rf'href="{code}.html"', (SITE / "errors/index.html").read_text()):
        faults.append("the list of codes does not have it")
    count(f"the code {code}", faults)

n_conversations = 0
for test in sorted(ROOT.glob("examples/*.test.md")):
    text = test.read_text()
    program = ROOT / "examples" / re.search(r"(?m)^- program: (.*)$", text)[1]
    page = at(f"examples/{program.stem}.html")
    faults = [] if page else ["its program has no page"]
    if page:
        wanted = [squeezed(line.lstrip("> ")) for line in text.splitlines() if line.startswith("> ")]
        wanted.append(text.splitlines()[0][2:])
        faults = [f"`{line}` is not on the page" for line in wanted if line not in page.text]
        if program.read_text() not in page.blocks:
            faults.append("the page does not show the program")
    count(test.name, faults)
    n_conversations += 1

print(f"{len(pages)} pages, {n_tabled} codes, {n_conversations} conversations")
if n_tabled < 200 or n_conversations < 20:
    count("the repository", ["fewer codes or conversations than it has"])
print(f"{n_passed} passed, {n_failed} failed")
sys.exit(n_failed != 0)
