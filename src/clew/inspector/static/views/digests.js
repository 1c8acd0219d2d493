// The digests: their lines with sources, what left the view, and the result of the checks.

import { useState } from "../vendor/htm-preact.js";
import { act, get } from "../api.js";
import { Answer, Title, Status, address, clock, html, number, plural, share, useAnswer, useAction } from "../ui.js";
import { Claims } from "./claims.js";
import { Compacting } from "./compacting.js";
import { Left, Report } from "./report.js";
import { ToolCompaction } from "./tool_compaction.js";

export function Digests({ session, head, name, claim }) {
  const [version, renew] = useState(0);
  const result = useAnswer(() => get("compactions", { session }), [session, head, version]);
  const done = () => renew((now) => now + 1);
  return html`<${Title} title="Compactions" />
    <${Answer} result=${result}>${(past) => html`<${Page} session=${session} past=${past} name=${name} claim=${claim} done=${done} />`}<//>`;
}

function Page({ session, past, name, claim, done }) {
  const all = past.compactions;
  const latest = all.findLast((one) => !one.undone) ?? all.at(-1);
  const asked = name === "new" ? undefined : name; // the address of the form
  const chosen = asked ?? latest?.name ?? past.by_tool.at(-1)?.name;
  const is_tools = past.by_tool.some((one) => one.name === chosen);
  const none = !all.length && !past.by_tool.length;
  const open = name === "new" || none;
  const show = (wanted) => (location.hash = address(session, "digests", ...(wanted ? ["new"] : [])));
  return html`<div class="digests">
    <section class="tree" aria-label="compactions">
      ${all.length > 0 && html`<${Controls} session=${session} past=${past} done=${done} open=${open} show=${show} />`}
      ${past.by_tool.length > 0 && html`<${ByTool} session=${session} all=${past.by_tool} chosen=${chosen} />`}
      ${past.by_tool.length > 0 && all.length > 0 && html`<h4>By clew</h4>`}
      ${all.length ? html`<${Tree} session=${session} all=${all} chosen=${chosen} done=${done} />` : html`<p class="quiet">${past.by_tool.length ? "clew has not compacted this session." : "Neither its tool nor clew has compacted this session."} A preview changes nothing.</p>`}
      ${!all.length && html`<${Controls} session=${session} past=${past} done=${done} open=${open} show=${show} />`}
      ${past.refused.map((one) => html`<p class="problem small">✗ refused ${clock(one.time)}: ${one.reason}</p>`)}
    </section>
    <div class="digest">
      ${open && html`<${Compacting} session=${session} from=${past.preview_from} done=${() => {
        show(false);
        done();
      }} />`}
      ${chosen && is_tools && html`<${ToolCompaction} key=${chosen} session=${session} name=${chosen} />`}
      ${chosen && !is_tools && html`<${Digest} key=${chosen} session=${session} name=${chosen} claim=${claim} done=${done} />`}
    </div>
  </div>`;
}

// Controls -------------------------------------------------------------------------------------------

function Controls({ session, past, done, open, show }) {
  const { result, busy, run } = useAction(done);
  const last = past.compactions.findLast((one) => !one.undone);
  const undo = () => run(() => act(session, "undo", { newest: last.name }), (value) => `Undone: ${number(value.before)} → ${number(value.after)} tokens.`);
  const turn = () => run(() => act(session, "switch", { off: !past.off }), (value) => (value.off ? "Switched off: the whole history is shown." : "Switched on again."));
  return html`<div class="controls">
    ${(past.compactions.length > 0 || past.by_tool.length > 0) && html`<button class=${past.by_tool.length && !last ? "" : "main"} aria-expanded=${open} onClick=${() => show(!open)}>Compact…</button>`}
    ${past.compactions.length > 0 && html`<button disabled=${busy || !last || past.off} onClick=${undo}>Undo ${last?.name ?? ""}</button>`}
    ${(past.compactions.length > 0 || past.by_tool.length > 0 || past.off) && html`<button disabled=${busy} class="plain" onClick=${turn}>${past.off ? "Switch compaction on" : "Show the whole history"}</button>`}
    ${past.undo && html`<p class="quiet small">Undo restores ${number(past.undo.restored - past.undo.tokens)} tokens; ${past.undo.price}.</p>`}
    ${past.off && html`<p class="note">Compaction is switched off: the model sees the whole history.</p>`}
    <${Status} result=${result} busy=${busy} />
  </div>`;
}

// Compactions by the session's own tool, newest first.
function ByTool({ session, all, chosen }) {
  return html`<h4>By its own tool</h4><ul class="nodes" aria-label="compactions by the session's own tool">
    ${[...all].reverse().map((one) => html`<li key=${one.name}><a class="node ${chosen === one.name ? "chosen" : ""}" aria-current=${chosen === one.name ? "true" : null} href=${address(session, "digests", one.name)}>
      <strong>${one.name}</strong> <span class="state quiet">${one.sealed ? "encrypted" : ""}</span>
      <span class="sizes">${number(one.before)} → ${number(one.after)} <span class="quiet">(${share(one.before - one.after, one.before)} less)</span></span>
      <span class="quiet small">${one.trigger ? `${one.trigger}, ` : ""}at m${one.at}, ${clock(one.time)}</span>
    </a></li>`)}
  </ul>`;
}

// The tree --------------------------------------------------------------------------------------------

// A digest is listed above the one it replaced; the tree branches only if it replaced several.
function* rows(all, one, depth) {
  yield { one, depth };
  const inside = all.filter((other) => other.folded_into === one.name).reverse();
  for (const other of inside) yield* rows(all, other, depth + (depth === 0 || inside.length > 1 ? 1 : 0));
}

function Tree({ session, all, chosen, done }) {
  const roots = all.filter((one) => !one.folded_into).reverse();
  const nodes = roots.flatMap((one) => [...rows(all, one, 0)]);
  return html`<ul class="nodes" aria-label="digests, each above those it replaced">
    ${nodes.map(({ one, depth }) => html`<li key=${one.name} style=${{ marginLeft: `${0.9 * depth}rem` }} class=${depth ? "inner" : ""}><${Node} session=${session} one=${one} chosen=${chosen} done=${done} /></li>`)}
  </ul>`;
}

function Node({ session, one, chosen, done }) {
  const { result, busy, run } = useAction(done);
  const again = () => run(() => act(session, "redo", { name: one.name }), (value) => (value.compaction ? "Compacted again." : "The view would not become smaller."));
  const state = one.undone ? "✗ undone" : one.folded_into ? `in ${one.folded_into}` : "✓ in force";
  return html`<a class="node ${chosen === one.name ? "chosen" : ""} ${one.undone ? "undone" : ""}" aria-current=${chosen === one.name ? "true" : null} href=${address(session, "digests", one.name)}>
      <strong>${one.name}</strong> <span class="state">${state}</span>
      <span class="sizes">${number(one.before)} → ${number(one.after)} <span class="quiet">(${share(one.before - one.after, one.before)} less)</span></span>
      <span class="quiet small" title=${clock(one.time)}>${one.trigger}, at m${one.at}</span>
    </a>
    ${one.redoable && html`<button class="plain small" disabled=${busy} onClick=${again}>Redo ${one.name}</button><${Status} result=${result} busy=${busy} />`}`;
}

// One digest ------------------------------------------------------------------------------------------

function Digest({ session, name, claim, done }) {
  const result = useAnswer(() => get("compaction", { session, name }), [session, name]);
  return html`<${Answer} result=${result}>${(one) => html`<${Whole} session=${session} one=${one} claim=${claim} done=${done} />`}<//>`;
}

// A selected line has its own address, so it stays selected when a newer digest arrives.
function Whole({ session, one, claim, done }) {
  const choose = (id) => location.replace(address(session, "digests", one.name, ...(id ? [id] : [])));
  return html`<section class="about-digest" aria-label="about ${one.name}">
      <p class="big"><strong>${number(one.before)} → ${number(one.after)}</strong> tokens</p>
      <p class="facts">
        <span>${one.digest ? `digest ${one.digest}` : `compaction ${one.name}`}${one.digest ? ` replaces ${plural(one.covered, "message")} (${one.covers})` : ""}</span>
        <span>after m${one.at}: ${one.reason}</span>
        <span>written by ${one.author === "clew" ? "code, no model" : one.author}</span>
        ${one.focus && html`<span>focus: ${one.focus}</span>`}
        ${one.folds.length > 0 && html`<span>replaced ${one.folds.join(", ")}</span>`}
        <a href=${address(session, "diff", one.seq)}>Before and after</a>
      </p>
    </section>
    <div class="read">
      ${one.digest ? html`<${Claims} session=${session} one=${one} chosen=${claim} choose=${choose} done=${done} />` : html`<p class="quiet">Older messages were shortened; no digest was needed.</p>`}
      <aside><${Left} session=${session} report=${one.report} /><${Report} one=${one} /></aside>
    </div>`;
}
