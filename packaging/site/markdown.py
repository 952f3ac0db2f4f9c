"""What the site has to know of Markdown: where its blocks, headings and links are."""

import re

FENCE = re.compile(r"( *)(`{3,})([^`]*)$")
# A span of code, which holds no link, or a link with its text.
LINK = re.compile(r"(?P<code>(?<!`)(`+)(?!`).+?(?<!`)\2(?!`))|\[(?P<text>(?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*)\]\((?P<target>[^)\s]*)\)")


def lines_of(text):
    """Each line, with whether it stands in a fence (those of the fence itself do)."""
    open_fence = None
    for line in text.splitlines():
        bare = line.strip()
        if open_fence:
            yield line, True
            if bare.startswith(open_fence) and not bare.strip("`"):
                open_fence = None
            continue
        begins = FENCE.match(line)
        open_fence = begins and begins[2]
        yield line, bool(begins)


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
