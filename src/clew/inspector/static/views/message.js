// One message: author, time, size, trust label, whether the model still sees it, and its text.

import { useState } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { Role, Trust, Turn, Words, address, clock, html, number } from "../ui.js";

const STANDING = {
  shown: ["●", "in view", "the model sees it unchanged"],
  smaller: ["◐", "shortened", "the model sees a shortened form of it"],
  left: ["○", "left", "the model no longer sees it; a digest may mention it"],
};
const FOLDED = { thinking: "✻", call: "▸", result: "◂", compacted: "≡", unknown: "·", media: "▦", asked: "?", answered: "✓" };
const WRITTEN_BY_HARNESS = new Set(["system", "developer", "injected"]);
const SHORT = 280; // parts up to this many characters are not collapsed

export function Message({ row, session, standing, here, needle }) {
  const [whole, setWhole] = useState(null);
  const shown = whole ?? row;
  const all = async () => setWhole(await get("message", { session, number: row.number }));
  return html`<article data-number=${row.number} tabindex="-1" class="message of-${row.role} ${here ? "here" : ""}" aria-label=${`message ${row.number}, ${row.role}`}>
    <header>
      <a class="number" href=${address(session, `m${row.number}`)} aria-label=${`link to message ${row.number}`}>m${row.number}</a>
      <${Role} role=${row.role} />
      <${Trust} trust=${row.trust} />
      <span class="spacer"></span>
      ${standing && html`<${Standing} standing=${standing} />`}
      <span class="tokens">${number(row.tokens)} tokens</span>
      <time datetime=${row.time}>${clock(row.time)}</time>
    </header>
    ${shown.parts.map((part) => html`<${Part} part=${part} role=${row.role} needle=${needle} all=${all} />`)}
  </article>`;
}

function Standing({ standing }) {
  const [sign, word, means] = STANDING[standing];
  return html`<span class="standing standing-${standing}" title=${means}><span aria-hidden="true">${sign}</span> ${word}</span>`;
}

function Part({ part, role, needle, all }) {
  const found = needle && part.text.toLowerCase().includes(needle.toLowerCase());
  const more = part.left > 0 && html`<button class="plain more" onClick=${all}>Show ${number(part.left)} more characters</button>`;
  const is_folded = part.kind !== "text" || (WRITTEN_BY_HARNESS.has(role) && part.text.length > SHORT);
  if (!is_folded) return html`<${Words} text=${part.text} needle=${needle} />${more}`;
  const name = [part.heading || (part.kind === "text" ? `${role} text` : part.kind), part.failed ? "failed" : ""].filter(Boolean).join(" ");
  if (!part.text) return html`<p class="bare"><span aria-hidden="true">${FOLDED[part.kind]}</span> ${name}</p>`;
  const first = part.text.trimStart().split("\n", 1)[0].slice(0, 120);
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
    <header><${Turn} session=${session} id=${message.id} /><${Role} role=${message.role} /><${Trust} trust=${message.trust} /></header>
    ${message.parts
      .filter((part) => part.pieces.length)
      .map(
        (part) => html`${part.heading && html`<p class="bare">${FOLDED[part.kind]} ${part.heading}</p>`}
          <div class="words ${part.kind === "text" ? "" : "machine"}">${part.pieces.map(([text, cited]) => (cited ? html`<mark>${text}</mark>` : text))}</div>`,
      )}
  </article>`;
}
