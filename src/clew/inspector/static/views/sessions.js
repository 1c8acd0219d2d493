// The sessions of this computer: those of every agent tool, and those of clew's log.

import { useEffect, useState } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { ProxyStatus } from "./proxy.js";
import { start } from "../tour.js";
import { Answer, Title, Waiting, titles, address, ago, clock, html, number, plural, useAnswer } from "../ui.js";

const HEALTH = { good: "✓", warning: "!", trouble: "✗", damaged: "✗" };

export function Sessions() {
  const own = useAnswer(() => get("sessions"), []);
  const others = useAnswer(() => get("computer"), []);
  const total = others.value?.total ?? 0;
  const about = useAnswer(() => get("about"), []);
  return html`<${Title} title="Sessions on this computer">${about.value?.tour && html`<button onClick=${() => start(about.value.tour)}>Take the tour</button>`}<//><${ProxyStatus} />
    <${Answer} result=${own}>${(value) => html`<${List} own=${value.sessions} others=${others.value?.sessions ?? []} total=${total} reading=${others.waiting} />`}<//>
    ${others.error && html`<p class="problem" role="alert">The sessions of other tools cannot be listed: ${others.error.message}</p>`}
    ${others.waiting && html`<${Waiting} text="Reading the sessions of your agent tools… the first time this takes a moment." />`}`;
}

// An imported session is listed once, with what clew knows about it.
function merged(own, others) {
  const known = new Map(others.map((one) => [one.name, one]));
  const mine = own.map((one) => {
    const file = known.get(one.name);
    return { ...file, ...one, stored: true, by_tool: file?.compactions ?? 0, when: file?.modified ?? one.last };
  });
  const names = new Set(own.map((one) => one.name));
  const rest = others.filter((one) => !names.has(one.name)).map((one) => ({ ...one, when: one.modified }));
  return [...mine, ...rest].sort((a, b) => (a.when < b.when ? 1 : -1));
}

const is_compacted = (one) => one.compactions > 0 || one.by_tool > 0;

// Questions that are asked one after the other, so that a list does not keep the server busy.
const waiting = [];
let busy = false;

async function next() {
  if (busy) return;
  busy = true;
  for (let job = waiting.shift(); job; job = waiting.shift()) {
    if (job.stopped) continue;
    const result = await job.ask().catch((error) => ({ error }));
    if (!job.stopped) job.show(result);
  }
  busy = false;
}

// Asks when everything before it is answered; returns a function that withdraws the question.
function enqueue(ask, show) {
  const job = { ask, show, stopped: false };
  waiting.push(job);
  next();
  return () => {
    job.stopped = true;
  };
}

// What the tools' compactions lost, by session; counted one session after the other while the list is open.
function useLosses(names) {
  const [losses, setLosses] = useState(new Map());
  useEffect(() => {
    const add = (name) => (found) => setLosses((known) => new Map(known).set(name, found));
    const withdraw = names.map((name) => enqueue(() => get("losses", { session: name }), add(name)));
    return () => {
      for (const stop of withdraw) stop();
    };
  }, [names.join(" ")]);
  return losses;
}

function List({ own, others, total, reading }) {
  const [wanted, want] = useState("");
  const [only, choose] = useState(false); // only sessions that were compacted
  const [order, sort] = useState("newest");
  const losses = useLosses(others.filter((one) => one.compactions > 0).map((one) => one.name));
  const lost = (one) => losses.get(one.name)?.lost ?? -1;
  const newest = merged(own, others);
  const all = order === "newest" ? newest : newest.sort((a, b) => lost(b) - lost(a)); // stable: newest first
  for (const one of all) if (one.title) titles.set(one.name, one.title);
  const low = wanted.toLowerCase();
  const matches = (one) => [one.name, one.title, one.project, one.asked, one.tool].some((text) => text?.toLowerCase().includes(low));
  const shown = all.filter((one) => matches(one) && (!only || is_compacted(one)));
  const compacted = others.filter((one) => one.compactions > 0).length;
  if (!all.length && reading) return null;
  if (!all.length)
    return html`<p>No sessions of agent tools were found. Take the tour with the shipped example, or open a file of yours with <code>clew inspect FILE</code>.</p>`;
  const listed = total > others.length ? `the ${number(others.length)} newest of ${plural(total, "session")}` : plural(others.length, "session");
  return html`${others.length > 0 && html`<p class="lead"><strong>${number(compacted)}</strong> of ${listed} of your agent tools ${compacted === 1 ? "was" : "were"} compacted.${" "}
      <${Lost} losses=${losses} compacted=${compacted} /> Open one to see what. Files are only read.</p>`}
    <div class="row filter"><input type="search" aria-label="filter the sessions" placeholder="Filter by title, project or tool" value=${wanted} onInput=${(event) => want(event.target.value)} />
      <label class="check">order <select value=${order} onChange=${(event) => sort(event.target.value)}><option value="newest">last used first</option><option value="lost">most lost first</option></select></label>
      <label class="check"><input type="checkbox" checked=${only} onChange=${(event) => choose(event.target.checked)} /> only compacted sessions (${number(all.filter(is_compacted).length)})</label></div>
    <ul class="sessions">${shown.map((one) => html`<li key=${one.name}>${one.stored ? html`<${Stored} one=${one} />` : html`<${Found} one=${one} found=${losses.get(one.name)} />`}</li>`)}</ul>
    ${!shown.length && html`<p class="quiet">No ${only ? "compacted " : ""}session matches${wanted ? ` “${wanted}”` : ""}.</p>`}`;
}

const folder = (path) => path?.split(/[\\/]/).filter(Boolean).at(-1);

const latest = (one) => [...one.compacted].sort().at(-1);

// What all tools lost together, as far as it is counted.
function Lost({ losses, compacted }) {
  const counted = [...losses.values()].filter((one) => !one.error);
  const sum = (field) => counted.reduce((all, one) => all + one[field], 0);
  const progress = losses.size < compacted ? html` <span class="quiet" role="status">(${number(losses.size)} of ${number(compacted)} counted…)</span>` : "";
  if (!compacted) return null;
  if (!counted.length) return html`<span class="quiet" role="status">Counting what they lost…</span>`;
  return html`Of ${plural(sum("needed"), "thing")} that they needed later, their tools lost <strong class=${sum("lost") ? "bad" : ""}>${number(sum("lost"))}</strong>${progress}.`;
}

// What the tool's compactions lost of one session.
function Losses({ found }) {
  if (!found) return html`<span class="quiet" role="status">counting losses…</span>`;
  if (found.error || found.why) return html`<span class="quiet" title=${found.error?.message ?? found.why}>not compared</span>`;
  if (!found.lost) return html`<span class="quiet">lost nothing</span>`;
  return html`<span class="bad" title="lost by the tool, of what the session needed after its compactions">lost ${number(found.lost)} of ${number(found.needed)}</span>`;
}

// A session of another tool.
function Found({ one, found }) {
  return html`<a class="session" href=${one.compactions ? address(one.name, "digests") : address(one.name)}>
    <strong>${one.title ?? one.name}</strong>
    <span class="figures">${one.compactions > 0 && html`<${Losses} found=${found} />`}${one.tokens !== null && html`<span>${number(one.tokens)} tokens</span>`}</span>
    <span class="facts">
      <span class="tool">${one.tool}</span>${one.project && html`<span title=${one.project}>${folder(one.project)}</span>`}
      ${one.messages !== null && html`<span>${plural(one.messages, "message")}</span>`}<span title=${clock(one.modified)}>used ${ago(one.modified)}</span>
      ${one.compactions > 0 && html`<span class="cuts" title=${clock(latest(one))}>compacted ${number(one.compactions)}×${latest(one) ? `, last ${ago(latest(one))}` : ""}</span>`}
    </span>
    ${one.asked && one.asked !== one.title && html`<span class="why">last: ${one.asked}</span>`}
  </a>`;
}

// A session of clew's log.
function Stored({ one }) {
  const size = useAnswer(() => get("size", { session: one.name }), [one.name]);
  const { messages, turns } = size.value ?? {};
  return html`<a class="session" href=${address(one.name)}>
    <strong>${one.title ?? one.name}</strong>
    <span class="health health-${one.health.is}" title=${one.health.why}>
      <span aria-hidden="true">${HEALTH[one.health.is]}</span> ${one.health.is}
    </span>
    <span class="facts">
      <span class="tool">in clew's log</span>
      <span>${messages === undefined ? `${number(one.events)} events` : plural(messages, "message")}</span>
      ${turns !== undefined && html`<span>${turns === null ? "many turns" : plural(turns, "turn")}</span>`}
      <span>${plural(one.compactions, "compaction")}${one.undone ? `, ${number(one.undone)} undone` : ""}</span>
      <span title=${clock(one.last)}>${ago(one.last)}</span>
    </span>
    <span class="why">${one.health.why}</span>
  </a>`;
}
