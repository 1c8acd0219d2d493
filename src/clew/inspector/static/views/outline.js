// The outline of a transcript: the user's turns, and where the session was compacted.

import { useEffect, useRef } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { Waiting, address, html, plural, useAnswer } from "../ui.js";

export function Outline({ session, head, top, go }) {
  const result = useAnswer(() => get("outline", { session }), [session, head]);
  const rows = result.value?.rows;
  const turns = rows?.filter((one) => one.text) ?? [];
  const now = turns.findLast((one) => one.number <= top)?.number ?? turns[0]?.number;
  const box = useRef(null);
  useEffect(() => box.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }), [now]);
  return html`<nav class="outline" aria-label="turns" ref=${box}>
    <h3>${turns.length ? plural(turns.length, "turn") : "Turns"}</h3>
    ${result.waiting && html`<${Waiting} />`}
    ${result.error && html`<p class="problem">${result.error.message}</p>`}
    ${rows === null && html`<p class="quiet small">The session is too long to list its turns.</p>`}
    <ol>${rows?.map((one) => html`<li key=${one.seq}><${Row} session=${session} one=${one} now=${now} go=${go} /></li>`)}</ol>
  </nav>`;
}

function Row({ session, one, now, go }) {
  if (!one.text) return html`<a class="cut" href=${address(session, "digests", one.cut)}>≡ compacted${one.cut ? `, ${one.cut}` : ""}</a>`;
  return html`<button class="plain" aria-current=${one.number === now ? "true" : null} title=${`m${one.number}`} onClick=${() => go(one.number)}><span>${one.text}</span></button>`;
}
