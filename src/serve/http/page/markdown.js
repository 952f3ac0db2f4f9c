// Markdown of speech as nodes, never as HTML: paragraphs, headings, lists, quotes, code, bold, italics, links.
import { html } from "./bits.js";

const INLINE =
  /`([^`\n]{1,2000})`|\*\*([^*\n]{1,2000})\*\*|\*([^\s*][^*\n]{0,2000})\*|(?<![\w])_([^\s_][^_\n]{0,2000})_(?!\w)|\[([^\]\n]{1,500})\]\(([^)\s]{1,2000})\)|(https?:\/\/[^\s<>"'`]{1,2000}[^\s<>"'`.,;:!?)\]])/g;

/** An address that may be followed: http and https, nothing else. */
function address(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

const link = (text, to) => html`<a href=${to} target="_blank" rel="noopener noreferrer nofollow">${text}</a>`;

function inline(text, depth = 0) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const [all, code, bold, star, under, label, to, bare] = found;
    if (found.index > from) nodes.push(text.slice(from, found.index));
    from = found.index + all.length;
    const within = (part) => (depth < 3 ? inline(part, depth + 1) : part);
    if (code) nodes.push(html`<code>${code}</code>`);
    else if (bold) nodes.push(html`<strong>${within(bold)}</strong>`);
    else if (star ?? under) nodes.push(html`<em>${within(star ?? under)}</em>`);
    else if (bare) nodes.push(link(bare, bare));
    else nodes.push(address(to) ? link(label, address(to)) : all);
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

/** Lines of one paragraph; a line's end is kept, as speech is written for the eye. */
const lines = (rows) => rows.flatMap((row, index) => (index ? [html`<br />`, ...inline(row)] : inline(row)));

const FENCE = /^\s{0,3}(```|~~~)/;
const HEADING = /^#{1,6}\s+(.*)$/;
const QUOTE = /^>\s?(.*)$/;
const ENTRY = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;

function list(rows) {
  // Entries with what stands indented below them.
  const first = ENTRY.exec(rows[0]);
  const entries = [];
  for (const row of rows) {
    const found = ENTRY.exec(row);
    if (found && found[1].length <= first[1].length) entries.push({ text: found[3], below: [] });
    else entries.at(-1).below.push(row);
  }
  const body = entries.map(({ text, below }) => {
    const inner = below.findIndex((row) => ENTRY.test(row));
    const rest = inner < 0 ? below : below.slice(0, inner);
    return html`<li>${lines([text, ...rest.map((row) => row.trim()).filter(Boolean)])}${inner < 0 ? null : list(below.slice(inner))}</li>`;
  });
  return first[2] ? html`<ol start=${Number(first[2])}>${body}</ol>` : html`<ul>${body}</ul>`;
}

export function markdown(text) {
  const rows = text.split("\n");
  const blocks = [];
  let at = 0;
  const run = (test) => {
    const from = at;
    while (at < rows.length && test(rows[at], at - from)) at += 1;
    return rows.slice(from, at);
  };
  while (at < rows.length) {
    const row = rows[at];
    if (!row.trim()) {
      at += 1;
    } else if (FENCE.test(row)) {
      const mark = FENCE.exec(row)[1];
      at += 1;
      const code = run((line) => !line.trim().startsWith(mark));
      at += 1;
      blocks.push(html`<pre tabindex="0"><code>${code.join("\n")}</code></pre>`);
    } else if (HEADING.test(row)) {
      at += 1;
      blocks.push(html`<p class="heading"><strong>${inline(HEADING.exec(row)[1])}</strong></p>`);
    } else if (QUOTE.test(row)) {
      const quoted = run((line) => QUOTE.test(line)).map((line) => QUOTE.exec(line)[1]);
      blocks.push(html`<blockquote>${lines(quoted)}</blockquote>`);
    } else if (ENTRY.test(row)) {
      blocks.push(list(run((line, n) => n === 0 || ENTRY.test(line) || /^\s+\S/.test(line))));
    } else {
      const words = run((line, n) => n === 0 || (line.trim() && !FENCE.test(line) && !HEADING.test(line) && !QUOTE.test(line) && !ENTRY.test(line)));
      blocks.push(html`<p>${lines(words)}</p>`);
    }
  }
  return blocks;
}
