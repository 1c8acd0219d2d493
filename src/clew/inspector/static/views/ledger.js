// The ledger: what code records, so that no summary can lose it.

import { useState } from "../vendor/htm-preact.js";
import { act, get } from "../api.js";
import { Answer, EditForm, Title, Status, Trust, Turn, html, number, plural, useAnswer, useAction } from "../ui.js";

export function Ledger({ session, head }) {
  const [version, renew] = useState(0);
  const result = useAnswer(() => get("ledger", { session }), [session, head, version]);
  return html`<${Title} title="Rules and work"><span class="quiet">recorded by code, word for word; no summary can change it</span><//>
    <${Answer} result=${result}>${(kept) => html`<${Kept} session=${session} kept=${kept} done=${() => renew((now) => now + 1)} />`}<//>`;
}

function Kept({ session, kept, done }) {
  const turn = (id) => html`<${Turn} session=${session} id=${id} />`;
  const quoted = (title, one) => html`<section class="card goal" aria-label=${title.toLowerCase()}><h3>${title} ${turn(one.source)}</h3><blockquote>${one.text}</blockquote></section>`;
  // The rows of a kind; without "none", nothing is shown if there are no rows.
  const list = (kind, title, none, row) =>
    (none || kept[kind].length > 0) && html`<${Listed} title=${title} count=${kept.counts[kind] ?? kept[kind].length} rows=${kept[kind]} none=${none}>${row}<//>`;
  return html`${kept.goal && quoted("Goal", kept.goal)}
    ${kept.plan && quoted("Approved plan", kept.plan)}
    <${Pins} session=${session} pins=${kept.pins} done=${done} />
    ${kept.facts.length > 0 && html`<${Facts} session=${session} facts=${kept.facts} done=${done} />`}
    ${list("problems", "Events that no longer apply", "", (one) => html`<span class="ref">event ${one.seq}</span> <span class="matter">${one.kind}</span> <span>${one.reason}</span>`)}
    <div class="columns">
      ${list("loops", "Open", "Nothing is open.", (one) => html`<span class="matter">${one.kind}</span> <span>${one.text}</span> ${one.status && html`<span class="quiet">${one.status}</span>`} ${turn(one.source)}`)}
      ${list("stale", "To-dos that were not updated", "", (one) => html`<span>${one.text}</span> <span class="quiet">${one.status}; the list was not changed in the last requests</span> ${turn(one.source)}`)}
      ${list("decisions", "Decisions", "Nothing was decided.", (one) => html`<span>${one.text}</span> <span class="quiet">${one.by}</span> ${turn(one.source)}`)}
      ${list("artifacts", "Files and addresses", "Nothing was touched.", (one) => html`<code>${one.name}</code> <span class="quiet">${one.action}${one.changes ? `, ${plural(one.changes, "change")}` : ""}</span> ${turn(one.last)}`)}
      ${list("errors", "Errors", "Nothing went wrong.", (one) => html`<${Failure} session=${session} one=${one} />`)}
      ${list("approvals", "Approvals", "", (one) => html`<span>${one.text}</span> <span class="matter">${one.answer}</span> ${turn(one.source)}`)}
    </div>`;
}

function Facts({ session, facts, done }) {
  const { result, busy, run } = useAction(done);
  const drop = (one) => run(() => act(session, "unkeep", { fact: one.id }), () => `${one.id} is no longer kept.`);
  return html`<section class="card listed" aria-label="kept facts">
    <h3>Kept word for word <span class="quiet">${number(facts.length)}</span></h3>
    <ul>${facts.map(
      (one) => html`<li key=${one.id}><span class="ref">${one.id}</span> <q>${one.quote}</q> <${Trust} trust=${one.trust} /> <${Turn} session=${session} id=${one.source} />${" "}
        <button class="small" disabled=${busy} onClick=${() => drop(one)} aria-label=${`keep ${one.id} no longer`}>Remove</button></li>`,
    )}</ul>
    <${Status} result=${result} busy=${busy} />
  </section>`;
}

function Failure({ session, one }) {
  const state = one.fixed ? html`<span class="good">✓ fixed</span>` : html`<span class="bad">✗ not fixed</span>`;
  return html`<span><code>${one.text}</code> ${state} <span class="quiet">${plural(one.count, "time")}</span> <${Turn} session=${session} id=${one.source} /></span>
    ${one.lines?.length > 0 && html`<pre>${one.lines.join("\n")}</pre>`}`;
}

const FIRST = 12;

function Listed({ title, count, rows, none, children }) {
  const [all, showAll] = useState(false);
  const shown = all ? rows : rows.slice(0, FIRST);
  return html`<section class="card listed" aria-label=${title}>
    <h3>${title} <span class="quiet">${number(count)}</span></h3>
    ${rows.length ? html`<ul>${shown.map((one) => html`<li>${children(one)}</li>`)}</ul>` : html`<p class="quiet">${none}</p>`}
    ${rows.length > FIRST && html`<button class="plain" onClick=${() => showAll(!all)}>${all ? "Show fewer" : `Show ${number(rows.length)}`}</button>`}
  </section>`;
}

// Rules -----------------------------------------------------------------------------------------------

function Pins({ session, pins, done }) {
  const { result, busy, run } = useAction(done);
  const [words, setWords] = useState("");
  const add = async (event) => {
    event.preventDefault();
    if (await run(() => act(session, "pin", { quote: words }), (value) => `Pinned as ${value.pin}: it stays in view word for word.`)) setWords((now) => (now === words ? "" : now));
  };
  const active = pins.filter((pin) => pin.active);
  const waiting = pins.filter((pin) => pin.status === "waiting");
  const ended = pins.filter((pin) => !pin.active && pin.status !== "waiting");
  const confirm = () => run(() => act(session, "confirm_rules", { shown: waiting.map((pin) => pin.quote) }), (value) => `${plural(value.confirmed.length, "rule")} confirmed.`);
  return html`<section class="card pins" aria-label="rules">
    <h3>Rules in force <span class="quiet">${number(active.length)}</span></h3>
    ${active.length === 0 && html`<p class="quiet">No rules.</p>`}
    <ul>${active.map((pin) => html`<li key=${pin.id}><${Pin} session=${session} pin=${pin} run=${run} busy=${busy} /></li>`)}</ul>
    ${waiting.length > 0 && html`<div role="group" aria-label="imported rules"><p>Set by hand in the imported file; not in force until you confirm them:</p>
      <ul>${waiting.map((pin) => html`<li key=${pin.id}><span class="ref">${pin.id}</span> <q>${pin.readable}</q> <span class="quiet">imported</span></li>`)}</ul>
      <button type="button" disabled=${busy} onClick=${confirm}>Confirm ${plural(waiting.length, "rule")}</button></div>`}
    <form class="row" onSubmit=${add}>
      <input type="text" aria-label="a new rule" placeholder="A rule that must survive, in your words" value=${words} onInput=${(event) => setWords(event.target.value)} />
      <button class="main" disabled=${busy || !words.trim()}>Pin</button>
    </form>
    <${Status} result=${result} busy=${busy} />
    ${ended.length > 0 && html`<details><summary>${plural(ended.length, "rule")} no longer in force</summary>
      <ul>${ended.map(
        (pin) => html`<li class="ended"><span class="ref">${pin.id}</span> <s>${pin.readable}</s>${" "}
          <span class="quiet">${pin.status}${pin.why ? `: ${pin.why}` : ""}${pin.replaced_by ? `, by ${pin.replaced_by}` : ""}</span> <${Turn} session=${session} id=${pin.source} /></li>`,
      )}</ul></details>`}
  </section>`;
}

function Pin({ session, pin, run, busy }) {
  const [editing, edit] = useState(null);
  const save = async (event) => {
    event.preventDefault();
    const change = () => act(session, "edit_pin", { pin: pin.id, shown: pin.quote, quote: editing });
    if (await run(change, (value) => `${pin.id} is now ${value.pin}.`)) edit(null);
  };
  const revoke = () => run(() => act(session, "unpin", { pin: pin.id, shown: pin.quote }), () => `${pin.id} is no longer in force.`);
  if (editing !== null) return html`<${EditForm} label=${`the rule ${pin.id}`} text=${editing} change=${edit} save=${save} busy=${busy} />`;
  return html`<span class="ref">${pin.id}</span> <q>${pin.readable}</q> <${Trust} trust=${pin.trust} />
    ${pin.source ? html`<${Turn} session=${session} id=${pin.source} />` : html`<span class="quiet">by hand</span>`}
    <span class="quiet">${pin.certainty}: ${pin.because}${pin.judgement ? ` · ${pin.judgement}` : ""}${pin.certain ? "" : ` · uncertain, still in force: ${pin.why}`}</span>
    <span class="row"><button class="small" onClick=${() => edit(pin.quote)} aria-label="edit rule ${pin.id}">Edit</button>
    <button class="small" disabled=${busy} onClick=${revoke} aria-label="revoke rule ${pin.id}">Revoke</button></span>`;
}
