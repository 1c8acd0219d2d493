// The list of sessions.

import { get } from "../api.js";
import { Answer, Title, address, clock, html, number, plural, useAnswer } from "../ui.js";

const HEALTH = { good: "✓", warning: "!", trouble: "✗", damaged: "✗" };

export function Sessions() {
  const result = useAnswer(() => get("sessions"), []);
  return html`<${Title} title="Sessions" /><${Answer} result=${result}>${(value) => html`<${List} ...${value} />`}<//>`;
}

function List({ sessions }) {
  if (!sessions.length)
    return html`<p class="quiet">No sessions yet. <code>clew import FILE</code> imports one, <code>clew chat</code> starts one.</p>`;
  return html`<ul class="sessions">
    ${sessions.map((one) => html`<li key=${one.name}><${Session} one=${one} /></li>`)}
  </ul>`;
}

function Session({ one }) {
  const size = useAnswer(() => get("size", { session: one.name }), [one.name]);
  const { messages, turns } = size.value ?? {};
  return html`<a class="card session" href=${address(one.name)}>
    <strong>${one.name}</strong>
    <span class="health health-${one.health.is}" title=${one.health.why}>
      <span aria-hidden="true">${HEALTH[one.health.is]}</span> ${one.health.is}
    </span>
    <span class="facts">
      <span>${messages === undefined ? `${number(one.events)} events` : plural(messages, "message")}</span>
      ${turns !== undefined && html`<span>${turns === null ? "many turns" : plural(turns, "turn")}</span>`}
      <span>${plural(one.compactions, "compaction")}${one.undone ? `, ${number(one.undone)} undone` : ""}</span>
      <span>${clock(one.last)}</span>
    </span>
    <span class="why">${one.health.why}</span>
  </a>`;
}
