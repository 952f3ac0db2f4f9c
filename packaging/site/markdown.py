"""What the site has to know of Markdown: where its blocks, headings and links are."""

import html
import re

FENCE = re.compile(r"( *)(`{3,})([^`]*)$")
# A span of code, which holds no link, or a link with its text.
CODE = r"(?P<code>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
LINK = re.compile(CODE + r"|\[(?P<text>(?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*)\]\((?P<target>[^)\s]*)\)")
# Words behind the language of a block that are no file's name; tests/it/guides.rs says what they mean.
ATTRIBUTES = ("fragment", "abridged", "run", "transcript")


class Block:
    """A block of code in fences."""

    def __init__(self, first):
        self.indent, self.fence, words = FENCE.match(first).groups()
        self.language, *self.words = words.split() or [""]
        self.lines = [first]

    def take(self, line):
        """Takes a line, and says whether it was the last one."""
        self.lines.append(line)
        bare = line.strip()
        return bare.startswith(self.fence) and not bare.strip("`")

    def shown(self):
        """The block as mdBook gets it: the name of its file above it, and the headings of a playbook marked. What highlights
        Markdown would take `$order_id` for the beginning of emphasis."""
        names = [word for word in self.words if word not in ATTRIBUTES]
        if names and self.language != "text" and not names[0].startswith("tests/"):
            yield f'{self.indent}<div class="file">{html.escape(names[0])}</div>'
            yield ""
        if self.language != "markdown":
            language = "json" if self.language == "jsonl" else self.language
            yield from [self.indent + self.fence + language, *self.lines[1:]]
            return
        inside = "\n".join(line.removeprefix(self.indent) for line in self.lines[1:-1])
        text = "".join(
            f'<span class="hljs-section">{html.escape(line)}</span>\n'
            if re.match("#+ ", line) and not is_code
            else html.escape(line) + "\n"
            for line, is_code in lines_of(inside)
        )
        yield from f'<pre><code class="playbook nohighlight">{text}</code></pre>'.splitlines()
        yield ""


def parts(text):
    """The text as lines and blocks."""
    block = None
    for line in text.splitlines():
        if block:
            if block.take(line):
                yield block
                block = None
        elif FENCE.match(line):
            block = Block(line)
        else:
            yield line
    if block:
        yield block


def lines_of(text):
    """Each line, with whether it stands in a block (its fences do)."""
    for part in parts(text):
        if isinstance(part, Block):
            yield from ((line, True) for line in part.lines)
        else:
            yield part, False


def slug(heading):
    """The anchor of a heading, as mdBook and the forges make it."""
    kept = heading.strip().lower().replace(" ", "-")
    return "".join(letter for letter in kept if letter.isalnum() or letter in "-_")


def title_of(text):
    """The first heading."""
    return next(line[2:].strip() for line, is_code in lines_of(text) if not is_code and line.startswith("# "))


def sections(text, level):
    """The text in pieces: `(heading, body)`, the first without a heading."""
    marker = "#" * level + " "
    found = [("", [])]
    for line, is_code in lines_of(text):
        if not is_code and line.startswith(marker):
            found.append((line[level:].strip(), []))
        else:
            found[-1][1].append(line)
    return [(heading, "\n".join(body).strip("\n")) for heading, body in found]


def fenced(language, text):
    """A block of code with a fence that the text cannot close."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def table_rows(text):
    """The rows of all tables: `(cells of the head, cells)`."""
    head, previous = None, None
    for line, is_code in lines_of(text):
        is_row = not is_code and line.startswith("|") and line.rstrip().endswith("|")
        cells = re.split(r"(?<!\\) ?\| ?", line.strip()[1:-1].strip()) if is_row else None
        if not is_row:
            head = None
        elif all(re.fullmatch(r"\s*:?-+:?\s*", cell) for cell in cells):
            head = previous
        elif head:
            yield head, cells
        previous = cells
