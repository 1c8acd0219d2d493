// A compaction that the session's own tool made: what it lost, and its summary with likely sources.

import { useState } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { Inline } from "../markdown.js";
import { Answer, Role, Turn, Waiting, html, number, plural, useAnswer } from "../ui.js";

export function ToolCompaction({ session, name }) {
  const result = useAnswer(() => get("tool_compaction", { session, name }), [session, name]);
  return html`<${Answer} result=${result}>${(one) => html`<${Whole} session=${session} one=${one} />`}<//>`;
}

function Whole({ session, one }) {
  const [line, choose] = useState(null);
  return html`<section class="about-digest" aria-label="about ${one.name}">
      <p class="big"><strong>${number(one.before)} → ${number(one.after)}</strong> tokens${one.recorded ? "" : ", estimated"}${" "}
        <span class="quiet block">${one.name}, made by the session's own tool${one.trigger ? ` (${one.trigger})` : ""} after m${one.at};${" "}
          ${one.kept ? plural(one.kept, "message") : "no message"} kept verbatim</span></p>
    </section>
    <div class="read by-tool">
      <aside><${Losses} session=${session} name=${one.name} /></aside>
      <section class="claims" aria-label="the tool's summary">
        <h3>The summary that the tool wrote, as the model sees it ${one.lines.length > 0 && html`<span class="quiet">choose a line to find its source</span>`}</h3>
        ${one.sealed && html`<p class="quiet">It is encrypted: only the provider can read it.</p>`}
        ${!one.sealed && !one.lines.length && html`<p class="quiet">The tool did not record it.</p>`}
        <ul>${one.lines.map((each, i) =>
          each.heading
            ? html`<li><h4><${Inline} text=${each.text.replaceAll("**", "")} /></h4></li>`
            : html`<li class="line ${line === i ? "chosen" : ""}">
              <button class="claim ${line === i ? "chosen" : ""}" aria-pressed=${line === i} onClick=${() => choose(line === i ? null : i)}><span class="claim-text"><${Inline} text=${each.text} /></span></button>
              ${line === i && html`<${Likely} session=${session} name=${one.name} text=${each.text} />`}</li>`,
        )}</ul>
      </section>
    </div>`;
}

function Likely({ session, name, text }) {
  const result = useAnswer(() => get("tool_source", { session, name, q: text.slice(0, 300) }), [session, name, text]);
  return html`<section class="sources" aria-label="likely sources" aria-live="polite">
    <h4>Most likely from <span class="quiet">a tool's summary names no sources; clew searched the messages before it</span></h4>
    <${Answer} result=${result}>${({ hits }) =>
      hits.length
        ? html`<ul class="hits">${hits.map((hit) => html`<li><header><${Turn} session=${session} id=${hit.ref} /><${Role} role=${hit.role} /></header><p class="excerpt">${hit.text}</p></li>`)}</ul>`
        : html`<p class="problem">No earlier message matches this line.</p>`}<//>
  </section>`;
}

// What was lost --------------------------------------------------------------------------------------

const KINDS = ["rule", "open work", "finding", "changed file", "value used later"];
const AGAIN = "value read again"; // a tool showed it before the next use: not counted as lost
const many = (kind) => (kind.startsWith("value ") ? kind.replace("value", "values") : kind === "open work" ? kind : `${kind}s`);
const FEW = 4;

function Losses({ session, name }) {
  const result = useAnswer(() => get("tool_lost", { session, name }), [session, name]);
  return html`<section class="card losses" aria-label="what it lost">
    ${result.waiting && html`<${Waiting} text="Comparing with what the session needed later… this can take a few seconds." />`}
    ${!result.waiting && html`<${Answer} result=${result}>${(found) => (found.unjudged ? html`<${Unjudged} why=${found.unjudged} />` : html`<${Judged} session=${session} found=${found} />`)}<//>`}
  </section>`;
}

const Unjudged = ({ why }) => html`<h3>What it lost</h3><p class="quiet">Not comparable: ${why}.</p>`;

// Each thing says whether the tool kept it (by_tool) and whether clew would (by_clew; null if clew cannot compact to
// that size, "given up").
function Judged({ session, found }) {
  const counted = found.things.filter((one) => one.kind !== AGAIN);
  const again = found.things.filter((one) => one.kind === AGAIN && !one.by_tool);
  const given_up = counted.some((one) => one.by_clew === null);
  const lost_by_tool = counted.filter((one) => !one.by_tool);
  const rescued = given_up ? [] : lost_by_tool.filter((one) => one.by_clew);
  const neither = given_up ? lost_by_tool : lost_by_tool.filter((one) => !one.by_clew);
  const worse = given_up ? [] : counted.filter((one) => one.by_tool && !one.by_clew);
  const gone = lost_by_tool.length;
  const lost = found.sealed ? "not in the messages it kept" : "lost by the tool";
  return html`<h3>What it lost</h3>
    <p class="big"><strong class=${gone ? "bad" : ""}>${number(gone)}</strong> of ${plural(counted.length, "thing")} that the session needed${" "}
      ${gone === 1 ? "is" : "are"} ${found.sealed ? "not in the messages it kept" : "lost"}</p>
    ${given_up
      ? html`<p>clew cannot keep them in ${number(found.tokens_left)} tokens.</p>`
      : gone + worse.length === 0
        ? html`<p>clew keeps all of it too in as many tokens.</p>`
        : html`<p>In as many tokens clew keeps <strong>${number(rescued.length)}</strong> of ${gone === 1 ? "it" : "these"}, and loses <strong>${number(worse.length)}</strong> that the tool kept.</p>`}
    <${ByKind} counted=${counted} given_up=${given_up} />
    <${Group} session=${session} title=${`${lost}, kept by clew`} all=${rescued} open />
    <${Group} session=${session} title="kept by the tool, lost by clew" all=${worse} open=${worse.length <= FEW} />
    <${Group} session=${session} title=${given_up ? lost : found.sealed ? `${lost}, and not kept by clew` : "neither the tool nor clew kept it"} all=${neither} open=${!rescued.length || neither.length <= FEW} />
    <${Group} session=${session} title="not counted as lost: a tool showed it again before the next use" all=${again} kinds=${[AGAIN]} />`;
}

function ByKind({ counted, given_up }) {
  const kinds = KINDS.map((kind) => [kind, counted.filter((one) => one.kind === kind)]).filter(([, all]) => all.length);
  const row = ([kind, all]) => {
    const [tool, clew] = ["by_tool", "by_clew"].map((by) => all.filter((one) => !one[by]).length);
    return html`<tr><td>${many(kind)}</td>${[number(all.length), number(tool), given_up ? "–" : number(clew)].map((figure) => html`<td class="num">${figure}</td>`)}</tr>`;
  };
  return html`<table class="kept" aria-label="kept, by kind">
    <thead><tr><th>kind</th><th class="num">needed</th><th class="num">tool lost</th><th class="num">clew loses</th></tr></thead>
    <tbody>${kinds.map(row)}</tbody>
  </table>`;
}

function Group({ session, title, all, kinds = KINDS, open = false }) {
  if (!all.length) return null;
  return html`<details class="section" open=${open}><summary><h4>${title} <span class="quiet">${number(all.length)}</span></h4></summary>
    ${kinds.map((kind) => html`<${Gone} key=${kind} session=${session} kind=${kind} all=${all.filter((one) => one.kind === kind)} />`)}</details>`;
}

function Gone({ session, kind, all }) {
  const [open, show] = useState(false);
  if (!all.length) return null;
  return html`<h5>${all.length === 1 ? kind : many(kind)}</h5>
    <ul class="lost">${(open ? all : all.slice(0, FEW)).map(
      (one) => html`<li><${Text} text=${one.text} /><span class="row">
        ${one.source && html`<span class="quiet small">from</span><${Turn} session=${session} id=${one.source} />`}
        ${one.used && html`<span class="quiet small">needed at</span><${Turn} session=${session} id=${one.used} />`}
      </span></li>`,
    )}</ul>
    ${all.length > FEW && html`<button class="plain small" onClick=${() => show(!open)}>${open ? "fewer" : `${number(all.length - FEW)} more`}</button>`}`;
}

// A path breaks between its folders, so that the name of the file stays whole.
function Text({ text }) {
  if (!text.includes("/") || /\s/.test(text)) return html`<span class="excerpt">${text}</span>`;
  return html`<span class="path">${text.split(/(?<=\/)/).map((piece) => html`${piece}<wbr />`)}</span>`;
}
