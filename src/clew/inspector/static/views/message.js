// One message: author, time, size, trust label, whether the model still sees it, and its text.

import { useState } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { Markdown } from "../markdown.js";
import { Role, Trust, Turn, Words, address, clock, html, number } from "../ui.js";

const VISIBILITY = {
  shown: ["●", "in view", "the model sees it unchanged"],
  smaller: ["◐", "shortened", "the model sees a shortened form of it"],
  left: ["○", "not in view", "the model no longer sees it; a digest may mention it"],
};
const FOLDED = { thinking: "✻", call: "▸", result: "◂", compacted: "≡", unknown: "·", media: "▦", asked: "?", answered: "✓" };
const WRITTEN_BY_HARNESS = new Set(["system", "developer", "injected"]);
const USUAL = { user: "user", assistant: "assistant", tool: "untrusted", system: "system", developer: "developer", injected: "semi-trusted" };
const SHORT = 280; // parts up to this many characters are not collapsed
const holds = (text, needle) => Boolean(needle) && text.search(needle) >= 0;

export function Message({ row, session, visibility, here, needle }) {
  const [whole, setWhole] = useState(null);
  const shown = whole ?? row;
  const all = async () => setWhole(await get("message", { session, number: row.number }));
  const by_harness = WRITTEN_BY_HARNESS.has(row.role);
  const parts = shown.parts.filter((part) => part.kind !== "text" || part.text.trim() || part.left);
  const body = parts.map((part) => html`<${Part} part=${part} role=${row.role} needle=${needle} all=${all} />`);
  return html`<article data-number=${row.number} tabindex="-1" class="message of-${row.role} ${by_harness ? "by-harness" : ""} ${here ? "here" : ""}" aria-label=${`message ${row.number}, ${row.role}`}>
    <header>
      <a class="number" href=${address(session, `m${row.number}`)} aria-label=${`link to message ${row.number}`}>m${row.number}</a>
      <${Role} role=${row.role} />
      ${row.trust !== USUAL[row.role] && html`<${Trust} trust=${row.trust} />`}
      <span class="spacer"></span>
      ${visibility && html`<${Visibility} visibility=${visibility} />`}
      <span class="tokens">${number(row.tokens)} tokens</span>
      <time datetime=${row.time}>${clock(row.time)}</time>
    </header>
    ${by_harness ? html`<${Harness} parts=${parts} open=${here || parts.some((part) => holds(part.text, needle))}>${body}<//>` : body}
  </article>`;
}

// Text that the harness wrote is one line until it is opened.
function Harness({ parts, open, children }) {
  const first = parts.map((part) => part.text.trim()).find(Boolean) ?? "";
  return html`<details class="harness" open=${open}><summary>${first.split("\n", 1)[0].slice(0, 160)}</summary>${children}</details>`;
}

function Visibility({ visibility }) {
  const [sign, word, means] = VISIBILITY[visibility];
  return html`<span class="visibility visibility-${visibility}" title=${means}><span aria-hidden="true">${sign}</span> ${word}</span>`;
}

// The argument that says what a call is about; the others may come first.
const SUBJECT = /^(file_?path|path|command|cmd|pattern|query|url): /;
const MOST_ARGUMENTS = 12;

function Part({ part, role, needle, all }) {
  const found = holds(part.text, needle);
  const more = part.left > 0 && html`<button class="plain more" onClick=${all}>Show ${number(part.left)} more characters</button>`;
  if (part.kind === "text" && role === "user" && part.trust !== "user") return html`<${Harness} parts=${[part]} open=${found}><${Words} text=${part.text} needle=${needle} />${more}<//>`;
  if (part.kind === "text") return html`${WRITTEN_BY_HARNESS.has(role) ? html`<${Words} text=${part.text} needle=${needle} />` : html`<${Markdown} text=${part.text} needle=${needle} />`}${more}`;
  const name = [part.heading || part.kind, part.failed ? "failed" : ""].filter(Boolean).join(" ");
  if (!part.text) return html`<p class="bare"><span aria-hidden="true">${FOLDED[part.kind]}</span> ${name}</p>`;
  const lines = part.text.trimStart().split("\n", MOST_ARGUMENTS);
  const first = ((part.kind === "call" && lines.find((line) => SUBJECT.test(line))) || lines[0]).slice(0, 120);
  return html`<details class="folded part-${part.kind} ${part.failed ? "failed" : ""} ${part.trust}" open=${found || part.text.length <= SHORT}>
    <summary>
      <span class="what"><span aria-hidden="true">${FOLDED[part.kind]}</span> ${name}</span>
      <span class="first">${first}</span>
      <span class="size">${number(part.text.length + part.left)} characters</span>
    </summary>
    <${Words} text=${part.text} needle=${needle} />${more}
  </details>`;
}

// An event between two messages.
export function Marker({ row, session }) {
  const names = row.about?.names ?? [];
  return html`<p class="marker marker-${row.event}">
    <span class="marker-name">${row.event === "compaction" || row.event === "tool_compaction" ? "compacted here" : row.event}</span>
    <span>${row.text}</span>
    ${row.about?.why && html`<span class="quiet">${row.about.why}</span>`}
    ${row.event === "compaction" && html`<a href=${address(session, "diff", row.seq)}>before and after</a>`}
    ${names.map((name) => html`<a class="chip" href=${address(session, "digests", name)}>≡ ${name}</a>`)}
  </p>`;
}

// The sources of a claim: pieces of text, with the cited ones marked.
export function Source({ message, session }) {
  return html`<article class="message source of-${message.role}" aria-label=${`source ${message.id}`}>
    <${Neighbour} session=${session} one=${near(message, -1)} />
    <header><${Turn} session=${session} id=${message.id} /><${Role} role=${message.role} />${message.trust !== USUAL[message.role] && html`<${Trust} trust=${message.trust} />`}</header>
    ${message.parts
      .filter((part) => part.pieces.length)
      .map(
        (part) => html`${part.heading && html`<p class="bare">${FOLDED[part.kind]} ${part.heading}</p>`}
          <div class="words ${part.kind === "text" ? "" : "machine"}">${part.pieces.map(([text, cited]) => (cited ? html`<mark>${text}</mark>` : text))}</div>`,
      )}
    <${Neighbour} session=${session} one=${near(message, 1)} />
  </article>`;
}

// The message before or after a source, by its first words.
const near = (message, by) => message.neighbours?.find((one) => one.id === `m${Number(message.id.slice(1)) + by}`);

function Neighbour({ session, one }) {
  if (!one) return null;
  return html`<p class="neighbour"><${Turn} session=${session} id=${one.id} /><${Role} role=${one.role} /><span class="excerpt">${one.text || "(no text)"}</span></p>`;
}
