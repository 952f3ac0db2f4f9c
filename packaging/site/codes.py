"""A page for each code that people are told: what it means and what to do, from the tables of the guides; and the smallest
program that gets it, with what is said of it, from the goldens of the tests."""

import os
import re
from pathlib import Path

from markdown import fenced, sections, slug, table_rows

# The guides with tables of codes, and what their findings are in if no heading says it.
HOMES = {"troubleshooting.md": None, "documents.md": "In indexes of documents"}
# Where examples are looked for first, by the heading of the table.
CASES = {
    "In programs": "lang",
    "In JSON plans": "plans/json",
    "In dataflow plans": "plans/dataflow",
    "In components": "component",
    "In Agent Skills": "cli/skill",
}
CODE = re.compile(r"`([a-z_-]+)`")
# A finding begins with its code in brackets; what is said of an index has it behind the cause. Before it stands how the
# golden shows standard error, or how a report of tests is indented.
FINDING = re.compile(r"(?P<mark>! |  )?(?P<kind>error|warning|note)\[(?P<code>[a-z_-]+)\]: ")
REMARK = re.compile(r"(?P<mark>! )(?P<kind>error|warning): .* \((?P<code>index-[a-z]+)\)")
PLACE = re.compile(r"(?m)^( *(?:-->|:::) )(?:\S*/)?([^\s/:]+)(:\d+:\d+)$")
LANGUAGES = {".md": "markdown", ".pb": "markdown", ".yaml": "yaml", ".json": "json"}
# A longer program is not shown, and of more findings than this only the one.
MOST_LINES = 40
MOST_FINDINGS = 3


class Entry:
    """What one row of a table says of a code."""

    def __init__(self, guide, group, introduction, codes, cells):
        self.guide, self.group, self.introduction, self.codes = guide, group, introduction, codes
        self.meaning, *self.advice = cells


class Example:
    """A finding as it was printed, the text that it is about, and all findings of that text."""

    def __init__(self, kind, path, finding, name, program):
        self.kind, self.path, self.finding, self.name, self.program = kind, path, finding, name, program
        self.all = []

    def rank(self, group):
        """The better, the smaller: of this kind of file, with a program, and short."""
        is_elsewhere = not self.path.startswith(CASES.get(group, ""))
        return is_elsewhere, not self.program, len(self.program) + len(self.finding), self.path

    def blocks(self):
        """The program and what is said of it, as far as they are short."""
        if self.program and self.program.count("\n") < MOST_LINES:
            yield "For example:"
            yield fenced(f"{LANGUAGES.get(Path(self.name).suffix, 'text')} {self.name}", self.program)
        is_alone = len(self.all) > MOST_FINDINGS
        yield "Playhouse says, among other things:" if is_alone else "Playhouse says:"
        yield fenced("text", self.finding if is_alone else "\n\n".join(self.all))


def entries(docs):
    """All codes, with what each table says of them."""
    found = {}
    for guide, name in HOMES.items():
        for heading, body in sections((docs / guide).read_text(), 2):
            for inner, text in sections(body, 3):
                introduction = "\n".join(line for line in text.splitlines() if not line.startswith("|")).strip()
                for head, cells in table_rows(text):
                    if head[0] not in ("code", "kind"):
                        continue
                    codes = CODE.findall(cells[0])
                    group = name or inner or heading
                    entry = Entry(guide, group, "" if name else introduction, codes, cells[1:])
                    for code in codes:
                        found.setdefault(code, []).append(entry)
    return found


def files_of_scenario(text):
    """The files that a scenario of the command line writes before its commands."""
    files = {}
    current = None
    for line in text.splitlines():
        if line.startswith("--- "):
            current = files.setdefault(line[4:].strip(), [])
        elif line.startswith(("$ ", "=== ")):
            current = None
        elif current is not None:
            current.append(line)
    return {name: "\n".join(lines) for name, lines in files.items()}


def beside(golden):
    """The files of the case that this golden belongs to, by the names that findings give them."""
    case = golden.name[: -len(".golden")]
    files = {}
    for path in golden.parent.iterdir():
        if path.is_file() and path.stem == case and path.suffix in LANGUAGES:
            files[path.name] = path.read_text()
    scenario = golden.with_name(case + ".txt")
    if scenario.is_file():
        files |= {os.path.basename(name): text for name, text in files_of_scenario(scenario.read_text()).items()}
    return files


def findings(text):
    """`(kind, code, lines)` of what a golden shows, without the marks before its lines."""
    lines = text.splitlines()
    for first, line in enumerate(lines):
        begins = FINDING.match(line) or REMARK.match(line)
        if not begins:
            continue
        mark = begins["mark"] or ""
        kept = [line]
        for other in lines[first + 1 :] if begins.re is FINDING else ():
            if not other.startswith(mark) or not other[len(mark) :].strip() or FINDING.match(other):
                break
            kept.append(other)
        yield begins["kind"], begins["code"], "\n".join(kept_line[len(mark) :] for kept_line in kept)


def examples(cases):
    """What the goldens show of each code."""
    found = {}
    for golden in sorted(cases.rglob("*.golden")):
        text = golden.read_text()
        files = None
        of_golden = []
        for kind, code, finding in findings(text):
            files = beside(golden) if files is None else files
            place = PLACE.search(finding)
            name = place[2] if place else ""
            program = files.get(name, "").strip("\n")
            path = golden.relative_to(cases).as_posix()
            of_golden.append((code, Example(kind, path, PLACE.sub(r"\1\2\3", finding), name, program)))
        for code, example in of_golden:
            same = [other.finding for _, other in of_golden if other.name == example.name]
            example.all = list(dict.fromkeys(same)) if example.name else [example.finding]
            found.setdefault(code, []).append(example)
    return found


def sentence(text):
    """Begins with a capital letter and ends with a full stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."


def meaning_of(entry, code, docs):
    """What the row says; where it points to a section of its own guide, that section."""
    alone = re.fullmatch(r"see \[.*?\]\(#([\w-]+)\)", entry.meaning)
    if alone:
        for heading, body in sections((docs / entry.guide).read_text(), 2):
            if slug(heading) == alone[1]:
                return f"**{heading}**\n\n{body}"
        raise SystemExit(f"{entry.guide}: the row of `{code}` points to #{alone[1]}, which is not there")
    text = re.sub(r"^\((?:note|warning)s?\) ", "", entry.meaning)
    others = [f"[`{other}`](errors/{other}.md)" for other in entry.codes if other != code]
    together = f"The same goes for {', '.join(others)}." if others else ""
    advice = [f"What to do: {sentence(cell)}" for cell in entry.advice]
    return "\n\n".join(filter(None, [sentence(text), *advice, together]))


def page(code, of_code, shown, docs):
    """The page of one code, in pieces: `(guide, text)`, where links are meant as in that guide."""
    parts = [("", f"# {code}")]
    for entry in of_code:
        best = min(shown, key=lambda example: example.rank(entry.group), default=None)
        if best and len(of_code) > 1 and not best.path.startswith(CASES.get(entry.group, "")):
            best = None
        kinds = {best.kind} if best else re.findall(r"^\((note|warning)s?\)", entry.meaning)
        said = [f"## {entry.group}"] if len(of_code) > 1 else [f"*{entry.group}*"]
        said.extend(f"`{kind}[{code}]`" for kind in kinds if not code.startswith("index-"))
        said.append(meaning_of(entry, code, docs))
        if entry.introduction:
            said.append(entry.introduction)
        if best:
            said += best.blocks()
        parts.append((entry.guide, "\n\n".join(said)))
    return [*parts, ("", "[All codes](errors/index.md)")]


def index(found):
    """The page that lists all codes, table by table."""
    groups = {of_code[0].group: [] for of_code in found.values()}
    for code, of_code in found.items():
        for entry in of_code:
            groups[entry.group].append(code)
    parts = [
        "# Codes",
        "Playhouse names what is wrong by a code in brackets: `error[unknown-callee]`. Each has a page here. "
        "[Troubleshooting](../troubleshooting.md) goes by message.",
    ]
    for group, codes in groups.items():
        links = ", ".join(f"[`{code}`]({code}.md)" for code in sorted(codes))
        parts.append(f"## {group}\n\n{links}")
    return "\n\n".join(parts) + "\n"
