// Markdown of a session as nodes. It never becomes markup: tags stay text, a link shows its address as a tooltip, an
// image its description.

import { html } from "./vendor/htm-preact.js";
import { Marked } from "./ui.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.+?)\s*#*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const ROW = /^\s*\|.*\|\s*$/;
const DIVIDER = /^\s*\|[\s:|-]+\|\s*$/;
const starts = (line) => FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || QUOTE.test(line) || RULE.test(line) || ROW.test(line);

export function Markdown({ text, needle }) {
  return html`<div class="markdown">${[...blocks(text.split("\n"))].map((block) => html`<${Block} block=${block} needle=${needle} />`)}</div>`;
}

function* blocks(lines) {
  let i = 0;
  const run = (test) => {
    const from = i;
    while (i < lines.length && test(lines[i])) i += 1;
    return lines.slice(from, i);
  };
  while (i < lines.length) {
    const line = lines[i];
    if (!line.trim()) i += 1;
    else if (FENCE.test(line)) yield fenced(lines, i, (end) => (i = end));
    else if (HEADING.test(line)) yield { is: "heading", text: HEADING.exec(lines[i++])[2] };
    else if (RULE.test(line)) yield { is: "rule", at: i++ };
    else if (QUOTE.test(line)) yield { is: "quote", lines: run((one) => QUOTE.test(one)).map((one) => QUOTE.exec(one)[1]) };
    else if (ROW.test(line)) yield { is: "table", rows: run((one) => ROW.test(one)).filter((one) => !DIVIDER.test(one)).map(cells) };
    else if (ITEM.test(line)) yield { is: "list", items: items(run((one) => ITEM.test(one) || (one.startsWith("  ") && one.trim()))) };
    else yield { is: "text", text: [lines[i++], ...run((one) => one.trim() && !starts(one))].join("\n") };
  }
}

function fenced(lines, first, go) {
  const [, mark] = FENCE.exec(lines[first]);
  let end = first + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(mark) && FENCE.test(lines[end]))) end += 1;
  go(end + 1);
  return { is: "code", text: lines.slice(first + 1, end).join("\n") };
}

const cells = (row) => row.trim().slice(1, -1).split("|").map((cell) => cell.trim());

function items(lines) {
  const found = [];
  for (const line of lines) {
    const [, space, mark, text] = ITEM.exec(line) ?? [];
    if (mark) found.push({ depth: Math.min(6, space.length >> 1), mark: /\d/.test(mark) ? mark : "•", text });
    else found.at(-1).text += `\n${line.trim()}`;
  }
  return found;
}

function Block({ block, needle }) {
  const inline = (text) => html`<${Inline} text=${text} needle=${needle} />`;
  switch (block.is) {
    case "code":
      return html`<pre class="fenced"><${Marked} text=${block.text} needle=${needle} /></pre>`;
    case "heading":
      return html`<p class="md-heading">${inline(block.text)}</p>`;
    case "rule":
      return html`<hr />`;
    case "quote":
      return html`<blockquote>${inline(block.lines.join("\n"))}</blockquote>`;
    case "table":
      return html`<div class="table-box"><table>${block.rows.map((row, i) => html`<tr>${row.map((cell) => (i ? html`<td>${inline(cell)}</td>` : html`<th>${inline(cell)}</th>`))}</tr>`)}</table></div>`;
    case "list":
      return html`<ul class="md-list">${block.items.map((one) => html`<li style=${{ marginLeft: `${1.2 * one.depth}rem` }}><span class="md-mark">${one.mark}</span><span>${inline(one.text)}</span></li>`)}</ul>`;
    default:
      return html`<p>${inline(block.text)}</p>`;
  }
}

// Lengths are bounded, so that no text takes long.
const INLINE = /`([^`\n]{1,600})`|\*\*(\S[^*\n]{0,600}?)\*\*|(?<![\w*])\*([^\s*][^*\n]{0,300}?)\*(?![\w*])|(!?)\[([^\]\n]{1,300})\]\(([^()\s]{1,600})\)/g;

// Emphasis, code and links within a line.
export function Inline({ text, needle }) {
  const nodes = [];
  let done = 0;
  const plain = (piece) => piece && nodes.push(html`<${Marked} text=${piece} needle=${needle} />`);
  for (const found of text.matchAll(INLINE)) {
    plain(text.slice(done, found.index));
    done = found.index + found[0].length;
    const [, code, strong, em, image, label, target] = found;
    const inner = html`<${Marked} text=${code ?? strong ?? em ?? label} needle=${needle} />`;
    if (code) nodes.push(html`<code>${inner}</code>`);
    else if (strong) nodes.push(html`<strong>${inner}</strong>`);
    else if (em) nodes.push(html`<em>${inner}</em>`);
    else nodes.push(html`<span class="md-link" title=${target}>${image ? "image: " : ""}${inner}</span>`);
  }
  plain(text.slice(done));
  return nodes;
}
