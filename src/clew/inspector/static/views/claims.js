// A digest as the model sees it: rules and lines under the headings of its text, each with its source turns.

import { useState } from "../vendor/htm-preact.js";
import { act, get } from "../api.js";
import { Inline } from "../markdown.js";
import { Answer, EditForm, Status, html, number, plural, useAction, useAnswer } from "../ui.js";
import { Source } from "./message.js";

const FIRST = 6; // lines of a section that are shown at first
const HELD = new Set(["semi-trusted", "untrusted"]); // lines that the model sees marked as data

export function Claims({ session, one, chosen, choose, done }) {
  const sections = one.headings
    .map((heading) => [heading.replace(/:$/, ""), one.lines.filter((line) => line.heading === heading)])
    .filter(([, lines]) => lines.length);
  return html`<section class="claims" aria-label="lines of ${one.digest}">
    <h3>As the model sees it <span class="quiet">choose a line to see its source</span></h3>
    ${one.rules.length > 0 && html`<${Rules} session=${session} rules=${one.rules} chosen=${chosen} choose=${choose} done=${done} />`}
    ${sections.map(
      ([heading, lines]) => html`<${Section} key=${heading} title=${heading} count=${lines.length}>
        <${Lines} session=${session} lines=${lines} chosen=${chosen} choose=${choose} />
      <//>`,
    )}
    ${one.lines.some((line) => HELD.has(line.trust)) && html`<p class="quiet small"><span class="held">~</span>quotes a tool or a file: data for the model, never an instruction</p>`}
  </section>`;
}

function Lines({ session, lines, chosen, choose }) {
  const [all, showAll] = useState(false);
  const shown = all || lines.findIndex((line) => line.id === chosen) >= FIRST ? lines : lines.slice(0, FIRST);
  return html`<ul>${shown.map((line) => html`<li key=${line.id}><${Line} session=${session} line=${line} chosen=${chosen} choose=${choose} /></li>`)}</ul>
    ${shown.length < lines.length && html`<button class="plain small" onClick=${() => showAll(true)}>Show ${number(lines.length - shown.length)} more</button>`}`;
}

function Section({ title, count, children }) {
  return html`<details class="section" open><summary><h4>${title} <span class="quiet">${number(count)}</span></h4></summary>${children}</details>`;
}

function Line({ session, line, chosen, choose, children }) {
  const { id, text, trust, speaker, sources, findings } = line;
  const notes = findings.filter((one) => one.level !== "note").length;
  const is_chosen = chosen === id;
  return html`<div class="line ${is_chosen ? "chosen" : ""}">
    <button class="claim ${is_chosen ? "chosen" : ""}" aria-pressed=${is_chosen} aria-label=${`${id}: ${text}`} onClick=${() => choose(is_chosen ? undefined : id)}>
      <span class="claim-text">${HELD.has(trust) && html`<span class="held" title="${trust}: quotes a tool or a file">~</span>`}${speaker && html`<span class="quiet">${speaker}</span>`}<${Inline} text=${text} /></span>
      <span class="claim-about"><span>${sources.slice(0, 3).join(", ")}${sources.length > 3 ? ` +${number(sources.length - 3)}` : ""}</span></span>
      ${notes > 0 && html`<span class="checked" title=${findings.map((one) => one.what).join("; ")}>! a check is not sure about this line</span>`}
    </button>
    ${children}
    ${is_chosen && html`<${Sources} session=${session} reference=${id} />`}
  </div>`;
}

// Rules, word for word. What is changed here holds from now on; the digest shows it after the next compaction.
function Rules({ session, rules, chosen, choose, done }) {
  const [version, renew] = useState(0);
  const ledger = useAnswer(() => get("ledger", { session }), [session, version]);
  const action = useAction(() => {
    renew((now) => now + 1);
    done();
  });
  // By its words: rules that were searched again since the digest have other ids.
  const now = (rule) => {
    const alike = ledger.value?.pins.filter((pin) => pin.quote === rule.quote) ?? [];
    return alike.find((pin) => pin.active) ?? alike.find((pin) => pin.id === rule.id);
  };
  return html`<${Section} title="Rules that hold, word for word" count=${rules.length}>
    <ul>${rules.map(
      (rule) => html`<li key=${rule.id}><${Line} session=${session} line=${asLine(rule)} chosen=${chosen} choose=${choose}>
        <${Rule} session=${session} rule=${rule} pin=${now(rule)} action=${action} />
      <//></li>`,
    )}</ul>
    <${Status} result=${action.result} busy=${action.busy} />
  <//>`;
}

const asLine = (rule) => ({ ...rule, text: `“${rule.quote}”`, speaker: "", sources: [rule.source], findings: [] });

function Rule({ session, rule, pin, action }) {
  const [editing, edit] = useState(null);
  const save = async (event) => {
    event.preventDefault();
    const change = () => act(session, "edit_pin", { pin: rule.id, shown: rule.quote, quote: editing });
    if (await action.run(change, (value) => `${rule.id} is now ${value.pin}; the next digest shows it.`)) edit(null);
  };
  const unpin = () => act(session, "unpin", { pin: rule.id, shown: rule.quote });
  const revoke = () => action.run(unpin, () => `${rule.id} is no longer in force; the next digest leaves it out.`);
  if (editing !== null) return html`<${EditForm} label=${`the rule ${rule.id}`} text=${editing} change=${edit} save=${save} busy=${action.busy} look="row rule-form" />`;
  if (!pin) return null;
  if (!pin.active) return html`<p class="quiet small rule-form">${pin.replaced_by ? `Now ${pin.replaced_by}.` : "No longer in force."} The next digest shows it.</p>`;
  return html`<p class="row rule-form">
    <button class="small" onClick=${() => edit(rule.quote)} aria-label="edit rule ${rule.id}">Edit</button>
    <button class="small" disabled=${action.busy} onClick=${revoke} aria-label="revoke rule ${rule.id}">Revoke</button>
  </p>`;
}

// The source turns of a line, each between its neighbours.
function Sources({ session, reference }) {
  const result = useAnswer(() => get("expand", { session, ref: reference }), [session, reference]);
  const why = useAnswer(() => get("explain", { session, ref: reference }), [session, reference]);
  return html`<section class="sources" aria-label="sources of ${reference}" aria-live="polite">
    <${Answer} result=${result}>${(found) => html`<h4>${reference} comes from ${plural(found.messages.length + found.more, "message")}</h4>
      ${found.messages.map((message) => html`<${Source} session=${session} message=${message} />`)}
      ${found.more > 0 && html`<p class="quiet">and ${number(found.more)} more</p>`}`}<//>
    ${why.value && html`<details class="why-here"><summary>Why it is here</summary>${why.value.lines.map((line) => html`<p>${line}</p>`)}</details>`}
  </section>`;
}
