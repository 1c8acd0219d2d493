// The lines of a digest, and the source turns of the selected line.

import { get } from "../api.js";
import { Answer, Trust, html, number, plural, useAnswer } from "../ui.js";
import { Source } from "./message.js";

const KINDS = {
  next: "Now",
  goal: "Goal",
  open: "Open",
  user: "The user said",
  report: "Reported",
  decision: "Decided",
  finding: "Findings",
  error: "Errors",
  artifact: "Files, commands, addresses",
  fact: "Facts",
};

export function Claims({ one, chosen, choose }) {
  const kinds = Object.keys(KINDS).filter((kind) => one.lines.some((line) => line.kind === kind));
  return html`<section class="card claims" aria-label="lines of ${one.digest}">
    ${one.rules.length > 0 &&
    html`<h4>Rules, word for word</h4>
      <ul>${one.rules.map((rule) => html`<li><${Line} id=${rule.id} text=${rule.quote} trust=${rule.trust} quoted sources=${[rule.source]} findings=${[]} chosen=${chosen} choose=${choose} /></li>`)}</ul>`}
    ${kinds.map(
      (kind) => html`<h4>${KINDS[kind]}</h4>
        <ul>${one.lines
          .filter((line) => line.kind === kind)
          .map((line) => html`<li key=${line.id}><${Line} ...${line} quoted=${line.verbatim} chosen=${chosen} choose=${choose} /></li>`)}</ul>`,
    )}
  </section>`;
}

function Line({ id, text, trust, quoted, sources, findings, chosen, choose }) {
  const notes = findings.filter((one) => one.level !== "note").length;
  return html`<button class="claim ${chosen === id ? "chosen" : ""} from-${trust}" aria-pressed=${chosen === id} onClick=${() => choose(id)}>
    <span class="claim-text">${quoted ? `“${text}”` : text}</span>
    <span class="claim-about">
      <span class="ref">${id}</span><${Trust} trust=${trust} />
      <span class="quiet">${sources.slice(0, 4).join(", ")}${sources.length > 4 ? ` and ${sources.length - 4} more` : ""}</span>
      ${notes > 0 && html`<span class="checked" title="a check was not sure about this line">! ${plural(notes, "problem")}</span>`}
    </span>
  </button>`;
}

export function Sources({ session, reference }) {
  if (!reference)
    return html`<section class="card sources" aria-label="sources"><p class="quiet">Choose a line to see its source turns, with the quoted words marked.</p></section>`;
  return html`<${Found} key=${reference} session=${session} reference=${reference} />`;
}

function Found({ session, reference }) {
  const result = useAnswer(() => get("expand", { session, ref: reference }), [session, reference]);
  const why = useAnswer(() => get("explain", { session, ref: reference }), [session, reference]);
  return html`<section class="card sources" aria-label="sources of ${reference}" aria-live="polite">
    <${Answer} result=${result}>${(found) => html`<h4>${reference} comes from ${plural(found.messages.length + found.more, "turn")}</h4>
      ${found.messages.map((message) => html`<${Source} session=${session} message=${message} />`)}
      ${found.more > 0 && html`<p class="quiet">and ${number(found.more)} more</p>`}`}<//>
    ${why.value && html`<details class="why-told"><summary>Why it is here</summary>${why.value.lines.map((line) => html`<p>${line}</p>`)}</details>`}
  </section>`;
}
