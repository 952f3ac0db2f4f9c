// Markdown of speech as nodes, never as HTML: paragraphs, headings, lists, quotes, code, bold, italics, links.
import { html } from "./bits.js";

const INLINE =
  /`([^`\n]{1,2000})`|\*\*([^*\n]{1,2000})\*\*|\*([^\s*][^*\n]{0,2000})\*|(?<!\w)_([^\s_][^_\n]{0,2000})_(?!\w)|\[([^\]\n]{1,500})\]\((https?:\/\/[^)\s]{1,2000})\)|(https?:\/\/[^\s<>"'`]{1,2000}[^\s<>"'`.,;:!?)\]])/g;

// The pattern lets only http and https through.
const link = (text, to) => html`<a href=${to} target="_blank" rel="noopener noreferrer">${text}</a>`;

function inline(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const [all, code, bold, star, under, label, to, bare] = found;
    nodes.push(text.slice(from, found.index));
    from = found.index + all.length;
    if (code) nodes.push(html`<code>${code}</code>`);
    else if (bold) nodes.push(html`<strong>${inline(bold)}</strong>`);
    else if (star ?? under) nodes.push(html`<em>${inline(star ?? under)}</em>`);
    else nodes.push(link(label ?? bare, to ?? bare));
  }
  nodes.push(text.slice(from));
  return nodes;
}

// Lines of one paragraph; a line's end is kept, as speech is written for the eye.
const lines = (rows) => rows.map((row, n) => [n > 0 && html`<br />`, inline(row)]);

const FENCE = /^\s{0,3}(```|~~~)/;
const HEADING = /^#{1,6}\s+(.*)$/;
const QUOTE = /^>\s?(.*)$/;
const ENTRY = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;

// Entries, with what stands indented below them.
function list(rows) {
  const [, indent, first] = ENTRY.exec(rows[0]);
  const entries = [];
  for (const row of rows) {
    const found = ENTRY.exec(row);
    if (found && found[1].length <= indent.length) entries.push({ rows: [found[3]], below: [] });
    else if (found || entries.at(-1).below.length) entries.at(-1).below.push(row);
    else entries.at(-1).rows.push(row.trim());
  }
  const items = entries.map((entry) => html`<li>${lines(entry.rows)}${entry.below.length > 0 && list(entry.below)}</li>`);
  return first ? html`<ol start=${first}>${items}</ol>` : html`<ul>${items}</ul>`;
}

export function markdown(text) {
  const rows = text.split("\n");
  const blocks = [];
  let at = 0;
  const run = (test) => {
    const from = at++;
    while (at < rows.length && test(rows[at])) at += 1;
    return rows.slice(from, at);
  };
  while (at < rows.length) {
    const row = rows[at];
    if (!row.trim()) {
      at += 1;
    } else if (FENCE.test(row)) {
      const code = run((line) => !FENCE.test(line)).slice(1);
      at += 1;
      blocks.push(html`<pre tabindex="0"><code>${code.join("\n")}</code></pre>`);
    } else if (HEADING.test(row)) {
      at += 1;
      blocks.push(html`<p><strong>${inline(HEADING.exec(row)[1])}</strong></p>`);
    } else if (QUOTE.test(row)) {
      blocks.push(html`<blockquote>${lines(run((line) => QUOTE.test(line)).map((line) => QUOTE.exec(line)[1]))}</blockquote>`);
    } else if (ENTRY.test(row)) {
      blocks.push(list(run((line) => ENTRY.test(line) || /^\s+\S/.test(line))));
    } else {
      blocks.push(html`<p>${lines(run((line) => line.trim() && ![FENCE, HEADING, QUOTE, ENTRY].some((other) => other.test(line))))}</p>`);
    }
  }
  return blocks;
}
