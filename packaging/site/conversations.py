"""The programs of examples/ with the conversations of their tests, as people read them."""

import html
import re

from markdown import fenced, lines_of, sections, title_of

# Not programs: what tests and tables say about one.
ABOUT_A_PROGRAM = (".test.md", ".triggers.md", ".user.md", ".rules.md", ".judge.md")
# What only the interpreter's tests are about.
HIDDEN = ("Model", "Variables", "Expect")


def programs(folder):
    """The files of all programs."""
    return [path for path in sorted(folder.glob("*.md")) if not path.name.endswith(ABOUT_A_PROGRAM)]


def tests_of(program):
    """The tests of a program, the plain one first."""
    name = program.stem
    found = sorted(program.parent.glob(f"{name}.*test.md"), key=lambda path: (path.name != f"{name}.test.md", path.name))
    return [path for path in found if re.search(rf"(?m)^- program: {re.escape(program.name)}$", path.read_text())]


def quotes(text):
    """The block quotes of a text."""
    found = []
    is_open = False
    for line in text.splitlines():
        if line.startswith(">"):
            if not is_open:
                found.append([])
            found[-1].append(line[1:].removeprefix(" "))
        is_open = line.startswith(">")
    return ["\n".join(lines) for lines in found]


def row(kind, who, what):
    """One line of a transcript. It has no empty line, which would end the block of HTML."""
    what = html.escape(what.strip(), quote=False).replace("\n\n", "\n").replace("\n", "<br>")
    return f'<p class="{kind}"><b>{html.escape(who, quote=False)}</b><span>{what}</span></p>'


def transcript(text, speaker):
    """What is said and called in a test, in its order."""
    rows = []
    for heading, body in sections(text, 2)[1:]:
        if heading in HIDDEN:
            continue
        if heading == "Says":
            rows += [row("program", speaker, said) for said in quotes(body)]
        elif heading == "User":
            rows += [row("user", "User", said) for said in quotes(body)]
        elif heading == "Calls":
            rows += [row("call", "Call", call) for call in re.split(r"(?m)^- ", body)[1:]]
        elif heading == "Outcome":
            rows.append(row("outcome", "Outcome", body))
        else:
            rows.append(row("event", heading, body))
    return "\n".join(['<div class="conversation">', *rows, "</div>"])


def conversation(text, speaker):
    """One test: its title, what it says of itself, who the model is, and the transcript."""
    title = title_of(text)
    top = sections(text, 2)[0][1]
    words = [line for line in top.splitlines() if not line.startswith(("# ", "- "))]
    is_embedded = re.search(r"(?m)^- model: embedded$", top)
    model = "The model inside Playhouse answers." if is_embedded else ""
    about = " ".join(filter(None, [" ".join(words).strip(), model]))
    return "\n\n".join(filter(None, [f"### {title}", about, transcript(text, speaker)]))


def page(program):
    """The page of one program."""
    text = program.read_text()
    command = f"playhouse run examples/{program.name}"
    if program.with_suffix(".tools.json").exists():
        command += f" --tools examples/{program.stem}.tools.json"
    title = title_of(text)
    parts = [f"# {title}", fenced(f"markdown examples/{program.name}", text), fenced("sh", command)]
    tests = [path.read_text() for path in tests_of(program)]
    if tests:
        parts.append("## Conversations")
        parts.append("The tests of this example play them. Where nothing else is said, a person wrote the model's replies.")
        parts += [conversation(test, title) for test in tests]
    return "\n\n".join(parts) + "\n"


def purpose(text):
    """The first sentence of an agent's description."""
    words = next((line for line, _ in lines_of(sections(text, 1)[1][1]) if re.match("[A-Z]", line)), "")
    return words.split(". ")[0].rstrip(".") + "." if words else ""


def index(found):
    """The page that lists the programs."""
    lines = []
    for path in found:
        text = path.read_text()
        lines.append(f"- [{title_of(text)}]({path.stem}.md) (`examples/{path.name}`). {purpose(text)}".rstrip())
    return "\n\n".join(["# Examples", "Programs, each with conversations that its tests play.", "\n".join(lines)]) + "\n"
